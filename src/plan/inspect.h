// A plan as text or JSON, for people and programs. Needs no plugin and no kernel.
#pragma once

#include <string>

#include "plan/plan.h"

namespace tenon {

/// Everything in the plan as JSON: target, inputs and outputs, profiles, memory, plugins, layers.
std::string plan_json(const Plan& plan);

/// The same for people: a summary, then a table of layers.
std::string plan_text(const Plan& plan);

}  // namespace tenon
