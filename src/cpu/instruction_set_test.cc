#include "cpu/instruction_set.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "base/error.h"
#include "cpu/simd/bfloat_product.h"
#include "cpu/simd/byte_product.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

TEST(InstructionSetTest, LevelsHaveNames) {
  for (const auto set :
       {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512,
        InstructionSet::kAvx512Vnni, InstructionSet::kAvx512Bf16, InstructionSet::kAmx})
    EXPECT_EQ(instruction_set_named(instruction_set_name(set)), set);
  EXPECT_EQ(instruction_set_named("avx1024"), std::nullopt);
}

// CTest runs this program under each level, so that what a level forbids is seen there.
TEST(InstructionSetTest, KernelsKeepTheLimit) {
  const InstructionSet limit = instruction_set_limit();
  EXPECT_LE(limit, processor_instruction_set());
  if (const char* name = std::getenv("TENON_ISA"); name != nullptr) {
    EXPECT_LE(limit, instruction_set_named(name).value());
  }
  const size_t levels = limit == InstructionSet::kBaseline ? 1
                        : limit == InstructionSet::kAvx2   ? 2
                                                           : 3;
  EXPECT_EQ(supported_simd_kernels().size(), levels);
  EXPECT_EQ(byte_product_kernels() != nullptr, limit != InstructionSet::kBaseline);
  EXPECT_EQ(supported_bfloat_kernels().size(), limit == InstructionSet::kAmx          ? 2u
                                               : limit == InstructionSet::kAvx512Bf16 ? 1u
                                                                                      : 0u);
}

TEST(InstructionSetDeathTest, OtherNamesAreErrors) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ::setenv("TENON_ISA", "sse9", 1);
        try {
          instruction_set_limit();
        } catch (const Error& e) {
          std::fputs(e.what(), stderr);
          std::exit(3);
        }
      },
      ::testing::ExitedWithCode(3), "TENON_ISA is \"sse9\"; expected one of baseline, avx2");
}

}  // namespace
}  // namespace tenon::cpu
