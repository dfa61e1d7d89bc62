#include <gmock/gmock.h>

#include "backend/target.h"
#include "base/error.h"
#include "cpu/cpu_target.h"
#include "ops/softmax.h"

namespace tenon {
namespace {

KernelRequest request(const Op& op, std::span<const TensorSpec> in, std::span<const TensorSpec> out,
                      std::span<const Tensor* const> constants) {
  return {op, in, out, constants};
}

class ChooseTest : public testing::Test {
 protected:
  Softmax op_;
  TensorSpec spec_{DataType::kHALF, Layout::kLinear, {2, 5}, true};
  const Tensor* none_ = nullptr;

  KernelRequest request() { return tenon::request(op_, {&spec_, 1}, {&spec_, 1}, {&none_, 1}); }
};

TEST_F(ChooseTest, TakesTheFirstThatAcceptsAndKeepsRefusals) {
  const Choice choice = choose(cpu_target(), request());
  ASSERT_NE(choice.kernel, nullptr);
  EXPECT_EQ(choice.kernel->name, "softmax_16bit");
  EXPECT_EQ(choice.refusals.front(), "softmax: only float32 is supported");
}

TEST_F(ChooseTest, StartsWhereItIsTold) {
  spec_.type = DataType::kFLOAT;
  EXPECT_EQ(choose(cpu_target(), request()).kernel->name, "softmax");
  EXPECT_NE(choose(cpu_target(), request(), 1).kernel->name, "softmax");
  EXPECT_EQ(choose(cpu_target(), request(), 99).kernel, nullptr);
}

TEST_F(ChooseTest, FillsInLayouts) {
  const Choice choice = choose(cpu_target(), request());
  EXPECT_EQ(choice.kernel->input_layouts, std::vector{Layout::kLinear});
  EXPECT_EQ(choice.kernel->output_layouts, std::vector{Layout::kLinear});
  EXPECT_EQ(choice.kernel->input_is_packed, std::vector{false});
}

TEST_F(ChooseTest, LoadingSaysWhatIsMissing) {
  EXPECT_EQ(load_kernel(cpu_target(), "reference", request())->name, "reference");
  try {
    load_kernel(cpu_target(), "winograd", request());
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("\"winograd\" for a Softmax layer"));
  }
  try {
    load_kernel(cpu_target(), "softmax", request());
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("only float32 is supported"));
  }
}

TEST(CpuTargetTest, FingerprintNamesProcessorAndThreads) {
  EXPECT_THAT(cpu_target().fingerprint(),
              testing::AllOf(testing::HasSubstr(cpu_target().instruction_set()),
                             testing::HasSubstr("threads")));
}

}  // namespace
}  // namespace tenon
