// What Op::insert_batch_axis() of several kinds share.
#pragma once

#include "base/error.h"
#include "base/shape.h"

namespace tenon {

/// A mask of axes that are one further back.
inline uint32_t behind_batch(uint32_t axes) {
  require(axes >> Shape::kMaxRank == 0, "the axes {:#x} name some that no tensor has", axes);
  return axes << 1;
}

}  // namespace tenon
