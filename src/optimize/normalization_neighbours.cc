// Sums before a normalisation, and a Quantize behind it, become part of it: rows are read and
// written once.
#include <algorithm>

#include "ops/elementwise.h"
#include "ops/normalization.h"
#include "optimize/passes.h"
#include "optimize/quantization.h"

namespace tenon {
namespace {

// A sum that only the normalisation reads.
bool take_sum(Patch& patch, const Target& target, const Uses& uses, Node& node) {
  const auto& op = *node.as<Normalization>();
  Node* sum = node.inputs[0]->producer;
  const auto* added = sum != nullptr ? sum->as<ElementWise>() : nullptr;
  if (op.adds || op.gives_statistics || added == nullptr
      || added->operation != nvinfer1::ElementWiseOperation::kSUM || !is_plain(*sum)
      || patch.removes(*sum) || uses.only(*sum->outputs[0]) != &node)
    return false;
  const Value* both = sum->outputs[0];
  if (std::count(node.inputs.begin(), node.inputs.end(), both) != 1) return false;
  Value *a = sum->inputs[0], *b = sum->inputs[1];
  if (a->dims != b->dims || a->type != b->type || a->constant || b->constant) return false;
  auto made = std::make_unique<Normalization>(op);
  made->adds = true;
  if (!target.fuses(*made, {})) return false;
  std::vector<Value*> inputs = node.inputs;
  inputs[0] = a;
  inputs.resize(Normalization::kAddend);
  inputs.push_back(b);
  patch.fuse(std::move(made), std::move(inputs), {sum, &node}, node.outputs);
  return true;
}

// A Quantize to bytes of what others may read, too.
bool take_quantize(Patch& patch, const Target& target, const Uses& uses, Node& node) {
  const auto& op = *node.as<Normalization>();
  if (op.copy.used || op.gives_statistics) return false;
  for (Node* user : uses.of(*node.outputs[0])) {
    const auto copy = quantized_bytes(*user);
    if (!copy || patch.removes(*user) || user->inputs[0] != node.outputs[0]
        || user->outputs[0]->is_output)
      continue;
    auto made = std::make_unique<Normalization>(op);
    made->copy = *copy;
    if (!target.fuses(*made, {})) continue;
    patch.fuse(std::move(made), node.inputs, {&node, user}, {node.outputs[0], user->outputs[0]});
    return true;
  }
  return false;
}

}  // namespace

std::optional<Patch> normalization_neighbours(const Network& network, const Target& target) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    if (node->as<Normalization>() == nullptr || !is_plain(*node) || patch.removes(*node)) continue;
    if (!take_sum(patch, target, uses, *node)) take_quantize(patch, target, uses, *node);
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
