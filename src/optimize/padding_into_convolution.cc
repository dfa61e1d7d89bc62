#include <algorithm>

#include "ops/convolution.h"
#include "ops/pooling.h"
#include "ops/slice.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

using nvinfer1::PaddingMode;

constexpr size_t kStart = 1, kStride = 3, kFill = 4, kAxes = 5;  // inputs of a slice
constexpr int kFirstSpatial = 2;

// What is put before and after each spatial axis.
struct Padding {
  std::vector<int64_t> before, after;
};

const Value* input(const Node& node, size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : nullptr;
}

std::optional<std::vector<int64_t>> parameter(const Node& node, size_t i, const Shape& attribute) {
  if (input(node, i) != nullptr) return host_integers(input(node, i));
  return std::vector<int64_t>(attribute.begin(), attribute.end());
}

// The padding that a slice adds; nothing when it does anything else.
std::optional<Padding> padding_of(const Node& node, const Slice& op) {
  if (!is_plain(node) || is_on_host(node) || op.mode != nvinfer1::SampleMode::kFILL)
    return std::nullopt;
  if (input(node, kFill) != nullptr && scalar(input(node, kFill)) != 0.0) return std::nullopt;
  const auto start = parameter(node, kStart, op.start);
  const auto stride = parameter(node, kStride, op.stride);
  auto axes = parameter(node, kAxes, op.axes);
  if (!start || !stride || !axes) return std::nullopt;
  if (std::any_of(stride->begin(), stride->end(), [](int64_t s) { return s != 1; }))
    return std::nullopt;
  const Dims &from = node.inputs[0]->dims, &to = node.outputs[0]->dims;
  const int rank = static_cast<int>(from.size());
  if (axes->empty())
    for (int axis = 0; axis < rank; ++axis) axes->push_back(axis);
  std::vector<int64_t> before(from.size()), after(from.size());
  for (size_t i = 0; i < axes->size(); ++i)
    before[static_cast<size_t>(normalized_axis((*axes)[i], rank))] = -(*start)[i];
  for (size_t axis = 0; axis < from.size(); ++axis) {
    const auto grown = difference(to[axis], from[axis]);
    if (!grown) return std::nullopt;
    after[axis] = *grown - before[axis];
    if (before[axis] < 0 || after[axis] < 0) return std::nullopt;
    if (axis < kFirstSpatial && *grown != 0) return std::nullopt;
  }
  return Padding{{before.begin() + kFirstSpatial, before.end()},
                 {after.begin() + kFirstSpatial, after.end()}};
}

template <class T> void widen(T& op, const Padding& padding) {
  for (int axis = 0; axis < op.pre_padding.rank(); ++axis) {
    op.pre_padding[axis] += padding.before[static_cast<size_t>(axis)];
    op.post_padding[axis] += padding.after[static_cast<size_t>(axis)];
  }
}

// The layer with the padding; null when it does not pad with zeros at explicit sizes.
std::unique_ptr<Op> padded(const Node& node, const Padding& padding) {
  auto copy = node.op->clone();
  const auto fits = [&](const auto& op) {
    const auto rank = static_cast<int>(padding.before.size());
    return op.padding_mode == PaddingMode::kEXPLICIT_ROUND_DOWN && op.pre_padding.rank() == rank
           && op.post_padding.rank() == rank;
  };
  if (auto* op = dynamic_cast<Convolution*>(copy.get()); op != nullptr && fits(*op)) {
    widen(*op, padding);
    return copy;
  }
  if (auto* op = dynamic_cast<Pooling*>(copy.get()); op != nullptr && fits(*op)
                                                     && op->type == nvinfer1::PoolingType::kAVERAGE
                                                     && !op->average_excludes_padding) {
    widen(*op, padding);
    for (int i = 0; i < op->window.rank(); ++i)  // a window must not lie in the padding alone
      if (std::max(op->pre_padding[i], op->post_padding[i]) >= op->window[i]) return nullptr;
    return copy;
  }
  return nullptr;
}

}  // namespace

std::optional<Patch> padding_into_convolution(const Network& network, const Target&) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    const auto* slice = node->as<Slice>();
    Node* user = slice != nullptr ? uses.only(*node->outputs[0]) : nullptr;
    if (user == nullptr || user->inputs[0] != node->outputs[0] || !is_plain(*user)) continue;
    if (node->outputs[0]->dims.size() <= kFirstSpatial) continue;
    const auto padding = padding_of(*node, *slice);
    if (!padding) continue;
    auto op = padded(*user, *padding);
    if (op == nullptr) continue;
    std::vector<Value*> inputs = user->inputs;
    inputs[0] = node->inputs[0];
    patch.fuse(std::move(op), std::move(inputs), {node.get(), user});
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
