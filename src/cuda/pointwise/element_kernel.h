// Layers whose result's elements depend on one element of each operand, as one generated kernel.
#pragma once

#include <functional>
#include <string>

#include "backend/target.h"
#include "base/variant.h"
#include "cuda/pointwise/element_source.h"
#include "cuda/pointwise/iteration.h"

namespace tenon::cuda {

/// What such a layer computes, and how its operands are laid over the result.
struct ElementLayer {
  ElementFunction function;
  /// Inputs that may lie in any layout when they have the result's shape; the others (scales,
  /// weights) lie in rows.
  size_t data_inputs = SIZE_MAX;
  /// The shape of an input as the result sees it; none: its own.
  std::function<OperandView(size_t input, const Shape& shape, const Shape& result)> view = {};
};

/// The layer, or why it is none.
using ElementOffer = Variant<ElementLayer, std::string>;

/// The kernel for it: one launch, any layout that all large operands share, any rank and extents.
/// Inputs that the function does not read are packed.
Offer offer_elements(const KernelRequest& request, const ElementOffer& offer);
Offer load_elements(const KernelRequest& request, const ElementOffer& offer,
                    const StoredKernel& stored);

}  // namespace tenon::cuda
