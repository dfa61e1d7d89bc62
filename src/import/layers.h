// Adds layers to a network on behalf of one ONNX node, and what many operators are composed of.
#pragma once

#include <NvInfer.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "network/network.h"
#include "ops/support/pointwise_program.h"

namespace tenon {

/// What lives as long as one import: the network, and what is known about its tensors.
struct ImportState {
  explicit ImportState(Network& n) : network(n) {}
  Network& network;
  // Bytes that constants made by the importer may still take; bodies share it.
  std::shared_ptr<size_t> constant_budget = std::make_shared<size_t>(0);
  std::unordered_set<const Value*> runtime;  // values that depend on an input of the network
  std::unordered_map<const Value*, Value*>
      constant_layers;  // weight -> its Constant layer's output
  // The ONNX type of values that have another one here, as data_type_of() says.
  std::unordered_map<const Value*, int32_t> model_types;
  // Weights that are float64 in the model and float32 here -> the bits, as int64.
  std::unordered_map<const Value*, Tensor> float64_weights;
  std::unordered_map<const Value*, Value*> float64_of, float32_of;  // what they were converted to
};

class Layers {
 public:
  Layers(ImportState& state, std::string node_name)
      : state_(state), network_(state.network), node_name_(std::move(node_name)) {}

  Network& network() { return network_; }
  ExprPool& pool() { return network_.pool(); }
  const std::string& node_name() const { return node_name_; }
  /// Layers added so far for this node.
  const std::vector<Node*>& added() const { return added_; }

  /// The ONNX type that the value has in the model, if it is another one here; else 0.
  int32_t model_type(const Value& value) const {
    const auto it = state_.model_types.find(&value);
    return it == state_.model_types.end() ? 0 : it->second;
  }
  void set_model_type(const Value& value, int32_t type) { state_.model_types[&value] = type; }

  // Float64 (import/float64.h).
  /// Whether the elements are float64, whose bits the tensor holds as int64. The functions below
  /// compute with these, too.
  bool is_float64(const Value& value) const;
  /// Whether the numbers are no integers.
  bool is_real(const Value& value) const { return is_float(value.type) || is_float64(value); }
  /// The same numbers as float64. Exact also for weights that are float64 in the model.
  Value& as_float64(Value& value);
  /// Float64 as float32; others as they are.
  Value& as_float32(Value& value);
  /// Whether it depends on what the network is given.
  bool is_runtime(const Value& value) const {
    return value.is_input || state_.runtime.contains(&value);
  }
  /// A weight that is made of float64, whose bits these are.
  void keep_float64(const Value& weight, Tensor bits) {
    state_.float64_weights[&weight] = std::move(bits);
  }

  /// Adds a layer and infers its outputs.
  Node& add_node(std::unique_ptr<Op> op, std::vector<Value*> inputs);
  /// The same, for its first output.
  Value& add(std::unique_ptr<Op> op, std::vector<Value*> inputs);
  /// The layers of a body as layers of this network: network/splice.h.
  std::unordered_map<const Value*, Value*> splice(const Network& body,
                                                  const std::vector<Value*>& inputs);
  /// A tensor as a Constant layer; one layer for each weight.
  Value& constant(Tensor tensor, const std::string& name = "");
  Value& constant(Value& weight);
  Value& integers(const std::vector<int64_t>& values);
  /// One element of like's type, with as many dimensions.
  Value& scalar(const Value& like, double value);
  /// Throws when the constants that the importer makes get too large altogether.
  void charge(size_t bytes);
  /// The tensor that a value always is, else null. Constants are folded as far as needed.
  const Tensor* known_tensor(Value& value);

  // Element-wise operations broadcast as NumPy does and bring both operands to one type.
  Value& binary(nvinfer1::ElementWiseOperation operation, Value& a, Value& b);
  Value& binary(nvinfer1::ElementWiseOperation operation, Value& a, double b);
  Value& unary(nvinfer1::UnaryOperation operation, Value& x);
  Value& activation(nvinfer1::ActivationType type, Value& x, float alpha = 0, float beta = 0);
  Value& reduce(nvinfer1::ReduceOperation operation, Value& x, uint32_t axes, bool keep);
  Value& cast(Value& x, DataType type);
  /// In the type of `like`.
  Value& cast_like(Value& x, const Value& like);
  /// Float64 as it is; other numbers as float32.
  Value& as_real(Value& x) { return is_float64(x) ? x : cast(x, DataType::kFLOAT); }
  /// 16-bit floats as float32, which holds the sums and powers that they do not; others as they
  /// are.
  Value& widened(Value& x);
  Value& select(Value& condition, Value& then, Value& otherwise);
  Value& transpose(Value& x, const std::vector<int32_t>& permutation);
  Value& softmax(Value& x, int axis);

  // Shapes.
  int rank(const Value& x) const { return static_cast<int>(x.dims.size()); }
  /// Output axis i is input axis source[i]; -1 makes an axis of extent 1. Axes left out must be 1.
  Value& rearrange(Value& x, const std::vector<int>& source);
  /// Leading axes of extent 1 until the rank is as given.
  Value& with_rank(Value& x, int rank);
  /// A tensor of the same elements; the extents may be expressions.
  Value& reshape(Value& x, const Dims& extents);
  /// x[start : start + size*stride : stride] along all axes.
  Value& slice(Value& x, const Dims& start, const Dims& size, const Dims& stride,
               nvinfer1::SampleMode mode = nvinfer1::SampleMode::kSTRICT_BOUNDS,
               Value* fill = nullptr);
  /// Stretches axes of extent 1, adding leading ones as needed.
  Value& expand(Value& x, const Dims& extents);
  Dim number(int64_t value) { return pool().constant(value); }
  /// An int64 tensor of one axis that holds the expressions, computed by layers where needed.
  Value& shape_tensor(const Dims& extents);
  /// From now on shape_tensor() takes the extents of x from x itself.
  void know(Value& x);
  /// From now on it takes the elements of a shape tensor from that tensor.
  void know_elements(Value& x);

 private:
  Value& from_float64(Value& value, DataType type);
  Value& float64_pointwise(PointwiseStep::Family family, int32_t function,
                           std::vector<Value*> inputs, float alpha = 0, float beta = 0);
  // What the layer makes is noted. Throws when it does not take float64 and is given some.
  void note_float64(const Node& node);
  Value& element(Dim expression, int depth = 0);
  Value& composed_element(const Expr& expression, int depth);
  Value& element_of(Value& list, int64_t index);

  ImportState& state_;
  Network& network_;
  std::string node_name_;
  std::vector<Node*> added_;
  std::unordered_map<std::string, int64_t> added_of_kind_;  // by the name of the op
  struct Source {
    Value* value;
    int index;
    bool extent;  // an extent of value, not one of its elements
  };
  std::unordered_map<Dim, Source> sources_;
  std::unordered_map<Dim, Value*> elements_;
  std::unordered_map<Value*, Value*> shapes_;
};

/// A tensor of any numeric type with all elements equal.
Tensor filled_tensor(DataType type, const Shape& shape, double value);

}  // namespace tenon
