#include "cpu/bfloat_weights.h"

#include <algorithm>

#include "base/error.h"
#include "cpu/blocks.h"

namespace tenon::cpu {

bool BfloatWeights::fit(int64_t output_channels, int64_t depth) const {
  return weights.count() == bfloat_elements(output_channels, depth)
         && bias.count() == units(output_channels, kBfloatTile) * kBfloatTile;
}

std::string refusal_of_bfloat(const KernelRequest& request) {
  if (!request.bf16) return "the layer does not compute in bfloat16";
  if (bfloat_kernels() == nullptr) return "the processor does not multiply bfloat16";
  return "";
}

void require_bfloat() {
  require(bfloat_kernels() != nullptr,
          "the plan multiplies in bfloat16, and the processor has no AVX512_BF16: build it on this "
          "machine, or without BuilderFlag::kBF16");
}

BfloatWeights bfloat_weights(const float* matrix, bool is_transposed, int64_t output_channels,
                             int64_t depth, const Tensor* bias) {
  BfloatWeights out;
  out.weights = Tensor(DataType::kBF16, {bfloat_elements(output_channels, depth)});
  const auto pack =
      is_transposed ? bfloat_kernels()->pack_transposed : bfloat_kernels()->pack_columns;
  pack(matrix, is_transposed ? depth : output_channels, output_channels, depth,
       out.weights.mutable_data<uint16_t>());
  out.bias = Tensor(DataType::kFLOAT, {units(output_channels, kBfloatTile) * kBfloatTile});
  auto* const to = out.bias.mutable_data<float>();
  std::fill_n(to, out.bias.count(), 0.f);
  if (bias != nullptr) std::copy_n(bias->data<float>(), output_channels, to);
  return out;
}

BfloatWeights stored_bfloat_weights(const StoredKernel& stored) {
  require_bfloat();
  const auto& packed = stored.packed;
  require(packed.size() == 2 && packed[0].type() == DataType::kBF16
              && packed[1].type() == DataType::kFLOAT,
          "{} stored tensors, expected weights and bias", packed.size());
  return {packed[0], packed[1]};
}

}  // namespace tenon::cpu
