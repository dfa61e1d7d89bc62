#include "edit/half_choice.h"

#include <tenon/printable.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <ranges>

#include "base/error.h"
#include "base/half.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

using OperatorNames = std::unordered_set<std::string_view>;

// Operators that stay in float32: they count, choose, or take scales, have graphs inside, square
// what they read, mean its bits, or are not defined for float16.
const OperatorNames kKept = {"Bernoulli",
                             "BitCast",
                             "BlackmanWindow",
                             "Celu",
                             "CumSum",
                             "DFT",
                             "DequantizeLinear",
                             "GridSample",
                             "HammingWindow",
                             "DynamicQuantizeLinear",
                             "HannWindow",
                             "If",
                             "IsInf",
                             "Loop",
                             "LpNormalization",
                             "MelWeightMatrix",
                             "Multinomial",
                             "NonMaxSuppression",
                             "QLinearConv",
                             "QLinearMatMul",
                             "QuantizeLinear",
                             "RandomNormal",
                             "RandomNormalLike",
                             "RandomUniform",
                             "RandomUniformLike",
                             "Range",
                             "ReduceL2",
                             "ReduceLogSum",
                             "ReduceLogSumExp",
                             "Resize",
                             "RoiAlign",
                             "STFT",
                             "Scan",
                             "TfIdfVectorizer",
                             "TopK",
                             "Upsample"};

// They choose among values: one that is larger than all others may as well be float16's largest.
const OperatorNames kBounding = {"Clip", "Max", "Min", "Where"};
// A number that is too small for float16 is nothing beside others.
const OperatorNames kAbsorbing = {
    "Add",  "Clip", "Concat",      "Equal", "Greater", "GreaterOrEqual",
    "Less", "Max",  "LessOrEqual", "Min",   "Sub",     "Where"};
const OperatorNames kComparing = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"};
// They give what they read: the same numbers, or sums and multiples of them.
const OperatorNames kCarrying = {
    "Abs",     "Add",   "Ceil",      "Clip",       "Concat",    "Dropout",   "Expand",
    "Flatten", "Floor", "Gather",    "Identity",   "Max",       "Mean",      "Min",
    "Mul",     "Neg",   "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Relu",
    "Reshape", "Round", "Slice",     "Split",      "Squeeze",   "Sub",       "Sum",
    "Tile",    "Where", "Sqrt",      "Transpose",  "Unsqueeze"};

// They give what they read elsewhere, or sums of it with constant weights.
const OperatorNames kMoving = {"Cast",    "Concat",    "Flatten",  "Gather", "Identity",
                               "Neg",     "Pad",       "Reshape",  "Slice",  "Split",
                               "Squeeze", "Transpose", "Unsqueeze"};
const OperatorNames kWeighing = {"Conv", "Gemm", "MatMul", "Mul"};

// A chain leads from sources over nodes that carry their values to a node that reads these at an
// input where they have to be exact.
struct ChainKind {
  std::string_view what;
  std::function<bool(Id)> is_source, carries;
  std::function<bool(Id, size_t)> is_end;
};

bool has_graphs(const NodeContent& node) {
  return std::ranges::any_of(node.attributes, [](const auto& a) { return !a.graphs.empty(); });
}

// Operators that have no form in float16.
bool stays_float(const NodeContent& node) {
  if (!is_standard_node(node) || kKept.contains(node.op_type) || has_graphs(node)) return true;
  if (node.op_type == "Constant") return node.find("sparse_value") != nullptr;
  // Its mean and deviation are float32 always.
  return node.op_type == "LayerNormalization"
         && std::ranges::any_of(node.outputs | std::views::drop(1),
                                [](std::string_view name) { return !name.empty(); });
}

class Choosing {
 public:
  Choosing(Store& store, const ValueTypes& types, const HalfOptions& options)
      : store_(store), types_(types), options_(options) {
    for (const Id function : store.functions())
      if (const auto domain = function_domain(store, function);
          domain.empty() || domain == "ai.onnx")
        functions_.insert(store.content(store.container(function).owner).name);
    for (const Id graph : graphs_outside_functions(store))
      for (const Id id : store.items(graph, Kind::kNode)) nodes_.push_back(id);
  }

  HalfChoice run() {
    check_names();
    for (const Id id : nodes_) choose(id);
    keep_chains({"squares, exponentials and small sums", [&](Id id) { return is_square(id); },
                 [&](Id id) { return kCarrying.contains(op(id)); },
                 [&](Id id, size_t i) { return is_sensitive(id, i); }});
    keep_chains({"spectra", [&](Id id) { return is_square(id) && op(id) != "Exp"; },
                 [&](Id id) { return kCarrying.contains(op(id)) || kWeighing.contains(op(id)); },
                 [&](Id id, size_t) { return op(id) == "Log"; }});
    keep_front_ends();
    const auto carries = [&](Id id) {
      return kCarrying.contains(op(id)) || op(id) == "Div" || op(id) == "Mod";
    };
    keep_chains({"integers", [&](Id id) { return is_integer(id); }, carries,
                 [&](Id id, size_t) { return tells_integers_apart(id); }});
    keep_chains({"masks", [&](Id id) { return large_.contains(id); }, carries,
                 [&](Id id, size_t) { return op(id) == "Softmax" || op(id) == "LogSoftmax"; }});
    if (unknown_ > 0)
      choice_.reasons.push_back(
          fmt::format("{}, and {} others: the types of what they read or give are not known",
                      description(store_, first_unknown_), unknown_ - 1));
    return std::move(choice_);
  }

 private:
  std::string_view op(Id id) const {
    const NodeContent& node = store_.node(id);
    return is_standard_node(node) ? node.op_type : std::string_view();
  }
  Id graph_of(Id id) const { return store_.item(id).container; }

  bool is_named(Id id) const {
    return options_.keep.contains(store_.content(id).name)
           || options_.keep.contains(store_.node(id).op_type);
  }

  void check_names() const {
    OperatorNames names;
    for (const Id id : nodes_) names.insert({store_.content(id).name, store_.node(id).op_type});
    for (const std::string& name : options_.keep)
      require(names.contains(name), ErrorClass::kNotInModel,
              "no node has the name or operator '{}' that is to stay float32", printable(name));
  }

  bool is_named_or_inside(Id id) const {
    for (; id != kNone; id = store_.container(graph_of(id)).owner) {
      if (store_.content(id).node == nullptr) return false;
      if (is_named(id)) return true;
    }
    return false;
  }

  void keep(Id id, const std::string& reason) {
    if (choice_.kept.insert(id).second)
      choice_.reasons.push_back(fmt::format("{}: {}", description(store_, id), reason));
  }

  void choose(Id id) {
    const NodeContent& node = store_.node(id);
    if (stays_float(node) || functions_.contains(node.op_type) || is_named_or_inside(id)) {
      choice_.kept.insert(id);
      return;
    }
    for (const auto* names : {&node.inputs, &node.outputs})
      for (const std::string_view name : *names)
        if (!name.empty() && types_.element_of(graph_of(id), name) == 0) {
          choice_.kept.insert(id);
          if (unknown_++ == 0) first_unknown_ = id;
          return;
        }
    for (const std::string_view input : node.inputs) {
      if (input.empty()) continue;
      const float largest = largest_of(id, input);
      if (largest > kLargestHalf && !kBounding.contains(node.op_type)) {
        large_.insert(id);
        keep(id,
             fmt::format("'{}' has values beyond {}", printable(std::string(input)), kLargestHalf));
      }
      if (largest == 0 || largest > 1
          || std::fabs(static_cast<float>(Half(largest)) - largest) <= 0.01F * largest)
        continue;
      small_.insert(id);
      if (!kAbsorbing.contains(node.op_type))
        keep(id, fmt::format("'{}' has no value above {}, which float16 cannot hold",
                             printable(std::string(input)), largest));
    }
  }

  // Of the finite elements of a constant; 0 for what is none.
  float largest_of(Id id, std::string_view name) {
    const Id producer = store_.producer(graph_of(id), name);
    if (store_.item(producer).kind == Kind::kNode && op(producer) != "Constant") return 0;
    const auto known = largest_.find(producer);
    if (known != largest_.end()) return known->second;
    float largest = 0;
    if (const auto tensor = constant_of(store_, graph_of(id), name);
        tensor && tensor->type() == DataType::kFLOAT)
      for (int64_t i = 0; i < tensor->count(); ++i) {
        const float value = std::fabs(tensor->data<float>()[i]);
        if (std::isfinite(value)) largest = std::max(largest, value);
      }
    return largest_[producer] = largest;
  }

  // None where the exponent is no constant.
  std::optional<float> exponent_of(Id id) {
    const NodeContent& node = store_.node(id);
    if (node.inputs.size() != 2) return std::nullopt;
    const auto tensor = constant_of(store_, graph_of(id), node.inputs[1]);
    if (!tensor || tensor->count() != 1) return std::nullopt;
    return static_cast<float>(tensor->numbers()[0]);
  }

  // What leaves float16's range, or vanishes in it, though what it is made of does not.
  bool is_square(Id id) {
    const NodeContent& node = store_.node(id);
    if (op(id) == "Mul") return node.inputs.size() == 2 && node.inputs[0] == node.inputs[1];
    if (op(id) == "Pow") return exponent_of(id).value_or(2) > 1;
    return op(id) == "Exp" || op(id) == "ReduceSumSquare" || op(id) == "ReduceL2"
           || small_.contains(id);
  }

  // Where numbers near zero make a difference, or where squares come back.
  bool is_sensitive(Id id, size_t input) {
    if (op(id) == "Div") return input == 1;
    if (op(id) == "Pow") return input == 0 && exponent_of(id).value_or(2) < 1;
    return op(id) == "Sqrt" || op(id) == "Log" || op(id) == "Reciprocal";
  }

  bool is_integer(Id id) const {
    if (op(id) == "Range" || op(id) == "CumSum") return true;
    if (op(id) != "Cast" || store_.node(id).inputs.size() != 1) return false;
    const int32_t from = types_.element_of(graph_of(id), store_.node(id).inputs[0]);
    return from >= 2 && from <= 13 && from != kBool && from != kFloat16 && from != 11
           && from != kText;
  }

  bool tells_integers_apart(Id id) const {
    if (op(id) == "Cast") {
      const int64_t to = integer_attribute(store_.node(id), "to", kFloat32);
      return to != kFloat32 && to != kFloat16 && to != kBool && to != kText && to != 11 && to < 16;
    }
    return op(id) == "Sin" || op(id) == "Cos" || kComparing.contains(op(id));
  }

  void keep_chains(const ChainKind& kind) {
    std::unordered_set<Id> carrying, wanted;
    const auto producer = [&](Id id, std::string_view name) {
      const Id found = name.empty() ? kNone : store_.producer(graph_of(id), name);
      return carrying.contains(found) ? found : kNone;
    };
    for (const Id id : nodes_) {
      const auto& inputs = store_.node(id).inputs;
      if (kind.is_source(id)
          || (!carrying.empty() && kind.carries(id)
              && std::ranges::any_of(
                  inputs, [&](std::string_view name) { return producer(id, name) != kNone; })))
        carrying.insert(id);
    }
    if (carrying.empty()) return;
    for (const Id id : nodes_ | std::views::reverse) {
      const auto& inputs = store_.node(id).inputs;
      bool is_end = false;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const Id from = producer(id, inputs[i]);
        if (from == kNone) continue;
        const bool ends = kind.is_end(id, i);
        is_end |= ends;
        if (ends || (wanted.contains(id) && kind.carries(id))) wanted.insert(from);
      }
      if (is_end) keep(id, fmt::format("{} lead to it", kind.what));
    }
    choice_.kept.insert(wanted.begin(), wanted.end());
  }

  // Spectra: what an input gives to a square by weights and moves alone stays as exact as the
  // square, since small amplitudes in it count as much as large ones. Two passes over the nodes, as
  // squares may lie behind squares.
  void keep_front_ends() {
    std::unordered_set<Id> from_inputs, path;  // of moves and weights; what leads to a square
    for (const Id id : nodes_) {
      const bool is_carrier = kMoving.contains(op(id)) || kWeighing.contains(op(id));
      const bool is_kept_square = choice_.kept.contains(id) && is_square(id) && op(id) != "Exp";
      if ((!is_carrier && !is_kept_square) || !reads_inputs_alone(id, from_inputs)) continue;
      if (is_carrier) from_inputs.insert(id);
      if (is_kept_square) path.insert(id);
    }
    for (const Id id : nodes_ | std::views::reverse) {
      if (!path.contains(id)) continue;
      for (const std::string_view input : store_.node(id).inputs)
        if (!input.empty() && types_.is_float(graph_of(id), input))
          if (const Id from = store_.producer(graph_of(id), input); from_inputs.contains(from))
            path.insert(from);
    }
    choice_.kept.insert(path.begin(), path.end());
  }

  // Whether the float32 values that a node reads are inputs of the model, or what `from_inputs`
  // give.
  bool reads_inputs_alone(Id id, const std::unordered_set<Id>& from_inputs) const {
    return std::ranges::all_of(store_.node(id).inputs, [&](std::string_view input) {
      if (input.empty() || !types_.is_float(graph_of(id), input)
          || is_constant(store_, graph_of(id), input))
        return true;
      const Id producer = store_.producer(graph_of(id), input);
      const bool is_input =
          store_.item(producer).kind == Kind::kInput && graph_of(producer) == store_.graph();
      return (is_input && options_.keep_io) || from_inputs.contains(producer);
    });
  }

  Store& store_;
  const ValueTypes& types_;
  const HalfOptions& options_;
  std::vector<Id> nodes_;
  OperatorNames functions_;               // of the model, that stand for operators of ONNX
  std::unordered_set<Id> large_, small_;  // nodes that read a constant of such values
  std::unordered_map<Id, float> largest_;
  Id first_unknown_ = kNone;
  size_t unknown_ = 0;
  HalfChoice choice_;
};

}  // namespace

HalfChoice choose_half(Store& store, const ValueTypes& types, const HalfOptions& options) {
  return Choosing(store, types, options).run();
}

}  // namespace tenon::edit
