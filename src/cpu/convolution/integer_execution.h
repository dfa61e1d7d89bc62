// What convolutions and matrix products of 8-bit integers share: weights in panels, and the
// execution, which copies the bytes that the windows of a block touch once, with their padding,
// and multiplies them with all weights where they lie then; the sums never leave the registers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/target.h"
#include "base/variant.h"
#include "cpu/convolution/constant_windows.h"
#include "cpu/convolution/integer_results.h"
#include "cpu/simd/byte_product.h"
#include "ops/quantized_convolution.h"

namespace tenon::cpu {

/// Constant weights of a convolution in the panels of ByteProductKernels, less their zero points.
/// The runs of a window are its rows.
struct IntegerPanels {
  const ByteProductKernels* kernels;  // that multiply them
  /// Of kINT8, whatever the elements are: panel, run, dot group, output channel, element, byte; or,
  /// of int8 products that complement, one list as BytePanel says.
  Tensor panels;
  /// Of kINT32: each output channel's sum of weights, then what is to be added to its sums.
  Tensor sums;
  /// Of kINT32 for each panel and run of those, as BytePanel says; else empty.
  Tensor order;

  /// Of the request's weights, as ConstantWindows takes them; or why there are none.
  static Variant<IntegerPanels, std::string> take(const KernelRequest& request, const Shape& shape,
                                                  const Shape& steps);
  /// What a plan stored; throws where it does not fit windows of that shape.
  static IntegerPanels load(const StoredKernel& stored, const Shape& shape);
  /// What a plan stores.
  std::vector<Tensor> packed() const;
};

/// Of the panels of so many output channels with so many runs, each of so many elements, that do
/// not complement.
Shape panels_shape(const ByteProductKernels& kernels, int64_t output_channels, int64_t runs,
                   int64_t elements);

/// What a plan stored; throws unless it has that shape, for windows of that one.
IntegerPanels stored_panels(const ByteProductKernels& kernels, const StoredKernel& stored,
                            const Shape& panels, const Shape& windows);

/// Why none of our kernels convolves so; nothing where they may.
std::optional<std::string> why_not(const QuantizedConvolution& op, const KernelRequest& request);
/// Data, addend and result lie channels last, and the weights are packed.
void take_layouts(Kernel& kernel, const QuantizedConvolution& op, const KernelRequest& request);

/// Of the bytes that are added, or read by the epilogue.
inline DataType addend_type(const QuantizedConvolution& op, std::span<const TensorSpec> inputs) {
  return op.has_addend() ? inputs[QuantizedConvolution::kAddend].type : DataType::kINT8;
}

/// Throws where a result does not have the images of the data and the output channels of the
/// weights: a damaged plan's extents may follow an input.
void check_result(const Shape& result, int64_t images, int64_t output_channels);

/// The operation and the weights outlive the execution. Data, addend and result lie channels last.
std::unique_ptr<Execution> convolve_integers(const QuantizedConvolution& op,
                                             const IntegerPanels& weights,
                                             const std::optional<ByteSum>& sum,
                                             std::span<const TensorSpec> inputs,
                                             const TensorSpec& output);

}  // namespace tenon::cpu
