#include "ops/pooling.h"

#include "backend/testing.h"
#include "ops/reduce.h"

namespace tenon {
namespace {

using nvinfer1::PoolingType;

double pooling_tolerance(DataType type) {
  return type == DataType::kFLOAT ? 1e-6 : type == DataType::kHALF ? 1e-3 : 8e-3;
}

Pooling pooling(PoolingType type, const Shape& window, const Shape& stride, const Shape& pad) {
  Pooling op;
  op.type = type;
  op.window = window;
  op.stride = stride;
  op.pre_padding = op.post_padding = pad;
  op.blend = 0.25f;
  return op;
}

struct PoolingCase {
  Shape window, stride, pad, data;
};

const PoolingCase kPoolingCases[] = {
    {{3, 3}, {2, 2}, {1, 1}, {2, 64, 11, 13}}, {{3, 3}, {2, 2}, {1, 1}, {1, 7, 9, 8}},
    {{2, 2}, {2, 2}, {0, 0}, {2, 1, 6, 7}},    {{5, 3}, {1, 2}, {2, 0}, {1, 3, 9, 8}},
    {{7, 7}, {1, 1}, {0, 0}, {3, 72, 7, 7}},   {{7, 5}, {1, 1}, {0, 0}, {2, 37, 7, 5}},
    {{9, 9}, {1, 1}, {1, 1}, {2, 8, 7, 7}},    {{2, 3, 2}, {2, 1, 2}, {0, 1, 1}, {2, 16, 5, 6, 7}},
    {{3, 3}, {2, 2}, {1, 1}, {0, 8, 9, 9}},
};

TEST(PoolingTest, EqualsReference) {
  for (const PoolingType kind :
       {PoolingType::kMAX, PoolingType::kAVERAGE, PoolingType::kMAX_AVERAGE_BLEND})
    for (const PoolingCase& c : kPoolingCases)
      for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kBF16})
        for (const Layout layout : tested().layouts)
          for (const bool excludes : {true, false}) {
            SCOPED_TRACE(fmt::format("{} {} {} {}", static_cast<int>(kind), c.data, name_of(type),
                                     name_of(layout)));
            Pooling op = pooling(kind, c.window, c.stride, c.pad);
            op.average_excludes_padding = excludes;
            expect_as_reference(op, {as_type(type, data(c.data, 1, layout))},
                                pooling_tolerance(type));
          }
}

TEST(PoolingTest, RoundsUpDilatesAndCountsAll) {
  for (const Layout layout : tested().layouts) {
    Pooling op = pooling(PoolingType::kAVERAGE, {3, 3}, {2, 2}, {1, 0});
    op.padding_mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP;
    op.average_excludes_padding = false;
    for (const bool all : {false, true}) {
      op.average_counts_all = all;
      expect_as_reference(op, {data({2, 5, 8, 10}, 1, layout)}, 2e-6);
    }
    op = pooling(PoolingType::kMAX, {3, 2}, {1, 1}, {2, 1});
    op.dilation = {2, 3};
    expect_as_reference(op, {data({2, 4, 8, 10}, 1, layout)});
  }
}

// Every seventh element is a NaN, and long runs are -infinity.
TestInput pooling_specials(const Shape& shape, Layout layout) {
  TestInput in = data(shape, 1, layout);
  float* values = in.tensor->mutable_data<float>();
  for (int64_t i = 0; i < in.tensor->count(); ++i) {
    if (i % 7 == 3) values[i] = NAN;
    if (i / 40 % 3 == 1) values[i] = -INFINITY;
  }
  return in;
}

TEST(PoolingTest, NansAreMaxima) {
  for (const PoolingType kind : {PoolingType::kMAX, PoolingType::kMAX_AVERAGE_BLEND})
    for (const PoolingCase& c : kPoolingCases)
      for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kBF16})
        for (const Layout layout : tested().layouts) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", static_cast<int>(kind), c.data, name_of(type),
                                   name_of(layout)));
          expect_as_reference(pooling(kind, c.window, c.stride, c.pad),
                              {as_type(type, pooling_specials(c.data, layout))},
                              pooling_tolerance(type));
        }
  Pooling op = pooling(PoolingType::kMAX, {3, 3}, {2, 2}, {1, 1});
  op.indices = PoolingIndices::kRowsFirst;
  expect_as_reference(op, {pooling_specials({2, 5, 9, 8}, Layout::kLinear)});
}

TEST(PoolingTest, MaximaOfBytes) {
  std::vector<int8_t> elements(size_t{2} * 16 * 6 * 7);
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<int8_t>(i * 77 % 256 - 128);
  for (const Layout layout : tested().layouts) {
    TestInput in = integers(DataType::kINT8, {2, 16, 6, 7}, elements);
    in.layout = layout;
    expect_as_reference(pooling(PoolingType::kMAX, {3, 3}, {2, 2}, {1, 1}), {in});
  }
}

TEST(PoolingTest, SpatialMeans) {
  Reduce op;
  op.operation = nvinfer1::ReduceOperation::kAVG;
  op.axes = 0b1100;
  for (const bool keeps : {true, false})
    for (const Shape& shape : {Shape{2, 70, 7, 7}, Shape{1, 3, 40, 33}, Shape{3, 7, 1, 1}})
      for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kBF16})
        for (const Layout layout : tested().layouts) {
          SCOPED_TRACE(fmt::format("{} {} {}", shape, name_of(type), name_of(layout)));
          op.keep_dimensions = keeps;
          expect_as_reference(op, {as_type(type, data(shape, 1, layout))}, pooling_tolerance(type));
        }
}

}  // namespace
}  // namespace tenon
