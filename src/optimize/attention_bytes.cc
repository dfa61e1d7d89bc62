// A Quantize behind an attention becomes part of it, where nothing else reads the result.
#include "ops/attention.h"
#include "optimize/passes.h"
#include "optimize/quantization.h"

namespace tenon {

std::optional<Patch> attention_bytes(const Network& network, const Target& target) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    const auto* op = node->as<Attention>();
    if (op == nullptr || op->bytes.used || op->scores != AttentionScores::kNone || !is_plain(*node))
      continue;
    Node* quantize = uses.only(*node->outputs[0]);
    if (quantize == nullptr || quantize->inputs[0] != node->outputs[0]) continue;
    const auto bytes = quantized_bytes(*quantize);
    if (!bytes) continue;
    auto made = std::make_unique<Attention>(*op);
    made->bytes = *bytes;
    if (target.fuses(*made, {})) patch.fuse(std::move(made), node->inputs, {node.get(), quantize});
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
