#include <algorithm>
#include <unordered_set>

#include "ops/cast.h"
#include "ops/concatenation.h"
#include "ops/elementwise.h"
#include "ops/identity.h"
#include "ops/scale.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

using Operation = nvinfer1::ElementWiseOperation;

bool is_all(const Value* value, double number) {
  const Tensor* constant = float_constant(value);
  if (constant == nullptr) return false;
  const std::vector<double> numbers = constant->numbers();
  return std::all_of(numbers.begin(), numbers.end(), [&](double x) { return x == number; });
}

bool is_identity(const std::vector<int32_t>& permutation, size_t rank) {
  return permutation.empty()
         || (permutation.size() >= rank
             && std::is_sorted(permutation.begin(),
                               permutation.begin() + static_cast<int64_t>(rank)));
}

bool is_unit_scale(const Node& node) {
  const auto input = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i] : nullptr; };
  return (input(1) == nullptr || is_all(input(1), 0))
         && (input(2) == nullptr || is_all(input(2), 1))
         && (input(3) == nullptr || is_all(input(3), 1));
}

// The input that x + 0, x * 1 and the like return.
Value* neutral_operand(const Node& node, Operation operation) {
  Value *a = node.inputs[0], *b = node.inputs[1];
  switch (operation) {
    case Operation::kSUM:
      return is_all(b, 0) ? a : is_all(a, 0) ? b : nullptr;
    case Operation::kPROD:
      return is_all(b, 1) ? a : is_all(a, 1) ? b : nullptr;
    case Operation::kSUB:
      return is_all(b, 0) ? a : nullptr;
    case Operation::kDIV:
    case Operation::kPOW:
      return is_all(b, 1) ? a : nullptr;
    default:
      return nullptr;
  }
}

// A slice that gives its whole input has steps of one and, extents being equal, starts at zero.
bool takes_all(const Node& node, const Slice& slice) {
  const auto is_filled = [&](size_t input, const Shape& attribute, int64_t number) {
    const bool given = input < node.inputs.size() && node.inputs[input] != nullptr;
    const auto list = given ? host_integers(node.inputs[input])
                            : std::vector<int64_t>(attribute.begin(), attribute.end());
    return list && std::all_of(list->begin(), list->end(), [&](int64_t x) { return x == number; });
  };
  return is_filled(1, slice.start, 0) && is_filled(3, slice.stride, 1);
}

// The tensor that the layer's output equals, if it is one of its inputs.
Value* source_of(const Node& node) {
  Value* in = node.inputs.empty() ? nullptr : node.inputs[0];
  if (in == nullptr) return nullptr;
  if (const auto* op = node.as<ElementWise>()) in = neutral_operand(node, op->operation);
  if (in == nullptr || in->type != node.outputs[0]->type || in->dims != node.outputs[0]->dims)
    return nullptr;
  if (node.as<Identity>() || node.as<Cast>() || node.as<ElementWise>()) return in;
  if (const auto* op = node.as<Shuffle>())
    return is_identity(op->first_transpose, in->dims.size())
                   && is_identity(op->second_transpose, in->dims.size())
               ? in
               : nullptr;
  if (const auto* op = node.as<Slice>()) return takes_all(node, *op) ? in : nullptr;
  if (node.as<Scale>()) return is_unit_scale(node) ? in : nullptr;
  if (node.as<Concatenation>()) return node.inputs.size() == 1 ? in : nullptr;
  return nullptr;
}

}  // namespace

std::optional<Patch> identities(const Network& network, const Target&) {
  Patch patch;
  std::vector<std::pair<Node*, Value*>> outputs;  // network outputs, and what they equal
  for (const auto& node : network.nodes()) {
    if (!is_plain(*node) || node->outputs.size() != 1 || !node->outputs[0]->known) continue;
    Value* source = source_of(*node);
    Value& out = *node->outputs[0];
    if (source == nullptr || !can_replace(out, *source)) continue;
    if (out.is_output) {
      outputs.push_back({node.get(), source});
      continue;
    }
    patch.replace(out, *source);
    patch.remove(*node);
  }
  if (!patch.empty()) return patch;
  // Only now is it clear what is behind each output. A tensor can be one of them.
  std::unordered_set<const Value*> given;
  for (const auto& [node, source] : outputs) {
    if (!given.insert(source).second) continue;
    patch.replace(*node->outputs[0], *source);
    patch.remove(*node);
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
