// What oneDNN's products of 8-bit integers share: exact sums, and what is done to them afterwards.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "target/cpu/onednn/library.h"
#include "target/cpu/onednn/packed_weights.h"
#include "target/cpu/run_operands.h"

namespace tenon::cpu::onednn {

/// The same layout with elements of another type.
dnnl::memory::desc retyped(const dnnl::memory::desc& desc, dnnl::memory::data_type type);
/// Of int8 and uint8 elements.
dnnl::memory::data_type byte_type(DataType type);

/// Why oneDNN cannot multiply integers exactly here: without VNNI its sums of pairs saturate at 16
/// bits.
std::optional<std::string> refuse_integers(const KernelRequest& request);

/// Offers a kernel for layers of kind `Layer`, which it says in initialise() that it takes.
template <class IntegerKernel, class Layer> Offer offer_integers(const KernelRequest& request) {
  if (auto reason = refuse_integers(request)) return *reason;
  auto kernel = std::make_unique<IntegerKernel>(static_cast<const Layer&>(request.op));
  try {
    if (auto reason = kernel->initialise(request)) return *reason;
  } catch (const Error& e) {
    if (request.stored != nullptr) throw;
    return e.what();
  }
  return kernel;
}

/// Constant weights as int8: uint8 ones have 128 taken away, and so have their zero points. They
/// are packed anew when a plan is loaded, because the packed form depends on the processor and
/// holds sums that a plan cannot describe.
struct SignedWeights {
  Tensor plain;  // in rows, as in the network
  bool moved = false;

  /// The request's constant, or what a plan stored; nothing when the weights are not constant.
  static std::optional<SignedWeights> take(const KernelRequest& request);
  void save(Kernel& kernel) const;
};

/// Whether the weights' zero points, after the move to int8, may be other than 0.
bool has_weights_zero(const KernelRequest& request, bool moved);

/// As Requantization::store(), to the bit, in the loops of this processor.
void store(const Requantization& result, const int32_t* sums, int64_t count, void* to);

/// The small inputs of a layer with such weights.
class SignedOperands {
 public:
  SignedOperands(std::span<const TensorSpec> inputs, int64_t channels, bool moved);
  const IntegerOperands& read(const RunArguments& arguments);

 private:
  RunOperands operands_;
  int32_t shift_;
};

}  // namespace tenon::cpu::onednn
