// Which steps of a plan run side by side on a device: in the caller's stream and in auxiliary ones.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace tenon {

/// Steps are put into streams by the thread that runs the plan, in the plan's order. Some steps
/// have no other beside them: each of the others is before or after. Between two of those, branches
/// of the network are spread over the streams, which all begin after the one and end before the
/// other.
struct Streams {
  /// The begin of the run, as something to wait for.
  static constexpr int32_t kBegin = -1;

  struct Step {
    int32_t stream = 0;          // 0: the caller's; from 1 on: auxiliary ones
    std::vector<int32_t> waits;  // for steps of other streams, or kBegin, before this one starts
    bool is_awaited = false;
    /// The steps that may run at the same time lie between these, both inclusive.
    int32_t first = 0, last = 0;
  };
  std::vector<Step> steps;
  std::vector<int32_t> waits_at_end;  // of the caller's stream
  bool begin_is_awaited = false;
  int32_t auxiliary = 0;  // how many are used; at most Plan::aux_streams
};

/// Plans whose sizes are told while they run use the caller's stream alone.
Streams streams_of(const Plan& plan);

}  // namespace tenon
