// Which layers are quantized, and that passes make integer layers of them.
#include "calibration/placement.h"

#include "calibration/insert_quantization.h"
#include "ops/pooling.h"
#include "ops/quantized_convolution.h"
#include "ops/reduce.h"
#include "optimize/quantized_model.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Constraints = Precision::Constraints;

// Of what random inputs make of all tensors.
Scales scales_for_all(const Network& network) {
  auto copy = clone(network);
  copy->infer();
  for (const auto& value : copy->values())
    if (!value->is_output && !value->constant && !value->is_input) copy->mark_output(*value);
  const std::vector<Tensor> inputs = random_inputs(*copy);
  const std::vector<Tensor> results = run_reference(*copy, inputs);
  Scales scales;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    double largest = 0;
    for (const double number : tensor.numbers()) largest = std::max(largest, std::fabs(number));
    scales[name] = static_cast<float>(largest / 127);
  };
  for (size_t i = 0; i < inputs.size(); ++i) add(copy->inputs()[i]->name, inputs[i]);
  for (size_t i = 0; i < results.size(); ++i) add(copy->outputs()[i]->name, results[i]);
  return scales;
}

std::unique_ptr<Network> quantized(const Network& network, const Scales& scales,
                                   double tolerance = 0.1) {
  auto copy = clone(network);
  copy->infer();
  insert_quantization(*copy, place_quantization(*copy, scales, FusingTarget(), Constraints::kHint));
  verify(*copy);
  expect_same_results(network, *copy, tolerance);
  return copy;
}

// Only the passes that make integer layers.
std::vector<std::string> integer_kinds(const Network& network, const Scales& scales) {
  auto copy = quantized(network, scales);
  for (const auto pass : {quantized_products, quantized_sums, pooling_of_bytes, dead_layers})
    if (auto patch = pass(*copy, FusingTarget())) std::move(*patch).apply(*copy);
  return kinds(*copy);
}

std::vector<std::string> integer_kinds(const Network& network) {
  return integer_kinds(network, scales_for_all(network));
}

std::vector<std::string> reasons(const Network& network, const Scales& scales,
                                 const Target& target = FusingTarget(),
                                 Constraints constraints = Constraints::kHint) {
  std::vector<std::string> all;
  for (const auto& outcome : place_quantization(network, scales, target, constraints).outcomes)
    all.push_back(outcome.why_float);
  return all;
}

Value& pooled(Model& m, Value& x) {
  auto op = std::make_unique<Pooling>();
  op->window = op->stride = {2, 2};
  op->pre_padding = op->post_padding = {0, 0};
  return m.add(std::move(op), {&x});
}

TEST(Placement, ChainsOfConvolutionsStayInBytes) {
  Model m;
  Value& a = m.relu(m.convolution(m.input({1, 3, 8, 8}), 4));
  m.output(m.convolution(a, 2));
  EXPECT_THAT(integer_kinds(m.network),
              ElementsAre("Quantize", "QuantizedConvolution", "QuantizedConvolution"));
}

TEST(Placement, TensorsThatAreNeverNegativeHaveAllOfUint8) {
  Model m;
  Value& x = m.input({1, 3, 8, 8});
  Value& a = m.relu(m.convolution(x, 4));
  m.output(m.convolution(a, 2));
  const Scales scales{{x.name, 1.f / 127}, {a.name, 8.f / 127}};
  const auto placement = place_quantization(m.network, scales, FusingTarget(), Constraints::kHint);
  ASSERT_EQ(placement.activations.size(), 2);
  const auto& [of_a, of_x] = std::pair(placement.activations[0], placement.activations[1]);
  EXPECT_EQ(of_x.tensor, &x);
  EXPECT_EQ(of_x.type, DataType::kINT8);
  EXPECT_FLOAT_EQ(of_x.scale, 1.f / 127);
  EXPECT_EQ(of_a.tensor, &a);
  EXPECT_EQ(of_a.type, DataType::kUINT8);
  EXPECT_FLOAT_EQ(of_a.scale, 8.f / 255);
}

TEST(Placement, OtherLowerBoundsAreZeroPoints) {
  Model m;
  Value& x = m.convolution(m.input({1, 3, 8, 8}), 4);
  Value& a = m.product(x, m.activation(x, ActivationType::kHARD_SIGMOID, 1 / 6.f, 0.5f));
  m.output(m.convolution(a, 2));
  const Scales scales{{a.name, 4.725f / 127}};
  const auto placement = place_quantization(m.network, scales, FusingTarget(), Constraints::kHint);
  ASSERT_EQ(placement.activations.size(), 1);
  EXPECT_EQ(placement.activations[0].type, DataType::kUINT8);
  EXPECT_FLOAT_EQ(placement.activations[0].scale, 0.02f);
  EXPECT_EQ(placement.activations[0].zero_point, 19);
  EXPECT_THAT(integer_kinds(m.network), Contains("QuantizedConvolution"));
}

TEST(Placement, ResidualBlocksAddBytes) {
  Model m;
  Value& x = m.relu(m.convolution(m.input({1, 3, 8, 8}), 4));
  Value& branch = m.convolution(m.relu(m.convolution(x, 4)), 4);
  m.output(m.convolution(m.relu(m.sum(branch, x)), 2));
  EXPECT_THAT(integer_kinds(m.network),
              ElementsAre("Quantize", "QuantizedConvolution", "QuantizedConvolution",
                          "QuantizedConvolution", "QuantizedConvolution"));
}

// The last block of a residual network: only the mean over its pictures is read.
TEST(Placement, ResidualBlocksBeforeAMeanAddBytes) {
  for (const bool is_read_again : {false, true}) {
    Model m;
    Value& x = m.relu(m.convolution(m.input({1, 3, 8, 8}), 4));
    Value& sum = m.relu(m.sum(m.convolution(m.relu(m.convolution(x, 4)), 4), x));
    auto op = std::make_unique<Reduce>();
    op->operation = nvinfer1::ReduceOperation::kAVG;
    op->axes = 0b1100;
    op->keep_dimensions = true;
    m.output(m.convolution(m.add(std::move(op), {&sum}), 2));
    if (is_read_again) m.output(m.relu(sum), "again");
    const auto found = integer_kinds(m.network);
    if (is_read_again)
      EXPECT_THAT(found, Contains("ElementWise"));
    else
      EXPECT_THAT(found, ElementsAre("Quantize", "QuantizedConvolution", "QuantizedConvolution",
                                     "QuantizedConvolution", "Dequantize", "Reduce", "Quantize",
                                     "QuantizedConvolution"));
  }
}

// Of a sum behind an activation the other operand is bytes, and what is activated stays floats in
// the convolution's epilogue; also where bytes are read behind layers that move elements alone.
TEST(Placement, SumsBehindActivationsReadBytes) {
  const auto silu = [](Model& m, Value& v) -> Value& {
    return m.product(v, m.activation(v, ActivationType::kSIGMOID));
  };
  for (const bool is_moved : {false, true}) {
    Model m;
    Value& x = silu(m, m.convolution(m.input({1, 3, 8, 8}), 4));
    Value& branch = silu(m, m.convolution(silu(m, m.convolution(x, 4)), 4));
    Value& sum = m.sum(x, branch);
    m.output(m.convolution(is_moved ? pooled(m, sum) : sum, 2));
    auto copy = quantized(m.network, scales_for_all(m.network));
    for (const auto pass : {quantized_products, quantized_sums, pooling_of_bytes, pointwise_chains,
                            quantized_epilogues, dead_layers})
      if (auto patch = pass(*copy, FusingTarget())) std::move(*patch).apply(*copy);
    EXPECT_THAT(kinds(*copy), AllOf(Not(Contains("Pointwise")), Not(Contains("ElementWise")),
                                    Not(Contains("Dequantize"))));
  }
}

TEST(Placement, SumsThatNobodyReadsQuantizedStayFloat) {
  Model m;
  Value& x = m.input({1, 3, 8, 8});
  m.output(m.relu(m.sum(m.convolution(x, 3), x)));
  EXPECT_THAT(integer_kinds(m.network),
              AllOf(Contains("ElementWise"), Not(Contains("Dequantize"))));
}

TEST(Placement, MaximumPoolingKeepsTheScale) {
  Model m;
  Value& a = m.relu(m.convolution(m.input({1, 3, 8, 8}), 4));
  Value& b = pooled(m, a);
  m.output(m.convolution(b, 2));
  Scales scales = scales_for_all(m.network);
  scales[b.name] /= 2;
  EXPECT_THAT(integer_kinds(m.network, scales),
              ElementsAre("Quantize", "QuantizedConvolution", "Pooling", "QuantizedConvolution"));
}

TEST(Placement, MatrixProductsOfConstantWeights) {
  for (const bool transposed : {false, true}) {
    Model m;
    Value& w = transposed ? m.weight({4, 6}) : m.weight({6, 4});
    m.output(m.matrix_product(m.input({5, 6}), w, transposed));
    EXPECT_THAT(integer_kinds(m.network), ElementsAre("Quantize", "QuantizedMatrixMultiply"));
  }
}

// As TensorRT's API gives kernels: a list of numbers.
TEST(Placement, KernelsMayBeLists) {
  Model m;
  Value& y = m.convolution(m.input({1, 3, 8, 8}), 4);
  Value& kernel = *y.producer->inputs[1];
  kernel.constant = kernel.constant->reshaped({4 * 3 * 3 * 3});
  m.network.touch();
  m.network.infer();
  m.output(y);
  EXPECT_THAT(integer_kinds(m.network), ElementsAre("Quantize", "QuantizedConvolution"));
}

TEST(Placement, OthersReadTensorsAsTheyAre) {
  Model m;
  Value& x = m.input({1, 3, 8, 8});
  Value& a = m.convolution(x, 3);
  m.output(m.sum(m.convolution(a, 3), m.activation(a, ActivationType::kSIGMOID)));
  const auto copy = quantized(m.network, scales_for_all(m.network));
  for (const auto& node : copy->nodes()) {
    if (node->as<Activation>() == nullptr) continue;
    EXPECT_EQ(node->inputs[0]->name, a.name);
  }
}

TEST(Placement, SaysWhyLayersStayFloat) {
  Model m;
  Value& x = m.input({1, 3, 8, 8});
  Value& a = m.convolution(x, 3);
  Value& b = m.convolution(a, 3);
  m.output(b);
  Scales scales = scales_for_all(m.network);
  EXPECT_THAT(reasons(m.network, scales), Each(IsEmpty()));
  FusingTarget none;
  none.accepts = [](const auto&) { return false; };
  EXPECT_THAT(reasons(m.network, scales, none), Each(HasSubstr("has no int8 kernel")));
  scales.erase(a.name);
  EXPECT_THAT(reasons(m.network, scales),
              ElementsAre("", fmt::format("its input '{}' has no range", a.name)));
  a.producer->precision = DataType::kHALF;
  EXPECT_THAT(reasons(m.network, scales)[0], IsEmpty());
  EXPECT_THAT(reasons(m.network, scales, FusingTarget(), Constraints::kPrefer)[0],
              HasSubstr("its precision was set to float16"));
  a.producer->precision = DataType::kFLOAT;
  EXPECT_THAT(reasons(m.network, scales)[0], HasSubstr("its precision was set to float32"));
}

TEST(Placement, OfWeightsThatAreComputedIsNone) {
  Model m;
  m.output(m.matrix_product(m.input({5, 6}), m.input({6, 4}, "w")));
  EXPECT_THAT(reasons(m.network, scales_for_all(m.network)),
              ElementsAre("its weights are not constants of float32"));
}

}  // namespace
}  // namespace tenon
