#include "quantize/linear_nodes.h"

#include <onnx_schema.pb.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/low_precision.h"
#include "calibration/range_search.h"
#include "calibration/weight_scales.h"
#include "quantize/bias_correction.h"
#include "quantize/graph_edit.h"

namespace tenon {
namespace {

// Nodes that multiply by weights, their second input.
bool is_product(const onnx::NodeProto& node) {
  return is_standard(node.domain()) && node.input_size() >= 2
         && (node.op_type() == "Conv" || node.op_type() == "Gemm" || node.op_type() == "MatMul");
}

bool can_read_quantized(const onnx::NodeProto& node, DataType type) {
  return is_product(node)
         || (type == DataType::kINT8 && is_standard(node.domain())
             && (node.op_type() == "Add" || node.op_type() == "MaxPool"
                 || node.op_type() == "GlobalAveragePool" || node.op_type() == "ReduceMean"));
}

// The axis of a product's weights that counts output channels.
int output_axis(const onnx::NodeProto& node, int rank) {
  if (node.op_type() == "Conv") return 0;
  if (node.op_type() == "Gemm") return int_attribute(node, "transB", 0) != 0 ? 0 : 1;
  return rank - 1;
}

void add_made_names(const onnx::GraphProto& graph, std::set<std::string>& names) {
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
}

template <class T> void set_bytes(onnx::TensorProto& tensor, const std::vector<T>& values) {
  tensor.set_raw_data(values.data(), values.size() * sizeof(T));
}

class Quantizer {
 public:
  Quantizer(onnx::ModelProto& model, const LinearPlacement& placement, TensorSource& source)
      : graph_(*model.mutable_graph()),
        placement_(placement),
        source_(source),
        opset_(standard_opset(model.opset_import())) {
    constexpr int64_t kFirst = 10, kFirstOfFloat8 = 19;
    require(
        opset_ >= kFirst,
        "the model is of opset {}, which has no QuantizeLinear: export it with opset 13 or later",
        opset_);
    require(!is_float8() || opset_ >= kFirstOfFloat8,
            "the model is of opset {}, which has no QuantizeLinear to fp8: export it with opset {} "
            "or later",
            opset_, kFirstOfFloat8);
    if (opset_ < kPerAxis)
      source_.log.warning(
          "the model is of opset {}, in which weights have one scale each: export it with opset {} "
          "or "
          "later for a scale of each output channel",
          opset_, kPerAxis);
    std::multiset<std::string> read;
    add_read_names(graph_, read);
    names_.insert(read.begin(), read.end());
    add_made_names(graph_, names_);
    for (auto& tensor : *graph_.mutable_initializer()) constants_[tensor.name()] = &tensor;
    for (auto& node : *graph_.mutable_node())
      for (auto& attribute : *node.mutable_attribute())
        if (node.op_type() == "Constant" && attribute.name() == "value" && node.output_size() == 1)
          constants_[node.output(0)] = attribute.mutable_t();
  }

  LinearCounts run() {
    LinearCounts counts;
    for (onnx::NodeProto& node : *graph_.mutable_node()) {
      counts.products += is_product(node);
      if (can_read_quantized(node, placement_.type) && !placement_.kept_float.contains(node.name()))
        counts.quantized += quantize(node) && is_product(node);
      *nodes_.Add() = std::move(node);
    }
    graph_.mutable_node()->Swap(&nodes_);
    for (auto& tensor : initializers_) *graph_.add_initializer() = std::move(tensor);
    remove_unread();
    return counts;
  }

 private:
  static constexpr int64_t kPerAxis = 13;

  bool is_float8() const { return placement_.type == DataType::kFP8; }
  // As ONNX numbers the types.
  int onnx_type() const {
    return is_float8() ? onnx::TensorProto::FLOAT8E4M3FN : onnx::TensorProto::INT8;
  }
  // Of a scale for int8.
  float scale_of(float of_int8) const {
    return is_float8() ? of_int8 * (kLargestInt8 / kLargestFloat8) : of_int8;
  }

  bool reads_quantized(const onnx::NodeProto& node, const std::string& tensor) const {
    if (!placement_.scales.contains(tensor)) return false;
    return placement_.reads.contains({tensor, node.output(0)})
           || (is_product(node) && placement_.reads.contains({tensor, node.input(1)}));
  }

  bool quantize(onnx::NodeProto& node) {
    if (is_product(node)) {
      const auto weights = constants_.find(node.input(1));
      if (!reads_quantized(node, node.input(0)) || weights == constants_.end()
          || weights->second->data_type() != onnx::TensorProto::FLOAT)
        return false;
      correct_bias(node, *weights->second);
      node.set_input(1, quantized_weights(node, *weights->second));
      node.set_input(0, quantized(node.input(0)));
      return true;
    }
    bool any = false;
    for (int i = 0; i < node.input_size(); ++i)
      if (reads_quantized(node, node.input(i))) {
        node.set_input(i, quantized(node.input(i)));
        any = true;
      }
    return any;
  }

  // The DequantizeLinear of an activation, with what is in front of it if it is new.
  std::string quantized(const std::string& tensor) {
    const auto [entry, is_new] = done_.try_emplace(tensor);
    if (!is_new) return entry->second;
    const std::string scale = add_initializer<float>(tensor + "_scale", onnx::TensorProto::FLOAT,
                                                     {}, {scale_of(placement_.scales.at(tensor))});
    const std::string zero = add_initializer<int8_t>(tensor + "_zero_point", onnx_type(), {}, {0});
    const std::string bytes = unique(tensor + "_QuantizeLinear_Output");
    add_node("QuantizeLinear", {tensor, scale, zero}, bytes);
    entry->second = unique(tensor + "_DequantizeLinear_Output");
    add_node("DequantizeLinear", {bytes, scale, zero}, entry->second);
    return entry->second;
  }

  std::string quantized_weights(const onnx::NodeProto& node, const onnx::TensorProto& stored) {
    const int axis = opset_ < kPerAxis ? -1 : output_axis(node, stored.dims_size());
    const auto [entry, is_new] = done_.try_emplace(node.input(1) + "\n" + std::to_string(axis));
    if (!is_new) return entry->second;
    onnx::TensorProto copy = stored;  // which make_tensor() empties
    const Tensor tensor = make_tensor(copy, source_);
    std::vector<float> scales = weight_scales(node.input(1), tensor, tensor.shape(), axis);
    std::ranges::transform(scales, scales.begin(), [&](float x) { return scale_of(x); });
    const auto channels = static_cast<int64_t>(scales.size());
    const std::vector<int64_t> extents(stored.dims().begin(), stored.dims().end());
    const std::vector<int64_t> of_scales =
        axis < 0 ? std::vector<int64_t>() : std::vector{channels};
    const std::string& name = node.input(1);
    const std::string bytes =
        add_initializer(name + "_quantized", onnx_type(), extents, in_bytes(tensor, scales, axis));
    const std::string scale =
        add_initializer(name + "_scale", onnx::TensorProto::FLOAT, of_scales, scales);
    const std::string zero = add_initializer(name + "_zero_point", onnx_type(), of_scales,
                                             std::vector<int8_t>(scales.size()));
    entry->second = unique(name + "_DequantizeLinear_Output");
    onnx::NodeProto& made = add_node("DequantizeLinear", {bytes, scale, zero}, entry->second);
    if (axis >= 0) {
      onnx::AttributeProto& attribute = *made.add_attribute();
      attribute.set_name("axis");
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(axis);
    }
    return entry->second;
  }

  // Weights over their scales, as int8 or in the bits of fp8.
  std::vector<int8_t> in_bytes(const Tensor& weights, const std::vector<float>& scales,
                               int axis) const {
    std::vector<float> numbers(static_cast<size_t>(weights.count()));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = weights.data<float>()[i] / scales[weight_channel(weights.shape(), axis, i)];
    std::vector<int8_t> bytes(numbers.size());
    if (is_float8())
      write_low_precision(DataType::kFP8, numbers.data(), 0, weights.count(), bytes.data());
    else
      std::ranges::transform(numbers, bytes.begin(), [](float x) {
        return static_cast<int8_t>(std::clamp(std::nearbyint(x), -kLargestInt8, kLargestInt8));
      });
    return bytes;
  }

  // Takes from the bias what rounded weights add on average. Products without a bias of their own
  // keep their results.
  void correct_bias(onnx::NodeProto& node, const onnx::TensorProto& stored) {
    const auto means = placement_.channel_means.find(node.input(0));
    if (means == placement_.channel_means.end() || node.op_type() == "MatMul"
        || float_attribute(node, "alpha", 1) != 1 || float_attribute(node, "beta", 1) != 1)
      return;
    onnx::TensorProto copy = stored;
    const Tensor weights = make_tensor(copy, source_);
    const int axis = output_axis(node, weights.shape().rank());
    const ProductWeights product{{weights.data<float>(), static_cast<size_t>(weights.count())},
                                 weights.shape(),
                                 axis,
                                 1 - axis,
                                 int_attribute(node, "group", 1)};
    const auto channels = static_cast<size_t>(weights.shape()[axis]);
    auto bias = bias_of(node, channels);
    if (!bias
        || means->second.size() != static_cast<size_t>(weights.shape()[1 - axis] * product.groups))
      return;
    const std::vector<float> errors = mean_errors(
        product,
        weight_scales(node.input(1), weights, weights.shape(), opset_ < kPerAxis ? -1 : axis),
        means->second);
    for (size_t k = 0; k < channels; ++k) (*bias)[k] -= errors[k];
    const std::string corrected =
        add_initializer(node.output(0) + "_bias_corrected", onnx::TensorProto::FLOAT,
                        {static_cast<int64_t>(channels)}, *bias);
    while (node.input_size() < 3) node.add_input();
    done_.try_emplace(node.input(2) + "\n", corrected);
    node.set_input(2, corrected);
  }

  // Zeros where there is none; nothing for one that is no constant with a number for each channel.
  std::optional<std::vector<float>> bias_of(const onnx::NodeProto& node, size_t channels) {
    if (node.input_size() < 3 || node.input(2).empty()) return std::vector<float>(channels);
    const auto found = constants_.find(node.input(2));
    if (found == constants_.end() || found->second->data_type() != onnx::TensorProto::FLOAT)
      return std::nullopt;
    onnx::TensorProto copy = *found->second;
    const Tensor tensor = make_tensor(copy, source_);
    if (static_cast<size_t>(tensor.count()) != channels) return std::nullopt;
    return std::vector<float>(tensor.data<float>(), tensor.data<float>() + channels);
  }

  template <class T>
  std::string add_initializer(const std::string& name, int type,
                              const std::vector<int64_t>& extents, const std::vector<T>& values) {
    onnx::TensorProto& tensor = initializers_.emplace_back();
    tensor.set_name(unique(name));
    tensor.set_data_type(type);
    for (const int64_t extent : extents) tensor.add_dims(extent);
    set_bytes(tensor, values);
    return tensor.name();
  }

  onnx::NodeProto& add_node(const char* type, const std::vector<std::string>& inputs,
                            const std::string& output) {
    onnx::NodeProto& node = *nodes_.Add();
    node.set_op_type(type);
    node.set_name(output);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  std::string unique(const std::string& name) {
    std::string result = name;
    for (int i = 1; !names_.insert(result).second; ++i) result = name + "_" + std::to_string(i);
    return result;
  }

  // Weights that only their quantized form is read of now.
  void remove_unread() {
    std::multiset<std::string> read;
    add_read_names(graph_, read);
    const auto is_replaced = [&](const std::string& name) {
      const auto first = done_.lower_bound(name + "\n");
      return first != done_.end() && first->first.starts_with(name + "\n") && !read.contains(name);
    };
    auto& tensors = *graph_.mutable_initializer();
    tensors.erase(std::remove_if(tensors.begin(), tensors.end(),
                                 [&](const auto& tensor) { return is_replaced(tensor.name()); }),
                  tensors.end());
    auto& nodes = *graph_.mutable_node();
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [&](const auto& node) {
                                 return node.op_type() == "Constant" && node.output_size() == 1
                                        && is_replaced(node.output(0));
                               }),
                nodes.end());
    // Inputs that only named an initializer, as old exporters write them.
    auto& inputs = *graph_.mutable_input();
    inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                                [&](const auto& input) { return is_replaced(input.name()); }),
                 inputs.end());
  }

  onnx::GraphProto& graph_;
  const LinearPlacement& placement_;
  TensorSource& source_;
  const int64_t opset_;
  std::set<std::string> names_;                                // that are taken
  std::map<std::string, const onnx::TensorProto*> constants_;  // by name
  std::map<std::string, std::string>
      done_;  // from tensors, weights with their axis, to what replaces them
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes_;
  std::vector<onnx::TensorProto> initializers_;
};

}  // namespace

LinearCounts add_linear_nodes(onnx::ModelProto& model, const LinearPlacement& placement,
                              TensorSource& source) {
  return Quantizer(model, placement, source).run();
}

}  // namespace tenon
