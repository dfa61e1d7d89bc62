#include "builder/fixed_extents.h"

#include <algorithm>

namespace tenon {
namespace {

// The only extent that the profile allows; -1 where it allows several, or is not complete.
int64_t only_extent(const ProfileRequest& profile, const Value& input, int axis) {
  const auto found = profile.inputs.find(input.name);
  if (found == profile.inputs.end()) return -1;
  const ProfileRequest::Range& range = found->second;
  for (const auto* shape : {&range.min, &range.opt, &range.max})
    if (!*shape || (*shape)->rank() != input.declared.rank()) return -1;
  const int64_t min = (*range.min)[axis], opt = (*range.opt)[axis], max = (*range.max)[axis];
  return min == opt && opt == max ? min : -1;
}

}  // namespace

void fix_extents(Network& network, const std::vector<ProfileRequest>& profiles) {
  if (profiles.empty()) return;
  for (Value* input : network.inputs())
    for (int axis = 0; axis < input->declared.rank(); ++axis) {
      if (input->declared[axis] >= 0) continue;
      const int64_t extent = only_extent(profiles.front(), *input, axis);
      const bool all = std::all_of(profiles.begin(), profiles.end(), [&](const auto& profile) {
        return only_extent(profile, *input, axis) == extent;
      });
      if (all && extent >= 0) input->declared[axis] = extent;
    }
  network.touch();
}

}  // namespace tenon
