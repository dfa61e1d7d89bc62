// NaNs of convolutions and matrix products come out of their epilogues, whichever kernel has them.
#include <cmath>

#include "common/convolution_testing.h"
#include "ops/matrix_multiply.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

PointwiseProgram chain(std::vector<PointwiseStep> steps, int32_t inputs = 1,
                       std::vector<float> constants = {}) {
  PointwiseProgram p;
  p.inputs = inputs;
  p.constants = std::move(constants);
  p.steps = std::move(steps);
  return p;
}

PointwiseStep unary_step(UnaryOperation operation, int32_t a) {
  return {PointwiseStep::Family::kUnary, static_cast<int32_t>(operation), a};
}

// Programs of one input, and of two: the product's result and another tensor.
std::vector<PointwiseProgram> nan_epilogues() {
  std::vector<PointwiseProgram> programs = {
      chain({activation(ActivationType::kCLIP, 0, -0.5f, 0.5f)}),
      chain({activation(ActivationType::kHARD_SIGMOID, 0, 0.2f, 0.5f)}),
      chain({activation(ActivationType::kLEAKY_RELU, 0, 0.1f)}),
      chain({activation(ActivationType::kELU, 0, 1)}),
      chain({activation(ActivationType::kSELU, 0, 1.6f, 1.05f)}),
      chain({activation(ActivationType::kSCALED_TANH, 0, 0.5f, 2)}),
      chain({activation(ActivationType::kSIGMOID, 0), binary(ElementWiseOperation::kPROD, 0, 1)}),
      chain({activation(ActivationType::kHARD_SIGMOID, 0, 1 / 6.f, 0.5f),
             binary(ElementWiseOperation::kPROD, 0, 1)}),
      chain({binary(ElementWiseOperation::kMAX, 0, 1)}, 1, {-0.25f}),
      chain({binary(ElementWiseOperation::kMIN, 0, 1)}, 1, {0.25f}),
      chain({binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kRELU, 2)}, 2),
      chain({binary(ElementWiseOperation::kMAX, 0, 1)}, 2),
      chain({binary(ElementWiseOperation::kMIN, 1, 0)}, 2)};
  for (const auto type : {ActivationType::kRELU, ActivationType::kSIGMOID, ActivationType::kTANH,
                          ActivationType::kGELU_ERF, ActivationType::kGELU_TANH})
    programs.push_back(chain({activation(type, 0)}));
  for (const auto operation : {UnaryOperation::kABS, UnaryOperation::kNEG, UnaryOperation::kEXP})
    programs.push_back(chain({unary_step(operation, 0)}));
  return programs;
}

TestInput some_nans(TestInput in) {
  for (int64_t i = 5; i < in.tensor->count(); i += 211) in.tensor->mutable_data<float>()[i] = NAN;
  return in;
}

// Winograd's sums and differences take in all elements of a tile.
void expect_nans(const Tensor& actual, const Tensor& expected, bool may_spread) {
  if (!may_spread) return expect_close(actual, expected, 2e-5);
  for (int64_t i = 0; i < expected.count(); ++i)
    ASSERT_TRUE(std::isnan(actual.data<float>()[i]) || !std::isnan(expected.data<float>()[i]))
        << "element " << i;
}

template <class Op> void check_nans(Op op, std::vector<TestInput> inputs) {
  inputs[0] = some_nans(inputs[0]);
  const Shape result = LayerTest(op, inputs).output_shape();
  for (const PointwiseProgram& epilogue : nan_epilogues()) {
    op.epilogue = epilogue;
    std::vector<TestInput> all = inputs;
    if (epilogue.inputs > 1) all.push_back(data(result, 7));
    LayerTest test(op, all);
    const Tensor expected = test.reference();
    for (const Candidate& candidate : test.candidates()) {
      if (!test.offer(candidate.name).empty()) continue;
      // Padding channels are zeros times the same NaNs, and none of them is read without the
      // others.
      if (result[1] % channel_block(test.kernel().output_layouts[0]) != 0) continue;
      SCOPED_TRACE(fmt::format("{}: {}", candidate.name, epilogue.str()));
      expect_nans(test.run(), expected, candidate.name == "winograd");
    }
  }
}

TEST(EpilogueNansTest, OfConvolutions) {
  const auto check_convolution = [](const Convolution& op, const Shape& shape) {
    check_nans(op, inputs_of(op, shape));
  };
  check_convolution(sliding(32, {3, 3}, {1, 1}, {1, 1}), {1, 16, 9, 10});
  check_convolution(sliding(20, {3, 3}, {2, 2}, {1, 1}), {1, 3, 12, 9});
  check_convolution(sliding(3, {3, 3}, {1, 1}, {1, 1}), {1, 16, 9, 12});
  check_convolution(sliding(16, {3, 3}, {1, 1}, {1, 1}, 16), {1, 16, 9, 10});
  check_convolution(sliding(32, {3, 3}, {1, 1}, {0, 0}, 2), {1, 32, 8, 9});
  check_convolution(one_element(48), {1, 32, 7, 8});
  check_convolution(sliding(16, {2, 3, 2}, {1, 1, 1}, {0, 1, 0}), {1, 16, 4, 5, 6});
}

TEST(EpilogueNansTest, OfDeconvolutions) {
  for (const Deconvolution& op : {sliding<Deconvolution>(16, {2, 2}, {2, 2}, {0, 0}),
                                  sliding<Deconvolution>(20, {3, 3}, {1, 1}, {1, 1})})
    check_nans(op, inputs_of(op, {1, 16, 7, 6}));
}

TEST(EpilogueNansTest, OfMatrixProducts) {
  for (const int64_t rows : {1, 13})
    check_nans(MatrixMultiply(), {data({rows, 40}), constant({40, 48}), constant({1, 48}, 3)});
}

}  // namespace
}  // namespace tenon::cpu
