// The largest of dequantised numbers is the largest of the integers, dequantised: where it is
// quantised again by the same scale, nothing need become a float.
#include "ops/dequantize.h"
#include "ops/pooling.h"
#include "optimize/passes.h"
#include "optimize/quantization.h"

namespace tenon {

std::optional<Patch> pooling_of_bytes(const Network& network, const Target& target) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    const auto* op = node->as<Pooling>();
    if (op == nullptr || op->type != nvinfer1::PoolingType::kMAX || !is_plain(*node)
        || op->indices != PoolingIndices::kNone || !target.fuses(*op, {}))
      continue;
    const Node* before = node->inputs[0]->producer;
    if (before == nullptr || before->as<Dequantize>() == nullptr || !is_plain(*before)) continue;
    const auto scale = uniform_of(*before);
    const Ending ending = ending_of(uses, *node);
    if (!scale || !ending.result || ending.merged.size() != 2
        || ending.to != before->inputs[0]->type || !scale->equals(*ending.result))
      continue;
    patch.fuse(std::make_unique<Pooling>(*op), {before->inputs[0]}, ending.merged);
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
