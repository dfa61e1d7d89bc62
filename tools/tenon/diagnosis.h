// What `tenon doctor` looks at beside the machine itself: the target, the GPU, the environment,
// libraries of plugins and other installations.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "finding.h"

namespace tenon::tool {

/// The default target, and a GPU that is there but of no use. `facts` are those of
/// describe_machine().
std::vector<Finding> findings_of_targets(const nlohmann::ordered_json& facts);

/// Variables TENON_… in `environment` (NAME=VALUE) that limit something, or whose names are nearly
/// those of others.
std::vector<Finding> findings_of_environment(const std::vector<std::string>& environment);

/// Whether the library and the program are of one version.
std::vector<Finding> findings_of_versions(const std::string& program, const std::string& library);

/// Loads a library of plugins in a process of its own, which may end in any way.
std::vector<Finding> findings_of_plugins(const std::string& library);

/// The Python package that `python3` finds, set against this program.
std::vector<Finding> findings_of_python(const std::string& program_version);

/// Libraries with TensorRT's names that the loader finds before Tenon's.
/// @param own the folder of libtenon.
std::vector<Finding> findings_of_search_path(const std::string& search_path,
                                             const std::string& own);

}  // namespace tenon::tool
