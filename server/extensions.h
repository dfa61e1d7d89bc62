// The extensions of the protocol that the server has, as its metadata name them.
#pragma once

#include <string>
#include <vector>

namespace tenon::server {

inline std::vector<std::string> extensions(bool has_shared_memory) {
  std::vector<std::string> names = {"binary_tensor_data", "classification",  "model_configuration",
                                    "model_repository",   "schedule_policy", "statistics"};
  if (has_shared_memory) names.emplace_back("system_shared_memory");
  return names;
}

}  // namespace tenon::server
