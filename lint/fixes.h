// What rules may say to take a fault away.
#pragma once

#include "lint/lint.h"
#include "lint/view.h"

namespace tenon::lint {

bool is_fix(const std::string& name);
std::vector<std::string> fix_names();

/// Whether the rule's fix of a fault in a node is known to keep what is computed.
bool can_fix(const Rule& rule, const NodeView& node, const ModelView& model);

/// Takes faults that a rule found away; returns those for which it changed the model.
std::vector<Finding> apply_fix(edit::Model& model, const Rule& rule,
                               const std::vector<Finding>& findings);

}  // namespace tenon::lint
