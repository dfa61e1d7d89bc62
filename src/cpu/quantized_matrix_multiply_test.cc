// Matrix products whose weights stay quantized in memory.
#include <gtest/gtest.h>

#include "base/low_precision.h"
#include "common/convolution_testing.h"
#include "cpu/convolution/direct_panels.h"
#include "cpu/convolution/quantized_panels.h"
#include "network/network.h"
#include "ops/dequantize.h"
#include "ops/matrix_multiply.h"

namespace tenon::cpu {
namespace {

using nvinfer1::MatrixOperation;
using ::testing::HasSubstr;

constexpr const char* kName = "quantized_matrix_multiply";
constexpr double kRelative = 3e-6;

struct Case {
  const char* name;
  Shape rows, matrix;
  Shape block;  // of a scale; empty: one for each output channel
  DataType type = DataType::kINT4;
  bool has_zero = false;
  MatrixOperation operation = MatrixOperation::kNONE;
};

Tensor quantized(DataType type, const Shape& shape, uint32_t seed) {
  const Tensor random = random_tensor(shape, seed);
  std::vector<float> numbers;
  for (int64_t i = 0; i < random.count(); ++i) {
    const float x = random.data<float>()[i];
    const float unit = x - std::floor(x);  // of [0, 1)
    numbers.push_back(std::floor(type == DataType::kINT4   ? unit * 16 - 8
                                 : type == DataType::kINT8 ? unit * 256 - 128
                                                           : unit * 256));
  }
  Tensor t(type, shape);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (type == DataType::kINT8) t.mutable_data<int8_t>()[i] = static_cast<int8_t>(numbers[i]);
    if (type == DataType::kUINT8) t.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(numbers[i]);
  }
  if (type == DataType::kINT4)
    write_low_precision(type, numbers.data(), 0, t.count(), t.mutable_data<void>());
  return t;
}

Shape scale_shape(const Case& c) {
  if (c.block.rank() == 0)
    return {c.matrix[c.matrix.rank() - (c.operation == MatrixOperation::kTRANSPOSE ? 2 : 1)]};
  Shape shape = c.matrix;
  for (int i = 0; i < shape.rank(); ++i) shape[i] = (shape[i] + c.block[i] - 1) / c.block[i];
  return shape;
}

// The weights as floats, with what they were dequantized from.
TestInput weights_of(const Case& c) {
  auto folded = std::make_shared<Folded>();
  auto op = std::make_unique<Dequantize>();
  op->layout.axis = c.operation == MatrixOperation::kTRANSPOSE ? -2 : -1;
  op->layout.block = c.block;
  folded->inputs = {quantized(c.type, c.matrix, 5), random_tensor(scale_shape(c), 6)};
  if (c.has_zero) folded->inputs.push_back(quantized(c.type, scale_shape(c), 7));
  Tensor floats(DataType::kFLOAT, c.matrix);
  std::vector<TensorView> inputs;
  for (const Tensor& t : folded->inputs) inputs.push_back(view_of(t));
  const TensorView out = view_of(floats);
  op->reference({inputs, {&out, 1}});
  folded->op = std::move(op);
  return {floats, true, Layout::kLinear, folded};
}

std::vector<TestInput> inputs_of(const Case& c) {
  return {data(c.rows), weights_of(c)};
}

MatrixMultiply op_of(const Case& c) {
  MatrixMultiply op;
  op.operation_b = c.operation;
  return op;
}

class QuantizedMatrixMultiplyTest : public testing::TestWithParam<Case> {};

TEST_P(QuantizedMatrixMultiplyTest, EqualsReference) {
  LayerTest test(op_of(GetParam()), inputs_of(GetParam()));
  check(test, kName, kRelative);
}

TEST_P(QuantizedMatrixMultiplyTest, AddsBiasAndComputesEpilogues) {
  MatrixMultiply op = op_of(GetParam());
  op.epilogue.inputs = 1;
  op.epilogue.steps = {activation(nvinfer1::ActivationType::kGELU_ERF, 0)};
  auto inputs = inputs_of(GetParam());
  inputs.push_back(constant({LayerTest(op_of(GetParam()), inputs).output_shape().back()}, 3));
  LayerTest test(op, inputs);
  check(test, kName, kRelative);
}

// Each number of the panels is that of the reference, bit for bit.
TEST_P(QuantizedMatrixMultiplyTest, DequantizesExactly) {
  const Case& c = GetParam();
  const TestInput weights = weights_of(c);
  const bool transposed = c.operation == MatrixOperation::kTRANSPOSE;
  const int rank = c.matrix.rank();
  const int64_t rows = c.matrix[rank - (transposed ? 1 : 2)];
  const int64_t columns = c.matrix[rank - (transposed ? 2 : 1)];
  const auto taken = QuantizedPanels::take(weights.folded.get(), transposed, rows, columns);
  ASSERT_TRUE(std::holds_alternative<QuantizedPanels>(taken)) << std::get<std::string>(taken);
  const auto& panels = std::get<QuantizedPanels>(taken);
  EXPECT_EQ(panels.bits, c.type == DataType::kINT4 ? 4 : 8);
  std::vector<float> found(static_cast<size_t>(rows * direct_panel()));
  for (int64_t first = 0; first < columns; first += direct_panel()) {
    const int64_t width = std::min(direct_panel(), padded_channels(columns) - first);
    panels.dequantize(first, width, {0, rows}, found.data());
    for (int64_t k = 0; k < rows; ++k)
      for (int64_t n = first; n < std::min(first + width, columns); ++n)
        ASSERT_EQ(found[static_cast<size_t>(k * width + n - first)],
                  weights.tensor->data<float>()[transposed ? n * rows + k : k * columns + n])
            << "row " << k << ", column " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, QuantizedMatrixMultiplyTest,
    testing::Values(
        Case{"groups", {128, 96}, {96, 64}, {32, 1}},
        Case{"one_row", {1, 1024}, {1024, 160}, {128, 1}},
        Case{"four_rows_of_bytes", {4, 301}, {301, 48}, {}, DataType::kINT8},
        Case{"three_rows_with_zero_points", {3, 97}, {97, 48}, {32, 1}, DataType::kUINT8, true},
        Case{"channels", {30, 64}, {64, 48}, {}}, Case{"odd_terms", {7, 37}, {37, 48}, {}},
        Case{"groups_that_end_early", {40, 600}, {600, 32}, {64, 1}},
        Case{"zero_points", {30, 96}, {96, 48}, {32, 1}, DataType::kINT4, true},
        Case{"transposed",
             {2, 20, 96},
             {1, 48, 96},
             {1, 1, 32},
             DataType::kINT4,
             false,
             MatrixOperation::kTRANSPOSE},
        Case{"int8", {64, 300}, {300, 80}, {}, DataType::kINT8},
        Case{"uint8_with_zero_points", {64, 96}, {96, 48}, {32, 1}, DataType::kUINT8, true},
        Case{"odd_groups", {20, 45}, {45, 32}, {15, 1}, DataType::kINT8},
        Case{"scales_of_several_channels", {20, 64}, {64, 32}, {16, 8}},
        Case{"deep", {3, 5000}, {5000, 32}, {128, 1}}, Case{"no_rows", {0, 24}, {24, 48}, {}}),
    [](const auto& i) { return i.param.name; });

// The last panel may have fewer vectors than it is wide.
TEST(QuantizedMatrixMultiplyTest, TakesAnOddNumberOfVectors) {
  for (const int64_t rows : {2, 20}) {
    const Case c{"", {rows, 64}, {64, 3 * direct_loops().lanes}, {32, 1}};
    LayerTest test(op_of(c), inputs_of(c));
    check(test, kName, kRelative);
  }
}

TEST(QuantizedMatrixMultiplyTest, FewRowsAddOperandsAndKeepBounds) {
  const Case c{"", {3, 64}, {64, 48}, {32, 1}};
  MatrixMultiply op = op_of(c);
  op.epilogue.inputs = 2;
  op.epilogue.steps = {binary(nvinfer1::ElementWiseOperation::kSUM, 0, 1),
                       activation(nvinfer1::ActivationType::kRELU, 2)};
  auto inputs = inputs_of(c);
  inputs.resize(3);
  inputs.push_back(data({3, 48}, 7));
  LayerTest test(op, inputs);
  check(test, kName, kRelative);
}

// Bytes around 128 are multiplied with data around 10: sums before the zero point is taken off
// would be thousands of times as large as the result.
TEST(QuantizedMatrixMultiplyTest, FewRowsFarFromZeroAreAsExactAsMany) {
  for (const DataType type : {DataType::kINT4, DataType::kINT8, DataType::kUINT8}) {
    const Case c{"", {2, 4096}, {4096, 48}, {}, type, type == DataType::kUINT8};
    auto inputs = inputs_of(c);
    inputs[0].tensor = random_tensor(c.rows, 1, 9, 11);
    LayerTest test(op_of(c), inputs);
    check(test, kName, kRelative);
  }
}

TEST(QuantizedMatrixMultiplyTest, FewRowsOfInfiniteDataAreThoseOfFloats) {
  const Case c{"", {2, 64}, {64, 48}, {32, 1}};
  auto inputs = inputs_of(c);
  inputs[0].tensor->mutable_data<float>()[5] = INFINITY;
  inputs[0].tensor->mutable_data<float>()[64 + 7] = NAN;
  LayerTest test(op_of(c), inputs);
  ASSERT_EQ(test.offer(kName), "");
  const Tensor found = test.run(), expected = test.reference();
  const std::string_view kinds[] = {"nan", "inf", "-inf", "number"};
  const auto kind_of = [&](float x) {
    return kinds[std::isnan(x) ? 0 : std::isfinite(x) ? 3 : x > 0 ? 1 : 2];
  };
  for (int64_t i = 0; i < found.count(); ++i)
    EXPECT_EQ(kind_of(found.data<float>()[i]), kind_of(expected.data<float>()[i])) << i;
}

TEST(QuantizedMatrixMultiplyTest, OtherNumbersAreNotTaken) {
  const auto refusal = [](const Case& c, const std::function<void(TestInput&)>& change) {
    auto inputs = inputs_of(c);
    change(inputs[1]);
    return LayerTest(op_of(c), inputs).offer(kName);
  };
  const Case c{"", {8, 32}, {32, 48}, {}};
  EXPECT_EQ(refusal(c, [](TestInput&) {}), "");
  EXPECT_THAT(refusal(c, [](TestInput& w) { w.folded = nullptr; }), HasSubstr("not quantized"));
  EXPECT_THAT(refusal({"", {8, 32}, {32, 50}, {}}, [](TestInput&) {}),
              HasSubstr("50 columns do not fill vectors"));
}

TEST(QuantizedMatrixMultiplyTest, WeightsTakeAnEighthOfFloats) {
  const Case c{"", {8, 1024}, {1024, 1024}, {128, 1}};
  LayerTest test(op_of(c), inputs_of(c));
  ASSERT_EQ(test.offer(kName), "");
  EXPECT_LT(test.kernel().packed_bytes(), size_t{1024} * 1024 * 4 / 7);
}

TEST(QuantizedMatrixMultiplyTest, DamagedPlansAreRefused) {
  const Case c{"", {8, 24}, {24, 48}, {}};
  LayerTest test(op_of(c), inputs_of(c));
  ASSERT_EQ(test.offer(kName), "");
  const auto error = [&](const std::function<void(StoredKernel&)>& damage) {
    return error_of_stored(test, damage);
  };
  EXPECT_THAT(error([](StoredKernel& s) { s.packed.pop_back(); }), HasSubstr("stored tensors"));
  EXPECT_THAT(error([](StoredKernel& s) { s.packed[0] = Tensor(DataType::kUINT8, {7}); }),
              HasSubstr("not packed for 48 columns"));
  EXPECT_THAT(error([](StoredKernel& s) { s.packed[1] = Tensor(DataType::kFLOAT, {7}); }),
              HasSubstr("not packed for 48 columns"));
  const auto packed_for = [](int64_t lanes) {
    return [lanes](StoredKernel& s) {
      s.packed[0] = Tensor(DataType::kUINT8, {s.packed[0].count() / lanes, lanes});
    };
  };
  EXPECT_EQ(error(packed_for(direct_loops().lanes)), "");
  EXPECT_THAT(error(packed_for(24 - direct_loops().lanes)), HasSubstr("not packed for 48 columns"))
      << "panels of a machine with 8 or 16 floats in a vector";
  for (const char* field : {"bits", "rows", "group"})
    for (const int64_t value : {int64_t{0}, int64_t{-4}, INT64_MAX})
      EXPECT_NE(error([&](StoredKernel& s) {
                  for (auto& [name, stored] : s.state)
                    if (name == field) stored = value;
                }),
                "")
          << field << " " << value;
}

}  // namespace
}  // namespace tenon::cpu
