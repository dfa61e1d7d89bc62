#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

TEST(ConvolutionEpilogue, TakesActivations) {
  Model m;
  Value& conv = m.convolution(m.input({1, 3, 5, 5}), 4);
  m.output(m.relu(conv));
  const auto after = rewritten(m.network, convolution_epilogue);
  EXPECT_THAT(layers_of(*after), ElementsAre("Conv_1 + Activation_2"));
}

TEST(ConvolutionEpilogue, TakesTheSumAndTheActivationOfAResidualBlockIntoTheLaterConvolution) {
  Model m;
  Value& x = m.input({1, 4, 6, 6});
  Value& shortcut = m.convolution(x, 4, 1);
  Value& inner = m.relu(m.convolution(x, 4));
  Value& last = m.convolution(inner, 4);
  m.output(m.relu(m.sum(last, shortcut)));
  const auto after = rewritten(m.network, convolution_epilogue);
  EXPECT_THAT(layers_of(*after), ElementsAre("Conv_1", "Conv_2 + Activation_3",
                                             "Conv_4 + ElementWise_5 + Activation_6"));
  const Node& block = *after->sorted()[2];
  ASSERT_EQ(block.inputs.size(), 4u);
  EXPECT_EQ(block.inputs[3]->producer->name, "Conv_1");
}

TEST(ConvolutionEpilogue, TakesSwishWithItsTwoPaths) {
  Model m;
  Value& conv = m.convolution(m.input({1, 3, 5, 5}), 4, 3, 1, false);
  m.output(m.product(conv, m.activation(conv, ActivationType::kSIGMOID)));
  const auto after = rewritten(m.network, convolution_epilogue);
  ASSERT_EQ(after->nodes().size(), 1u);
  EXPECT_EQ(after->nodes()[0]->inputs[2], nullptr);
}

TEST(ConvolutionEpilogue, TakesScalarsAsConstants) {
  Model m;
  Value& x = m.convolution(m.input({1, 3, 5, 5}), 4);
  Value& shifted = m.sum(x, m.number(3));
  Value& gate = m.activation(shifted, ActivationType::kCLIP, 0, 6);
  Value& product = m.product(x, gate);
  m.output(m.elementwise(product, ElementWiseOperation::kDIV, m.number(6)));
  const auto after = rewritten(m.network, convolution_epilogue);
  ASSERT_EQ(after->nodes().size(), 1u);
  EXPECT_EQ(after->nodes()[0]->inputs.size(), 3u);
}

TEST(ConvolutionEpilogue, ExtendsAnEpilogue) {
  Model m;
  Value& x = m.input({1, 3, 5, 5});
  Value& conv = m.convolution(x, 3);
  m.output(m.activation(m.sum(m.relu(m.sum(conv, x)), x), ActivationType::kTANH));
  FusingTarget target;
  target.accepts = [](const PointwiseProgram& p) { return p.steps.size() <= 2; };
  auto after = rewritten(m.network, convolution_epilogue, target);
  EXPECT_EQ(after->nodes().size(), 3u);
  after = rewritten(*after, convolution_epilogue);
  ASSERT_EQ(after->nodes().size(), 1u);
  EXPECT_EQ(after->nodes()[0]->inputs.size(), 4u) << "an operand used twice is one input";
}

TEST(ConvolutionEpilogue, TakesActivationsOfMatrixProducts) {
  Model m;
  Value& a = m.input({2, 3, 4}, "a");
  m.output(m.activation(m.matrix_product(a, m.input({2, 4, 5}, "b")), ActivationType::kGELU_ERF));
  EXPECT_EQ(rewritten(m.network, convolution_epilogue)->nodes().size(), 1u);
}

TEST(ConvolutionEpilogue, AsksTheTarget) {
  Model m;
  m.output(m.relu(m.convolution(m.input({1, 3, 5, 5}), 4)));
  FusingTarget target;
  target.accepts = [](const auto&) { return false; };
  EXPECT_EQ(rewritten(m.network, convolution_epilogue, target)->nodes().size(), 2u);
}

TEST(ConvolutionEpilogue, KeepsOutputsInTheMiddle) {
  Model m;
  Value& conv = m.convolution(m.input({1, 3, 5, 5}), 4);
  Value& relu = m.relu(conv);
  m.output(relu, "middle");
  m.output(m.activation(relu, ActivationType::kTANH));
  const auto after = rewritten(m.network, convolution_epilogue);
  EXPECT_THAT(layers_of(*after), ElementsAre("Conv_1 + Activation_2", "Activation_3"));
}

TEST(ConvolutionEpilogue, LeavesOperandsOfOtherShapes) {
  Model m;
  Value& conv = m.convolution(m.input({1, 3, 5, 5}), 4);
  m.output(m.sum(conv, m.input({1, 4, 1, 1}, "by_channel")));
  EXPECT_EQ(rewritten(m.network, convolution_epilogue)->nodes().size(), 2u);
}

TEST(ConvolutionEpilogue, LeavesSumsWhoseOtherPathLeavesTheRegion) {
  Model m;
  Value& first = m.convolution(m.input({1, 4, 5, 5}), 4);
  Value& second = m.convolution(first, 4);
  m.output(m.sum(first, second));
  const auto after = rewritten(m.network, convolution_epilogue);
  EXPECT_THAT(layers_of(*after), ElementsAre("Conv_1", "Conv_2 + ElementWise_3"));
}

TEST(ConvolutionEpilogue, LeavesPathsThatNeverMeet) {
  Model m;
  Value& conv = m.convolution(m.input({1, 3, 5, 5}), 4);
  m.output(m.relu(conv));
  m.output(m.activation(conv, ActivationType::kTANH), "z");
  EXPECT_EQ(rewritten(m.network, convolution_epilogue)->nodes().size(), 3u);
}

TEST(ConvolutionEpilogue, WorksForUnknownExtents) {
  Model m;
  Value& x = m.input({-1, 3, -1, 5});
  Value& conv = m.convolution(x, 3);
  m.output(m.relu(m.sum(conv, x)));
  const auto after = rewritten(m.network, convolution_epilogue);
  EXPECT_EQ(after->nodes().size(), 1u);
}

}  // namespace
}  // namespace tenon
