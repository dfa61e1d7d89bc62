// What oneDNN's products of 8-bit integers share: exact sums, and what is done to them afterwards.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cpu/onednn/library.h"
#include "cpu/onednn/packed_weights.h"
#include "cpu/run_operands.h"

namespace tenon::cpu::onednn {

/// The same layout with elements of another type.
dnnl::memory::desc retyped(const dnnl::memory::desc& desc, dnnl::memory::data_type type);
/// Of int8 and uint8 elements.
dnnl::memory::data_type byte_type(DataType type);

/// Why oneDNN cannot multiply integers exactly here: without VNNI its sums of pairs saturate at 16
/// bits.
std::optional<std::string> refuse_integers();

/// Constant weights as int8: uint8 ones have 128 taken away, and so have their zero points. They
/// are packed anew when a plan is loaded, because the packed form depends on the processor and
/// holds sums that a plan cannot describe.
struct SignedWeights {
  Tensor plain;  // in rows, as in the network
  bool moved = false;

  /// The request's constant; nothing when the weights are not constant.
  static std::optional<SignedWeights> take(const KernelRequest& request);
  /// What a plan stored of it.
  static std::optional<SignedWeights> load(const KernelRequest& request,
                                           const StoredKernel& stored);
  void save(Kernel& kernel) const;
};

/// What kernels of integers are made of.
struct IntegerWeights {
  std::optional<SignedWeights> constant;
  bool moved = false;     // whether they are uint8
  bool has_zero = false;  // whether their zero points, after the move to int8, may be other than 0

  static IntegerWeights take(const KernelRequest& request);
  /// What a plan stored of them. Throws when it is damaged.
  static IntegerWeights load(const KernelRequest& request, const StoredKernel& stored);
};

/// A kernel for layers of kind `Layer`, which it says in initialise() that it takes.
template <class IntegerKernel, class Layer>
Offer make_integers(const KernelRequest& request, IntegerWeights weights) {
  auto kernel = std::make_unique<IntegerKernel>(static_cast<const Layer&>(request.op));
  if (auto reason = kernel->initialise(request, std::move(weights))) return *reason;
  return kernel;
}
template <class IntegerKernel, class Layer> Offer offer_integers(const KernelRequest& request) {
  if (auto reason = refuse_integers()) return *reason;
  try {
    return make_integers<IntegerKernel, Layer>(request, IntegerWeights::take(request));
  } catch (const Error& e) {
    return e.what();
  }
}
template <class IntegerKernel, class Layer>
Offer load_integers(const KernelRequest& request, const StoredKernel& stored) {
  if (auto reason = refuse_integers()) return *reason;
  return make_integers<IntegerKernel, Layer>(request, IntegerWeights::load(request, stored));
}

/// As Requantization::store(), to the bit, in the loops of this processor.
void store(const Requantization& result, const int32_t* sums, int64_t count, void* to);

/// The small inputs of a layer with such weights.
class SignedOperands {
 public:
  SignedOperands(std::span<const TensorSpec> inputs, int64_t channels, bool moved);
  const QuantizedOperands& read(const RunArguments& arguments);

 private:
  RunOperands operands_;
  int32_t shift_;
};

}  // namespace tenon::cpu::onednn
