// What conversions of nodes between opsets have in common.
#pragma once

#include <tenon/onnx.h>

#include <optional>
#include <string>
#include <string_view>

#include "edit/operator_schemas.h"
#include "edit/store.h"
#include "edit/value_types.h"

namespace tenon::edit {

/// Works on one node at a time; derived classes say what becomes of it.
class NodeConversion {
 protected:
  explicit NodeConversion(Store& store) : store_(store) {}
  /// The node to work on, and the opset that it is brought to.
  void set_node(Id id, int64_t target) {
    id_ = id;
    graph_ = store_.item(id).container;
    target_ = target;
  }

  [[noreturn]] void refuse(const std::string& why) const;
  const NodeContent& node() const { return store_.node(id_); }
  void set(AttributeContent value);
  void erase(std::string_view attribute);
  void rename(const char* op_type);
  /// A constant for the node. Those of inner graphs lie in them; functions have no initializers.
  std::string_view constant(const char* what, const Tensor& tensor);
  /// One element of the type of the node's first input, float32 or float16.
  std::string_view number(const char* what, float value);
  /// Throws for an attribute that a call of the function gives, which has no value here.
  void require_values() const;
  /// ONNX's number of the element type that attributes say the node gives; 0 where none does.
  int32_t given_element() const;
  std::optional<size_t> rank_of(std::string_view name);
  int32_t element_of(std::string_view name) { return types().element_of(graph_, name); }
  const TensorType* type_of(std::string_view name) { return types().type_of(graph_, name); }
  ValueTypes& types();

  Store& store_;
  Id graph_ = kNone, id_ = kNone;
  int64_t target_ = 0;

 private:
  std::optional<ValueTypes> types_;  // inferred when first needed
};

/// Nodes to the next opset and to the one before: what changed between them.
class Upgrade : NodeConversion {
 public:
  explicit Upgrade(Store& store);
  void run(Id node, int64_t opset);

 private:
  void spatial();
  void without_training();
  void scales_to_input();
  void attributes_to_inputs(std::initializer_list<const char*> names);
  std::string_view float_constant(const char* what, float value);
  void clip();
  void pad();
  void resize();
  void dropout();
  void softmax();
  void grid_sample();
  void dft();
};

class Downgrade : NodeConversion {
 public:
  explicit Downgrade(Store& store);
  /// To `opset` from the one behind it. Throws, naming the node, where that opset cannot say it.
  void run(Id node, int64_t opset);

 private:
  using Parts = std::vector<std::string_view>;

  void convert(std::string_view op);
  void convert_from_14_on(std::string_view op);
  void check();
  void check_attributes(const OperatorSchema& schema, const OperatorSchema& newer);
  void check_inputs(const OperatorSchema& schema);

  std::string_view put(const char* op_type, const Parts& inputs,
                       const std::vector<AttributeContent>& attributes = {});
  void become(const char* op_type, const Parts& inputs,
              const std::vector<AttributeContent>& attributes = {});
  std::optional<Tensor> constant_input(size_t input, const char* what);
  std::optional<float> float_input(size_t input, const char* what);
  void keep_inputs(size_t count);
  void forget(const Parts& constants);
  void require_default(const char* attribute, std::string_view value);

  void inputs_to_attributes(std::initializer_list<const char*> names, bool one = false);
  void axes_to_attribute();
  void group_normalization();
  void layer_normalization();
  void gelu();
  void mish();
  void hard_swish();
  void celu();
  void or_equal(const char* op_type);
  void split();
  void pad_axes();
  void pad();
  void clip();
  void dropout();
  void shape();
  void dft();
  void softmax();
  void quantize_axis();
  void regions();
  void resize();
  void upsample();
  void constant_to_tensor();
  void constant_to_initializer();
  void slice();
  void positive_axes();
  void bias_of_gemm();
};

}  // namespace tenon::edit
