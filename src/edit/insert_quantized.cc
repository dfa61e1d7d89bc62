// QuantizeLinear with DequantizeLinear behind it, put behind a tensor and taken out again.
#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.h"
#include "edit/graph_uses.h"
#include "edit/shapes.h"
#include "edit/undone.h"
#include "edit/values.h"

namespace tenon::edit {
namespace {

bool reads_at_first(const Store& store, Id id, std::string_view op_type, std::string_view name) {
  return store.item(id).kind == Kind::kNode && store.node(id).op_type == op_type
         && is_standard_node(store.node(id)) && !store.node(id).inputs.empty()
         && store.node(id).inputs[0] == name && !store.node(id).outputs.empty();
}

Tensor scale_tensor(const std::string& tensor, const QuantizationParameters& parameters) {
  const auto& scales = parameters.scales;
  require(!scales.empty(), "'{}' needs a scale", printable(tensor));
  for (const float scale : scales)
    require(std::isfinite(scale) && scale > 0, "'{}': {} is no scale: give a number above 0",
            printable(tensor), scale);
  require(scales.size() == 1 || parameters.axis, "'{}' has {} scales: say along which axis",
          printable(tensor), scales.size());
  const Shape shape = parameters.axis ? Shape{static_cast<int64_t>(scales.size())} : Shape{};
  return Tensor::of<float>(DataType::kFLOAT, shape, std::span(scales));
}

// int8, or uint8: its type is that of the quantized tensor.
Tensor zero_tensor(const std::string& tensor, const QuantizationParameters& parameters) {
  const int64_t smallest = parameters.is_unsigned ? 0 : -128, largest = smallest + 255;
  require(parameters.zero_point >= smallest && parameters.zero_point <= largest,
          "'{}': {} is no zero point of {}: give a number from {} to {}", printable(tensor),
          parameters.zero_point, parameters.is_unsigned ? "uint8" : "int8", smallest, largest);
  const Shape shape =
      parameters.axis ? Shape{static_cast<int64_t>(parameters.scales.size())} : Shape{};
  Tensor zeros(parameters.is_unsigned ? DataType::kUINT8 : DataType::kINT8, shape);
  std::fill_n(zeros.mutable_data<uint8_t>(), zeros.count(),
              static_cast<uint8_t>(parameters.zero_point));
  return zeros;
}

// Readers of the tensor, but for a QuantizeLinear.
std::vector<Id> readers_of(const Store& store, std::string_view name) {
  std::vector<Id> readers;
  for (const Id id : store.users(store.graph(), name)) {
    require(!reads_at_first(store, id, "QuantizeLinear", name), "'{}' is quantized already",
            printable(std::string(name)));
    if (store.item(id).kind == Kind::kNode) readers.push_back(id);
  }
  require(!readers.empty(), ErrorClass::kNotInModel,
          "no node reads '{}', so that nothing would change", printable(std::string(name)));
  return readers;
}

// As the model says it, or else as the engine infers it.
std::optional<TensorType> type_of(Store& store, std::string_view name) {
  if (const Id id = store.producer(store.graph(), name);
      store.item(id).kind == Kind::kInitializer) {
    const StoredTensor stored = stored_tensor(store.content(id));
    TensorType type{stored.type, true, {}};
    for (const int64_t extent : stored.dims) type.shape.push_back({extent, ""});
    return type;
  }
  if (const Id id = store.type_of(store.graph(), name); id != kNone)
    if (auto type = tensor_type(store.content(id).fields); type && type->has_shape) return type;
  const Types types = infer_types(store);
  const auto found = types.find(name);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

// What is known of the tensor fits: float32 elements, the axis, and a scale for each of its extent.
void require_fit(Store& store, const std::string& tensor,
                 const QuantizationParameters& parameters) {
  const std::optional<TensorType> type = type_of(store, tensor);
  if (!type) return;
  require(type->element == 0 || type->element == kFloat32,
          "'{}' is of {}: only float32 tensors can be quantized", printable(tensor),
          onnx_type_name(type->element));
  if (!parameters.axis || !type->has_shape) return;
  const auto rank = static_cast<int64_t>(type->shape.size());
  const int64_t axis = *parameters.axis < 0 ? *parameters.axis + rank : *parameters.axis;
  require(axis >= 0 && axis < rank, "'{}' is {}, which has no axis {}", printable(tensor),
          text_of(*type), *parameters.axis);
  const Extent& extent = type->shape[static_cast<size_t>(axis)];
  const auto count = static_cast<int64_t>(parameters.scales.size());
  require(!extent.is_known() || extent.value == count,
          "'{}' is {}: its axis {} has {} elements, and {} scales were given", printable(tensor),
          text_of(*type), *parameters.axis, extent.value, count);
}

void insert(Store& store, const std::string& tensor, const QuantizationParameters& parameters) {
  const int64_t opset = opset_of(store, 0);
  const int64_t needed = parameters.axis ? 13 : 10;
  require(opset >= needed,
          "the model is of opset {}; this quantization needs {}: raise it first "
          "(opset={})",
          opset, needed, needed);
  const Id producer = store.producer(store.graph(), tensor);
  require(producer != kNone, ErrorClass::kNotInModel, "there is no tensor '{}'", printable(tensor));
  const Tensor scale = scale_tensor(tensor, parameters), zero = zero_tensor(tensor, parameters);
  readers_of(store, tensor);
  require_fit(store, tensor, parameters);
  const std::string_view name = store.keep(tensor);
  const std::string_view scale_name = store.new_name(tensor + "_scale");
  const std::string_view zero_name = store.new_name(tensor + "_zero_point");
  insert_tensor(store, store.graph(), scale_name, scale);
  insert_tensor(store, store.graph(), zero_name, zero);
  const std::string_view integers = store.new_name(tensor + "_quantized");
  const std::string_view floats = store.new_name(tensor + "_dequantized");
  store.replace_uses(store.graph(), name, floats);
  Id before = store.item(producer).next;
  if (store.item(producer).kind != Kind::kNode) {
    const auto nodes = store.items(store.graph(), Kind::kNode);
    before = nodes.empty() ? kNone : nodes.front();
  }
  for (const auto& [op_type, from, to] : {std::tuple("QuantizeLinear", name, integers),
                                          std::tuple("DequantizeLinear", integers, floats)}) {
    NodeDraft draft = standard_node(store, op_type, to, {from, scale_name, zero_name}, {to});
    if (parameters.axis) draft.set(attribute(store, "axis", *parameters.axis));
    store.insert_node(store.graph(), std::move(draft), before);
  }
}

size_t remove_pairs(Store& store, const std::string& tensor) {
  require(store.producer(store.graph(), tensor) != kNone, ErrorClass::kNotInModel,
          "there is no tensor '{}'", printable(tensor));
  size_t count = 0;
  for (const Id quantize : store.users(store.graph(), tensor)) {
    if (!reads_at_first(store, quantize, "QuantizeLinear", tensor)) continue;
    const Id graph = store.item(quantize).container;
    const std::string_view integers = store.node(quantize).outputs[0];
    for (const Id id : store.users(graph, integers)) {
      if (!reads_at_first(store, id, "DequantizeLinear", integers)) continue;
      const Id place = store.item(id).container, next = store.item(id).next;
      const std::string_view floats = store.node(id).outputs[0];
      store.remove(id);
      store.replace_uses(place, floats, store.keep(tensor));
      if (is_output(store, place, floats))
        store.insert_node(
            place, standard_node(store, "Identity", "", {store.keep(tensor)}, {floats}), next);
      ++count;
    }
  }
  require(count > 0, "no QuantizeLinear with a DequantizeLinear behind it reads '{}'",
          printable(tensor));
  return count;
}

}  // namespace

void insert_quantization(Model& model, const std::string& tensor,
                         const QuantizationParameters& parameters) {
  undone_unless(model, [&] {
    insert(model.store(), tensor, parameters);
    return 0;
  });
}

size_t remove_quantization_of(Model& model, const std::vector<std::string>& tensors) {
  return undone_unless(model, [&] {
    size_t count = 0;
    for (const std::string& tensor : tensors) count += remove_pairs(model.store(), tensor);
    remove_unused(model);
    return count;
  });
}

}  // namespace tenon::edit
