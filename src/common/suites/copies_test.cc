// Transposes, slices, gathers, paddings and concatenations against the reference, bit for bit, on
// the target that is tested.
#include <numeric>

#include "common/suites/copies_testing.h"
#include "ops/concatenation.h"
#include "ops/gather.h"
#include "ops/padding.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "ops/squeeze.h"

namespace tenon {
namespace {

using nvinfer1::GatherMode;
using nvinfer1::SampleMode;

TEST(ShuffleTest, EveryPermutation) {
  for (const DataType type : kCopiedTypes)
    for (const Shape& shape : {Shape{2, 9, 17, 33}, Shape{1, 40, 8, 16}, Shape{5, 1, 4, 3},
                               Shape{1, 3, 70, 60}, Shape{3, 4, 2, 2}, Shape{2, 70, 1, 37}}) {
      std::vector<int32_t> p = {0, 1, 2, 3};
      do {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), shape, fmt::join(p, "")));
        Shuffle op;
        op.first_transpose = p;
        expect_as_reference(op, {counted(type, shape)}, "shuffle");
      } while (std::next_permutation(p.begin(), p.end()));
    }
}

TEST(ShuffleTest, EveryRank) {
  for (int rank = 0; rank <= Shape::kMaxRank; ++rank) {
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) shape.push_back(axis % 3 + 2);
    std::vector<int32_t> p(static_cast<size_t>(rank));
    std::iota(p.rbegin(), p.rend(), 0);
    Shuffle op;
    op.first_transpose = p;
    SCOPED_TRACE(shape.str());
    expect_as_reference(op, {counted(DataType::kFLOAT, shape)}, "shuffle");
  }
}

TEST(ShuffleTest, ManyTiles) {
  for (const Shape& shape : {Shape{2, 1000, 131}, Shape{300, 17, 64}, Shape{1, 4097, 40}})
    for (const DataType type : kCopiedTypes) {
      Shuffle op;
      op.first_transpose = {0, 2, 1};
      expect_as_reference(op, {counted(type, shape)}, "shuffle");
    }
}

TEST(ShuffleTest, LongRowsAreTurnedInParts) {
  Shuffle op;
  op.first_transpose = {0, 2, 1};
  for (const Shape& shape : {Shape{2, 5000, 3}, Shape{1, 3, 5000}, Shape{1, 2100, 40}})
    expect_as_reference(op, {data(shape)}, "shuffle");
}

TEST(ShuffleTest, TransposesAroundAReshape) {
  Shuffle op;
  op.first_transpose = {1, 0, 2};
  op.has_reshape = true;
  op.reshape = {6, -1, 2};
  op.second_transpose = {2, 0, 1};
  expect_as_reference(op, {data({4, 6, 8})}, "shuffle");
  op.first_transpose.clear();
  expect_as_reference(op, {data({4, 6, 8})}, "shuffle");
  op.second_transpose.clear();
  expect_as_reference(op, {data({4, 6, 8})}, "shuffle");
}

TEST(ShuffleTest, EmptyAndScalar) {
  Shuffle op;
  expect_as_reference(op, {data({})}, "shuffle");
  op.first_transpose = {1, 0};
  expect_as_reference(op, {data({0, 3})}, "shuffle");
}

TEST(SliceTest, InsideTheInput) {
  struct Case {
    Shape start, size, stride;
  };
  for (const DataType type : kCopiedTypes)
    for (const Case& c :
         {Case{{0, 0, 0}, {6, 7, 9}, {1, 1, 1}}, Case{{1, 2, 3}, {4, 3, 5}, {1, 1, 1}},
          Case{{0, 0, 1}, {6, 7, 4}, {1, 1, 2}}, Case{{0, 1, 0}, {6, 3, 9}, {1, 2, 1}},
          Case{{5, 6, 8}, {6, 7, 9}, {-1, -1, -1}}, Case{{5, 0, 0}, {1, 7, 2}, {100, 1, 4}},
          Case{{0, 0, 4}, {6, 7, 4}, {1, 1, 1}}, Case{{1, 1, 1}, {5, 6, 9}, {0, 0, 0}},
          Case{{0, 0, 0}, {0, 7, 9}, {1, 1, 1}}}) {
      SCOPED_TRACE(fmt::format("{} {} {} {}", name_of(type), c.start, c.size, c.stride));
      Slice op;
      op.start = c.start;
      op.size = c.size;
      op.stride = c.stride;
      expect_as_reference(op, {counted(type, {6, 7, 9})}, "slice");
    }
}

TEST(SliceTest, ChannelsLast) {
  for (const DataType type : kCopiedTypes) {
    Slice op;
    op.start = {0, 8, 1, 2};
    op.size = {2, 16, 5, 3};
    op.stride = {1, 1, 1, 2};
    expect_as_reference(op, {counted(type, {2, 32, 6, 8}, Layout::kChannelsLast)}, "slice");
    op.mode = SampleMode::kFILL;
    op.start = {0, 0, -1, -2};
    op.size = {2, 32, 9, 12};
    op.stride = {1, 1, 1, 1};
    expect_as_reference(op, {counted(type, {2, 32, 6, 8}, Layout::kChannelsLast)}, "slice");
  }
}

TEST(SliceTest, LeavingTheInput) {
  for (const DataType type : kCopiedTypes)
    for (const auto mode :
         {SampleMode::kCLAMP, SampleMode::kFILL, SampleMode::kREFLECT, SampleMode::kWRAP})
      for (const Shape& start :
           {Shape{0, -2, -3}, Shape{-1, 0, 0}, Shape{1, 1, 1}, Shape{0, -3, 0}})
        for (const Shape& stride : {Shape{1, 1, 1}, Shape{1, 2, 1}, Shape{1, 1, -1}}) {
          SCOPED_TRACE(
              fmt::format("{} {} {} {}", name_of(type), static_cast<int>(mode), start, stride));
          Slice op;
          op.mode = mode;
          op.start = start;
          op.size = {3, 9, 12};
          op.stride = stride;
          expect_as_reference(op, {counted(type, {3, 4, 5})}, "slice");
        }
}

TEST(SliceTest, ParametersAsInputs) {
  Slice op;
  op.mode = SampleMode::kFILL;
  expect_as_reference(
      op, {data({2, 3, 4}), list({-1, 1}), list({6, 2}), list({1, 1}), data({}, 3), list({2, -2})},
      "slice");
}

TEST(GatherTest, RowsAndElements) {
  for (const DataType type : kCopiedTypes)
    for (const int axis : {0, 1, 2}) {
      Gather op;
      op.axis = axis;
      expect_as_reference(op,
                          {counted(type, {5, 4, 6}),
                           integers<int32_t>(DataType::kINT32, {2, 3}, {0, -1, 3, 2, -4, 1})},
                          "gather");
      expect_as_reference(
          op, {counted(type, {5, 4, 6}), integers<int64_t>(DataType::kINT64, {}, {-2})}, "gather");
    }
}

TEST(GatherTest, LongRows) {
  std::vector<int32_t> indices;
  for (int32_t i = 0; i < 500; ++i) indices.push_back(i * 37 % 100);
  for (const DataType type : kCopiedTypes)
    for (const int64_t width : {768, 33}) {
      Gather op;
      expect_as_reference(
          op, {counted(type, {100, width}), integers(DataType::kINT32, {500}, indices)}, "gather");
    }
}

TEST(GatherTest, BatchAxes) {
  Gather op;
  op.axis = 2;
  op.batch_axes = 1;
  expect_as_reference(
      op, {data({2, 3, 4, 5}), integers<int64_t>(DataType::kINT64, {2, 3}, {0, 1, 3, -1, -2, 2})},
      "gather");
}

TEST(GatherTest, ElementsAndTuples) {
  for (const DataType type : kCopiedTypes) {
    Gather elements;
    elements.mode = GatherMode::kELEMENT;
    for (const int axis : {0, 1}) {
      elements.axis = axis;
      expect_as_reference(elements,
                          {counted(type, {3, 4}),
                           integers<int32_t>(DataType::kINT32, {2, 3}, {0, -1, 2, 1, 0, -3})},
                          "gather");
    }
    Gather tuples;
    tuples.mode = GatherMode::kND;
    expect_as_reference(
        tuples,
        {counted(type, {3, 4, 5}), integers<int64_t>(DataType::kINT64, {2, 2}, {0, -1, 2, 3})},
        "gather");
    tuples.batch_axes = 1;
    expect_as_reference(tuples,
                        {counted(type, {2, 4, 5}),
                         integers<int64_t>(DataType::kINT64, {2, 3, 1}, {0, -1, 2, 3, 1, 1})},
                        "gather");
  }
}

TEST(PaddingTest, AddsAndCrops) {
  for (const DataType type : kCopiedTypes)
    for (const Layout layout : tested().layouts)
      for (const auto& [pre, post] :
           {std::pair{Shape{1, 2}, Shape{3, 0}}, std::pair{Shape{-1, 2}, Shape{0, -2}},
            std::pair{Shape{-1, -1}, Shape{-1, -1}}, std::pair{Shape{4, 0}, Shape{0, 0}}}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", name_of(type), name_of(layout), pre, post));
        Padding op;
        op.pre = pre;
        op.post = post;
        expect_as_reference(op, {counted(type, {2, 8, 17, 16}, layout)});
      }
}

TEST(ConcatenationTest, AlongEveryAxis) {
  for (const DataType type : kCopiedTypes)
    for (const Layout layout : tested().layouts)
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
        expect_as_reference(op, inputs);
      }
}

TEST(ConcatenationTest, MoreInputsThanALaunchTakes) {
  Concatenation op;
  op.axis = 1;
  std::vector<TestInput> inputs;
  for (uint32_t i = 0; i < 150; ++i) inputs.push_back(data({2, i % 4 + 1, 3}, i));
  expect_as_reference(op, inputs);
}

TEST(SqueezeTest, SameBytes) {
  expect_as_reference(Squeeze(), {data({3, 1, 5}), list({1})});
  expect_as_reference(Unsqueeze(), {data({3, 5}), list({0, -1})});
}

}  // namespace
}  // namespace tenon
