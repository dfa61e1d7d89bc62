// Weights of int8 in the panels of int8 products that complement elements.
#pragma once

#include <optional>
#include <vector>

#include "cpu/convolution/integer_execution.h"

namespace tenon::cpu {

/// Nothing where the other products are as fast, or alone can do it.
std::optional<IntegerPanels> pack_int8(const ByteProductKernels& kernels,
                                       const ConstantWindows& from);
/// What a plan stored of them, three tensors, for windows of that shape. Throws where it does not
/// fit.
IntegerPanels stored_int8_panels(const ByteProductKernels& kernels, const StoredKernel& stored,
                                 const Shape& windows);
std::vector<BytePanel> int8_panels(const IntegerPanels& weights);

}  // namespace tenon::cpu
