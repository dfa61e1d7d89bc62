// Tensors that lie within others, so that joining them copies nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "plan/stages.h"

namespace tenon {

/// What a concatenation joins may be made where it will lie in the result: the step then finds it
/// in place (Concatenation). Tensors are those whose storage it is (Plan::root_of).
struct InPlaceSlice {
  int32_t step;  // the concatenation
  int32_t tensor, whole;
  int32_t input;  // of the step: which slice it is
};

/// All that may, whatever their sizes: both lie in the context's memory, nothing overwrites one of
/// them afterwards, and no tensor is a part of two. In the order of the steps.
std::vector<InPlaceSlice> in_place_slices(const Plan& plan);

/// A tensor's storage begins at that byte of another's, which may itself lie within one.
struct SliceOffset {
  int32_t whole = -1;  // -1: it has a place of its own
  int64_t offset = 0;
};

/// Of the parts those that lie in one piece there, for the shapes of a stage: not in turn with
/// others, as channels of several images do. An entry per tensor.
std::vector<SliceOffset> slice_offsets(const Plan& plan, const Stages& stages, int32_t stage,
                                       std::span<const InPlaceSlice> slices,
                                       std::span<const Shape> shapes);

}  // namespace tenon
