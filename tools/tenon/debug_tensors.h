// --saveDebugTensors and --saveAllDebugTensors: tensors inside of the network, as files.
#pragma once

#include <tenon/session/session.h>

#include <string>
#include <vector>

#include "logger.h"

namespace tenon::tool {

/// In the current folder.
inline constexpr const char* kDebugSummaryFile = "tensor_summary.json";

struct DebugTensorOptions {
  std::vector<std::string> named;    // NAME:FILE each: the raw bytes of one
  std::vector<std::string> formats;  // of all: summary, numpy, string, raw

  bool are_set() const { return !named.empty() || !formats.empty(); }
  bool has_summary() const;
  /// Throws Failure for what is neither a name with a file nor a format.
  void check() const;
};

/// Runs once more, with a listener, and writes what it is told: named tensors where the options
/// say, all in the formats as NNNN_NAME.npy, .str and .raw and tensor_summary.json in the current
/// folder. Throws Failure, naming the tensor, where the engine does not have it as a debug tensor,
/// and the file that cannot be written.
void save_debug_tensors(session::Session& session, const DebugTensorOptions& options,
                        Logger& logger);

}  // namespace tenon::tool
