#include "cpu/step_loops.h"

#include "backend/accuracy_testing.h"
#include "ops/pointwise.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using Family = PointwiseStep::Family;

struct StepLoopsCase {
  const char* name;
  std::vector<PointwiseStep> steps;  // of inputs 0 and 1
  size_t loops;
};

class StepLoopsTest : public testing::TestWithParam<StepLoopsCase> {};

TEST_P(StepLoopsTest, EqualReference) {
  const auto& [name, steps, loops] = GetParam();
  Pointwise op;
  op.program = {2, {}, steps};
  EXPECT_EQ(step_loops(op.program).size(), loops);
  const Tensor numbers = numbers_with_specials();
  Tensor reversed(DataType::kFLOAT, numbers.shape());
  std::reverse_copy(numbers.data<float>(), numbers.data<float>() + numbers.count(),
                    reversed.mutable_data<float>());
  expect_program(op, {{numbers}, {reversed}}, 6, 1e-30);
}

constexpr auto kSigmoid = ActivationType::kSIGMOID, kRelu = ActivationType::kRELU;
constexpr auto kClip = ActivationType::kCLIP;
constexpr auto kSum = ElementWiseOperation::kSUM, kProduct = ElementWiseOperation::kPROD;

INSTANTIATE_TEST_SUITE_P(
    Programs, StepLoopsTest,
    testing::Values(
        StepLoopsCase{"silu", {activation(kSigmoid, 0), binary(kProduct, 0, 2)}, 1},
        StepLoopsCase{"silu_of_the_other", {activation(kSigmoid, 1), binary(kProduct, 2, 1)}, 1},
        StepLoopsCase{"silu_and_product",
                      {activation(kSigmoid, 0), binary(kProduct, 0, 2), binary(kProduct, 3, 1)},
                      2},
        StepLoopsCase{"gate_of_another", {activation(kSigmoid, 0), binary(kProduct, 1, 2)}, 2},
        StepLoopsCase{"sigmoid_that_is_read_again",
                      {activation(kSigmoid, 0), binary(kProduct, 0, 2), binary(kProduct, 3, 2)},
                      3},
        StepLoopsCase{"sigmoid_that_is_read_later",
                      {activation(kSigmoid, 0), binary(kProduct, 0, 1), binary(kProduct, 3, 2)},
                      3},
        StepLoopsCase{
            "hard_swish",
            {activation(ActivationType::kHARD_SIGMOID, 0, 0.125f, 0.5f), binary(kProduct, 0, 2)},
            1},
        StepLoopsCase{"squared_sigmoid", {activation(kSigmoid, 0), binary(kProduct, 2, 2)}, 2},
        StepLoopsCase{"sum_and_relu", {binary(kSum, 0, 1), activation(kRelu, 2)}, 1},
        StepLoopsCase{"sum_and_clip", {binary(kSum, 0, 1), activation(kClip, 2, -0.5f, 6)}, 1},
        StepLoopsCase{"sum_and_relu_of_another",
                      {binary(kSum, 0, 1), activation(kRelu, 0), binary(kProduct, 2, 3)},
                      3},
        StepLoopsCase{"sum_that_is_read_again",
                      {binary(kSum, 0, 1), activation(kRelu, 2), binary(kProduct, 2, 3)},
                      3},
        StepLoopsCase{"sum_and_sigmoid", {binary(kSum, 0, 1), activation(kSigmoid, 2)}, 2},
        StepLoopsCase{"sum_and_silu",
                      {binary(kSum, 0, 1), activation(kSigmoid, 2), binary(kProduct, 3, 2)},
                      2}),
    [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace tenon::cpu
