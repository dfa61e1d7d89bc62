#include "plan/in_place_slices.h"

#include "common/concatenation_slices.h"
#include "ops/concatenation.h"
#include "plan/load_steps.h"
#include "plan/memory.h"

namespace tenon {
namespace {

using Place = PlanTensor::Place;

// The last step that writes each tensor's storage, and how many do.
struct Writes {
  explicit Writes(const Plan& plan) : last(plan.tensors.size(), -1), count(plan.tensors.size(), 0) {
    for (size_t step = 0; step < plan.steps.size(); ++step)
      for (int32_t tensor : plan.steps[step].outputs) {
        if (tensor < 0) continue;
        const auto root = static_cast<size_t>(plan.root_of(tensor));
        last[root] = static_cast<int32_t>(step);
        ++count[root];
      }
  }
  std::vector<int32_t> last, count;
};

}  // namespace

std::vector<InPlaceSlice> in_place_slices(const Plan& plan) {
  const Writes writes(plan);
  std::vector<InPlaceSlice> slices;
  std::vector<bool> is_slice(plan.tensors.size(), false);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    if (step.op != Concatenation::kName || step.outputs.size() != 1 || step.outputs[0] < 0)
      continue;
    const auto at = static_cast<int32_t>(s);
    const auto whole = static_cast<size_t>(step.outputs[0]);
    const PlanTensor& t = plan.tensors[whole];
    if (t.place != Place::kArena || bits_of(t.type) < 8 || writes.count[whole] != 1) continue;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i] < 0) continue;
      const auto tensor = static_cast<size_t>(plan.root_of(step.inputs[i]));
      if (plan.tensors[tensor].place != Place::kArena || is_slice[tensor] || tensor == whole
          || writes.last[tensor] >= at)
        continue;
      is_slice[tensor] = true;
      slices.push_back(
          {at, static_cast<int32_t>(tensor), static_cast<int32_t>(whole), static_cast<int32_t>(i)});
    }
  }
  return slices;
}

std::vector<SliceOffset> slice_offsets(const Plan& plan, const Stages& stages, int32_t stage,
                                       std::span<const InPlaceSlice> slices,
                                       std::span<const Shape> shapes) {
  std::vector<SliceOffset> places(plan.tensors.size());
  int32_t step = -1;
  ConcatenationSlices within;
  for (const InPlaceSlice& slice : slices) {
    const auto tensor = static_cast<size_t>(slice.tensor), whole = static_cast<size_t>(slice.whole);
    if (stages.first_stages[tensor] != stage || stages.first_stages[whole] != stage
        || shapes[whole].volume() == 0)
      continue;
    if (slice.step != step) {
      step = slice.step;
      const PlanStep& joining = plan.steps[static_cast<size_t>(step)];
      const auto op = op_of(joining);
      const int axis =
          normalized_axis(static_cast<const Concatenation&>(*op).axis, shapes[whole].rank());
      within = slices_of(axis, specs_of(plan, joining.inputs, shapes),
                         specs_of(plan, joining.outputs, shapes)[0]);
    }
    const auto [bytes, offset] = within.slices[static_cast<size_t>(slice.input)];
    const PlanTensor& t = plan.tensors[tensor];
    const auto own = static_cast<int64_t>(storage_bytes(t.type, shapes[tensor], t.layout));
    if (within.rows == 1 && bytes == own && offset % kMemoryAlignment == 0)
      places[tensor] = {slice.whole, offset};
  }
  return places;
}

}  // namespace tenon
