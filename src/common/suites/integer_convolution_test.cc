// Convolutions of integers against the reference: every bit.
#include "common/convolution_testing.h"
#include "ops/quantized_convolution.h"

namespace tenon {
namespace {

using In = QuantizedInputs;

TestInput integer_convolution_bytes(DataType type, const Shape& shape, int step) {
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.count(); ++i)
    t.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(i * step + i / 7);
  return {t, false, Layout::kLinear};
}

constexpr auto integer_convolution = sliding<QuantizedConvolution>;

TEST(IntegerConvolutionTest, EqualsReference) {
  const std::pair<QuantizedConvolution, Shape> cases[] = {
      {integer_convolution(6, {3, 3}, {1, 1}, {1, 1}, 1), {2, 4, 7, 5}},
      {integer_convolution(4, {2, 3}, {2, 1}, {0, 2}, 2), {1, 6, 6, 7}},
      {integer_convolution(5, {3}, {1}, {1}, 1), {2, 3, 9}},
      {integer_convolution(3, {2, 2, 2}, {1, 2, 1}, {1, 0, 1}, 3), {1, 3, 4, 5, 3}},
      {integer_convolution(6, {1, 1}, {1, 1}, {0, 0}, 1), {0, 4, 7, 5}},
  };
  for (auto [op, shape] : cases)
    for (const DataType data : {DataType::kINT8, DataType::kUINT8})
      for (const DataType weights : {DataType::kINT8, DataType::kUINT8})
        for (const DataType to :
             {DataType::kINT32, DataType::kFLOAT, DataType::kINT8, DataType::kUINT8}) {
          SCOPED_TRACE(
              fmt::format("{} {} {} {}", shape, name_of(data), name_of(weights), name_of(to)));
          op.to = to;
          Shape kernel = {op.output_channels, shape[1] / op.groups};
          for (const int64_t k : op.kernel) kernel.push_back(k);
          std::vector<TestInput> inputs(In::kCount);
          inputs[In::kData] = integer_convolution_bytes(data, shape, 37);
          inputs[In::kWeights] = integer_convolution_bytes(weights, kernel, 91);
          inputs[In::kDataZero] = integer_convolution_bytes(data, {1}, 0);
          inputs[In::kDataZero].tensor->mutable_data<uint8_t>()[0] = 5;
          inputs[In::kWeightsZero] = integer_convolution_bytes(weights, {op.output_channels}, 3);
          std::vector<int32_t> bias(static_cast<size_t>(op.output_channels));
          std::vector<float> scale(bias.size()), shift(bias.size());
          for (size_t i = 0; i < bias.size(); ++i) {
            bias[i] = static_cast<int32_t>(i) * 1000 - 2000;
            scale[i] = 0.003f * static_cast<float>(i + 1);
            shift[i] = 1.5f - static_cast<float>(i);
          }
          inputs[In::kBias] = integers(DataType::kINT32, {op.output_channels}, bias);
          if (to != DataType::kINT32) {
            inputs[In::kResultScale] = integers(DataType::kFLOAT, {op.output_channels}, scale);
            inputs[In::kResultShift] = integers(DataType::kFLOAT, {op.output_channels}, shift);
            if (to != DataType::kFLOAT)
              inputs[In::kResultZero] = integer_convolution_bytes(to, {1}, 0);
          }
          expect_as_reference(op, inputs);
        }
}

}  // namespace
}  // namespace tenon
