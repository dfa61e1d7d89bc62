#include "ops/separable_convolution.h"

#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

TEST(SeparableConvolution, TakesADepthwiseConvolutionAndThe1x1BehindIt) {
  Model m;
  Value& x = m.input({1, 6, 9, 8});
  m.output(m.convolution(m.convolution(x, 6, 3, 6), 4, 1));
  const auto network = rewritten(m.network, separable_convolution);
  EXPECT_THAT(layers_of(*network), ElementsAre("Conv_1 + Conv_2"));
  EXPECT_NE(network->sorted()[0]->as<SeparableConvolution>(), nullptr);
}

TEST(SeparableConvolution, KeepsEpiloguesAndTheirOperands) {
  Model m;
  Value& x = m.input({2, 6, 9, 8});
  Value& first = m.relu(m.convolution(x, 6, 3, 6, false));
  m.output(m.sum(m.convolution(first, 6, 1, 1, false), x));
  const auto epilogues = rewritten(m.network, convolution_epilogue);
  ASSERT_EQ(epilogues->nodes().size(), 2u);
  const auto network = rewritten(*epilogues, separable_convolution);
  ASSERT_EQ(network->nodes().size(), 1u);
  EXPECT_EQ(network->sorted()[0]->inputs.size(), SeparableConvolution::kFirstOperand + 1u);
}

TEST(SeparableConvolution, LeavesWhatIsUsedTwice) {
  Model m;
  Value& first = m.convolution(m.input({1, 6, 9, 8}), 6, 3, 6);
  m.output(m.convolution(first, 4, 1), "a");
  m.output(m.convolution(first, 4, 1), "b");
  EXPECT_EQ(rewritten(m.network, separable_convolution)->nodes().size(), 3u);
}

TEST(SeparableConvolution, LeavesASumOfItsOwnData) {
  Model m;
  Value& x = m.input({1, 6, 9, 8});
  Value& first = m.convolution(x, 6, 3, 6);
  m.output(m.sum(m.convolution(first, 6, 1), first));
  const auto epilogues = rewritten(m.network, convolution_epilogue);
  EXPECT_EQ(rewritten(*epilogues, separable_convolution)->nodes().size(),
            epilogues->nodes().size());
}

TEST(SeparableConvolution, LeavesOtherWindowsAndGroups) {
  for (const auto& [groups, size] : {std::pair(3, 1), std::pair(6, 3)}) {
    Model m;
    m.output(m.convolution(m.convolution(m.input({1, 6, 9, 8}), 6, 3, groups), 4, size));
    EXPECT_EQ(rewritten(m.network, separable_convolution)->nodes().size(), 2u);
  }
}

TEST(SeparableConvolution, AsksTheTarget) {
  Model m;
  m.output(m.convolution(m.convolution(m.input({1, 6, 9, 8}), 6, 3, 6), 4, 1));
  FusingTarget refuses;
  refuses.accepts = [](const auto&) { return false; };
  EXPECT_EQ(rewritten(m.network, separable_convolution, refuses)->nodes().size(), 2u);
}

}  // namespace
}  // namespace tenon
