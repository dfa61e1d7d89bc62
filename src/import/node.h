// What an operator's row sees of the ONNX node that it imports: attributes and inputs with checks,
// and layers to add.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "import/bodies.h"
#include "import/import.h"
#include "import/layers.h"
#include "onnx_model/tensors.h"

namespace tenon {

/// An error with the parser's own code.
class ImportError : public Error {
 public:
  ImportError(nvonnxparser::ErrorCode code, const std::string& text);
  nvonnxparser::ErrorCode parser_code() const { return parser_code_; }

 private:
  nvonnxparser::ErrorCode parser_code_;
};

template <class... Args>
[[noreturn]] void fail_import(nvonnxparser::ErrorCode code, fmt::format_string<Args...> text,
                              Args&&... args) {
  throw ImportError(code, fmt::format(text, std::forward<Args>(args)...));
}

class NodeContext : public Layers {
 public:
  NodeContext(ImportState& state, onnx::NodeProto& node, std::string name, int64_t opset,
              std::vector<Item> inputs, TensorSource& source, BodyImporter& bodies);

  const std::string& op() const;
  onnx::NodeProto& proto() { return node_; }
  /// The version of the node's own domain.
  int64_t opset() const { return opset_; }
  TensorSource& source() { return source_; }
  BodyImporter& bodies() { return bodies_; }

  // Inputs. Trailing ones that were left out do not count.
  int input_count() const { return static_cast<int>(inputs_.size()); }
  const std::vector<Item>& inputs() const { return inputs_; }
  void replace_input(int i, Value& value) { inputs_[index(i)] = &value; }
  bool has_input(int i) const { return i < input_count() && !is_null(inputs_[index(i)]); }
  void expect_inputs(int min, int max) const;
  // Asking for a tensor throws where there is a sequence.
  /// As the output of a layer (or a network input): initializers get a Constant layer.
  Value& input(int i);
  /// The ONNX type that a tensor has in the model, if it is another one here; else 0.
  int32_t input_model_type(int i) const { return model_type(given(i)); }
  /// The same, null if left out.
  Value* optional_input(int i) { return has_input(i) ? &input(i) : nullptr; }
  /// As an operand of a layer that takes weights: constants come without a layer.
  Value& weight(int i);
  /// The tensor, if it is a constant.
  const Tensor* constant_input(int i);
  /// The elements as expressions; throws when they are not known on the host.
  std::vector<Dim> host_elements(int i, const char* what);
  /// The elements; throws when they are not constants.
  std::vector<int64_t> integers_of(int i, const char* what);
  std::vector<double> numbers_of(int i, const char* what);

  // Attributes: typed, with a default or required; one of another kind is an error.
  bool has(std::string_view attribute) const;
  int64_t integer(std::string_view attribute);
  int64_t integer(std::string_view attribute, int64_t otherwise);
  bool flag(std::string_view attribute, bool otherwise) {
    return integer(attribute, otherwise) != 0;
  }
  float real(std::string_view attribute, float otherwise);
  std::string text(std::string_view attribute, const std::string& otherwise);
  std::vector<int64_t> integers_in(std::string_view attribute);
  std::vector<float> reals_in(std::string_view attribute);
  std::vector<std::string> texts_in(std::string_view attribute);
  /// Takes the tensor out of the attribute: ask once.
  /// @param float64 the bits of a tensor of float64, which the result rounds.
  Tensor tensor_in(std::string_view attribute, std::optional<Tensor>* float64 = nullptr);
  onnx::GraphProto& graph_in(std::string_view attribute);
  /// The attribute means nothing here, but is no reason for a warning.
  void ignore(std::string_view attribute);
  /// Attributes that nobody asked for.
  std::vector<std::string> unused_attributes() const;
  /// Integers from input i (opsets that moved an attribute to an input) or from the attribute.
  std::optional<std::vector<int64_t>> integers_from(int i, const char* attribute);

  // Outputs.
  int output_count() const { return static_cast<int>(outputs_.size()); }
  bool output_is_used(int i) const;
  void set_output(int i, Value& value) { set_output(i, Item(&value)); }
  void set_output(int i, Item item);
  const std::vector<Item>& outputs() const { return outputs_; }
  /// The tensor that output i is by now; null for none.
  Value* output(int i) const { return as_tensor(outputs_[index(i)], "an output"); }

  // Sequences of tensors.
  bool is_sequence(int i) const { return has_input(i) && as_sequence(inputs_[index(i)]); }
  /// Throws when input i is no sequence.
  const Sequence& sequence_input(int i) const;

  /// The rest of the import is that of the standard domain's operator in that opset: for operators
  /// of other domains that mean the same. It sees the first `max_inputs` inputs only.
  void import_as(std::string_view standard_operator, int64_t opset, int max_inputs = INT32_MAX);

 private:
  static size_t index(int i) { return static_cast<size_t>(i); }
  Value& given(int i) const;
  /// @param kind an AttributeProto::AttributeType
  onnx::AttributeProto* find(std::string_view attribute, int kind);

  onnx::NodeProto& node_;
  int64_t opset_;
  std::vector<Item> inputs_;
  std::vector<Item> outputs_;
  TensorSource& source_;
  BodyImporter& bodies_;
  std::unordered_set<std::string_view> read_attributes_;
};

/// Makes layers of one ONNX node and sets its outputs.
using ImportFunction = void (*)(NodeContext& n);

/// The domain of ONNX Runtime's own operators.
constexpr const char* kMicrosoftDomain = "com.microsoft";

/// "Conv" for an operator of the standard domain, "com.microsoft::Gelu" for others.
std::string qualified_operator(const std::string& domain, const std::string& op);

/// The row for an operator as qualified_operator() calls it, in a version of its domain; null when
/// there is none.
ImportFunction find_row(std::string_view op, int64_t opset);

namespace detail {
bool register_row(OperatorRow row, ImportFunction import);
}

/// A row of the operator table: `TENON_IMPORT(Conv, 1, "") { … uses n … }` holds from opset 1 up to
/// the next row of that name. The text says what is not supported.
#define TENON_IMPORT(Operator, since, restriction)                                                 \
  static void import_##Operator##_##since(::tenon::NodeContext& n);                                \
  [[maybe_unused]] static const bool k##Operator##since##Registered =                              \
      ::tenon::detail::register_row({#Operator, since, restriction}, import_##Operator##_##since); \
  static void import_##Operator##_##since([[maybe_unused]] ::tenon::NodeContext& n)

/// A row that means the same as a function for many operators.
#define TENON_IMPORT_AS(Operator, since, restriction, function)       \
  [[maybe_unused]] static const bool k##Operator##since##Registered = \
      ::tenon::detail::register_row({#Operator, since, restriction}, function)

/// The same for operators of com.microsoft, which has one version.
#define TENON_IMPORT_MICROSOFT(Operator, restriction)                            \
  static void import_microsoft_##Operator(::tenon::NodeContext& n);              \
  TENON_IMPORT_MICROSOFT_AS(Operator, restriction, import_microsoft_##Operator); \
  static void import_microsoft_##Operator([[maybe_unused]] ::tenon::NodeContext& n)

#define TENON_IMPORT_MICROSOFT_AS(Operator, restriction, function)                          \
  [[maybe_unused]] static const bool kMicrosoft##Operator##Registered =                     \
      ::tenon::detail::register_row({#Operator, 1, restriction, ::tenon::kMicrosoftDomain}, \
                                    function)

}  // namespace tenon
