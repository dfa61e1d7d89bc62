// This program tests the CPU target.
#include "target/testing.h"

namespace tenon {

const Tested& tested() {
  static constexpr DataType kFloats[] = {DataType::kFLOAT};
  static constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8,
                                        Layout::kBlocked16};
  static const Tested tested{cpu_target(), kFloats, kLayouts};
  return tested;
}

}  // namespace tenon
