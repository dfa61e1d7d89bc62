// The two convolutions of a separable one: as requests of their own, and one kernel after the
// other.
#pragma once

#include "backend/target.h"
#include "ops/separable_convolution.h"

namespace tenon::cpu {

/// A separable convolution as requests for its layers.
class TwoConvolutions {
 public:
  /// @pre The request outlives this.
  explicit TwoConvolutions(const KernelRequest& request);

  /// For the first layer, whose result lies in that layout when a plan is loaded.
  KernelRequest first(Layout between);
  /// For the second, with data in that layout.
  KernelRequest second(Layout between);

 private:
  KernelRequest part(const Op& op, std::span<const TensorSpec> inputs,
                     std::span<const TensorSpec> outputs,
                     std::span<const Tensor* const> constants) const;

  const KernelRequest& request_;
  const SeparableConvolution& op_;
  TensorSpec between_, placed_;
  std::vector<TensorSpec> inputs_;  // of the second layer
  std::vector<const Tensor*> constants_;
};

/// A row for separable convolutions: a kernel of each of the two rows, which agree on the layout of
/// what is between them.
Candidate one_after_the_other(std::string name, Candidate first, Candidate second);

}  // namespace tenon::cpu
