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
  const PoolingCase cases[] = {
      {{3, 3}, {2, 2}, {1, 1}, {2, 16, 6, 7}},  {{3, 3}, {1, 3}, {2, 1}, {2, 48, 5, 7}},
      {{2, 2}, {2, 2}, {0, 0}, {3, 32, 8, 9}},  {{2, 2}, {1, 1}, {1, 1}, {1, 16, 1, 1}},
      {{5, 5}, {1, 1}, {2, 2}, {2, 16, 9, 4}},  {{3, 3}, {2, 2}, {1, 1}, {2, 24, 6, 7}},
      {{3, 2}, {2, 2}, {1, 1}, {2, 16, 6, 7}},  {{3, 3}, {4, 4}, {0, 0}, {1, 16, 11, 12}},
      {{4, 4}, {2, 2}, {3, 3}, {1, 16, 11, 12}}};
  for (const PoolingCase& c : cases)
    for (const DataType type : {DataType::kINT8, DataType::kUINT8})
      for (const Layout layout : tested().layouts)
        for (const int64_t dilation : {1, 2}) {
          if (dilation > 1 && c.data[2] < 2 * c.window[0]) continue;
          SCOPED_TRACE(fmt::format("{} {} {} {}", name_of(type), c.window, c.data, dilation));
          std::vector<int8_t> elements(static_cast<size_t>(c.data.volume()));
          for (size_t i = 0; i < elements.size(); ++i)
            elements[i] = static_cast<int8_t>(i * i * 77 % 251 + i % 5);
          TestInput in = integers(type, c.data, elements);
          in.layout = layout;
          Pooling op = pooling(PoolingType::kMAX, c.window, c.stride, c.pad);
          op.dilation = Shape::filled(2, dilation);
          expect_as_reference(op, {in});
        }
}

TEST(PoolingTest, SpatialMeans) {
  Reduce op;
  op.operation = nvinfer1::ReduceOperation::kAVG;
  op.axes = 0b1100;
  for (const bool keeps : {true, false})
    for (const Shape& shape :
         {Shape{2, 70, 7, 7}, Shape{1, 3, 40, 33}, Shape{3, 7, 1, 1}, Shape{90, 520, 3, 5}})
      for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kBF16})
        for (const Layout layout : tested().layouts) {
          SCOPED_TRACE(fmt::format("{} {} {}", shape, name_of(type), name_of(layout)));
          op.keep_dimensions = keeps;
          expect_as_reference(op, {as_type(type, data(shape, 1, layout))}, pooling_tolerance(type));
        }
}

}  // namespace
}  // namespace tenon
