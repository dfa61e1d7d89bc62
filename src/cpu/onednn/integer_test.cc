// Integer kernels against the reference: every bit, over types, zero points, shapes and results.
#include "cpu/convolution/integer_testing.h"
#include "cpu/kernels.h"
#include "ops/quantized_matrix_multiply.h"

namespace tenon::cpu {
namespace {

TEST(IntegerKernels, Convolution) {
  if (!onednn_multiplies_integers()) GTEST_SKIP() << "no VNNI";
  struct Case {
    Shape data;
    int64_t output_channels;
    Shape kernel;
    int64_t groups, padding, stride, dilation;
  };
  const Case cases[] = {
      {{1, 3, 9, 7}, 5, {3, 3}, 1, 1, 1, 1},      {{2, 32, 6, 6}, 48, {1, 1}, 1, 0, 1, 1},
      {{1, 16, 8, 8}, 16, {3, 3}, 16, 1, 2, 1},   {{1, 8, 9, 9}, 12, {3, 2}, 2, 1, 2, 2},
      {{1, 64, 5, 5}, 32, {3, 3}, 1, 1, 1, 1},    {{2, 4, 11}, 6, {3}, 1, 2, 1, 1},
      {{1, 3, 4, 5, 6}, 7, {2, 3, 3}, 1, 1, 1, 1}};
  for (const Case& c : cases)
    for (const Types& t : all_types())
      for (Zeros zeros : {Zeros::kNone, Zeros::kOne, Zeros::kEach}) {
        SCOPED_TRACE(fmt::format("{} {} {} {} {}", c.data, name_of(t.data), name_of(t.weights),
                                 name_of(t.to), static_cast<int>(zeros)));
        auto op = integer_convolution(c.output_channels, c.kernel, c.groups);
        op.to = t.to;
        op.bounds = bounds_for(t.to, zeros);
        const int rank = c.kernel.rank();
        op.pre_padding = op.post_padding = Shape::filled(rank, c.padding);
        op.stride = Shape::filled(rank, c.stride);
        op.dilation = Shape::filled(rank, c.dilation);
        Shape weights{c.output_channels, c.data[1] / c.groups};
        for (int64_t k : c.kernel) weights.push_back(k);
        if (c.groups > 1 && zeros != Zeros::kNone) continue;  // the reference kernel's
        expect_exact(
            op,
            operands(t, bytes(t.data, c.data), bytes(t.weights, weights), c.output_channels, zeros),
            "onednn_integer_convolution");
        if (::testing::Test::HasFailure()) return;
      }
}

TEST(IntegerKernels, MatrixMultiply) {
  if (!onednn_multiplies_integers()) GTEST_SKIP() << "no VNNI";
  const std::pair<Shape, Shape> shapes[] = {{{5, 7}, {7, 3}},
                                            {{1, 64}, {64, 33}},
                                            {{2, 3, 70}, {1, 70, 16}},
                                            {{2, 3, 4, 9}, {2, 3, 9, 5}},
                                            {{1, 3, 4, 9}, {2, 1, 9, 5}},
                                            {{40, 300}, {300, 80}}};
  for (const auto& [a, b] : shapes)
    for (const Types& t : all_types())
      for (Zeros zeros : {Zeros::kNone, Zeros::kOne, Zeros::kEach})
        for (bool constant : {true, false}) {
          SCOPED_TRACE(fmt::format("{} {} {} {} {} {} {}", a, b, name_of(t.data),
                                   name_of(t.weights), name_of(t.to), static_cast<int>(zeros),
                                   constant));
          QuantizedMatrixMultiply op;
          op.to = t.to;
          op.bounds = bounds_for(t.to, zeros);
          expect_exact(op, operands(t, bytes(t.data, a), bytes(t.weights, b), b.back(), zeros),
                       "onednn_integer_matrix_multiply", std::vector<bool>(In::kCount, constant));
          if (::testing::Test::HasFailure()) return;
        }
}

TEST(IntegerKernels, WeightsKnownOnlyWhenRunningAreRefused) {
  if (!onednn_multiplies_integers()) GTEST_SKIP() << "no VNNI";
  const Types t{DataType::kINT8, DataType::kINT8, DataType::kINT32};
  Layer layer(
      integer_convolution(2, {1, 1}, 1),
      operands(t, bytes(t.data, {1, 3, 4, 4}), bytes(t.weights, {2, 3, 1, 1}), 2, Zeros::kNone),
      std::vector<bool>(In::kCount, false));
  EXPECT_EQ(layer.offer("onednn_integer_convolution"),
            "weights that are not constant are not supported");
}

}  // namespace
}  // namespace tenon::cpu
