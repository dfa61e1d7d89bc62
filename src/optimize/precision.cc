#include "optimize/precision.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/half.h"
#include "ops/attention.h"
#include "ops/cast.h"
#include "ops/convolution.h"
#include "ops/dequantize.h"
#include "ops/matrix_multiply.h"
#include "ops/quantize.h"
#include "optimize/float32_layers.h"
#include "optimize/match.h"
#include "plugin_layers/plugin.h"
#include "plugin_layers/plugin_run.h"

namespace tenon {
namespace {

bool is_reduced(DataType type) {
  return type == DataType::kHALF || type == DataType::kBF16;
}

template <class T> bool store(const Tensor& from, Tensor& to) {
  const auto* in = from.data<float>();
  auto* out = to.mutable_data<T>();
  bool fits = true;
  for (int64_t i = 0; i < from.count(); ++i) {
    out[i] = static_cast<T>(in[i]);
    fits &= std::isfinite(static_cast<float>(out[i])) || !std::isfinite(in[i]);
  }
  return fits;
}

// Nothing when a number is beyond the type's range.
std::optional<Tensor> rounded_to(const Tensor& tensor, DataType type) {
  Tensor out(type, tensor.shape());
  const bool fits =
      type == DataType::kHALF ? store<Half>(tensor, out) : store<BFloat16>(tensor, out);
  if (!fits) return std::nullopt;
  return out;
}

// What a layer is to compute in and to give.
struct Decision {
  DataType type = DataType::kFLOAT;
  std::optional<DataType> wish;  // the caller's
  /// Float32, which is rounded to the 16-bit type where it is multiplied.
  bool rounds_factors = false;
  std::vector<std::optional<DataType>> output_types;
};

class Rewriter {
 public:
  Rewriter(Network& network, const Precision& precision, const Log& log)
      : network_(network), precision_(precision), log_(log), order_(network.sorted()) {
    for (const auto& v : network.values())
      if (v->known && v->type == DataType::kFLOAT) was_float_.insert(v.get());
  }

  void run() {
    decide();
    for (Node* node : order_) {
      const Decision& decision = decisions_.at(node);
      give(*node, decision);
      if (decision.rounds_factors) {
        node->precision = precision_.reduced;
        ++reduced_layers_;
      }
      follow_output_types(*node, decision.output_types);
    }
    restore_outputs();
    network_.move_nodes(places_);
    network_.remove_unused_weights();
    log_.verbose("precision: {} of {} layers compute in 16 bits", reduced_layers_, order_.size());
  }

 private:
  // All layers are looked at before the first is changed.
  void decide() {
    for (Node* node : order_) {
      Decision& decided = decisions_[node];
      decided.wish = std::exchange(node->precision, std::nullopt);
      decided.output_types = node->output_types;
      std::fill(node->output_types.begin(), node->output_types.end(), std::nullopt);
    }
    const Float32Layers needs(precision_.reduced.value_or(DataType::kHALF), order_);
    for (const Node* node : order_) {
      Decision& decided = decisions_[node];
      decided.type = type_for(*node, decided.wish, needs.reason(*node));
      if (!is_reduced(decided.type) || !precision_.only_products || follows(decided.wish)) continue;
      decided.rounds_factors = is_product(*node);
      decided.type = DataType::kFLOAT;
    }
  }

  // Whether the layer has its type since the caller set it.
  bool follows(std::optional<DataType> wish) const {
    return wish && precision_.constraints != Precision::Constraints::kHint;
  }

  static bool is_product(const Node& node) {
    return node.as<Convolution>() || node.as<MatrixMultiply>() || node.as<Attention>();
  }

  DataType type_for(const Node& node, std::optional<DataType> wish,
                    const std::string& reason) const {
    if (!computes_floats(node) || (wish && !is_reduced(*wish))) return DataType::kFLOAT;
    if (wish && precision_.constraints == Precision::Constraints::kObey) return *wish;
    const bool prefers = wish && precision_.constraints == Precision::Constraints::kPrefer;
    if (!prefers && (!precision_.reduced || !can_follow(node) || quantizes_input(node)))
      return DataType::kFLOAT;
    const DataType type = prefers ? *wish : *precision_.reduced;
    if (reason.empty()) return type;
    report(node, prefers, type, reason);
    return DataType::kFLOAT;
  }

  // Whether there is anything to choose. Elements that the host knows are no layer's work.
  bool computes_floats(const Node& node) const {
    const auto is_float32 = [&](const Value* v) { return v != nullptr && was_float_.contains(v); };
    return !is_on_host(node) && node.op->traits().reduced_precision != ReducedPrecision::kOwnTypes
           && (std::any_of(node.inputs.begin(), node.inputs.end(), is_float32)
               || std::any_of(node.outputs.begin(), node.outputs.end(), is_float32));
  }

  // Whether a type that was set for an output is followed.
  bool may_choose(DataType type) const {
    return precision_.constraints != Precision::Constraints::kHint || type == precision_.reduced;
  }

  static bool can_follow(const Node& node) {
    const ReducedPrecision can = node.op->traits().reduced_precision;
    return can != ReducedPrecision::kNone && can != ReducedPrecision::kOwnTypes;
  }

  // An input of the network would be rounded twice, by a layer more.
  static bool quantizes_input(const Node& node) {
    const Value* v = node.inputs.empty() ? nullptr : node.inputs[0];
    return node.as<Quantize>() != nullptr && v != nullptr && v->producer == nullptr
           && !v->is_weight();
  }

  void give(Node& node, const Decision& decision) {
    const bool reduced = is_reduced(decision.type);
    std::string refusal;
    if (reduced && !can_follow(node))
      refusal = "layers of this kind compute in float32";
    else if (reduced)
      refusal = reduced_layer(node, decision.type);
    if (reduced && refusal.empty()) {
      ++reduced_layers_;
      return;
    }
    if (reduced) report(node, decision.wish == decision.type, decision.type, refusal);
    widen(node, reduced);
  }

  // Why not, "" when it is done.
  std::string reduced_layer(Node& node, DataType type) {
    const ReducedPrecision can = node.op->traits().reduced_precision;
    const std::vector<Value*> before = node.inputs;
    auto* dequantize = node.as<Dequantize>();
    bool changes = dequantize != nullptr;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Value* v = before[i];
      if (v == nullptr || !was_float_.contains(v)) continue;
      const bool follows =
          can == ReducedPrecision::kAllInputs || (can == ReducedPrecision::kFirstInput && i == 0);
      Value* in = in_type(*v, follows ? type : DataType::kFLOAT, &node);
      if (in == nullptr) {
        node.inputs = before;
        return fmt::format("numbers of tensor '{}' are beyond the range of {}", v->name,
                           name_of(type));
      }
      node.inputs[i] = in;
      changes |= follows;
    }
    if (!changes) return "";  // it has no floats
    if (dequantize != nullptr) dequantize->to = type;
    try {
      network_.infer(node);
      if (const auto* plugin = dynamic_cast<const PluginLayer*>(node.op.get()))
        require(takes_types(*plugin, node), "the plugin does not take tensors of type {}",
                name_of(type));
      return "";
    } catch (const Error& e) {
      if (dequantize != nullptr) dequantize->to = DataType::kFLOAT;
      node.inputs = before;
      return e.what();
    }
  }

  static bool takes_types(const PluginLayer& plugin, const Node& node) {
    const auto tensors = [](const std::vector<Value*>& values) {
      std::vector<PluginTensor> list;
      for (const Value* v : values) {
        Shape shape = Shape::filled(static_cast<int>(v->dims.size()), -1);
        for (int axis = 0; axis < shape.rank(); ++axis)
          if (const Dim d = v->dims[static_cast<size_t>(axis)]; d->is_integer_constant())
            shape[axis] = d->value.integer;
        list.push_back({{shape.dims(), v->type, nvinfer1::TensorFormat::kLINEAR, 1},
                        shape.dims(),
                        shape.dims(),
                        shape.dims()});
      }
      return list;
    };
    return plugin_takes(plugin, tensors(node.inputs), tensors(node.outputs));
  }

  void widen(Node& node, bool is_tried) {
    if (is_on_host(node)) return;  // as the shape of a tensor, whose type does not matter
    const std::vector<Value*> before = node.inputs;
    for (Value*& in : node.inputs)
      if (in != nullptr && was_float_.contains(in)) in = in_type(*in, DataType::kFLOAT, &node);
    if (is_tried || node.inputs != before) network_.infer(node);
  }

  void report(const Node& node, bool is_wish, DataType type, const std::string& reason) const {
    if (is_wish && precision_.constraints == Precision::Constraints::kObey)
      fail(ErrorCode::kUNSUPPORTED_STATE,
           "layer {} must compute in {} (kOBEY_PRECISION_CONSTRAINTS), and cannot: {}",
           describe(node), name_of(type), reason);
    if (is_wish && precision_.constraints == Precision::Constraints::kPrefer)
      log_.warning("layer {} was to compute in {} and stays in float32: {}", describe(node),
                   name_of(type), reason);
    else
      log_.verbose("layer {} stays in float32: {}", describe(node), reason);
  }

  // The tensor in another float type: a weight of its own, or a cast, made on first need right
  // before `user`, or as the last layer. Null when the numbers of a weight do not fit.
  Value* in_type(Value& original, DataType type, const Node* user) {
    const auto stand_in = stand_ins_.find(&original);
    Value& v = stand_in == stand_ins_.end() ? original : *stand_in->second;
    if (v.type == type) return &v;
    const auto [made, is_new] = conversions_.try_emplace({&v, type}, nullptr);
    if (!is_new) return made->second;
    if (v.is_weight()) {
      if (auto tensor = rounded_to(*v.constant, type))
        made->second = &network_.add_weight(std::move(*tensor), v.name);
      return made->second;
    }
    made->second = &cast(v, type);
    if (user != nullptr) places_[made->second->producer] = user;
    return made->second;
  }

  Value& cast(Value& v, DataType type) {
    auto op = std::make_unique<Cast>();
    op->to = type;
    Node& node =
        network_.add_node(std::move(op), {&v}, fmt::format("{} to {}", v.name, name_of(type)));
    network_.infer(node);
    return *node.outputs[0];
  }

  void follow_output_types(const Node& node,
                           const std::vector<std::optional<DataType>>& output_types) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      Value& out = *node.outputs[i];
      const auto wanted = output_types[i];
      if (!wanted || *wanted == out.type || !was_float_.contains(&out) || out.content) continue;
      if (*wanted == DataType::kFLOAT || (is_reduced(*wanted) && may_choose(*wanted)))
        stand_ins_[&out] = &cast(out, *wanted);
    }
  }

  // Outputs keep their names, types and order.
  void restore_outputs() {
    std::vector<Value*> outputs = network_.outputs();
    bool changes = false;
    for (Value*& v : outputs) {
      if (!was_float_.contains(v) || v->producer == nullptr) continue;
      const DataType type = v->requested_type.value_or(DataType::kFLOAT);
      Value* bound = in_type(*v, is_reduced(type) ? type : DataType::kFLOAT, nullptr);
      if (bound == v) continue;
      bound->allowed_formats = v->allowed_formats;
      bound->requested_type = v->requested_type;
      bound->name = std::exchange(v->name, fmt::format("{} in {}", v->name, name_of(v->type)));
      v = bound;
      changes = true;
    }
    if (!changes) return;
    for (Value* v : std::vector<Value*>(network_.outputs())) network_.unmark_output(*v);
    for (Value* v : outputs) network_.mark_output(*v);
  }

  Network& network_;
  const Precision& precision_;
  const Log& log_;
  std::vector<Node*> order_;
  std::unordered_set<const Value*> was_float_;
  std::unordered_map<const Node*, Decision> decisions_;
  std::map<std::pair<const Value*, DataType>, Value*> conversions_;
  std::unordered_map<const Node*, const Node*> places_;  // of casts: before which layer
  std::unordered_map<const Value*, Value*> stand_ins_;   // with the type that was set for an output
  size_t reduced_layers_ = 0;
};

}  // namespace

void apply_precision(Network& network, const Precision& precision, const Log& log) {
  if (!precision.changes_nothing()) Rewriter(network, precision, log).run();
}

}  // namespace tenon
