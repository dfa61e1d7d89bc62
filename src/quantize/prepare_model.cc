#include "quantize/prepare_model.h"

#include <onnx_schema.pb.h>

#include "import/graph.h"
#include "import/import.h"
#include "quantize/equalize.h"
#include "quantize/fold_batch_norm.h"
#include "quantize/raise_opset.h"
#include "quantize/smooth.h"
#include "quantize/whole_model.h"

namespace tenon {
namespace {

TensorRanks ranks_of(std::span<const std::byte> bytes, const PrepareModelOptions& options) {
  Network network;
  ImportReport report;
  ImportOptions import;
  import.model_path = options.model_path;
  import.log = options.log;
  import_onnx(bytes, import, network, report);
  network.infer();
  TensorRanks ranks;
  for (const auto& value : network.values())
    if (value->known) ranks.emplace(value->name, static_cast<int>(value->dims.size()));
  return ranks;
}

// Nodes without a name get the one that messages have for them, which new ones in front of them
// would change.
void name_nodes(onnx::ModelProto& model) {
  int index = 0;
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node())
    node.set_name(shown_name(node, index++));
}

}  // namespace

std::string prepare_model(std::span<const std::byte> bytes, const PrepareModelOptions& options) {
  const auto model = parse_model(bytes, options.model_path);
  TensorSource source{options.model_path, options.log, {}};
  name_nodes(*model);
  if (const std::string reason = raise_opset(*model, ranks_of(bytes, options)); !reason.empty())
    options.log.warning("the model keeps its opset: {}", reason);
  const int norms = fold_batch_norms(*model, source);
  if (norms > 0) options.log.info("{} batch norms became part of convolutions", norms);
  if (options.equalizes)
    options.log.info("{} pairs of convolutions were equalized", equalize(*model, source));
  return whole_bytes(*model, source);
}

std::string smooth_model(std::span<const std::byte> bytes, const ChannelValues& largest,
                         float alpha, const Log& log) {
  const auto model = parse_model(bytes, "");
  TensorSource source{"", log, {}};
  log.info("{} tensors before products were smoothed", smooth(*model, largest, alpha, source));
  return whole_bytes(*model, source);
}

}  // namespace tenon
