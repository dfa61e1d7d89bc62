#include "api/plugin_scales.h"

#include "ops/dequantize.h"
#include "ops/quantize.h"
#include "optimize/match.h"
#include "optimize/quantization.h"
#include "plugin_layers/plugin.h"

namespace tenon {
namespace {

// Of a Quantize or Dequantize; nothing where a step is not the same everywhere, or 0 is not 0.
std::optional<float> step_of(const Node& node) {
  if (node.as<Quantize>() == nullptr && node.as<Dequantize>() == nullptr) return std::nullopt;
  const auto uniform = uniform_of(node);
  if (!uniform || (uniform->zero != nullptr && uniform->zero_number != 0)) return std::nullopt;
  return static_cast<float>(uniform->scale);
}

std::optional<float> range_of(const Value& value, const Scales& ranges) {
  const auto found = ranges.find(value.name);
  return found == ranges.end() ? std::nullopt : std::optional(found->second);
}

float scale_of_input(const Value& value, const Scales& ranges) {
  std::optional<float> step;
  if (value.producer != nullptr) step = step_of(*value.producer);
  return step ? *step : range_of(value, ranges).value_or(1);
}

float scale_of_output(const Value& value, const Uses& uses, const Scales& ranges) {
  for (const Node* user : uses.of(value))
    if (const auto step = step_of(*user)) return *step;
  return range_of(value, ranges).value_or(1);
}

}  // namespace

void set_plugin_scales(Network& network, const Scales& ranges) {
  const auto is_plugin = [](const auto& node) {
    return dynamic_cast<const PluginLayer*>(node->op.get()) != nullptr;
  };
  if (std::ranges::none_of(network.nodes(), is_plugin)) return;
  network.infer();
  const Uses uses(network);
  for (const auto& node : network.nodes()) {
    if (!is_plugin(node)) continue;
    std::vector<float> scales;
    const auto add = [&](const Value* value, float scale) {
      scales.push_back(value != nullptr && value->type == DataType::kINT8 ? scale : 1);
    };
    for (const Value* in : node->inputs) add(in, in == nullptr ? 1 : scale_of_input(*in, ranges));
    for (const Value* out : node->outputs) add(out, scale_of_output(*out, uses, ranges));
    dynamic_cast<PluginLayer&>(*node->op).scales = std::move(scales);
  }
}

}  // namespace tenon
