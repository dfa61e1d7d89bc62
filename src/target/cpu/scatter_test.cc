// Scattered updates against the reference, bit for bit.
#include "ops/scatter.h"

#include "target/testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ScatterMode;

// Elements that all differ as far as the type allows.
TestInput counted(DataType type, const Shape& shape, int first) {
  Tensor t(type, shape);
  const int64_t bytes = bits_of(type) / 8;
  for (int64_t i = 0; i < t.count(); ++i) {
    const int64_t value = first + i;
    std::memcpy(t.mutable_data<std::byte>() + i * bytes, &value, static_cast<size_t>(bytes));
  }
  return {t, false, Layout::kLinear};
}

// Any of the indices of extents `to`, in rows; half of them negative.
TestInput indices(DataType type, const Shape& shape, const std::vector<int64_t>& to) {
  std::mt19937 random(4);
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.count(); ++i) {
    const int64_t extent = to[static_cast<size_t>(i) % to.size()];
    const int64_t index =
        static_cast<int64_t>(random() % static_cast<uint64_t>(2 * extent)) - extent;
    if (type == DataType::kINT64)
      t.mutable_data<int64_t>()[i] = index;
    else
      t.mutable_data<int32_t>()[i] = static_cast<int32_t>(index);
  }
  return {t, false, Layout::kLinear};
}

void check(const Scatter& op, std::vector<TestInput> inputs) {
  LayerTest test(op, std::move(inputs));
  ASSERT_EQ(test.offer("scatter"), "");
  expect_identical(test.run(), test.reference());
}

// Updates of these shapes meet, so that their order counts, and are shared by threads.
TEST(ScatterTest, BlocksOfEveryTypeAndSize) {
  struct {
    Shape data, indices, updates;
    std::vector<int64_t> extents;
  } const kCases[] = {{{50, 7}, {60, 1}, {60, 7}, {50}},
                      {{300, 300}, {90000, 2}, {90000}, {300, 300}},
                      {{64, 1024}, {9, 8, 1}, {9, 8, 1024}, {64}},
                      {{4, 5, 6}, {3, 3}, {3}, {4, 5, 6}},
                      {{4, 5}, {2, 0}, {2, 4, 5}, {1}},
                      {{4, 5}, {0, 1}, {0, 5}, {4}},
                      {{1}, {1, 1}, {1}, {1}}};
  for (const auto& c : kCases)
    for (const DataType type :
         {DataType::kFLOAT, DataType::kHALF, DataType::kINT64, DataType::kBOOL, DataType::kINT32})
      for (const DataType index : {DataType::kINT32, DataType::kINT64}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), c.data, c.indices));
        Scatter op;
        op.mode = ScatterMode::kND;
        check(op, {counted(type, c.data, 0), indices(index, c.indices, c.extents),
                   counted(type, c.updates, 100)});
      }
}

TEST(ScatterTest, ElementsAlongEveryAxis) {
  for (const auto& [data_shape, given] : {std::pair<Shape, Shape>{{6, 300, 5}, {6, 200, 3}},
                                          {{3, 2, 700}, {2, 2, 500}},
                                          {{40, 3, 9}, {1, 3, 9}},
                                          {{30, 40, 90}, {12, 40, 90}},
                                          {{5, 5, 5}, {5, 5, 0}}})
    for (const int axis : {0, 1, -1})
      for (const DataType type : {DataType::kFLOAT, DataType::kINT8}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), data_shape, axis));
        Scatter op;
        op.axis = axis;
        const int64_t extent = data_shape[axis < 0 ? axis + 3 : axis];
        check(op, {counted(type, data_shape, 0), indices(DataType::kINT64, given, {extent}),
                   counted(type, given, 100)});
      }
}

// An index for each row, expanded, but for one column that has others.
TEST(ScatterTest, RowsOfTheSameIndex) {
  const int64_t rows = 20, columns = 900;
  for (const auto reduction : {ScatterReduction::kNone, ScatterReduction::kAdd})
    for (const int64_t other : {-1, 0, 300, 899}) {
      SCOPED_TRACE(other);
      TestInput at = indices(DataType::kINT64, {rows, columns}, {rows});
      auto* const index = at.tensor->mutable_data<int64_t>();
      for (int64_t i = 0; i < rows * columns; ++i)
        if (i % columns != other) index[i] = index[i - i % columns + (other == 0 ? 1 : 0)];
      Scatter op;
      op.reduction = reduction;
      check(op, {data({rows, columns}, 1), at, data({rows, columns}, 2)});
    }
}

TEST(ScatterTest, EveryReductionInOrder) {
  for (const auto reduction : {ScatterReduction::kAdd, ScatterReduction::kMul,
                               ScatterReduction::kMin, ScatterReduction::kMax}) {
    Scatter op;
    op.reduction = reduction;
    check(op, {data({30, 40}, 1), indices(DataType::kINT32, {300, 40}, {30}), data({300, 40}, 2)});
    TestInput numbers = data({30, 40}, 3), updates = data({500, 40}, 4);
    numbers.tensor->mutable_data<float>()[7] = NAN;
    updates.tensor->mutable_data<float>()[9] = NAN;
    updates.tensor->mutable_data<float>()[90] = INFINITY;
    op.mode = ScatterMode::kND;
    check(op, {numbers, indices(DataType::kINT64, {500, 1}, {30}), updates});
  }
}

TEST(ScatterTest, IndicesOutsideAreErrors) {
  Scatter op;
  op.mode = ScatterMode::kND;
  LayerTest test(op,
                 {data({3, 2}), integers<int32_t>(DataType::kINT32, {1, 1}, {3}), data({1, 2})});
  ASSERT_EQ(test.offer("scatter"), "");
  try {
    test.run();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("index 3 is outside [-3, 3)"));
  }
}

}  // namespace
}  // namespace tenon::cpu
