#include "quantize/quantize_model.h"

#include <onnx_schema.pb.h>

#include "import/import.h"
#include "ops/pooling.h"
#include "quantize/linear_nodes.h"

namespace tenon {
namespace {

// What the placement says, by ONNX's names; symmetric, as the scales are. What maximum pooling
// makes keeps the scale of its data.
LinearPlacement by_names(const Placement& placement, const Scales& scales) {
  LinearPlacement names;
  for (const Placement::Activation& activation : placement.activations) {
    const std::string& tensor = activation.tensor->name;
    const float scale = names.scales.try_emplace(tensor, scales.at(tensor)).first->second;
    for (const auto& [node, input] : activation.uses) {
      names.reads.emplace(tensor, node->outputs[0]->name);
      if (node->as<Pooling>() != nullptr) names.scales.emplace(node->outputs[0]->name, scale);
      if (node->inputs.size() > 1 && node->inputs[1]->constant)
        names.reads.emplace(tensor, node->inputs[1]->name);
    }
  }
  return names;
}

void check_kept(const onnx::ModelProto& model, const std::set<std::string>& names) {
  std::set<std::string> missing = names;
  for (const auto& node : model.graph().node()) missing.erase(node.name());
  require(missing.empty(), "there is no node '{}' to keep in float",
          missing.empty() ? "" : *missing.begin());
}

// A model in memory has no folder for the files beside it.
void take_in(onnx::GraphProto& graph, TensorSource& source) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    require(is_exact(tensor.data_type()),
            "initializer '{}' of {} in a file of its own is not supported yet", tensor.name(),
            onnx_type_name(tensor.data_type()));
    onnx::TensorProto copy = tensor;
    const Tensor values = make_tensor(copy, source);
    tensor.clear_external_data();
    tensor.clear_data_location();
    tensor.set_raw_data(values.data(), values.bytes());
  }
}

}  // namespace

std::string quantize_model(std::span<const std::byte> bytes, const Scales& scales,
                           const Target& target, const QuantizeModelOptions& options) {
  Network network;
  ImportReport report;
  ImportOptions import;
  import.model_path = options.model_path;
  import.log = options.log;
  import_onnx(bytes, import, network, report);
  const Placement placement =
      place_quantization(network, scales, target, Precision::Constraints::kHint);
  for (const auto& [node, why_float] : placement.outcomes)
    if (!why_float.empty())
      options.log.verbose("layer {} stays in float: {}", describe(*node), why_float);

  const auto model = parse_model(bytes, options.model_path);
  LinearPlacement names = by_names(placement, scales);
  check_kept(*model, options.kept_float);
  names.kept_float = options.kept_float;
  TensorSource source{options.model_path, options.log, {}};
  const LinearCounts counts = add_linear_nodes(*model, names, source);
  take_in(*model->mutable_graph(), source);
  options.log.info("int8: {} of {} nodes with weights", counts.quantized, counts.products);
  constexpr size_t kLimit = size_t{1} << 31;
  require(model->ByteSizeLong() < kLimit,
          "the quantized model has {} bytes, and ONNX files end at 2 GiB: files beside it are not "
          "supported yet",
          model->ByteSizeLong());
  return model->SerializeAsString();
}

}  // namespace tenon
