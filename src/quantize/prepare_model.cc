#include "quantize/prepare_model.h"

#include <onnx_schema.pb.h>
#include <tenon/onnx.h>

#include <algorithm>

#include "base/error.h"
#include "edit/store.h"
#include "import/graph.h"
#include "quantize/equalize.h"
#include "quantize/smooth.h"
#include "quantize/whole_model.h"

namespace tenon {
namespace {

// An opset and its IR version.
struct Opset {
  int64_t number, ir;
};
// The first whose DequantizeLinear has a scale for each channel, and the first that has fp8.
constexpr Opset kPerChannel = {13, 7}, kFloat8 = {19, 9};

// Nodes without a name get the one that messages have for them, which edits would change.
void name_nodes(edit::Model& model) {
  edit::Store& store = model.store();
  int index = 0;
  for (const edit::Id id : store.items(store.graph(), edit::Kind::kNode)) {
    onnx::NodeProto node;
    node.set_name(std::string(store.content(id).name));
    node.set_op_type(std::string(store.node(id).op_type));
    std::string name = shown_name(node, index++);
    if (name == store.content(id).name) continue;
    edit::NodeDraft draft = store.draft(id);
    draft.name = store.keep(std::move(name));
    store.replace_node(id, std::move(draft));
  }
}

bool raise_opset(edit::Model& model, const Opset& wanted, const Log& log) {
  const int64_t opset = model.opset();
  if (opset < 11 || opset >= wanted.number) return false;
  try {
    edit::convert_opset(model, wanted.number);
    return true;
  } catch (const Error& e) {
    log.warning("the model keeps its opset: {}", e.what());
    return false;
  }
}

std::unique_ptr<onnx::ModelProto> parsed(const std::string& bytes, const std::string& path) {
  return parse_model(std::as_bytes(std::span(bytes)), path);
}

}  // namespace

std::string prepare_model(const std::string& path, const PrepareModelOptions& options) {
  auto edited = edit::Model::load(path);
  name_nodes(edited);
  const Opset& wanted = options.type == DataType::kFP8 ? kFloat8 : kPerChannel;
  const bool is_raised = raise_opset(edited, wanted, options.log);
  edit::remove_without_effect(edited);  // exporters put Identity between equal weights and readers
  const size_t count = edit::fold_into_weights(edited);
  if (count > 0) options.log.info("{} nodes became part of convolutions", count);
  const auto model = parsed(edited.serialize(), path);
  if (is_raised) model->set_ir_version(std::max(model->ir_version(), wanted.ir));
  TensorSource source{path, options.log, {}};
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
