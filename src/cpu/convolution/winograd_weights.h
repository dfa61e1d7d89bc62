// Weights as Winograd's convolution multiplies them.
#pragma once

#include <mutex>

#include "base/tensor.h"
#include "cpu/convolution/winograd_form.h"

namespace tenon::cpu {

/// Weights (output channels, channels, ...) in that form.
Tensor winograd_weights(const Tensor& weights, const WinogradForm& form);
/// A bias of one number for each output channel, or of none, which are zeros: padded to whole
/// vectors with zeros.
Tensor winograd_bias(const Tensor& bias, const WinogradForm& form);
/// Packed weights for vectors of another length.
Tensor rearranged(const Tensor& packed, const WinogradForm& from, const WinogradForm& to);

/// Weights and bias of a kernel. Those that are not in form yet are transformed when they are first
/// asked for: a plan is built from many offers, of which few are timed or taken.
class WinogradWeights {
 public:
  /// @param plain the convolution's weights, which the form is for.
  static std::shared_ptr<WinogradWeights> of_plain(const WinogradForm& form, Tensor plain,
                                                   const Tensor& bias);
  /// In form, from a plan.
  static std::shared_ptr<WinogradWeights> of_packed(const WinogradForm& form, Tensor packed,
                                                    Tensor bias);

  const WinogradForm& form() const { return form_; }
  const Tensor& packed() const;
  const Tensor& bias() const { return bias_; }

 private:
  explicit WinogradWeights(const WinogradForm& form) : form_(form) {}

  WinogradForm form_;
  Tensor bias_;
  mutable std::once_flag once_;
  mutable Tensor plain_, packed_;  // the one or the other
};

}  // namespace tenon::cpu
