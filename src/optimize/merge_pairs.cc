// Two shuffles in a row, and two casts, become one.
#include "ops/cast.h"
#include "ops/shuffle.h"
#include "optimize/match.h"
#include "optimize/passes.h"
#include "optimize/permutation.h"

namespace tenon {
namespace {

// The extents between the reshape and the second transpose as attributes: at most one is unknown
// when the network is built, and becomes -1.
std::optional<Shape> reshape_of(const Node& node, const ShuffleOrder& view) {
  Shape shape = Shape::filled(static_cast<int>(view.second.size()), 0);
  int unknown = 0;
  for (size_t i = 0; i < view.second.size(); ++i) {
    const Dim d = node.outputs[0]->dims[i];
    if (d->is_integer_constant() && d->value.integer == 0) return std::nullopt;
    if (!d->is_integer_constant() && ++unknown > 1) return std::nullopt;
    shape[view.second[i]] = d->is_integer_constant() ? d->value.integer : -1;
  }
  return shape;
}

bool merge_shuffles(Patch& patch, Node& a, Node& b) {
  const ShuffleOrder one(a), two(b);
  auto op = std::make_unique<Shuffle>();
  std::vector<Value*> inputs{a.inputs[0]};
  const auto copy_reshape = [&](const Node& from) {
    const Shuffle& shuffle = *from.as<Shuffle>();
    op->has_reshape = shuffle.has_reshape;
    op->reshape = shuffle.reshape;
    op->zero_is_placeholder = shuffle.zero_is_placeholder;
    if (from.inputs.size() > 1) inputs.push_back(from.inputs[1]);
  };
  if (!one.reshapes) {
    op->first_transpose = then(one.first, two.first);
    op->second_transpose = two.second;
    if (two.reshapes) copy_reshape(b);
  } else if (!two.reshapes) {
    op->first_transpose = one.first;
    op->second_transpose = then(one.second, two.first);
    copy_reshape(a);
  } else {
    if (!is_identity(then(one.second, two.first))) return false;
    const auto shape = reshape_of(b, two);
    if (!shape) return false;
    op->first_transpose = one.first;
    op->second_transpose = two.second;
    op->has_reshape = true;
    op->reshape = *shape;
  }
  patch.fuse(std::move(op), std::move(inputs), {&a, &b});
  return true;
}

// Whether every value of type `from` survives in type `to`.
bool is_lossless(DataType from, DataType to) {
  if (from == to) return true;
  switch (from) {
    case DataType::kHALF:
    case DataType::kBF16:
      return to == DataType::kFLOAT;
    case DataType::kINT32:
      return to == DataType::kINT64;
    case DataType::kINT8:
    case DataType::kUINT8:
      return (is_integer(to) && bits_of(to) >= 32) || to == DataType::kFLOAT;
    case DataType::kBOOL:
      return is_integer(to) || to == DataType::kFLOAT;
    default:
      return false;
  }
}

bool merge_casts(Patch& patch, Node& a, Node& b) {
  if (!is_lossless(a.inputs[0]->type, a.outputs[0]->type)) return false;
  patch.fuse(b.op->clone(), {a.inputs[0]}, {&a, &b});
  return true;
}

}  // namespace

std::optional<Patch> merge_pairs(const Network& network, const Target&) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    Node& a = *node;
    const bool shuffle = a.as<Shuffle>() != nullptr;
    if (!shuffle && a.as<Cast>() == nullptr) continue;
    Node* b = uses.only(*a.outputs[0]);
    if (b == nullptr || b->kind() != a.kind() || b->inputs[0] != a.outputs[0]) continue;
    if (b->inputs.size() > 1 && b->inputs[1] == a.outputs[0]) continue;
    if (patch.removes(a) || patch.removes(*b) || !is_plain(a) || !is_plain(*b)) continue;
    if (is_on_host(a) || is_on_host(*b)) continue;
    shuffle ? merge_shuffles(patch, a, *b) : merge_casts(patch, a, *b);
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
