// Paddings and concatenations against the reference, bit for bit.
#include "ops/concatenation.h"
#include "ops/gather.h"
#include "ops/padding.h"
#include "ops/squeeze.h"
#include "target/suites/copies_testing.h"

namespace tenon {
namespace {

using nvinfer1::GatherMode;

TEST(CudaPaddingTest, AddsAndCrops) {
  for (const DataType type : kCopiedTypes)
    for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast})
      for (const auto& [pre, post] :
           {std::pair{Shape{1, 2}, Shape{3, 0}}, std::pair{Shape{-1, 2}, Shape{0, -2}},
            std::pair{Shape{-1, -1}, Shape{-1, -1}}, std::pair{Shape{4, 0}, Shape{0, 0}}}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", name_of(type), name_of(layout), pre, post));
        Padding op;
        op.pre = pre;
        op.post = post;
        expect_copied(op, {counted(type, {2, 8, 17, 16}, layout)}, "padding");
      }
}

TEST(CudaConcatenationTest, AlongEveryAxis) {
  for (const DataType type : kCopiedTypes)
    for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast})
      for (const int axis : {0, 1, 2, 3}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), name_of(layout), axis));
        Concatenation op;
        op.axis = axis;
        std::vector<TestInput> inputs;
        for (const int64_t extent : {4, 1, 0, 16, 3}) {
          Shape shape{3, 8, 5, 6};
          shape[axis] = extent;
          inputs.push_back(counted(type, shape, layout));
        }
        expect_copied(op, inputs, "concatenation");
      }
}

TEST(CudaConcatenationTest, MoreInputsThanALaunchTakes) {
  Concatenation op;
  op.axis = 1;
  std::vector<TestInput> inputs;
  for (uint32_t i = 0; i < 150; ++i) inputs.push_back(data({2, i % 4 + 1, 3}, i));
  expect_copied(op, inputs, "concatenation");
}

TEST(CudaGatherTest, IndicesOutsideGiveZeros) {
  for (const auto mode : {GatherMode::kDEFAULT, GatherMode::kELEMENT, GatherMode::kND}) {
    Gather op;
    op.mode = mode;
    const Shape shape = mode == GatherMode::kND ? Shape{3, 1} : Shape{3};
    LayerTest test(op, {data({4}), integers<int32_t>(DataType::kINT32, shape, {4, -5, INT32_MIN})});
    ASSERT_EQ(test.offer("gather"), "");
    EXPECT_THAT(test.run().numbers(), testing::Each(0.0));
  }
}

TEST(CudaSqueezeTest, SameBytes) {
  expect_copied(Squeeze(), {data({3, 1, 5}), list({1})}, "same_bytes");
  expect_copied(Unsqueeze(), {data({3, 5}), list({0, -1})}, "same_bytes");
}

}  // namespace
}  // namespace tenon
