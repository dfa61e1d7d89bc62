// This program tests the CPU target.
#include "backend/testing.h"
#include "cpu/cpu_target.h"
#include "cpu/instruction_set.h"

namespace tenon {

const Tested& tested() {
  static constexpr DataType kFloats[] = {DataType::kFLOAT};
  static constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8,
                                        Layout::kBlocked16};
  static const Tested tested{
      cpu_target(), kFloats, kLayouts,
      cpu::instruction_set_limit() == cpu::InstructionSet::kBaseline ? 2.0 : 1.0, true};
  return tested;
}

}  // namespace tenon
