// Checks of a whole model, which rules name.
#pragma once

#include "lint/lint.h"
#include "lint/rules.h"
#include "lint/view.h"

namespace tenon::lint {

/// What a check found: the node or tensor, and what a message says of it.
struct Place {
  std::string node, tensor, source;
  std::map<std::string, std::string> words;
  bool is_inner = false;  ///< of a graph in an attribute, or of a function
};

const std::vector<std::string>& check_names();
std::vector<Place> run_check(const Rule& rule, const ModelView& model);

}  // namespace tenon::lint
