// Weights that are multiplied in bfloat16, as plans store them.
#pragma once

#include "backend/target.h"
#include "cpu/simd/bfloat_product.h"

namespace tenon::cpu {

/// Weights of output channels, packed as BfloatKernels does, and a bias for each of them, zeros
/// where there is none, filled up to whole tiles.
struct BfloatWeights {
  Tensor weights, bias;

  const uint16_t* columns() const { return weights.data<uint16_t>(); }
  /// Whether they are so many output channels of `depth` elements each.
  bool fit(int64_t output_channels, int64_t depth) const;
};

/// Why the layer is not to be multiplied so: it must be exact, or the processor lacks what that
/// takes; "" if it may.
std::string refusal_of_bfloat(const KernelRequest& request);

/// Throws Error where a plan has such a kernel and the processor lacks what it takes.
void require_bfloat();

/// Of a matrix: a row for each element and a column for each output channel, or its transpose.
BfloatWeights bfloat_weights(const float* matrix, bool is_transposed, int64_t output_channels,
                             int64_t depth, const Tensor* bias);

/// What a plan stored; whether it fits is for the execution to say. Throws Error when it is no
/// weights and bias, or when the processor cannot multiply them.
BfloatWeights stored_bfloat_weights(const StoredKernel& stored);

/// The kernel of a layer that E executes with such weights.
template <class Layer, class E> class BfloatKernel final : public Kernel {
 public:
  BfloatKernel(const Layer& op, const BfloatWeights& weights) : op_(op) {
    packed = {weights.weights, weights.bias};
    timing_id = bfloat_kernels()->instruction_set;
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<E>(op_, BfloatWeights{packed[0], packed[1]}, inputs, outputs[0]);
  }

 private:
  Layer op_;
};

}  // namespace tenon::cpu
