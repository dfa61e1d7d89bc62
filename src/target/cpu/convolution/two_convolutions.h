// The two convolutions of a separable one: as requests of their own, and one kernel after the
// other.
#pragma once

#include "ops/separable_convolution.h"
#include "target/target.h"

namespace tenon::cpu {

/// A separable convolution as requests for its layers.
class TwoConvolutions {
 public:
  /// Why a request, which a damaged plan may have made, has no such parts; "" if it has.
  static std::string refusal(const KernelRequest& request);

  /// @pre refusal(request) is empty, and the request outlives this.
  explicit TwoConvolutions(const KernelRequest& request);

  /// For the first layer, whose result lies in that layout when `stored` is set.
  KernelRequest first(Layout between, const StoredKernel* stored);
  /// For the second, with data in that layout.
  KernelRequest second(Layout between, const StoredKernel* stored);

 private:
  KernelRequest part(const Op& op, std::span<const TensorSpec> inputs,
                     std::span<const TensorSpec> outputs, std::span<const Tensor* const> constants,
                     const StoredKernel* stored) const;

  const KernelRequest& request_;
  const SeparableConvolution& op_;
  TensorSpec between_, placed_;
  std::vector<TensorSpec> inputs_;  // of the second layer
  std::vector<const Tensor*> constants_;
};

using MakeOffer = Offer (*)(const KernelRequest& request);
/// A kernel for each of the layers that agree on the layout of what is between them.
Offer offer_two_convolutions(const KernelRequest& request, MakeOffer first, MakeOffer second);

/// The same as a candidate.
template <MakeOffer First, MakeOffer Second> Offer one_after_the_other(const KernelRequest& r) {
  return offer_two_convolutions(r, First, Second);
}

}  // namespace tenon::cpu
