#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

Model& residual_network(Model& m) {
  Value* v = &m.relu(m.batch_norm(m.convolution(m.input({-1, 3, 8, 8}), 8, 3, 1, false)));
  for (int i = 0; i < 2; ++i) {
    Value& inner = m.relu(m.batch_norm(m.convolution(*v, 8, 3, 1, false)));
    Value& outer = m.batch_norm(m.convolution(inner, 8, 3, 1, false));
    v = &m.relu(m.sum(outer, *v));
  }
  m.output(*v);
  return m;
}

TEST(Optimize, MakesAResidualNetworkOneConvolutionPerConvolution) {
  Model m;
  residual_network(m);
  const auto copy = clone(m.network);
  optimize(*copy, FusingTarget(), OptimizeOptions());
  expect_same_results(m.network, *copy);
  EXPECT_THAT(layers_of(*copy),
              ElementsAre("Conv_1 + Scale_2 + Activation_3", "Conv_4 + Scale_5 + Activation_6",
                          "Conv_7 + Scale_8 + ElementWise_9 + Activation_10",
                          "Conv_11 + Scale_12 + Activation_13",
                          "Conv_14 + Scale_15 + ElementWise_16 + Activation_17"));
}

TEST(Optimize, TellsItsProgressAndCanBeCancelled) {
  Model m;
  residual_network(m);
  OptimizeOptions options;
  int steps = 0;
  options.progress = [&](const char* pass) { return pass != nullptr && ++steps < 5; };
  try {
    optimize(m.network, FusingTarget(), options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "the build was cancelled");
  }
  EXPECT_EQ(steps, 5);
}

TEST(Optimize, ComesToAnEndOnLargeNetworks) {
  Model m;
  Value* v = &m.input({1, 4});
  for (int i = 0; i < 20000; ++i) {
    v = &m.relu(*v);
    v = &m.sum(*v, m.weight({1, 4}));
  }
  m.output(*v);
  optimize(m.network, FusingTarget(), OptimizeOptions());
  EXPECT_LT(m.network.nodes().size(), 7000u);
}

}  // namespace
}  // namespace tenon
