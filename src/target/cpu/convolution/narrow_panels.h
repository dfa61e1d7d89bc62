// Weights of int8 in the panels of narrow products that complement elements.
#pragma once

#include <optional>
#include <vector>

#include "target/cpu/convolution/integer_execution.h"

namespace tenon::cpu {

/// Nothing where the other products are as quick, or alone can do it.
std::optional<IntegerPanels> pack_narrow(const ByteProductKernels& kernels,
                                         const ConstantWindows& from);
/// What a plan stored of them, three tensors, for windows of that shape. Throws where it does not
/// fit.
IntegerPanels stored_narrow_panels(const ByteProductKernels& kernels, const StoredKernel& stored,
                                   const Shape& windows);
std::vector<BytePanel> narrow_panels(const IntegerPanels& weights);

}  // namespace tenon::cpu
