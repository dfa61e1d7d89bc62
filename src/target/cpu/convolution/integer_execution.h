// What convolutions and matrix products of 8-bit integers share: weights in panels, and the
// execution, which copies the bytes that the windows of a block touch once, with their padding,
// and multiplies them with all weights where they lie then; the sums never leave the registers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "ops/integer_convolution.h"
#include "target/cpu/convolution/constant_windows.h"
#include "target/cpu/convolution/integer_results.h"
#include "target/cpu/simd/byte_product.h"
#include "target/target.h"

namespace tenon::cpu {

/// Constant weights of a convolution in the panels of ByteProductKernels, less their zero points,
/// and each map's sum of weights. The runs of a window are its rows.
struct IntegerPanels {
  Tensor panels;  // of kINT8, whatever the elements are: panel, run, word, map, byte
  Tensor sums;    // of kINT32, an element for each map

  /// Of the request's weights, as ConstantWindows takes them; or why there are none. Throws where
  /// a plan stored what does not fit.
  static std::variant<IntegerPanels, std::string> take(const KernelRequest& request,
                                                       const Shape& shape, const Shape& steps);
};

/// What a plan stored, if it did; throws unless it has that shape, for windows of that one.
std::optional<IntegerPanels> stored_panels(const KernelRequest& request, const Shape& panels,
                                           const Shape& windows);

/// Why none of our kernels convolves so; nothing where they may.
std::optional<std::string> why_not(const IntegerConvolution& op, const KernelRequest& request);
/// Data, addend and result lie channels last, and the weights are packed.
void take_layouts(Kernel& kernel, const IntegerConvolution& op, const IntegerPanels& weights,
                  const KernelRequest& request);

/// Both outlive the execution. Data, addend and result lie channels last.
std::unique_ptr<Execution> convolve_integers(const IntegerConvolution& op,
                                             const IntegerPanels& weights,
                                             const std::optional<ByteSum>& sum,
                                             std::span<const TensorSpec> inputs,
                                             const TensorSpec& output);

}  // namespace tenon::cpu
