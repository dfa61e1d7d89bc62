#include "quantize/quantize_model.h"

#include <fmt/ranges.h>
#include <onnx_schema.pb.h>

#include "import/import.h"
#include "quantize/linear_nodes.h"
#include "quantize/shared_scales.h"
#include "quantize/whole_model.h"

namespace tenon {
namespace {

// What the placement says, by ONNX's names; symmetric, as the scales are.
LinearPlacement by_names(const Network& network, const Placement& placement, const Scales& scales) {
  LinearPlacement names;
  for (const Placement::Activation& activation : placement.activations) {
    const std::string& tensor = activation.tensor->name;
    names.scales[tensor] = scales.at(tensor);
    for (const auto& [node, input] : activation.uses) {
      names.reads.emplace(tensor, node->outputs[0]->name);
      if (node->inputs.size() > 1 && node->inputs[1]->constant)
        names.reads.emplace(tensor, node->inputs[1]->name);
    }
  }
  share_scales(network, names.scales);
  return names;
}

// Remembered in the file, for those who wonder later.
void note_kept_float(onnx::ModelProto& model, const std::set<std::string>& names) {
  if (names.empty()) return;
  onnx::StringStringEntryProto& entry = *model.add_metadata_props();
  entry.set_key("tenon.kept_float");
  entry.set_value(fmt::format("{}", fmt::join(names, "\n")));
}

// Layers of these nodes are to stay in float, and what only they read is not quantized.
void keep_float(Network& network, const onnx::ModelProto& model,
                const std::set<std::string>& names) {
  std::set<std::string> missing = names;
  for (const auto& node : model.graph().node()) missing.erase(node.name());
  require(missing.empty(), "there is no node '{}' to keep in float",
          missing.empty() ? "" : *missing.begin());
  for (const auto& node : network.nodes())
    if (names.contains(node->name)) node->precision = DataType::kFLOAT;
}

// Why no layer with weights became int8, for people.
std::string reason_of_none(const Placement& placement) {
  if (placement.outcomes.empty()) return "it has no convolution or product by constant weights";
  for (const auto& [node, why_float] : placement.outcomes)
    if (!why_float.empty())
      return fmt::format("layer {} stays in float: {}", describe(*node), why_float);
  return "data or weights of its layers are reshaped on the way, which is not supported yet";
}

}  // namespace

std::string quantize_model(std::span<const std::byte> bytes, const Scales& scales,
                           const Target& target, const QuantizeModelOptions& options) {
  require(options.type == DataType::kINT8
              || (options.type == DataType::kFP8 && options.channel_means.empty()),
          "expected int8, or fp8 without corrected biases, to quantize to, found {}",
          name_of(options.type));
  Network network;
  ImportReport report;
  ImportOptions import;
  import.model_path = options.model_path;
  import.log = options.log;
  import_onnx(bytes, import, network, report);
  const auto model = parse_model(bytes, options.model_path);
  keep_float(network, *model, options.kept_float);
  const Placement placement =
      place_quantization(network, scales, target, Precision::Constraints::kHint);
  for (const auto& [node, why_float] : placement.outcomes)
    if (!why_float.empty())
      options.log.verbose("layer {} stays in float: {}", describe(*node), why_float);
  if (!placement.without_scale.empty())
    options.log.warning(
        "{} tensors have no range, and layers that read them stay in float: '{}' is one",
        placement.without_scale.size(), placement.without_scale.front());

  LinearPlacement names = by_names(network, placement, scales);
  names.type = options.type;
  names.kept_float = options.kept_float;
  names.channel_means = options.channel_means;
  TensorSource source{options.model_path, options.log, {}};
  const LinearCounts counts = add_linear_nodes(*model, names, source);
  const char* const type = options.type == DataType::kFP8 ? "fp8" : "int8";
  require(counts.quantized > 0, "nothing in the model can be {}: {}", type,
          reason_of_none(placement));
  note_kept_float(*model, options.kept_float);
  options.log.info("{}: {} of {} nodes with weights", type, counts.quantized, counts.products);
  return whole_bytes(*model, source);
}

}  // namespace tenon
