#include "quantize/fold_batch_norm.h"

#include <onnx_schema.pb.h>

#include <cmath>

#include "quantize/graph_edit.h"

namespace tenon {
namespace {

using Constant = GraphEdit::Constant;

// The Conv whose result nothing but the norm reads; null where there is none.
onnx::NodeProto* convolution_before(const onnx::NodeProto& norm, const GraphEdit& graph) {
  onnx::NodeProto* const conv = graph.producer(norm.input(0));
  return conv != nullptr && is_standard(conv->domain()) && conv->op_type() == "Conv"
                 && conv->input_size() >= 2 && graph.only_user(norm.input(0)) == &norm
             ? conv
             : nullptr;
}

bool is_inference_norm(const onnx::NodeProto& node) {
  return is_standard(node.domain()) && node.op_type() == "BatchNormalization"
         && node.input_size() == 5 && int_attribute(node, "training_mode", 0) == 0;
}

bool fold(onnx::NodeProto& norm, GraphEdit& graph) {
  if (!is_inference_norm(norm)) return false;
  for (int i = 1; i < norm.output_size(); ++i)
    if (!graph.users(norm.output(i)).empty()) return false;
  onnx::NodeProto* const conv = convolution_before(norm, graph);
  if (conv == nullptr) return false;
  auto weights = graph.constant(conv->input(1));
  const auto scale = graph.constant(norm.input(1)), shift = graph.constant(norm.input(2)),
             mean = graph.constant(norm.input(3)), variance = graph.constant(norm.input(4));
  if (!weights || !scale || !shift || !mean || !variance || weights->extents.empty()) return false;
  const auto channels = static_cast<size_t>(weights->extents[0]);
  const bool has_bias = conv->input_size() > 2 && !conv->input(2).empty();
  auto bias = has_bias ? graph.constant(conv->input(2))
                       : Constant{{weights->extents[0]}, std::vector<float>(channels)};
  for (const auto& of_channels : {bias, scale, shift, mean, variance})
    if (!of_channels || of_channels->values.size() != channels) return false;
  const float epsilon = float_attribute(norm, "epsilon", 1e-5F);
  const size_t depth = channels == 0 ? 0 : weights->values.size() / channels;
  for (size_t k = 0; k < channels; ++k) {
    const float factor = scale->values[k] / std::sqrt(variance->values[k] + epsilon);
    for (size_t i = k * depth; i < (k + 1) * depth; ++i) weights->values[i] *= factor;
    bias->values[k] = (bias->values[k] - mean->values[k]) * factor + shift->values[k];
  }
  const std::string name = conv->input(1);
  conv->set_input(1, graph.add_constant(name + "_folded", *weights));
  while (conv->input_size() < 3) conv->add_input();
  conv->set_input(2, graph.add_constant(name + "_bias_folded", *bias));
  conv->set_output(0, norm.output(0));
  graph.remove(norm);
  return true;
}

}  // namespace

int fold_batch_norms(onnx::ModelProto& model, TensorSource& source) {
  GraphEdit graph(model, source);
  int count = 0;
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) count += fold(node, graph);
  graph.finish();
  return count;
}

}  // namespace tenon
