// Convolutions and products of bytes by tensor cores, and depthwise ones, against the reference:
// every bit where scales are such that no number is rounded before it becomes a byte. Those of fp8
// have float sums.
#include "backend/testing.h"
#include "common/quantized_operands_testing.h"
#include "cuda/cuda_target.h"
#include "ops/quantized_matrix_multiply.h"

namespace tenon::cuda {
namespace {

using Family = PointwiseStep::Family;
using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;

struct IntegerCase {
  const char* name;
  Shape data;
  int64_t output_channels;
  Shape kernel, pre, post, stride, dilation;
  int64_t groups = 1;
};

// Tiles that are full and not along each axis, chunks of 16 channels and bytes that are gathered.
const IntegerCase kCases[] = {
    {"pointwise", {2, 64, 9, 7}, 96, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},
    {"square", {2, 48, 17, 19}, 160, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"strided", {3, 16, 31, 29}, 48, {3, 3}, {1, 1}, {1, 1}, {2, 2}, {1, 1}},
    {"stem", {1, 3, 37, 41}, 64, {7, 7}, {3, 3}, {3, 3}, {2, 2}, {1, 1}},
    {"odd_channels", {1, 70, 8, 8}, 33, {3, 3}, {2, 0}, {1, 3}, {2, 1}, {1, 1}},
    {"dilated", {1, 32, 9, 11}, 17, {3, 2}, {1, 2}, {2, 1}, {1, 2}, {2, 3}},
    {"one_channel", {1, 1, 5, 3}, 2, {7, 7}, {3, 3}, {3, 3}, {1, 1}, {1, 1}},
    {"deep", {1, 304, 7, 7}, 40, {3, 3}, {1, 1}, {1, 1}, {2, 2}, {1, 1}},
    {"line", {2, 16, 40}, 24, {5}, {2}, {2}, {1}, {1}},
    {"far_padding", {1, 16, 1, 1}, 4, {3, 3}, {40, 30}, {40, 30}, {20, 15}, {20, 15}},
    {"padded_pointwise", {1, 32, 6, 5}, 64, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"no_images", {0, 16, 9, 7}, 8, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
};
// More tiles than persistent blocks make at a time; few, as the reference takes seconds.
const IntegerCase kLargeCases[] = {
    {"many_tiles", {6, 16, 64, 64}, 136, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"many_lines", {4, 3, 128, 128}, 64, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
};
const IntegerCase kDepthwiseCases[] = {
    {"same", {2, 24, 14, 13}, 24, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 24},
    {"halved", {1, 132, 7, 9}, 132, {3, 3}, {0, 1}, {1, 1}, {2, 2}, {1, 1}, 132},
    {"large", {1, 8, 11, 10}, 8, {5, 5}, {2, 2}, {2, 2}, {1, 1}, {1, 1}, 8},
    {"no_images", {0, 8, 11, 10}, 8, {5, 5}, {2, 2}, {2, 2}, {1, 1}, {1, 1}, 8},
};

QuantizedConvolution op_of(const IntegerCase& c, DataType to) {
  QuantizedConvolution op = integer_convolution(c.output_channels, c.kernel, c.groups);
  op.to = to;
  op.pre_padding = c.pre;
  op.post_padding = c.post;
  op.stride = c.stride;
  op.dilation = c.dilation;
  return op;
}

std::vector<TestInput> constant_but_data(std::vector<std::optional<Tensor>> operands) {
  std::vector<TestInput> inputs;
  for (auto& tensor : operands) {
    const bool is_constant = tensor.has_value() && !inputs.empty();
    inputs.push_back({std::move(tensor), is_constant, Layout::kLinear});
  }
  return inputs;
}

// The zero point is added before the number is rounded, and halves go to the even one: as the
// reference has it, if it is even.
void make_even(std::optional<Tensor>& zero) {
  if (zero) *zero->mutable_data<uint8_t>() &= 0xfe;
}

// Weights are int8, and so they are less their zero points, which kNone has none of.
std::vector<TestInput> inputs_of(const IntegerCase& c, DataType data, DataType to, Zeros zeros) {
  Shape weights = {c.output_channels, c.data[1] / c.groups};
  for (const int64_t k : c.kernel) weights.push_back(k);
  auto in = operands({data, DataType::kINT8, to}, bytes(data, c.data),
                     bytes(DataType::kINT8, weights), c.output_channels, zeros);
  in[In::kWeightsZero].reset();
  make_even(in[In::kResultZero]);
  return constant_but_data(std::move(in));
}

// The kernel, its variants, and each of them loaded from a plan.
void expect_exact(const Op& op, std::vector<TestInput> inputs, std::string_view candidate) {
  LayerTest test(op, std::move(inputs), cuda_target());
  ASSERT_EQ(test.offer(candidate), "");
  const Tensor expected = test.reference();
  expect_identical(test.run(), expected);
  expect_identical(test.run(*test.load(test.stored())), expected);
  for (const auto& variant : test.kernel().variants()) {
    SCOPED_TRACE(variant->variant);
    expect_identical(test.run(*variant), expected);
  }
}

constexpr DataType kResults[] = {DataType::kINT32, DataType::kFLOAT, DataType::kHALF,
                                 DataType::kBF16,  DataType::kINT8,  DataType::kUINT8};

constexpr Zeros kZeros[] = {Zeros::kNone, Zeros::kOne, Zeros::kEach};

void check_all(std::span<const IntegerCase> cases, std::string_view candidate,
               std::span<const DataType> results = kResults,
               std::span<const Zeros> all_zeros = kZeros) {
  for (const IntegerCase& c : cases)
    for (const DataType data : {DataType::kINT8, DataType::kUINT8})
      for (const DataType to : results)
        for (const Zeros zeros : all_zeros) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", c.name, name_of(data), name_of(to),
                                   static_cast<int>(zeros)));
          QuantizedConvolution op = op_of(c, to);
          op.bounds = bounds_for(to, zeros);
          expect_exact(op, inputs_of(c, data, to, zeros), candidate);
        }
}

TEST(QuantizedGemmTest, ConvolutionsGiveEveryBit) {
  check_all(kCases, "quantized_gemm");
}

TEST(QuantizedGemmTest, ConvolutionsOfManyTilesGiveEveryBit) {
  const DataType results[] = {DataType::kINT8, DataType::kHALF};
  const Zeros zeros[] = {Zeros::kOne};
  check_all(kLargeCases, "quantized_gemm", results, zeros);
}

TEST(IntegerDepthwiseTest, GivesEveryBit) {
  check_all(kDepthwiseCases, "integer_depthwise");
}

void check_sums(std::span<const IntegerCase> cases) {
  for (const IntegerCase& c : cases)
    for (const DataType to : {DataType::kINT8, DataType::kUINT8})
      for (const DataType addend : {DataType::kINT8, DataType::kUINT8}) {
        SCOPED_TRACE(fmt::format("{} {} {}", c.name, name_of(to), name_of(addend)));
        QuantizedConvolution op = op_of(c, to);
        // Scales of powers of two make many halves.
        op.sum = {true, 0.5f, 0.25f, 1.f, addend == DataType::kINT8 ? -3 : 130, 6, to};
        std::vector<TestInput> inputs = inputs_of(c, DataType::kINT8, to, Zeros::kOne);
        const Shape result = LayerTest(op_of(c, to), inputs, cuda_target()).output_shape();
        inputs.push_back({bytes(addend, result), false, Layout::kLinear});
        expect_exact(op, inputs, "quantized_gemm");
      }
}

TEST(QuantizedGemmTest, SumsGiveEveryBit) {
  check_sums(kCases);
}

TEST(QuantizedGemmTest, SumsOfManyTilesGiveEveryBit) {
  check_sums(kLargeCases);
}

// Zero points that are not even: halves may go to the other side.
TEST(QuantizedGemmTest, IsWithinAStepOfTheReference) {
  const IntegerCase& c = kCases[1];
  std::vector<TestInput> inputs = inputs_of(c, DataType::kINT8, DataType::kINT8, Zeros::kOne);
  inputs[In::kResultZero] = {list<int8_t>(DataType::kINT8, {-5}), true, Layout::kLinear};
  LayerTest test(op_of(c, DataType::kINT8), inputs, cuda_target());
  ASSERT_EQ(test.offer("quantized_gemm"), "");
  expect_within_a_step(test.run().numbers(), test.reference().numbers());
}

// Over the result's scale, which is a factor in the kernels, and functions that they approximate.
TEST(QuantizedGemmTest, ComputesEpilogues) {
  const auto sum = binary(ElementWiseOperation::kSUM, 0, 1);
  const auto divided = [](int32_t by, int32_t number) {
    return binary(ElementWiseOperation::kDIV, number, by);
  };
  const PointwiseProgram programs[] = {
      {1, {0.3f}, {activation(ActivationType::kRELU, 0), divided(1, 2)}},
      {2, {0.3f}, {sum, activation(ActivationType::kRELU, 3), divided(2, 4)}},
      {2, {0.25f}, {sum, divided(2, 3)}},
      {1,
       {0.125f},
       {activation(ActivationType::kSIGMOID, 0), binary(ElementWiseOperation::kPROD, 0, 2),
        divided(1, 3)}},
      {1, {0.125f}, {activation(ActivationType::kGELU_ERF, 0), divided(1, 2)}},
      {1, {0.125f}, {activation(ActivationType::kGELU_TANH, 0), divided(1, 2)}},
      {1,
       {0.125f},
       {activation(ActivationType::kHARD_SIGMOID, 0, 1 / 6.f, 0.5f),
        binary(ElementWiseOperation::kPROD, 0, 2), divided(1, 3)}},
      {2,
       {0.25f},
       {sum, activation(ActivationType::kSIGMOID, 3), binary(ElementWiseOperation::kPROD, 3, 4),
        divided(2, 5)}},
      {2, {0.25f}, {sum, activation(ActivationType::kGELU_ERF, 3), divided(2, 4)}},
  };
  const auto test_of = [](const IntegerCase& c, const PointwiseProgram& program) {
    QuantizedConvolution op = op_of(c, DataType::kINT8);
    std::vector<TestInput> inputs = inputs_of(c, DataType::kINT8, DataType::kINT8, Zeros::kOne);
    const Shape result = LayerTest(op, inputs, cuda_target()).output_shape();
    op.epilogue = program;
    op.operand = {0.75f, 3};
    if (program.inputs == 2)
      inputs.push_back({bytes(DataType::kINT8, result), false, Layout::kLinear});
    return LayerTest(op, inputs, cuda_target());
  };
  for (const IntegerCase& c : kCases) {
    for (const PointwiseProgram& program : programs) {
      SCOPED_TRACE(fmt::format("{} {}", c.name, program.str()));
      LayerTest test = test_of(c, program);
      ASSERT_EQ(test.offer("quantized_gemm"), "");
      const auto expected = test.reference().numbers();
      expect_within_a_step(test.run().numbers(), expected);
      for (const auto& variant : test.kernel().variants()) {
        SCOPED_TRACE(variant->variant);
        expect_within_a_step(test.run(*variant).numbers(), expected);
      }
    }
  }
}

struct ProductCase {
  Shape data, weights;
};

TEST(QuantizedGemmTest, ProductsGiveEveryBit) {
  const ProductCase cases[] = {{{130, 64}, {64, 96}},
                               {{2, 9, 768}, {1, 768, 200}},
                               {{1, 77}, {77, 5}},
                               {{3, 1, 16}, {1, 16, 1}},
                               {{0, 16}, {16, 8}}};
  for (const ProductCase& c : cases)
    for (const DataType data : {DataType::kINT8, DataType::kUINT8})
      for (const DataType to : kResults)
        for (const Zeros zeros : kZeros) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", c.data, name_of(data), name_of(to),
                                   static_cast<int>(zeros)));
          QuantizedMatrixMultiply op;
          op.to = to;
          op.bounds = bounds_for(to, zeros);
          auto in = operands({data, DataType::kINT8, to}, bytes(data, c.data),
                             bytes(DataType::kINT8, c.weights), c.weights.back(), zeros);
          in[In::kWeightsZero].reset();
          make_even(in[In::kResultZero]);
          expect_exact(op, constant_but_data(std::move(in)), "quantized_gemm");
        }
}

// Products of fp8: float sums of tensor cores, which keep about 13 bits of the largest number that
// they add up.
Tensor float8s(const Shape& shape) {
  Tensor t(DataType::kFP8, shape);
  for (int64_t i = 0; i < t.count(); ++i) {
    const auto draw = generator();
    const auto exponent = draw % 8 == 0 ? 0 : 3 + draw / 8 % 6;  // subnormals, and up to 3.75
    t.mutable_data<uint8_t>()[i] = static_cast<uint8_t>((draw >> 16 & 0x87) | (exponent << 3));
  }
  return t;
}

std::vector<TestInput> float8_inputs(const Shape& data, const Shape& weights, int64_t channels) {
  std::vector<std::optional<Tensor>> in(In::kCount);
  in[In::kData] = float8s(data);
  in[In::kWeights] = float8s(weights);
  in[In::kResultScale] = scales(channels);
  in[In::kResultShift] = scales(channels);
  return constant_but_data(std::move(in));
}

std::vector<TestInput> absolute(std::vector<TestInput> inputs) {
  for (const size_t i : {In::kData, In::kWeights}) {
    const Tensor& t = *inputs[i].tensor;
    Tensor own(t.type(), t.shape());
    for (int64_t k = 0; k < t.count(); ++k)
      own.mutable_data<uint8_t>()[k] = t.data<uint8_t>()[k] & 0x7f;
    inputs[i].tensor = own;
  }
  return inputs;
}

// Of results, by what all products are without their signs.
void expect_float8_sums(const Tensor& found, const Tensor& expected,
                        const std::vector<double>& magnitudes, double factor) {
  const double rounding = expected.type() == DataType::kFP8    ? 0.125
                          : expected.type() == DataType::kHALF ? std::ldexp(1, -10)
                          : expected.type() == DataType::kBF16 ? std::ldexp(1, -7)
                                                               : 0;
  const double smallest = expected.type() == DataType::kFP8 ? std::ldexp(1, -9) : 1e-6;
  const auto a = found.numbers(), b = expected.numbers();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::isnan(a[i]), std::isnan(b[i])) << i << " of " << a.size();
    if (std::isnan(b[i])) continue;
    ASSERT_LE(std::abs(a[i] - b[i]),
              smallest + rounding * std::abs(b[i]) + std::ldexp(1, -9) * magnitudes[i] * factor)
        << i << " of " << a.size() << ": " << a[i] << " and " << b[i];
  }
}

// `factor`: how steep the epilogue is at most.
template <class Layer>
void expect_float8(const Layer& op, const std::vector<TestInput>& inputs, double factor = 1) {
  Layer plain = op;
  plain.to = DataType::kFLOAT;
  plain.epilogue = {};
  const auto magnitudes = LayerTest(plain, absolute(inputs), cuda_target()).reference().numbers();
  LayerTest test(op, inputs, cuda_target());
  ASSERT_EQ(test.offer("quantized_gemm"), "");
  const Tensor expected = test.reference();
  expect_float8_sums(test.run(), expected, magnitudes, factor);
  expect_float8_sums(test.run(*test.load(test.stored())), expected, magnitudes, factor);
  for (const auto& variant : test.kernel().variants()) {
    SCOPED_TRACE(variant->variant);
    expect_float8_sums(test.run(*variant), expected, magnitudes, factor);
  }
}

constexpr DataType kFloat8Results[] = {DataType::kFLOAT, DataType::kHALF, DataType::kBF16,
                                       DataType::kFP8};

Shape weights_of(const IntegerCase& c) {
  Shape weights = {c.output_channels, c.data[1]};
  for (const int64_t k : c.kernel) weights.push_back(k);
  return weights;
}

TEST(Float8GemmTest, Convolves) {
  for (const IntegerCase& c : kCases)
    for (const DataType to : kFloat8Results) {
      SCOPED_TRACE(fmt::format("{} {}", c.name, name_of(to)));
      QuantizedConvolution op = op_of(c, to);
      op.is_float8 = true;
      expect_float8(op, float8_inputs(c.data, weights_of(c), c.output_channels));
    }
}

// Zeros of filled up weights multiply what is beside a window, too.
TEST(Float8GemmTest, NanReachesTheWindowsThatHoldIt) {
  for (const IntegerCase& c : kCases) {
    SCOPED_TRACE(c.name);
    QuantizedConvolution op = op_of(c, DataType::kFP8);
    op.is_float8 = true;
    auto inputs = float8_inputs(c.data, weights_of(c), c.output_channels);
    Tensor& data = *inputs[In::kData].tensor;
    if (data.count() > 0) data.mutable_data<uint8_t>()[data.count() / 2] = 0x7f;
    expect_float8(op, inputs);
  }
}

TEST(Float8GemmTest, ConvolvesManyTiles) {
  for (const IntegerCase& c : kLargeCases) {
    SCOPED_TRACE(c.name);
    QuantizedConvolution op = op_of(c, DataType::kFP8);
    op.is_float8 = true;
    expect_float8(op, float8_inputs(c.data, weights_of(c), c.output_channels));
  }
}

TEST(Float8GemmTest, Multiplies) {
  const ProductCase cases[] = {{{130, 64}, {64, 96}},    {{2, 9, 768}, {1, 768, 200}},
                               {{1, 77}, {77, 5}},       {{700, 256}, {256, 384}},
                               {{3, 1, 16}, {1, 16, 1}}, {{0, 16}, {16, 8}}};
  for (const ProductCase& c : cases)
    for (const DataType to : kFloat8Results) {
      SCOPED_TRACE(fmt::format("{} {}", c.data, name_of(to)));
      QuantizedMatrixMultiply op;
      op.to = to;
      op.is_float8 = true;
      expect_float8(op, float8_inputs(c.data, c.weights, c.weights.back()));
    }
}

TEST(Float8GemmTest, ComputesEpilogues) {
  const auto divided = binary(ElementWiseOperation::kDIV, 2, 1);
  const PointwiseProgram programs[] = {
      {1, {0.125f}, {activation(ActivationType::kRELU, 0), divided}},
      {1, {0.125f}, {activation(ActivationType::kGELU_ERF, 0), divided}},
      {1, {0.125f}, {activation(ActivationType::kGELU_TANH, 0), divided}},
      {1,
       {0.125f},
       {activation(ActivationType::kSIGMOID, 0), binary(ElementWiseOperation::kPROD, 0, 2),
        binary(ElementWiseOperation::kDIV, 3, 1)}}};
  for (const PointwiseProgram& program : programs) {
    SCOPED_TRACE(program.str());
    QuantizedMatrixMultiply op;
    op.to = DataType::kFP8;
    op.is_float8 = true;
    op.epilogue = program;
    expect_float8(op, float8_inputs({200, 128}, {128, 136}, 136), 1.2 / 0.125);
  }
}

// Weights are packed for the channels that the build has seen.
TEST(QuantizedGemmTest, RefusesOtherChannelsThanItsWeights) {
  const IntegerCase& c = kCases[0];
  std::vector<TestInput> inputs = inputs_of(c, DataType::kINT8, DataType::kINT32, Zeros::kNone);
  LayerTest test(op_of(c, DataType::kINT32), inputs, cuda_target());
  ASSERT_EQ(test.offer("quantized_gemm"), "");
  const TensorSpec result{DataType::kINT32, Layout::kChannelsLast, test.output_shape(), true};
  std::vector<TensorSpec> specs = {
      {DataType::kINT8, Layout::kChannelsLast, {2, 128, 9, 7}, true},
      {DataType::kINT8, Layout::kLinear, inputs[In::kWeights].tensor->shape(), true}};
  EXPECT_THAT([&] { static_cast<void>(test.kernel().prepare(specs, {&result, 1})); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::HasSubstr("2x128x9x7 do not fit weights for 64 channels")));
}

TEST(QuantizedGemmTest, LeavesOtherWeightsToOthers) {
  const IntegerCase& c = kCases[0];
  std::vector<TestInput> inputs = inputs_of(c, DataType::kINT8, DataType::kINT32, Zeros::kNone);
  inputs[In::kWeightsZero] = {list<int8_t>(DataType::kINT8, {100}), true, Layout::kLinear};
  LayerTest far(op_of(c, DataType::kINT32), inputs, cuda_target());
  EXPECT_EQ(far.offer("quantized_gemm"),
            "weights that are not int8 without their zero points are not supported");
  inputs[In::kWeightsZero] = absent();
  inputs[In::kWeights].is_constant = false;
  LayerTest computed(op_of(c, DataType::kINT32), inputs, cuda_target());
  EXPECT_EQ(computed.offer("quantized_gemm"),
            "computed weights, zero points of them or of the data, and biases are not supported");
}

}  // namespace
}  // namespace tenon::cuda
