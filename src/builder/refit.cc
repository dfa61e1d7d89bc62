#include "builder/refit.h"

#include <algorithm>
#include <unordered_set>

#include "builder/float64_weights.h"
#include "builder/rebuild.h"
#include "network/bodies.h"
#include "network/clone.h"
#include "optimize/plugin_scales.h"

namespace tenon {
namespace {

using Values = std::unordered_set<const Value*>;

// Integers may be sizes, indices or conditions, which other layers' shapes follow from.
bool may_be_refitted(const Value& v, const Values& in_float64) {
  const DataType type = v.constant->type();
  const bool is_number =
      type != DataType::kINT32 && type != DataType::kINT64 && type != DataType::kBOOL;
  return v.constant->count() > 0 && (is_number || in_float64.contains(&v));
}

// Also those of bodies.
template <class AnyNetwork, class Visit>
void for_each_weight(AnyNetwork& network, const Visit& visit) {
  for_each_network(network, [&](AnyNetwork& one) {
    for (const auto& value : one.values())
      if (value->is_weight()) visit(one, *value);
  });
}

// By the id of the weights.
using Uses = std::map<int64_t, std::vector<RefittableWeights::Use>>;

Uses uses_of_weights(const Network& network) {
  Uses uses;
  for (const auto& node : network.nodes())
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Value* v = node->inputs[i];
      if (v == nullptr || !v->refittable) continue;
      if (const auto role = node->op->weights_role(i)) uses[v->id].push_back({node->name, *role});
    }
  return uses;
}

// Applications were told of inputs and outputs when they loaded the engine.
void check_same_borders(const Plan& before, const Plan& after) {
  require(before.bindings.size() == after.bindings.size(),
          "the new weights change the number of inputs and outputs");
  const auto known_shape = [](const Plan& plan, const PlanBinding& binding) {
    const std::vector<SymbolValue> unknown(plan.symbols.size());
    return shape_of(plan, binding.tensor, plan.shapes.evaluate(unknown));
  };
  for (size_t i = 0; i < before.bindings.size(); ++i) {
    const auto& was = before.tensors[static_cast<size_t>(before.bindings[i].tensor)];
    const auto& is = after.tensors[static_cast<size_t>(after.bindings[i].tensor)];
    const Shape old_shape = known_shape(before, before.bindings[i]);
    const Shape new_shape = known_shape(after, after.bindings[i]);
    require(was.name == is.name && was.type == is.type && old_shape == new_shape,
            "the new weights make '{}' of shape {} a tensor '{}' of shape {}: build another engine",
            was.name, old_shape, is.name, new_shape);
  }
}

void strip_weights(Plan& plan) {
  for (Tensor& weights : plan.weights)
    weights = Tensor(weights.type(), weights.shape(), nullptr, nullptr);
  for (PlanStep& step : plan.steps)
    for (Plan& body : step.bodies) strip_weights(body);
}

}  // namespace

void mark_refittable(Network& network) {
  const Values in_float64 = float64_weights(network);
  for_each_weight(network,
                  [&](Network&, Value& v) { v.refittable = may_be_refitted(v, in_float64); });
}

void check_refittable(Network& network, const Log& log) {
  const Values in_float64 = float64_weights(network);
  for_each_weight(network, [&](Network&, Value& v) {
    if (!v.refittable || may_be_refitted(v, in_float64)) return;
    log.warning("weights '{}' of type {} are not refittable: shapes may depend on them", v.name,
                name_of(v.constant->type()));
    v.refittable = false;
  });
}

std::vector<RefittableWeights> refittable_weights(const Plan& plan) {
  std::vector<RefittableWeights> all;
  if (plan.source == nullptr) return all;
  const Network* seen = nullptr;
  Uses uses;
  const Values in_float64 = float64_weights(*plan.source->network);
  for_each_weight(*plan.source->network, [&](const Network& network, const Value& v) {
    if (seen != &network) {
      uses = uses_of_weights(network);
      seen = &network;
    }
    if (v.refittable) all.push_back({v.name, uses[v.id], *v.constant, in_float64.contains(&v)});
  });
  return all;
}

Plan refitted(const Plan& plan, std::span<const std::optional<Tensor>> given, const Target& target,
              const Log& log) {
  const std::unique_ptr<Network> network = clone(*plan.source->network);
  size_t next = 0;
  for_each_weight(*network, [&](Network& one, Value& v) {
    if (!v.refittable) return;
    const std::optional<Tensor>& weights = given[next++];
    if (weights) one.set_weight(v, weights->reshaped(v.constant->shape()));
    require(v.constant->has_data(),
            "weights '{}' are missing: the plan is stripped of them; give all that "
            "IRefitter::getMissingWeights and getMissing name",
            v.name);
  });
  set_plugin_scales(*network);  // which follow from weights
  Plan result = rebuild(plan, *network, target, log, KernelsOfRebuild::kOfPlan);
  check_same_borders(plan, result);
  result.libraries = plan.libraries;
  return result;
}

Plan stripped(Plan plan) {
  const std::shared_ptr<Network> network = clone(*plan.source->network);
  for_each_weight(*network, [](Network& one, Value& v) {
    if (v.refittable)
      one.set_weight(v, Tensor(v.constant->type(), v.constant->shape(), nullptr, nullptr));
  });
  auto source = std::make_shared<PlanSource>(*plan.source);
  source->network = network;
  plan.source = std::move(source);
  plan.is_stripped = true;
  strip_weights(plan);
  return plan;
}

}  // namespace tenon
