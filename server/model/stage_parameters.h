// The parameters of a stage, by name.
#pragma once

#include <string>
#include <vector>

#include "model_config.h"

namespace tenon::server {

/// Reads what the stage knows; finish() refuses the rest. All throw an Error with the name.
class StageParameters {
 public:
  explicit StageParameters(const ModelConfig& config) : left_(config.parameters) {}

  /// A number in [min, max], or `otherwise` where it is not given.
  double number(const std::string& name, double otherwise, double min, double max);
  int64_t whole(const std::string& name, int64_t otherwise, int64_t min, int64_t max);
  /// One of `names`; the first where it is not given. Its position among them.
  size_t choice(const std::string& name, const std::vector<std::string>& names);
  /// Three numbers behind commas.
  std::array<float, 3> three(const std::string& name, const std::array<float, 3>& otherwise);
  void finish() const;

 private:
  std::string take(const std::string& name);  // empty where it is not given

  std::map<std::string, std::string> left_;
};

}  // namespace tenon::server
