#include "ops/quantized_convolution.h"
#include "ops/quantized_matrix_multiply.h"
#include "ops/shuffle.h"
#include "optimize/quantized_model.h"

namespace tenon {
namespace {

using namespace testing;

constexpr double kProductsTolerance = 0.01;

std::unique_ptr<Network> integers(const Network& network) {
  auto after = rewritten(network, quantized_products, FusingTarget(), kProductsTolerance);
  if (auto patch = dead_layers(*after, FusingTarget())) std::move(*patch).apply(*after);
  return after;
}

using ::testing::ElementsAre;

TEST(QuantizedProducts, AConvolutionTakesInWhatFollows) {
  for (const bool with_relu : {false, true})
    for (const DataType type : {DataType::kINT8, DataType::kUINT8}) {
      QuantizedModel m;
      Value& x = m.through(m.input({1, 2, 5, 5}), type, 0.01f, type == DataType::kINT8 ? 3 : 120);
      Value& kernel =
          m.dequantize(m.bytes(DataType::kINT8, {3, 2, 3, 3}), {0.01f, 0.02f, 0.005f}, nullptr, 0);
      Value& y = m.convolution_with(x, kernel, 3, &m.weight({3}));
      m.output(m.through(with_relu ? m.relu(y) : y, DataType::kUINT8, 0.03f, with_relu ? 0 : 128));
      const auto after = integers(m.network);
      EXPECT_THAT(kinds(*after), ElementsAre("Quantize", "QuantizedConvolution", "Dequantize"));
    }
}

TEST(QuantizedProducts, WithoutQuantizeTheResultIsFloats) {
  QuantizedModel m;
  Value& x = m.through(m.input({1, 2, 5, 5}), DataType::kUINT8, 0.01f, 7);
  Value& kernel = m.dequantize(m.bytes(DataType::kUINT8, {3, 2, 3, 3}), {0.01f},
                               &m.zero(DataType::kUINT8, 130));
  Value& y = m.convolution_with(x, kernel, 3, nullptr);
  // Nothing but one number is left between the bounds.
  m.output(
      m.through(m.activation(y, ActivationType::kCLIP, 0, 0.001f), DataType::kUINT8, 0.03f, 5));
  const auto after = integers(m.network);
  EXPECT_THAT(kinds(*after), ElementsAre("Quantize", "QuantizedConvolution", "Activation",
                                         "Quantize", "Dequantize"));
}

// Zero points and ends of the type that are no bounds, and those that are.
TEST(QuantizedProducts, BoundsOfActivationsAreThoseOfTheBytes) {
  struct Case {
    bool clips;
    DataType type;
    float scale;
    int zero;
    ResultBounds bounds;
  };
  const Case cases[] = {
      {false, DataType::kUINT8, 0.03f, 0, {}},      {false, DataType::kINT8, 0.03f, -128, {}},
      {false, DataType::kINT8, 0.03f, 0, {0, 127}}, {false, DataType::kUINT8, 0.03f, 5, {5, 255}},
      {true, DataType::kINT8, 0.03f, 0, {0, 67}},  // 2 / 0.03 is 66.7
      {true, DataType::kINT8, 0.01f, 0, {0, 127}},  {true, DataType::kUINT8, 0.01f, 0, {0, 200}}};
  for (const Case& c : cases) {
    QuantizedModel m;
    Value& x = m.through(m.input({1, 2, 5, 5}), DataType::kINT8, 0.01f, 0);
    Value& kernel = m.dequantize(m.bytes(DataType::kINT8, {3, 2, 3, 3}), {0.01f});
    Value& y = m.convolution_with(x, kernel, 3, nullptr);
    Value& z = c.clips ? m.activation(y, ActivationType::kCLIP, 0, 2) : m.relu(y);
    m.output(m.through(z, c.type, c.scale, c.zero));
    const auto after = integers(m.network);
    ASSERT_THAT(kinds(*after), ElementsAre("Quantize", "QuantizedConvolution", "Dequantize"));
    const auto& op = *after->nodes()[1]->as<QuantizedConvolution>();
    EXPECT_EQ(op.bounds.lowest, c.bounds.lowest);
    EXPECT_EQ(op.bounds.highest, c.bounds.highest);
  }
}

// Kernels without zero points take the models of exporters that always write one.
TEST(QuantizedProducts, AZeroPointOfZeroIsNone) {
  QuantizedModel m;
  Value& x = m.through(m.input({1, 2, 5, 5}), DataType::kINT8, 0.01f, 0);
  Value& kernel = m.dequantize(m.bytes(DataType::kINT8, {3, 2, 3, 3}), {0.01f});
  m.output(m.through(m.convolution_with(x, kernel, 3, nullptr), DataType::kINT8, 0.03f, 0));
  const auto after = integers(m.network);
  const Node& node = *after->nodes()[1];
  ASSERT_NE(node.as<QuantizedConvolution>(), nullptr);
  EXPECT_EQ(node.inputs[QuantizedInputs::kDataZero], nullptr);
  EXPECT_TRUE(node.inputs.size() <= QuantizedInputs::kResultZero
              || node.inputs[QuantizedInputs::kResultZero] == nullptr);
}

// Weights as fake-quantised models have them, transposed by a layer of their own or by the product.
TEST(QuantizedProducts, MatrixProductsOfMovedWeights) {
  for (const bool by_layer : {false, true}) {
    QuantizedModel m;
    Value& x = m.through(m.input({2, 3, 8}), DataType::kINT8, 0.01f, 0);
    Value* w = &m.dequantize(m.quantize(m.weight({1, 4, 8}), DataType::kINT8, 0.01f, 0),
                             {0.01f, 0.02f, 0.01f, 0.03f}, nullptr, 1);
    if (by_layer) {
      auto turn = std::make_unique<Shuffle>();
      turn->first_transpose = {0, 2, 1};
      w = &m.add(std::move(turn), {w});
    }
    Value& y = m.matrix_product(x, *w, !by_layer);
    m.output(m.through(y, DataType::kINT8, 0.02f, -4));
    const auto after = integers(m.network);
    EXPECT_THAT(kinds(*after), ElementsAre("Quantize", "QuantizedMatrixMultiply", "Dequantize"));
  }
}

TEST(QuantizedProducts, ABiasBehindAMatrixProductIsItsOwn) {
  for (const Shape& row : {Shape{3}, Shape{1, 3}, Shape{2, 3}}) {
    QuantizedModel m;
    Value& x = m.through(m.input({2, 8}), DataType::kINT8, 0.01f, 0);
    Value& w = m.dequantize(m.bytes(DataType::kINT8, {8, 3}), {0.01f});
    Value* b = &m.weight(row);
    if (row.rank() == 1) {
      auto reshape = std::make_unique<Shuffle>();
      reshape->has_reshape = true;
      reshape->reshape = {1, 3};
      b = &m.add(std::move(reshape), {b});
    }
    m.output(m.through(m.sum(*b, m.matrix_product(x, w)), DataType::kINT8, 0.02f, -4));
    const auto after = kinds(*integers(m.network));
    const bool is_row = row.volume() == 3;
    EXPECT_EQ(std::count(after.begin(), after.end(), "QuantizedMatrixMultiply"), 1);
    EXPECT_EQ(std::count(after.begin(), after.end(), "ElementWise"), is_row ? 0 : 1);
    if (is_row) {
      EXPECT_THAT(after, ElementsAre("Quantize", "QuantizedMatrixMultiply", "Dequantize"));
    }
  }
}

TEST(QuantizedProducts, LeavesWhatItCannotSay) {
  {  // scales of the data differ by channel
    QuantizedModel m;
    Value& q = m.quantize(m.input({1, 2, 5, 5}), DataType::kINT8, 0.01f, 0);
    Value& x = m.dequantize(q, {0.01f, 0.02f}, nullptr, 1);
    Value& kernel = m.dequantize(m.bytes(DataType::kINT8, {3, 2, 3, 3}), {0.01f});
    m.output(m.convolution_with(x, kernel, 3, nullptr));
    EXPECT_THAT(kinds(*integers(m.network)), ::testing::Contains("Convolution"));
  }
  {  // scales of the weights differ by input channel
    QuantizedModel m;
    Value& x = m.through(m.input({1, 2, 5, 5}), DataType::kINT8, 0.01f, 0);
    Value& kernel =
        m.dequantize(m.bytes(DataType::kINT8, {3, 2, 3, 3}), {0.01f, 0.02f}, nullptr, 1);
    m.output(m.convolution_with(x, kernel, 3, nullptr));
    EXPECT_THAT(kinds(*integers(m.network)), ::testing::Contains("Convolution"));
  }
  {  // weights that are not quantised
    QuantizedModel m;
    Value& x = m.through(m.input({1, 2, 5, 5}), DataType::kINT8, 0.01f, 0);
    m.output(m.convolution(x, 3));
    EXPECT_THAT(kinds(*integers(m.network)), ::testing::Contains("Convolution"));
  }
}

// A tensor that others use as well keeps its Dequantize.
TEST(QuantizedProducts, SharedResultsStayFloats) {
  QuantizedModel m;
  Value& x = m.through(m.input({1, 2, 5, 5}), DataType::kINT8, 0.01f, 0);
  Value& kernel = m.dequantize(m.bytes(DataType::kINT8, {2, 2, 3, 3}), {0.01f});
  Value& y = m.convolution_with(x, kernel, 2, nullptr);
  m.output(m.sum(x, m.sum(y, m.through(y, DataType::kINT8, 0.05f, 0))));
  EXPECT_THAT(kinds(*integers(m.network)),
              ElementsAre("Quantize", "Dequantize", "QuantizedConvolution", "Quantize",
                          "Dequantize", "ElementWise", "ElementWise"));
}

// A convolution and a product of fp8 take in a bias and the Quantize; zero points are 0.
TEST(QuantizedProducts, Float8TakesInWhatFollows) {
  QuantizedModel m;
  Value& x = m.through(m.input({1, 2, 5, 5}), DataType::kFP8, 0.01f, 0);
  Value& kernel = m.dequantize(m.bytes(DataType::kFP8, {3, 2, 3, 3}), {0.01f, 0.02f, 0.005f},
                               &m.zeros(DataType::kFP8, 3), 0);
  Value& y = m.through(m.convolution_with(x, kernel, 3, &m.weight({3})), DataType::kFP8, 0.05f, 0);
  Value& matrix = m.dequantize(m.bytes(DataType::kFP8, {1, 1, 5, 4}), {0.01f});
  m.output(m.through(m.matrix_product(y, matrix), DataType::kFP8, 0.05f, 0));
  const auto after = integers(m.network);
  EXPECT_THAT(kinds(*after), ElementsAre("Quantize", "QuantizedConvolution",
                                         "QuantizedMatrixMultiply", "Dequantize"));
}

TEST(QuantizedProducts, BytesAndFloat8AreNotMultiplied) {
  QuantizedModel m;
  Value& x = m.through(m.input({1, 2, 5, 5}), DataType::kINT8, 0.01f, 0);
  Value& kernel = m.dequantize(m.bytes(DataType::kFP8, {3, 2, 3, 3}), {0.01f});
  m.output(m.convolution_with(x, kernel, 3, nullptr));
  EXPECT_FALSE(quantized_products(m.network, FusingTarget()));
}

// Stacks of matrices stay floats of fp8; of bytes they are multiplied.
TEST(QuantizedProducts, StacksOfFloat8StayFloats) {
  for (const DataType type : {DataType::kINT8, DataType::kFP8}) {
    QuantizedModel m;
    Value& x = m.through(m.input({2, 3, 5}), type, 0.01f, 0);
    m.output(m.matrix_product(x, m.dequantize(m.bytes(type, {2, 5, 4}), {0.01f})));
    const bool is_byte = type == DataType::kINT8;
    EXPECT_THAT(kinds(*integers(m.network)),
                ::testing::Contains(is_byte ? "QuantizedMatrixMultiply" : "MatrixMultiply"));
  }
}

// Networks with 16-bit types between their layers.
TEST(QuantizedProducts, GiveTheTypeOfTheLayer) {
  for (const DataType type : {DataType::kHALF, DataType::kBF16})
    for (const DataType quantized : {DataType::kINT8, DataType::kFP8}) {
      QuantizedModel m;
      Value& x = m.dequantize_to(type, m.quantize(m.input({3, 5}), quantized, 0.01f, 0), 0.01f);
      Value& matrix = m.dequantize_to(type, m.bytes(quantized, {5, 4}), 0.01f);
      Value& y = m.matrix_product(x, matrix);
      ASSERT_EQ(y.type, type);
      m.output(y);
      const auto after = integers(m.network);
      EXPECT_THAT(kinds(*after), ElementsAre("Quantize", "QuantizedMatrixMultiply"));
    }
}

}  // namespace
}  // namespace tenon
