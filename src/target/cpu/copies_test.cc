// Transposes, slices, gathers and selections against the reference, bit for bit.
#include "ops/gather.h"
#include "ops/select.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "target/testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::GatherMode;
using nvinfer1::SampleMode;

constexpr DataType kTypes[] = {DataType::kFLOAT, DataType::kHALF, DataType::kINT64,
                               DataType::kUINT8};

// Elements that all differ as far as the type allows.
TestInput counted(DataType type, const Shape& shape) {
  Tensor t(type, shape);
  const int64_t bytes = bits_of(type) / 8;
  for (int64_t i = 0; i < t.count(); ++i)
    std::memcpy(t.mutable_data<std::byte>() + i * bytes, &i, static_cast<size_t>(bytes));
  return {t, false, Layout::kLinear};
}

void check(LayerTest& test, const char* name) {
  ASSERT_EQ(test.offer(name), "");
  expect_identical(test.run(), test.reference());
}

TEST(ShuffleTest, EveryPermutation) {
  for (const DataType type : kTypes)
    for (const Shape& shape : {Shape{2, 9, 17, 33}, Shape{1, 40, 8, 16}, Shape{5, 1, 4, 3},
                               Shape{1, 3, 70, 60}, Shape{3, 4, 2, 2}, Shape{2, 70, 1, 37}}) {
      std::vector<int32_t> p = {0, 1, 2, 3};
      do {
        SCOPED_TRACE(fmt::format("{} {} {}{}{}{}", name_of(type), shape, p[0], p[1], p[2], p[3]));
        Shuffle op;
        op.first_transpose = p;
        LayerTest test(op, {counted(type, shape)});
        check(test, "shuffle");
      } while (std::next_permutation(p.begin(), p.end()));
    }
}

TEST(ShuffleTest, LongRowsAreTurnedInParts) {
  Shuffle op;
  op.first_transpose = {0, 2, 1};
  for (const Shape& shape : {Shape{2, 5000, 3}, Shape{1, 3, 5000}, Shape{1, 2100, 40}}) {
    LayerTest test(op, {data(shape)});
    check(test, "shuffle");
  }
}

TEST(ShuffleTest, TransposesAroundAReshape) {
  Shuffle op;
  op.first_transpose = {1, 0, 2};
  op.has_reshape = true;
  op.reshape = {6, -1, 2};
  op.second_transpose = {2, 0, 1};
  LayerTest test(op, {data({4, 6, 8})});
  check(test, "shuffle");
  op.first_transpose.clear();
  LayerTest second(op, {data({4, 6, 8})});
  check(second, "shuffle");
  op.second_transpose.clear();
  LayerTest neither(op, {data({4, 6, 8})});
  check(neither, "shuffle");
}

TEST(ShuffleTest, EmptyAndScalar) {
  Shuffle op;
  LayerTest scalar(op, {data({})});
  check(scalar, "shuffle");
  op.first_transpose = {1, 0};
  LayerTest empty(op, {data({0, 3})});
  check(empty, "shuffle");
}

TEST(SliceTest, InsideTheInput) {
  struct Case {
    Shape start, size, stride;
  };
  for (const DataType type : kTypes)
    for (const Case& c :
         {Case{{0, 0, 0}, {6, 7, 9}, {1, 1, 1}}, Case{{1, 2, 3}, {4, 3, 5}, {1, 1, 1}},
          Case{{0, 0, 1}, {6, 7, 4}, {1, 1, 2}}, Case{{0, 1, 0}, {6, 3, 9}, {1, 2, 1}},
          Case{{5, 6, 8}, {6, 7, 9}, {-1, -1, -1}}, Case{{5, 0, 0}, {1, 7, 2}, {100, 1, 4}},
          Case{{0, 0, 0}, {0, 7, 9}, {1, 1, 1}}}) {
      SCOPED_TRACE(fmt::format("{} {} {}", c.start, c.size, c.stride));
      Slice op;
      op.start = c.start;
      op.size = c.size;
      op.stride = c.stride;
      LayerTest test(op, {counted(type, {6, 7, 9})});
      check(test, "slice");
    }
}

TEST(SliceTest, LeavingTheInput) {
  for (const DataType type : kTypes)
    for (const auto mode :
         {SampleMode::kCLAMP, SampleMode::kFILL, SampleMode::kREFLECT, SampleMode::kWRAP})
      for (const Shape& start :
           {Shape{0, -2, -3}, Shape{-1, 0, 0}, Shape{1, 1, 1}, Shape{0, -3, 0}})
        for (const Shape& stride : {Shape{1, 1, 1}, Shape{1, 2, 1}, Shape{1, 1, -1}}) {
          SCOPED_TRACE(fmt::format("{} {} {}", static_cast<int>(mode), start, stride));
          Slice op;
          op.mode = mode;
          op.start = start;
          op.size = {3, 9, 12};
          op.stride = stride;
          LayerTest test(op, {counted(type, {3, 4, 5})});
          check(test, "slice");
        }
}

TEST(SliceTest, ParametersAsInputs) {
  Slice op;
  op.mode = SampleMode::kFILL;
  const auto list = [](std::vector<int32_t> values) {
    TestInput in = integers(DataType::kINT32, {static_cast<int64_t>(values.size())}, values);
    in.is_constant = true;
    return in;
  };
  LayerTest test(
      op, {data({2, 3, 4}), list({-1, 1}), list({6, 2}), list({1, 1}), data({}, 3), list({2, -2})});
  check(test, "slice");
}

TEST(SliceTest, SamplesOutsideAreAnError) {
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

TEST(GatherTest, RowsAndElements) {
  for (const DataType type : kTypes)
    for (const int axis : {0, 1, 2}) {
      Gather op;
      op.axis = axis;
      LayerTest test(op, {counted(type, {5, 4, 6}),
                          integers<int32_t>(DataType::kINT32, {2, 3}, {0, -1, 3, 2, -4, 1})});
      check(test, "gather");
      LayerTest wide(op, {counted(type, {5, 4, 6}), integers<int64_t>(DataType::kINT64, {}, {-2})});
      check(wide, "gather");
    }
}

TEST(GatherTest, BatchAxes) {
  Gather op;
  op.axis = 2;
  op.batch_axes = 1;
  LayerTest test(
      op, {data({2, 3, 4, 5}), integers<int64_t>(DataType::kINT64, {2, 3}, {0, 1, 3, -1, -2, 2})});
  check(test, "gather");
}

TEST(GatherTest, ElementsAndTuples) {
  for (const DataType type : kTypes) {
    Gather elements;
    elements.mode = GatherMode::kELEMENT;
    for (const int axis : {0, 1}) {
      elements.axis = axis;
      LayerTest test(elements, {counted(type, {3, 4}),
                                integers<int32_t>(DataType::kINT32, {2, 3}, {0, -1, 2, 1, 0, -3})});
      check(test, "gather");
    }
    Gather tuples;
    tuples.mode = GatherMode::kND;
    LayerTest test(tuples, {counted(type, {3, 4, 5}),
                            integers<int64_t>(DataType::kINT64, {2, 2}, {0, -1, 2, 3})});
    check(test, "gather");
    tuples.batch_axes = 1;
    LayerTest batched(tuples,
                      {counted(type, {2, 4, 5}),
                       integers<int64_t>(DataType::kINT64, {2, 3, 1}, {0, -1, 2, 3, 1, 1})});
    check(batched, "gather");
  }
}

TEST(GatherTest, IndicesOutsideAreAnError) {
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
  for (const DataType type : kTypes)
    for (const Shape& condition : {Shape{2, 3, 4}, Shape{2, 1, 1}, Shape{1, 3, 1}, Shape{1, 1, 4}})
      for (const Shape& then : {Shape{2, 3, 4}, Shape{1, 1, 1}, Shape{2, 3, 1}})
        for (const Shape& otherwise : {Shape{2, 3, 4}, Shape{1, 3, 4}}) {
          SCOPED_TRACE(fmt::format("{} {} {}", condition, then, otherwise));
          Tensor flags(DataType::kBOOL, condition);
          for (int64_t i = 0; i < flags.count(); ++i)
            flags.mutable_data<bool>()[i] = bits[static_cast<size_t>(i)];
          LayerTest test(
              Select(),
              {{flags, false, Layout::kLinear}, counted(type, then), counted(type, otherwise)});
          check(test, "select");
        }
}

}  // namespace
}  // namespace tenon::cpu
