// Whether conditions of a rule hold of a node.
#pragma once

#include "lint/rules.h"
#include "lint/view.h"

namespace tenon::lint {

bool holds(const Condition& condition, const NodeView& node, const ModelView& model);

/// "int", "float", "string", "ints", "floats" or "strings"; "" for graphs, tensors and empty lists.
std::string kind_of(const nlohmann::json& attribute);

}  // namespace tenon::lint
