// Plugin libraries that a plan carries along.
#pragma once

#include <NvInferRuntime.h>

#include <memory>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace tenon {

/// The files as a plan holds them. Throws, naming the path, for what cannot be read.
std::vector<PlanLibrary> read_libraries(const std::vector<std::string>& paths);

/// Whether and how a runtime loads code of a plan.
struct HostCode {
  bool allowed = false;
  nvinfer1::TempfileControlFlags files =
      (1u << nvinfer1::EnumMax<nvinfer1::TempfileControlFlag>()) - 1;
  std::string directory;  // of temporary files; "": TMPDIR, or /tmp
};

/// Registers the plugins of the plan's libraries, unless all that it needs are registered already.
/// Throws when the plan has libraries and `code` does not allow them, or one cannot be loaded.
/// @return what keeps them loaded; an engine of the plan must not outlive it. Plans with the same
/// library share it.
std::shared_ptr<const void> load_libraries(const Plan& plan, const HostCode& code);

}  // namespace tenon
