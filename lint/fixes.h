// What rules may say to take a fault away.
#pragma once

#include "lint/lint.h"

namespace tenon::lint {

bool is_fix(const std::string& name);
std::vector<std::string> fix_names();

/// Takes one fault away; false where that cannot be done without changing what is computed.
bool apply_fix(edit::Model& model, const Rule& rule, const Finding& finding);

}  // namespace tenon::lint
