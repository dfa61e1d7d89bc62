#include "optimize/plugin_scales.h"

#include "ops/dequantize.h"
#include "ops/quantize.h"
#include "optimize/match.h"
#include "optimize/quantization.h"
#include "plugin_layers/plugin.h"

namespace tenon {
namespace {

using Scales = std::unordered_map<std::string, float>;

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

std::optional<float> scale_of_input(const Value& value, const Scales& ranges) {
  std::optional<float> step;
  if (value.producer != nullptr) step = step_of(*value.producer);
  return step ? step : range_of(value, ranges);
}

std::optional<float> scale_of_output(const Value& value, const Uses& uses, const Scales& ranges) {
  for (const Node* user : uses.of(value))
    if (const auto step = step_of(*user)) return step;
  return range_of(value, ranges);
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
    auto& layer = dynamic_cast<PluginLayer&>(*node->op);
    std::vector<float> scales;
    const auto add = [&](const Value* value, const auto& scale_of) {
      const bool is_int8 = value != nullptr && value->type == DataType::kINT8;
      scales.push_back(is_int8 ? scale_of(*value).value_or(layer.scale_of(scales.size())) : 1);
    };
    for (const Value* in : node->inputs)
      add(in, [&](const Value& v) { return scale_of_input(v, ranges); });
    for (const Value* out : node->outputs)
      add(out, [&](const Value& v) { return scale_of_output(v, uses, ranges); });
    if (std::ranges::all_of(scales, [](float scale) { return scale == 1; })) scales.clear();
    layer.scales = std::move(scales);
  }
}

}  // namespace tenon
