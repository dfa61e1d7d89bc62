// Scattered updates against the reference, bit for bit: where they meet, their order counts.
#include "ops/scatter.h"

#include "ops/max_unpool.h"
#include "target/cuda/cuda_target.h"
#include "target/testing.h"

namespace tenon {
namespace {

using nvinfer1::ScatterMode;

constexpr DataType kTypes[] = {DataType::kFLOAT, DataType::kHALF, DataType::kBF16, DataType::kINT32,
                               DataType::kINT64, DataType::kINT8, DataType::kUINT8};

// Numbers from -8 to 8, of which products and sums are rounded in every type of floats.
TestInput numbers(DataType type, const Shape& shape, uint32_t seed) {
  const TestInput floats = {random_tensor(shape, seed, -8, 8), false, Layout::kLinear};
  if (is_float(type)) return as_type(type, floats);
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.count(); ++i) {
    const auto x = static_cast<int64_t>(floats.tensor->data<float>()[i]);
    std::memcpy(t.mutable_data<std::byte>() + i * bits_of(type) / 8, &x, bytes_of(type, 1));
  }
  return {t, false, Layout::kLinear};
}

TestInput indices(const Shape& shape, int32_t extent, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> values(static_cast<size_t>(shape.volume()));
  for (int32_t& v : values)
    v = static_cast<int32_t>(random() % (2 * static_cast<uint32_t>(extent))) - extent;
  return integers(DataType::kINT32, shape, values);
}

void check(const Op& op, std::vector<TestInput> inputs, const char* name) {
  LayerTest test(op, std::move(inputs), cuda::cuda_target());
  ASSERT_EQ(test.offer(name), "");
  expect_identical(test.run(), test.reference());
}

TEST(CudaScatterTest, ElementsAlongEveryAxis) {
  for (const DataType type : kTypes)
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
        check(op,
              {numbers(type, shape, 1), indices(given, static_cast<int32_t>(shape[axis]), 2),
               numbers(type, given, 3)},
              "scatter");
      }
}

TEST(CudaScatterTest, Blocks) {
  for (const DataType type : kTypes)
    for (const auto reduction :
         {ScatterReduction::kNone, ScatterReduction::kAdd, ScatterReduction::kMax}) {
      SCOPED_TRACE(fmt::format("{} reduction {}", name_of(type), static_cast<int>(reduction)));
      Scatter op;
      op.mode = ScatterMode::kND;
      op.reduction = reduction;
      check(op,
            {numbers(type, {7, 4, 33}, 1), indices({20, 1}, 7, 2), numbers(type, {20, 4, 33}, 3)},
            "scatter");
      check(op,
            {numbers(type, {7, 7, 8}, 1), indices({5, 6, 2}, 7, 2), numbers(type, {5, 6, 8}, 3)},
            "scatter");
      check(op, {numbers(type, {7, 7}, 1), indices({300, 2}, 7, 2), numbers(type, {300}, 3)},
            "scatter");
    }
}

TEST(CudaScatterTest, ManyUpdates) {
  for (const auto reduction : {ScatterReduction::kNone, ScatterReduction::kAdd}) {
    Scatter op;
    op.reduction = reduction;
    check(op, {data({1000}), indices({20000}, 1000, 2), data({20000}, 3)}, "scatter");
  }
}

TEST(CudaScatterTest, NoUpdates) {
  Scatter op;
  check(op, {data({3, 4}), indices({0, 4}, 3, 1), data({0, 4})}, "scatter");
}

TEST(CudaScatterTest, IndicesOutsideAreLeftOut) {
  for (const auto reduction : {ScatterReduction::kNone, ScatterReduction::kAdd}) {
    Scatter op;
    op.reduction = reduction;
    const TestInput x = data({3});
    LayerTest test(op,
                   {x, integers<int32_t>(DataType::kINT32, {3}, {3, -4, INT32_MIN}), data({3}, 5)},
                   cuda::cuda_target());
    ASSERT_EQ(test.offer("scatter"), "");
    expect_identical(test.run(), *x.tensor);
  }
}

TEST(CudaMaxUnpoolTest, MaximaReturnToTheirPlaces) {
  MaxUnpool op;
  op.window = op.stride = {2, 2};
  op.pre_padding = op.post_padding = {0, 0};
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF}) {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < 2 * 3 * 4 * 5; ++i)  // in windows of a result of 8 rows and 10 columns
      places.push_back(i / 20 * 80 + i / 5 % 4 * 20 + i % 5 * 2 + (i % 3 == 0 ? 11 : 0));
    check(op, {numbers(type, {2, 3, 4, 5}, 1), integers(DataType::kINT64, {2, 3, 4, 5}, places)},
          "max_unpool");
  }
}

}  // namespace
}  // namespace tenon
