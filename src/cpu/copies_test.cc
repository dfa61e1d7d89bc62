// Selections against the reference, bit for bit, and what slices and gathers refuse.
#include "common/suites/copies_testing.h"
#include "ops/gather.h"
#include "ops/select.h"
#include "ops/slice.h"

namespace tenon::cpu {
namespace {

using nvinfer1::GatherMode;

TEST(CpuSliceTest, SamplesOutsideAreAnError) {
  Slice op;
  op.start = {0, 2};
  op.size = {2, 3};
  op.stride = {1, 1};
  LayerTest test(op, {data({2, 5})});
  ASSERT_EQ(test.offer("slice"), "");
  const TensorSpec in{DataType::kFLOAT, Layout::kLinear, {2, 4}, true};
  const TensorSpec out{DataType::kFLOAT, Layout::kLinear, {2, 3}, true};
  const auto execution = test.kernel().prepare({&in, 1}, {&out, 1});
  float from[8] = {}, to[6] = {};
  const void* source = from;
  void* target = to;
  EXPECT_THROW(execution->run({{&source, 1}, {&target, 1}}), Error);
}

// Split channels stay where they are while groups stay whole.
TEST(CpuSliceTest, GroupsOfChannels) {
  struct Case {
    int64_t start, channels, step;
    bool is_whole;
  };
  for (const Layout layout : {Layout::kBlocked8, Layout::kBlocked16})
    for (const DataType type : kCopiedTypes)
      for (const Case& c : {Case{0, 16, 1, true}, Case{16, 32, 1, true}, Case{0, 56, 1, true},
                            Case{4, 16, 1, false}, Case{16, 20, 1, false}, Case{0, 16, 2, false},
                            Case{55, 16, -1, false}}) {
        SCOPED_TRACE(fmt::format("{} {} from {}", name_of(layout), c.channels, c.start));
        Slice op;
        op.start = {1, c.start, 4, 1};
        op.size = {2, c.channels, 5, 3};
        op.stride = {1, c.step, -1, 2};
        LayerTest test(op, {counted(type, {3, 56, 6, 8}, layout)});
        ASSERT_EQ(test.offer("slice"), "");
        EXPECT_EQ(test.kernel().output_layouts[0], c.is_whole ? layout : Layout::kLinear);
        expect_identical(test.run(), test.reference());
      }
}

TEST(CpuGatherTest, IndicesOutsideAreAnError) {
  for (const auto mode : {GatherMode::kDEFAULT, GatherMode::kELEMENT, GatherMode::kND})
    for (const int32_t index : {4, -5}) {
      Gather op;
      op.mode = mode;
      LayerTest test(op, {data({4}), integers<int32_t>(DataType::kINT32, {1}, {index})});
      ASSERT_EQ(test.offer("gather"), "");
      EXPECT_THROW(test.run(), Error);
    }
}

TEST(SelectTest, BroadcastInEveryPosition) {
  std::vector<bool> bits;
  for (int i = 0; i < 24; ++i) bits.push_back(i % 3 == 0 || i % 7 == 2);
  for (const DataType type : kCopiedTypes)
    for (const Shape& condition : {Shape{2, 3, 4}, Shape{2, 1, 1}, Shape{1, 3, 1}, Shape{1, 1, 4}})
      for (const Shape& then : {Shape{2, 3, 4}, Shape{1, 1, 1}, Shape{2, 3, 1}})
        for (const Shape& otherwise : {Shape{2, 3, 4}, Shape{1, 3, 4}}) {
          SCOPED_TRACE(fmt::format("{} {} {}", condition, then, otherwise));
          Tensor flags(DataType::kBOOL, condition);
          for (int64_t i = 0; i < flags.count(); ++i)
            flags.mutable_data<bool>()[i] = bits[static_cast<size_t>(i)];
          expect_as_reference(
              Select(),
              {{flags, false, Layout::kLinear}, counted(type, then), counted(type, otherwise)},
              "select");
        }
}

}  // namespace
}  // namespace tenon::cpu
