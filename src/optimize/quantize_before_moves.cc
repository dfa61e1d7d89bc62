#include "optimize/quantize_before_moves.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ops/concatenation.h"
#include "ops/dequantize.h"
#include "ops/pooling.h"
#include "ops/resize.h"
#include "ops/shape_of.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "ops/support/data_movement.h"
#include "optimize/quantization.h"

namespace tenon {
namespace {

/// What two layers must agree in to give the same bytes of a tensor.
using Form = std::tuple<DataType, double, double, int64_t, int64_t>;

std::optional<Form> form_of(const Node& node) {
  const auto* op = node.as<Quantize>();
  if (op == nullptr || !is_plain(node) || !is_byte(op->to)) return std::nullopt;
  const auto uniform = uniform_of(node);
  if (!uniform) return std::nullopt;
  return Form{op->to, uniform->scale, uniform->zero_number, op->lowest, op->highest};
}

class Movement {
 public:
  Movement(Network& network, const Target& target) : network_(network), target_(target) {
    for (const auto& node : network.nodes())
      if (const auto form = form_of(*node))
        bytes_.try_emplace({node->inputs[0], *form}, node->outputs[0]);
  }

  // Whether something moved; the next call goes on from there.
  bool run() {
    const Uses uses(network_);
    std::vector<std::pair<Node*, Node*>> pairs;  // a Quantize and the layer before it
    for (const auto& node : network_.nodes())
      if (form_of(*node))
        if (Node* move = move_before(uses, *node); move != nullptr)
          pairs.emplace_back(node.get(), move);
    std::unordered_map<Value*, Value*> replacements;
    std::unordered_set<const Node*> removed;
    for (const auto& [quantize, move] : pairs) {
      Node& moved =
          network_.add_node(move->op->clone(), bytes_of_inputs(*quantize, *move), move->name);
      network_.infer(moved);
      take_place(*quantize, moved, replacements);
      removed.insert({quantize, move});
    }
    network_.replace_uses(replacements);
    network_.remove_nodes(removed);
    return !pairs.empty();
  }

 private:
  // The layer whose result the Quantize alone reads, if bytes can be moved as well.
  Node* move_before(const Uses& uses, const Node& quantize) const {
    const Value& result = *quantize.inputs[0];
    Node* move = result.producer;
    if (move == nullptr || !is_plain(*move) || move->outputs.size() != 1 || result.is_debug
        || uses.only(result) != &quantize || !is_float(result.type))
      return nullptr;
    const bool moves = moved_inputs(*move) > 0
                       && (move->as<Concatenation>() != nullptr
                           || (move->as<Pooling>() != nullptr && target_.fuses(*move->op, {}))
                           || (move->as<Resize>() != nullptr && enlarges(*move))
                           || (move->as<Shuffle>() != nullptr
                               && dequantized_from(*move->inputs[0], *form_of(quantize)) != nullptr)
                           || (move->as<Slice>() != nullptr
                               && only_becomes(uses, *move->inputs[0], *form_of(quantize))));
    return moves ? move : nullptr;
  }

  // Fewer elements are quantized before it.
  static bool enlarges(const Node& move) {
    const auto before = constant_shape(move.inputs[0]->dims);
    const auto after = constant_shape(move.outputs[0]->dims);
    return before && after && before->volume() <= after->volume();
  }

  // Whether all that is read of it are slices that become these bytes, and its extents.
  static bool only_becomes(const Uses& uses, const Value& x, const Form& form) {
    return !x.is_output && std::ranges::all_of(uses.of(x), [&](const Node* user) {
      if (user->as<ShapeOf>() != nullptr) return true;
      if (user->as<Slice>() == nullptr || user->inputs[0] != &x) return false;
      const Node* quantize = uses.only(*user->outputs[0]);
      return quantize != nullptr && form_of(*quantize) == form;
    });
  }

  std::vector<Value*> bytes_of_inputs(const Node& quantize, const Node& move) {
    std::vector<Value*> inputs = move.inputs;
    for (size_t i = 0; i < moved_inputs(move); ++i) inputs[i] = &bytes_of(*inputs[i], quantize);
    return inputs;
  }

  Value& bytes_of(Value& x, const Node& quantize) {
    const Form form = *form_of(quantize);
    if (Value* before = dequantized_from(x, form); before != nullptr) return *before;
    const auto [it, is_new] = bytes_.try_emplace({&x, form}, nullptr);
    if (is_new) {
      std::vector<Value*> inputs = quantize.inputs;
      inputs[0] = &x;
      Node& node = network_.add_node(quantize.op->clone(), std::move(inputs),
                                     fmt::format("{} of {}", quantize.name, x.name));
      network_.infer(node);
      it->second = node.outputs[0];
    }
    return *it->second;
  }

  // The bytes that x was, where quantizing it gives them again.
  static Value* dequantized_from(const Value& x, const Form& form) {
    const Node* node = x.producer;
    if (node == nullptr || node->as<Dequantize>() == nullptr || !is_plain(*node)) return nullptr;
    const auto uniform = uniform_of(*node);
    const auto [type, scale, zero, lowest, highest] = form;
    const bool is_same = uniform && node->inputs[0]->type == type && uniform->scale == scale
                         && uniform->zero_number == zero && lowest == highest;
    return is_same ? node->inputs[0] : nullptr;
  }

  static void take_place(const Node& quantize, Node& moved,
                         std::unordered_map<Value*, Value*>& replacements) {
    moved.outputs[0]->name = quantize.outputs[0]->name;
    replacements[quantize.outputs[0]] = moved.outputs[0];
  }

  Network& network_;
  const Target& target_;
  std::map<std::pair<const Value*, Form>, Value*> bytes_;
};

}  // namespace

void quantize_before_moves(Network& network, const Target& target) {
  if (!target.fuses(QuantizedConvolution(), {}))
    return;  // what reads the bytes makes floats of them
  while (Movement(network, target).run()) {}
}

}  // namespace tenon
