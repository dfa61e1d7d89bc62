// How tiles and output channels of a Winograd convolution are divided among tasks.
#pragma once

#include "cpu/convolution/winograd_form.h"
#include "cpu/partition.h"

namespace tenon::cpu {

struct WinogradSplit {
  int64_t per_group = 1;  // tiles that are multiplied at a time, at most
  int64_t block = 1;      // tiles of a task
  int64_t blocks = 0, slices = 1;
  int64_t per_slice = 1;  // vectors of output channels of a task
  int64_t kept_vectors =
      1;            // of output channels, whose products are kept before they are transformed back
  double time = 0;  // of the model, in that of a product
};

/// The division that is fastest by a simple model: products take their time, unless the weights
/// come slower, and what does not stay in the L2 cache is moved meanwhile nothing is done. Few and
/// large blocks move the weights seldom, small ones keep everything else in place.
WinogradSplit split_winograd(const WinogradForm& form, int64_t tiles, const Machine& machine);

}  // namespace tenon::cpu
