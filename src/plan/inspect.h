// A plan as text or JSON, for people and for IEngineInspector. Needs no plugin and no kernel.
#pragma once

#include <string>

#include "plan/plan.h"

namespace tenon {

/// One layer in TensorRT's engine inspector form: its name alone unless the plan was built with
/// ProfilingVerbosity::kDETAILED, which adds kind, kernel, tensors and attributes.
/// @param shapes concrete shapes per plan tensor (from a context), or empty for symbolic extents.
std::string layer_json(const Plan& plan, size_t step, const std::vector<Shape>& shapes = {});

/// {"Layers": […], "Bindings": […]}: what IEngineInspector::getEngineInformation gives.
std::string engine_json(const Plan& plan, const std::vector<Shape>& shapes = {});

/// Everything in the plan as JSON: target, inputs and outputs, profiles, memory, plugins, layers.
std::string plan_json(const Plan& plan);

/// The same for people: a summary, then a table of layers.
std::string plan_text(const Plan& plan);

}  // namespace tenon
