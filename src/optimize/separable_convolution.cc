// A depthwise convolution whose only user is a 1x1 convolution: the two are one layer.
#include "ops/separable_convolution.h"

#include <algorithm>

#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

// Inputs of a convolution: data, kernel, bias, then the operands of its epilogue.
constexpr size_t kBias = 2, kFirstOperand = 3;

// A convolution over two spatial axes whose weights are known.
const Convolution* convolution_of(const Node& node) {
  const auto* op = node.as<Convolution>();
  const auto is_known = [&](size_t i) {
    return node.inputs.size() <= i || node.inputs[i] == nullptr || node.inputs[i]->constant;
  };
  const bool is_usable = op != nullptr && is_plain(node) && is_float_only(node)
                         && node.outputs[0]->type == DataType::kFLOAT && op->kernel.rank() == 2
                         && node.inputs[1] != nullptr && is_known(1) && is_known(kBias);
  return is_usable ? op : nullptr;
}

bool is_depthwise(const Node& node, const Convolution& op) {
  const Dim channels = node.inputs[0]->dims[1];
  return op.groups > 1 && op.output_channels == op.groups && channels->is_integer_constant()
         && channels->value.integer == op.groups && node.inputs.size() <= kFirstOperand;
}

Value* bias_of(const Node& node) {
  return node.inputs.size() > kBias ? node.inputs[kBias] : nullptr;
}

}  // namespace

std::optional<Patch> separable_convolution(const Network& network, const Target& target) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    const Convolution* first = convolution_of(*node);
    if (first == nullptr || !is_depthwise(*node, *first)) continue;
    const Value& between = *node->outputs[0];
    Node* user = uses.only(between);
    const Convolution* second = user == nullptr ? nullptr : convolution_of(*user);
    if (second == nullptr || std::count(user->inputs.begin(), user->inputs.end(), &between) != 1
        || user->inputs[0] != &between)
      continue;
    auto op = std::make_unique<SeparableConvolution>();
    op->depthwise = *first;
    op->pointwise = *second;
    if (!op->is_pointwise() || !target.fuses(*op, {})) continue;
    std::vector<Value*> inputs{node->inputs[0], node->inputs[1], bias_of(*node), user->inputs[1],
                               bias_of(*user)};
    if (user->inputs.size() > kFirstOperand)
      inputs.insert(inputs.end(), user->inputs.begin() + kFirstOperand, user->inputs.end());
    patch.fuse(std::move(op), std::move(inputs), {node.get(), user});
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
