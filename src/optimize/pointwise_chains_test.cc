#include "ops/pointwise.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

TEST(PointwiseChains, JoinsATree) {
  Model m;
  Value& x = m.input({2, 3, 4});
  Value& y = m.input({1, 3, 1}, "z");
  Value& left = m.activation(m.sum(x, y), ActivationType::kTANH);
  Value& right = m.activation(m.product(x, m.number(2, 3)), ActivationType::kSIGMOID);
  m.output(m.product(left, right));
  const auto after = rewritten(m.network, pointwise_chains);
  ASSERT_EQ(after->nodes().size(), 1u);
  const auto& program = after->nodes()[0]->as<Pointwise>()->program;
  EXPECT_EQ(program.inputs, 2);
  EXPECT_THAT(program.constants, ElementsAre(2));
  EXPECT_EQ(after->nodes()[0]->name,
            "ElementWise_1 + Activation_2 + ElementWise_3 + Activation_4 + ElementWise_5");
}

TEST(PointwiseChains, JoinsPathsThatMeetAgain) {
  Model m;
  Value& a = m.relu(m.input({2, 3}));
  m.output(m.sum(m.activation(a, ActivationType::kTANH), m.activation(a, ActivationType::kELU, 1)));
  EXPECT_EQ(rewritten(m.network, pointwise_chains)->nodes().size(), 1u);
}

TEST(PointwiseChains, KeepsTensorsThatOthersUse) {
  Model m;
  Value& a = m.relu(m.input({2, 3}));
  Value& b = m.activation(a, ActivationType::kTANH);
  m.output(b, "middle");
  m.output(m.activation(b, ActivationType::kELU, 1));
  const auto after = rewritten(m.network, pointwise_chains);
  EXPECT_THAT(layers_of(*after), ElementsAre("Activation_1 + Activation_2", "Activation_3"));
}

TEST(PointwiseChains, LeavesSingleLayersComparisonsAndSmallerTensors) {
  Model m;
  Value& x = m.input({2, 3});
  Value& small = m.relu(m.input({1, 3}, "row"));
  Value& sum = m.sum(x, small);
  m.output(m.elementwise(sum, ElementWiseOperation::kLESS, x));
  EXPECT_EQ(rewritten(m.network, pointwise_chains)->nodes().size(), 3u);
}

TEST(PointwiseChains, StaysWithinItsLimits) {
  Model m;
  Value* v = &m.input({2, 3});
  for (int i = 0; i < 40; ++i)
    v = &m.activation(*v, i % 2 ? ActivationType::kTANH : ActivationType::kSIGMOID);
  for (int i = 0; i < 20; ++i) v = &m.sum(*v, m.input({2, 3}, fmt::format("x{}", i)));
  m.output(*v);
  const auto after = rewritten(m.network, pointwise_chains);
  EXPECT_LT(after->nodes().size(), 8u);
  for (const auto& node : after->nodes()) {
    EXPECT_LE(node->inputs.size(), 8u);
    if (const auto* op = node->as<Pointwise>()) {
      EXPECT_LE(op->program.steps.size(), 32u);
    }
  }
}

TEST(PointwiseChains, JoinsUniformScales) {
  Model m;
  auto op = std::make_unique<Scale>();
  Value& scaled = m.add(std::move(op), {&m.relu(m.input({2, 3, 4})), &m.number(0.5f, 1),
                                        &m.number(3, 1), &m.number(2, 1)});
  m.output(scaled);
  const auto after = rewritten(m.network, pointwise_chains);
  ASSERT_EQ(after->nodes().size(), 1u);
}

}  // namespace
}  // namespace tenon
