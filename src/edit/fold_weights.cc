// What lies around convolutions, transposed ones included, and is constant becomes part of them:
// BatchNormalization, factors and addends of channels behind them, Pad in front of them.
#include <tenon/onnx.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "edit/attributes.h"
#include "edit/graph_uses.h"
#include "edit/store.h"
#include "edit/undone.h"
#include "edit/values.h"

namespace tenon::edit {
namespace {

using Floats = std::vector<float>;

// y = x * factor + shift, for each channel.
struct Scaling {
  Floats factor, shift;
};

std::optional<Floats> floats_of(const std::optional<Tensor>& tensor) {
  if (!tensor || tensor->type() != DataType::kFLOAT) return std::nullopt;
  return Floats(tensor->data<float>(), tensor->data<float>() + tensor->count());
}

// Of one graph.
class Convolutions {
 public:
  Convolutions(Store& store, Id graph) : store_(store), graph_(graph) {}

  size_t run() {
    size_t count = 0;
    for (const Id id : store_.items(graph_, Kind::kNode)) {
      const NodeContent& node = store_.node(id);
      if (!is_standard_node(node) || node.inputs.empty() || node.outputs.empty()
          || has_attribute_of_function(node))
        continue;
      count += (node.op_type == "Conv" ? take_in_pad(id) : take_in_behind(id)) ? 1 : 0;
    }
    return count;
  }

 private:
  std::optional<Tensor> constant(const NodeContent& node, size_t input) {
    return input < node.inputs.size() ? constant_of(store_, graph_, node.inputs[input])
                                      : std::nullopt;
  }

  // The node of this graph that gives a value which only `reader` reads; kNone where none does.
  Id only_producer(std::string_view name, Id reader, std::string_view op_type) const {
    const Id id = name.empty() ? kNone : store_.producer(graph_, name);
    if (id == kNone || store_.item(id).kind != Kind::kNode || store_.item(id).container != graph_)
      return kNone;
    const NodeContent& node = store_.node(id);
    const bool is_wanted =
        node.op_type == op_type && is_standard_node(node) && !has_attribute_of_function(node);
    return is_wanted && store_.users(graph_, name) == std::vector<Id>{reader} ? id : kNone;
  }

  bool take_in_behind(Id id) {
    const NodeContent& node = store_.node(id);
    const std::string_view op = node.op_type;
    const bool is_commutative = op == "Mul" || op == "Add";
    if (!is_commutative && op != "BatchNormalization" && op != "Sub" && op != "Div") return false;
    for (size_t data = 0; data < (is_commutative ? 2 : 1) && data < node.inputs.size(); ++data) {
      Id conv = only_producer(node.inputs[data], id, "Conv");
      const bool is_transposed = conv == kNone;
      if (is_transposed) conv = only_producer(node.inputs[data], id, "ConvTranspose");
      if (conv == kNone || store_.node(conv).inputs.size() < 2
          || (is_transposed && integer_attribute(store_.node(conv), "group", 1) != 1))
        continue;
      const auto weights = constant(store_.node(conv), 1);
      if (!weights || weights->type() != DataType::kFLOAT || weights->shape().rank() < 3) continue;
      const size_t channels = channels_of(*weights, is_transposed);
      const auto scaling = op == "BatchNormalization"
                               ? normalization(node, channels)
                               : arithmetic(node, 1 - data, weights->shape().rank(), channels);
      if (scaling && scale(conv, *weights, *scaling, id)) return true;
    }
    return false;
  }

  // What it gives has as many; of a transposed one, only without groups.
  static size_t channels_of(const Tensor& weights, bool is_transposed) {
    return static_cast<size_t>(weights.shape()[is_transposed ? 1 : 0]);
  }

  std::optional<Scaling> normalization(const NodeContent& node, size_t channels) {
    if (node.inputs.size() != 5 || integer_attribute(node, "training_mode", 0) != 0
        || integer_attribute(node, "spatial", 1) == 0)
      return std::nullopt;
    for (size_t i = 1; i < node.outputs.size(); ++i)
      if (store_.has_users(graph_, node.outputs[i])) return std::nullopt;
    const auto scale = floats_of(constant(node, 1)), shift = floats_of(constant(node, 2)),
               mean = floats_of(constant(node, 3)), variance = floats_of(constant(node, 4));
    for (const auto* of_channels : {&scale, &shift, &mean, &variance})
      if (!*of_channels || (*of_channels)->size() != channels) return std::nullopt;
    const float epsilon = float_attribute(node, "epsilon", 1e-5F);
    Scaling scaling;
    for (size_t k = 0; k < channels; ++k) {
      const float factor = (*scale)[k] / std::sqrt((*variance)[k] + epsilon);
      scaling.factor.push_back(factor);
      scaling.shift.push_back((*shift)[k] - (*mean)[k] * factor);
    }
    return scaling;
  }

  // With a number, or one for each channel.
  std::optional<Scaling> arithmetic(const NodeContent& node, size_t input, int data_rank,
                                    size_t channels) {
    const auto tensor = constant(node, input);
    auto values = floats_of(tensor);
    if (!values) return std::nullopt;
    const Shape& shape = tensor->shape();
    const int rank = shape.rank(), channel = rank - (data_rank - 1);
    if (rank > data_rank) return std::nullopt;
    for (int axis = 0; axis < rank; ++axis)
      if (shape[axis] != 1 && axis != channel) return std::nullopt;
    if (values->size() == 1) values->resize(channels, values->front());
    if (values->size() != channels) return std::nullopt;
    const std::string_view op = node.op_type;
    Scaling scaling{Floats(channels, 1), Floats(channels, 0)};
    if (op == "Div")
      std::ranges::transform(*values, values->begin(), [](float value) { return 1 / value; });
    if (op == "Sub")
      std::ranges::transform(*values, values->begin(), [](float value) { return -value; });
    (op == "Mul" || op == "Div" ? scaling.factor : scaling.shift) = std::move(*values);
    return scaling;
  }

  // The convolution gives what `behind` gave. Not where the result leaves the range of float32.
  bool scale(Id conv, const Tensor& weights, const Scaling& scaling, Id behind) {
    const NodeContent node = store_.node(conv);
    const size_t channels = scaling.factor.size();
    auto bias = node.inputs.size() > 2 && !node.inputs[2].empty() ? floats_of(constant(node, 2))
                                                                  : Floats(channels);
    if (!bias || bias->size() != channels || channels == 0) return false;
    Floats scaled(weights.data<float>(), weights.data<float>() + weights.count());
    const bool is_transposed = node.op_type == "ConvTranspose";
    const auto rows = is_transposed ? static_cast<size_t>(weights.shape()[0]) : size_t{1};
    const size_t depth = rows == 0 ? 0 : scaled.size() / channels / rows;
    for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= scaling.factor[i / depth % channels];
    for (size_t k = 0; k < channels; ++k)
      (*bias)[k] = (*bias)[k] * scaling.factor[k] + scaling.shift[k];
    const auto is_finite = [](float value) { return std::isfinite(value); };
    if (!std::ranges::all_of(scaled, is_finite) || !std::ranges::all_of(*bias, is_finite))
      return false;
    const bool has_factor = std::ranges::any_of(scaling.factor, [](float f) { return f != 1; });
    const std::string name(node.inputs[1]);
    NodeDraft draft = store_.draft(conv);
    draft.content.inputs.resize(3);
    if (has_factor) draft.content.inputs[1] = insert(name + "_folded", weights.shape(), scaled);
    draft.content.inputs[2] =
        insert(name + "_bias_folded", Shape{static_cast<int64_t>(channels)}, *bias);
    draft.content.outputs[0] = store_.node(behind).outputs[0];
    store_.remove(behind);
    store_.replace_node(conv, std::move(draft));
    return true;
  }

  std::string_view insert(const std::string& wish, const Shape& shape, const Floats& values) {
    const std::string_view name = store_.new_name(wish);
    insert_tensor(store_, graph_, name,
                  Tensor::of<float>(DataType::kFLOAT, shape, std::span(values)));
    return name;
  }

  // Zeros around the picture are what a convolution pads with.
  bool take_in_pad(Id conv) {
    const NodeContent& node = store_.node(conv);
    const Id pad = only_producer(node.inputs[0], conv, "Pad");
    const std::string automatic = text_attribute(node, "auto_pad", "NOTSET");
    if (pad == kNone || (automatic != "NOTSET" && automatic != "VALID")) return false;
    const auto added = zeros_around(store_.node(pad));
    if (!added || added->size() < 6) return false;
    const size_t rank = added->size() / 2, spatial = rank - 2;
    auto pads = integers_attribute(node, "pads").value_or(std::vector<int64_t>(2 * spatial));
    if (pads.size() != 2 * spatial) return false;
    for (size_t axis = 0; axis < 2; ++axis)
      if ((*added)[axis] != 0 || (*added)[axis + rank] != 0) return false;
    for (size_t i = 0; i < spatial; ++i) {
      pads[i] += (*added)[i + 2];
      pads[i + spatial] += (*added)[i + 2 + rank];
    }
    NodeDraft draft = store_.draft(conv);
    draft.content.inputs[0] = store_.node(pad).inputs[0];
    draft.erase("auto_pad");
    draft.set(attribute(store_, "pads", pads));
    store_.remove(pad);
    store_.replace_node(conv, std::move(draft));
    return true;
  }

  // The pads of one that puts zeros around all axes, and takes nothing away.
  std::optional<std::vector<int64_t>> zeros_around(const NodeContent& node) {
    constexpr int64_t kLargest = 1 << 20;
    const bool has_inputs = node.inputs.size() > 1;
    if (text_attribute(node, "mode", "constant") != "constant" || node.inputs[0].empty()
        || (node.inputs.size() > 3 && !node.inputs[3].empty())
        || float_attribute(node, "value", 0) != 0)
      return std::nullopt;
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
      const auto value = constant(node, 2);
      if (!value || value->count() != 1 || value->numbers()[0] != 0) return std::nullopt;
    }
    const auto tensor = has_inputs ? constant(node, 1) : std::nullopt;
    if (has_inputs && !tensor) return std::nullopt;
    auto pads = has_inputs ? std::optional(tensor->integers()) : integers_attribute(node, "pads");
    if (!pads || std::ranges::any_of(*pads, [](int64_t n) { return n < 0 || n > kLargest; }))
      return std::nullopt;
    return pads;
  }

  Store& store_;
  const Id graph_;
};

}  // namespace

size_t fold_into_weights(Model& model) {
  return undone_unless(model, [&] {
    Store& store = model.store();
    size_t count = 0;
    for (const Id graph : store.containers())  // functions have no initializers
      if (store.container(graph).kind == Container::Kind::kGraph)
        count += Convolutions(store, graph).run();
    if (count > 0) remove_unused(model);
    return count;
  });
}

}  // namespace tenon::edit
