// Scattered updates against the reference, bit for bit: where they meet, their order counts.
#include "ops/scatter.h"

#include "backend/accuracy_testing.h"
#include "common/suites/copies_testing.h"
#include "ops/max_unpool.h"

namespace tenon {
namespace {

using nvinfer1::ScatterMode;

constexpr DataType kScatterTypes[] = {DataType::kFLOAT, DataType::kHALF,  DataType::kBF16,
                                      DataType::kINT32, DataType::kINT64, DataType::kINT8,
                                      DataType::kUINT8};

// Numbers from -8 to 8, of which products and sums are rounded in every type of floats.
TestInput scatter_numbers(DataType type, const Shape& shape, uint32_t seed) {
  const TestInput floats = {random_tensor(shape, seed, -8, 8), false, Layout::kLinear};
  if (is_float(type)) return as_type(type, floats);
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.count(); ++i) {
    const auto x = static_cast<int64_t>(floats.tensor->data<float>()[i]);
    std::memcpy(t.mutable_data<std::byte>() + i * bits_of(type) / 8, &x, bytes_of(type, 1));
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

TEST(ScatterTest, ElementsAlongEveryAxis) {
  for (const DataType type : kScatterTypes)
    for (const int axis : {0, 1, 2})
      for (const auto reduction :
           {ScatterReduction::kNone, ScatterReduction::kAdd, ScatterReduction::kMul,
            ScatterReduction::kMin, ScatterReduction::kMax}) {
        SCOPED_TRACE(fmt::format("{} axis {} reduction {}", name_of(type), axis,
                                 static_cast<int>(reduction)));
        Scatter op;
        op.axis = axis;
        op.reduction = reduction;
        Shape given{4, 3, 5};
        given[axis] = 9;  // more than there are places
        const Shape shape{4, 5, 6};
        expect_as_reference(
            op, {scatter_numbers(type, shape, 1), indices(DataType::kINT32, given, {shape[axis]}),
                 scatter_numbers(type, given, 3)});
      }
}

TEST(ScatterTest, Blocks) {
  for (const DataType type : kScatterTypes)
    for (const auto reduction :
         {ScatterReduction::kNone, ScatterReduction::kAdd, ScatterReduction::kMax}) {
      SCOPED_TRACE(fmt::format("{} reduction {}", name_of(type), static_cast<int>(reduction)));
      Scatter op;
      op.mode = ScatterMode::kND;
      op.reduction = reduction;
      expect_as_reference(
          op, {scatter_numbers(type, {7, 4, 33}, 1), indices(DataType::kINT32, {20, 1}, {7}),
               scatter_numbers(type, {20, 4, 33}, 3)});
      expect_as_reference(
          op, {scatter_numbers(type, {7, 7, 8}, 1), indices(DataType::kINT32, {5, 6, 2}, {7}),
               scatter_numbers(type, {5, 6, 8}, 3)});
      expect_as_reference(
          op, {scatter_numbers(type, {7, 7}, 1), indices(DataType::kINT32, {300, 2}, {7}),
               scatter_numbers(type, {300}, 3)});
    }
}

TEST(ScatterTest, ManyUpdates) {
  for (const auto reduction : {ScatterReduction::kNone, ScatterReduction::kAdd}) {
    Scatter op;
    op.reduction = reduction;
    expect_as_reference(
        op, {data({1000}), indices(DataType::kINT32, {20000}, {1000}), data({20000}, 3)});
  }
}

TEST(ScatterTest, NoUpdates) {
  Scatter op;
  expect_as_reference(op, {data({3, 4}), indices(DataType::kINT32, {0, 4}, {3}), data({0, 4})});
}

TEST(MaxUnpoolTest, MaximaReturnToTheirPlaces) {
  MaxUnpool op;
  op.window = op.stride = {2, 2};
  op.pre_padding = op.post_padding = {0, 0};
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF}) {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < 2 * 3 * 4 * 5; ++i)  // in windows of a result of 8 rows and 10 columns
      places.push_back(i / 20 * 80 + i / 5 % 4 * 20 + i % 5 * 2 + (i % 3 == 0 ? 11 : 0));
    expect_as_reference(op, {scatter_numbers(type, {2, 3, 4, 5}, 1),
                             integers(DataType::kINT64, {2, 3, 4, 5}, places)});
  }
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
        expect_as_reference(op,
                            {counted(type, c.data), indices(index, c.indices, c.extents),
                             counted(type, c.updates, Layout::kLinear, 100)},
                            "scatter");
      }
}

TEST(ScatterTest, ManyElementsAlongEveryAxis) {
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
        expect_as_reference(op,
                            {counted(type, data_shape), indices(DataType::kINT64, given, {extent}),
                             counted(type, given, Layout::kLinear, 100)},
                            "scatter");
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
      expect_as_reference(op, {data({rows, columns}, 1), at, data({rows, columns}, 2)}, "scatter");
    }
}

TEST(ScatterTest, EveryReductionInOrder) {
  for (const auto reduction : {ScatterReduction::kAdd, ScatterReduction::kMul,
                               ScatterReduction::kMin, ScatterReduction::kMax}) {
    Scatter op;
    op.reduction = reduction;
    expect_as_reference(
        op, {data({30, 40}, 1), indices(DataType::kINT32, {300, 40}, {30}), data({300, 40}, 2)},
        "scatter");
    TestInput numbers = data({30, 40}, 3), updates = data({500, 40}, 4);
    numbers.tensor->mutable_data<float>()[7] = NAN;
    updates.tensor->mutable_data<float>()[9] = NAN;
    updates.tensor->mutable_data<float>()[90] = INFINITY;
    op.mode = ScatterMode::kND;
    LayerTest test(op, {numbers, indices(DataType::kINT64, {500, 1}, {30}), updates});
    ASSERT_EQ(test.offer("scatter"), "");
    // Of what is no number, every kind will do.
    expect_accurate(test.run(), test.reference(), 0, 1);
  }
}

}  // namespace
}  // namespace tenon
