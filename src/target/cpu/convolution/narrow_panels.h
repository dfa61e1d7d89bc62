// Weights of int8 in the panels of narrow products of bytes, and what is complemented there.
#pragma once

#include <optional>
#include <vector>

#include "target/cpu/convolution/integer_execution.h"

namespace tenon::cpu {

/// Nothing where the other products are as quick, or alone can do it.
std::optional<IntegerPanels> pack_narrow(const ByteProductKernels& kernels,
                                         const ConstantWindows& from);
/// What a plan stored of them, if it did, for windows of that shape. Throws where it does not fit.
std::optional<IntegerPanels> stored_narrow_panels(const ByteProductKernels& kernels,
                                                  const KernelRequest& request,
                                                  const Shape& windows);
std::vector<BytePanel> narrow_panels(const IntegerPanels& weights);

}  // namespace tenon::cpu
