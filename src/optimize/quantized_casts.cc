// Quantized layers whose float32 result goes on in 16 bits give it in 16 bits.
#include "ops/cast.h"
#include "ops/quantized_convolution.h"
#include "ops/quantized_matrix_multiply.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

template <class Kind>
bool give_16bit(Patch& patch, const Target& target, const Uses& uses, Node& node) {
  const Kind* op = node.as<Kind>();
  if (op == nullptr || op->to != DataType::kFLOAT || !is_plain(node)) return false;
  Node* next = uses.only(*node.outputs[0]);
  const Cast* cast = next != nullptr ? next->as<Cast>() : nullptr;
  if (cast == nullptr || !is_plain(*next) || !is_16bit_float(cast->to)) return false;
  auto made = std::make_unique<Kind>(*op);
  made->to = cast->to;
  if (!target.fuses(*made, {})) return false;
  patch.fuse(std::move(made), node.inputs, {&node, next});
  return true;
}

}  // namespace

std::optional<Patch> quantized_casts(const Network& network, const Target& target) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes())
    if (!give_16bit<QuantizedConvolution>(patch, target, uses, *node))
      give_16bit<QuantizedMatrixMultiply>(patch, target, uses, *node);
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
