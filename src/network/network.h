// The one representation of a model between import and plan. INetworkDefinition, ILayer and ITensor
// are views of it; the ONNX parser writes it directly.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "network/op.h"

namespace tenon {

struct Node;

/// How a constant was computed from others, which a kernel may store in its place.
struct Folded {
  std::shared_ptr<const Op> op;
  std::vector<Tensor> inputs;
};

/// A tensor of the network.
struct Value {
  int64_t id = 0;  // stable within a network, in order of creation
  std::string name;
  DataType type = DataType::kFLOAT;
  Dims dims;                       // valid when `known`
  bool known = false;              // type and dims have been inferred
  std::optional<Content> content;  // elements known on the host before the network runs
  std::optional<Tensor> constant;  // weights and constants
  /// Constants that were dequantized: from what. Null for others.
  std::shared_ptr<const Folded> folded;
  /// Weights that a refit of the engine may replace: nothing in the network depends on their
  /// values.
  bool refittable = false;
  Node* producer = nullptr;  // null for network inputs and for weights
  int output_index = 0;      // which output of the producer
  bool is_input = false;
  bool is_output = false;
  bool is_debug = false;  // marked for debug listeners
  /// Formats that the caller accepts at the border, a bit per TensorFormat. For inputs and outputs;
  /// all of them at first.
  uint32_t allowed_formats = (1u << nvinfer1::EnumMax<nvinfer1::TensorFormat>()) - 1;
  /// The type a caller asked for at the border (ITensor::setType); inputs and outputs.
  std::optional<DataType> requested_type;
  std::array<std::string, Shape::kMaxRank> dimension_names;  // inputs only
  /// Network inputs: the extents as declared, -1 for those known only at run time.
  Shape declared;

  bool is_weight() const { return constant.has_value() && producer == nullptr; }
};

/// One layer.
struct Node {
  int64_t id = 0;
  std::string name;
  std::string metadata;
  std::unique_ptr<Op> op;
  std::vector<Value*> inputs;  // null for an optional input left out
  std::vector<Value*> outputs;
  /// What the caller forced (ILayer::setPrecision, setOutputType). Once the optimizer is done with
  /// it: the type to which kernels may round float32 that they multiply (Precision::only_products).
  std::optional<DataType> precision;
  std::vector<std::optional<DataType>> output_types;

  LayerType kind() const { return op->kind(); }
  template <class T> const T* as() const { return dynamic_cast<const T*>(op.get()); }
  template <class T> T* as() { return dynamic_cast<T*>(op.get()); }
};

/// What a symbol of the shape program stands for: an extent or an element of a network input, or
/// (data-dependent) of a tensor that a layer makes.
struct Symbol {
  enum class Kind : uint8_t { kExtent, kElement } kind = Kind::kExtent;
  Value* value = nullptr;  // the first one for a named dimension; null once the tensor is gone
  int index = 0;           // axis, or element
  std::string name;        // dimension name, "" for none
  Dim upper = nullptr;     // data-dependent: what bounds it, null for nothing
  Dim opt = nullptr;       // data-dependent: what to plan with, null for a guess

  bool is_data_dependent() const { return value != nullptr && !value->is_input; }
};

class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  std::string name = "Unnamed Network";
  /// Debug listeners may be told of tensors that are there after optimisation, too.
  bool debugs_unfused = false;

  /// @param declared extents, -1 for one known only at run time; equal dimension names mean equal
  ///        extents. Throws on a duplicate name or a bad extent.
  Value& add_input(std::string name, DataType type, const Shape& declared,
                   const std::array<std::string, Shape::kMaxRank>& dimension_names = {});
  /// A constant without a layer: weights.
  Value& add_weight(Tensor tensor, std::string name = "");
  /// Other elements, of the same type and shape, for what add_weight() made. Those of a stripped
  /// plan may be without data, and nothing is then known of them.
  void set_weight(Value& weight, Tensor tensor);
  /// Appends a layer; output tensors are called "NAME_output_I" until renamed. Infers nothing: call
  /// infer(node), or let infer() do it.
  Node& add_node(std::unique_ptr<Op> op, std::vector<Value*> inputs, std::string name = "");
  void mark_output(Value& value);
  void unmark_output(Value& value);
  void remove_input(Value& value);
  /// All users of `from` (also the list of network outputs) use `to` instead.
  void replace_uses(Value& from, Value& to);
  /// The same for many at once, in one walk over the network. A replacement may itself be replaced.
  void replace_uses(const std::unordered_map<Value*, Value*>& replacements);
  /// Layers and their outputs disappear, in one walk over the network; nobody may still use them.
  void remove_nodes(const std::unordered_set<const Node*>& nodes);
  /// Each layer takes the place, in the order of layers, right before the one it is mapped to.
  void move_nodes(const std::unordered_map<const Node*, const Node*>& before);
  /// Weights that no layer uses and that are not outputs disappear.
  void remove_unused_weights();

  /// Shape and type inference for one layer whose inputs are known. Errors name the layer.
  void infer(Node& node);
  /// For all layers, in an order in which inputs come first; throws on a cycle.
  void infer();
  /// Something changed that inference depends on: known() starts afresh.
  void touch() { dirty_ = true; }
  /// Gives `value` content if it has none and can have some: the elements of a small integer tensor
  /// become symbols, which are known once its layer ran.
  void read_back(Value& value);
  /// infer() if something was touched.
  void infer_if_touched();

  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<std::unique_ptr<Value>>& values() const { return values_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// Names of the symbols, for text_of().
  std::vector<std::string> symbol_names() const;
  ExprPool& pool() { return pool_; }

  /// Layers in an order in which inputs come first, otherwise as they were added. Throws on a
  /// cycle.
  std::vector<Node*> sorted() const;
  /// Layers that use a value, by value id.
  std::vector<std::vector<Node*>> users() const;

 private:
  class NodeInference;
  Value& new_value(std::string name);
  void give_output_role(Value& from, Value& to);
  void bind_input(Value& input);
  Dim symbol_of(Symbol::Kind kind, Value& value, int index);
  void forget_symbols(const std::function<bool(const Value*)>& goes);
  void forget_known_extents();

  ExprPool pool_;
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::vector<Symbol> symbols_;
  // Where in symbols_ an extent with a name lies, and one without or an element.
  std::unordered_map<std::string, size_t> named_symbols_;
  std::map<std::tuple<const Value*, Symbol::Kind, int>, size_t> symbols_of_values_;
  std::unordered_set<std::string> input_names_;  // also of inputs that have another name since
  int64_t next_value_ = 0;
  int64_t next_node_ = 0;
  bool dirty_ = false;
};

/// "Conv_12 (Convolution)": how messages name a layer.
std::string describe(const Node& node);
std::string describe(std::string_view name, const Op& op);

/// Throws unless the network is well formed: links agree both ways, types and shapes are known,
/// names of inputs and outputs are unique. Run after each pass in debug builds.
void verify(const Network& network);

/// A line per layer: name, kind, inputs and outputs with types and shapes, attributes.
std::string dump(const Network& network);
/// The same as JSON.
std::string dump_json(const Network& network);

}  // namespace tenon
