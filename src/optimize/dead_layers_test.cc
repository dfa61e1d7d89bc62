#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

TEST(DeadLayers, KeepsWhatOutputsNeed) {
  Model m;
  Value& x = m.input({2, 3});
  Value& used = m.relu(x);
  m.activation(m.product(used, m.weight({2, 3})), ActivationType::kTANH);
  m.output(m.sum(used, m.weight({2, 3})));
  const auto after = rewritten(m.network, dead_layers);
  EXPECT_THAT(layers_of(*after), ElementsAre("Activation_1", "ElementWise_4"));
  EXPECT_EQ(after->values().size(), 4u) << "the weight of a dead layer is gone";
}

TEST(DeadLayers, KeepsInputsThatNobodyUses) {
  Model m;
  m.relu(m.input({2}, "unused"));
  m.output(m.relu(m.input({2})));
  EXPECT_EQ(rewritten(m.network, dead_layers)->inputs().size(), 2u);
}

TEST(DeadLayers, FindsNothingInANetworkWithoutThem) {
  Model m;
  m.output(m.relu(m.input({2})));
  EXPECT_FALSE(dead_layers(m.network, FusingTarget()));
}

}  // namespace
}  // namespace tenon
