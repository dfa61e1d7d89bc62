#include "ops/quantized_convolution.h"
#include "optimize/quantized_model.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;

// The sums stay exact: half a step of the result is far more than this.
constexpr double kSumsTolerance = 1e-6;

// Becomes a convolution of integers whose result is bytes.
Value& convolved(QuantizedModel& m, Value& x, DataType to, float scale, int zero) {
  Value& kernel = m.dequantize(m.bytes(DataType::kINT8, {3, 2, 3, 3}), {0.01f}, nullptr, 0);
  return m.through(m.convolution_with(x, kernel, 3, &m.weight({3})), to, scale, zero);
}

Value& quantized_input(QuantizedModel& m) {
  return m.through(m.input({1, 2, 5, 5}), DataType::kUINT8, 0.01f, 120);
}

std::unique_ptr<Network> summed(const Network& network) {
  auto after =
      rewritten(*with_quantized_products(network), quantized_sums, FusingTarget(), kSumsTolerance);
  if (auto patch = dead_layers(*after, FusingTarget())) std::move(*patch).apply(*after);
  return after;
}

TEST(QuantizedSums, JoinTheConvolutionThatMakesAnOperand) {
  for (const bool first : {false, true})
    for (const bool with_relu : {false, true})
      for (const DataType type : {DataType::kINT8, DataType::kUINT8}) {
        QuantizedModel m;
        Value& x = quantized_input(m);
        Value& a = convolved(m, x, type, 0.03f, type == DataType::kINT8 ? -7 : 140);
        Value& b = m.through(m.input({1, 3, 5, 5}, "b"), DataType::kINT8, 0.011f, 5);
        Value& y = first ? m.sum(a, b) : m.sum(b, a);
        m.output(
            m.through(with_relu ? m.relu(y) : y, DataType::kUINT8, 0.021f, with_relu ? 0 : 128));
        EXPECT_THAT(kinds(*summed(m.network)),
                    ElementsAre("Quantize", "Quantize", "QuantizedConvolution", "Dequantize"));
      }
}

TEST(QuantizedSums, TakeTheBoundsOfAnActivation) {
  QuantizedModel m;
  Value& a = convolved(m, quantized_input(m), DataType::kINT8, 0.03f, 0);
  Value& b = m.through(m.input({1, 3, 5, 5}, "b"), DataType::kINT8, 0.011f, 0);
  m.output(m.through(m.relu(m.sum(a, b)), DataType::kINT8, 0.021f, 0));
  const auto after = summed(m.network);
  EXPECT_THAT(kinds(*after),
              ElementsAre("Quantize", "Quantize", "QuantizedConvolution", "Dequantize"));
}

// As models of operators that take bytes have it, with all zero points; or one left out.
Value& integers(QuantizedModel& m, Value& weights, Value* weights_zero) {
  auto op = std::make_unique<QuantizedConvolution>();
  op->to = DataType::kINT8;
  op->output_channels = 3;
  op->kernel = {1, 1};
  op->stride = op->dilation = {1, 1};
  op->pre_padding = op->post_padding = {0, 0};
  Value& x = m.quantize(m.input({1, 2, 5, 5}), DataType::kUINT8, 0.01f, 120);
  Value& zero = m.zero(DataType::kINT8, -9);
  Value& y = m.add(std::move(op), {&x, &weights, &m.zero(DataType::kUINT8, 120), weights_zero,
                                   nullptr, &m.list({0.004f}), &zero});
  return m.dequantize(y, {0.02f}, &zero);
}

std::vector<std::string> kinds_with(QuantizedModel& m, Value& weights, Value* weights_zero) {
  Value& b = m.through(m.input({1, 3, 5, 5}, "b"), DataType::kINT8, 0.01f, 0);
  m.output(m.through(m.sum(integers(m, weights, weights_zero), b), DataType::kINT8, 0.05f, 1));
  auto after = rewritten(m.network, quantized_sums, FusingTarget(), kSumsTolerance);
  if (auto patch = dead_layers(*after, FusingTarget())) std::move(*patch).apply(*after);
  return kinds(*after);
}

TEST(QuantizedSums, NeedKnownWeightsWithoutZeroPoints) {
  for (const int zero : {0, 3}) {
    QuantizedModel m;
    Value& weights = m.bytes(DataType::kINT8, {3, 2, 1, 1});
    const auto found = kinds_with(m, weights, &m.zero(DataType::kINT8, zero));
    EXPECT_EQ(std::count(found.begin(), found.end(), "ElementWise"), zero == 0 ? 0 : 1);
  }
  QuantizedModel m;
  Value& weights = m.quantize(m.input({3, 2, 1, 1}, "w"), DataType::kINT8, 0.01f, 0);
  EXPECT_THAT(kinds_with(m, weights, nullptr), Contains("ElementWise"));
}

TEST(QuantizedSums, OneOfTwoConvolutionsTakesTheOther) {
  QuantizedModel m;
  Value& x = quantized_input(m);
  Value& y = m.sum(convolved(m, x, DataType::kINT8, 0.03f, 3),
                   convolved(m, x, DataType::kUINT8, 0.04f, 100));
  m.output(m.through(y, DataType::kINT8, 0.05f, 1));
  EXPECT_THAT(kinds(*summed(m.network)), ElementsAre("Quantize", "QuantizedConvolution",
                                                     "QuantizedConvolution", "Dequantize"));
}

TEST(QuantizedSums, LeavesWhatOthersNeedOrItCannotSay) {
  {  // the product is used elsewhere
    QuantizedModel m;
    Value& a = convolved(m, quantized_input(m), DataType::kINT8, 0.03f, 3);
    Value& b = m.through(m.input({1, 3, 5, 5}, "b"), DataType::kINT8, 0.01f, 0);
    m.output(a, "z");
    m.output(m.through(m.sum(a, b), DataType::kINT8, 0.05f, 1));
    EXPECT_THAT(kinds(*summed(m.network)), Contains("ElementWise"));
  }
  {  // both operands are the product
    QuantizedModel m;
    Value& a = convolved(m, quantized_input(m), DataType::kINT8, 0.03f, 3);
    m.output(m.through(m.sum(a, a), DataType::kINT8, 0.05f, 1));
    EXPECT_THAT(kinds(*summed(m.network)), Contains("ElementWise"));
  }
  {  // an addend that is broadcast
    QuantizedModel m;
    Value& a = convolved(m, quantized_input(m), DataType::kINT8, 0.03f, 3);
    Value& b = m.through(m.input({1, 3, 1, 1}, "b"), DataType::kINT8, 0.01f, 0);
    m.output(m.through(m.sum(a, b), DataType::kINT8, 0.05f, 1));
    EXPECT_THAT(kinds(*summed(m.network)), Contains("ElementWise"));
  }
  {  // a sum that is not quantised
    QuantizedModel m;
    Value& a = convolved(m, quantized_input(m), DataType::kINT8, 0.03f, 3);
    m.output(m.sum(a, m.through(m.input({1, 3, 5, 5}, "b"), DataType::kINT8, 0.01f, 0)));
    EXPECT_THAT(kinds(*summed(m.network)), Contains("ElementWise"));
  }
}

}  // namespace
}  // namespace tenon
