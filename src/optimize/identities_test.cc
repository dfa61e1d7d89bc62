#include "ops/cast.h"
#include "ops/concatenation.h"
#include "ops/identity.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

std::unique_ptr<Slice> slice(Shape start, Shape size, Shape stride) {
  auto op = std::make_unique<Slice>();
  op->start = start;
  op->size = size;
  op->stride = stride;
  return op;
}

TEST(Identities, RemovesLayersThatChangeNothing) {
  Model m;
  Value* v = &m.relu(m.input({2, 3, 4}));
  v = &m.add(std::make_unique<Identity>(), {v});
  v = &m.add(std::make_unique<Cast>(), {v});
  v = &m.add(std::make_unique<Concatenation>(), {v});
  v = &m.add(slice({0, 0, 0}, {2, 3, 4}, {1, 1, 1}), {v});
  auto reshape = std::make_unique<Shuffle>();
  reshape->has_reshape = true;
  reshape->reshape = {2, -1, 4};
  v = &m.add(std::move(reshape), {v});
  v = &m.sum(m.number(0, 3), *v);
  v = &m.product(*v, m.number(1, 3));
  v = &m.elementwise(*v, ElementWiseOperation::kDIV, m.number(1, 3));
  auto scale = std::make_unique<Scale>();
  v = &m.add(std::move(scale), {v, nullptr, &m.number(1, 1)});
  m.output(m.activation(*v, ActivationType::kTANH));
  const auto after = rewritten(m.network, identities);
  EXPECT_EQ(after->nodes().size(), 2u);
}

TEST(Identities, LeavesLayersThatOnlyLookLikeIt) {
  Model m;
  Value* v = &m.input({3, 3});
  v = &m.add(slice({2, 0}, {3, 3}, {-1, 1}), {v});
  auto transpose = std::make_unique<Shuffle>();
  transpose->first_transpose = {1, 0};
  v = &m.add(std::move(transpose), {v});
  v = &m.elementwise(m.number(0, 2), ElementWiseOperation::kSUB, *v);
  v = &m.sum(*v, m.network.add_weight(
                     Tensor::of<float>(DataType::kFLOAT, {1, 3}, std::vector<float>{0, 0, 1})));
  m.output(*v);
  EXPECT_EQ(rewritten(m.network, identities)->nodes().size(), 4u);
}

TEST(Identities, LeavesBroadcasts) {
  Model m;
  Value& zeros =
      m.network.add_weight(Tensor::of<float>(DataType::kFLOAT, {2, 1}, std::vector<float>{0, 0}));
  m.output(m.sum(m.input({1, 3}), zeros));
  EXPECT_EQ(rewritten(m.network, identities)->nodes().size(), 1u);
}

TEST(Identities, KeepsOutputsApart) {
  Model m;
  Value& x = m.input({2, 3});
  m.output(m.add(std::make_unique<Identity>(), {&x}), "copy of an input");
  Value& relu = m.relu(x);
  m.output(relu, "relu");
  m.output(m.add(std::make_unique<Identity>(), {&relu}), "the same again");
  EXPECT_EQ(rewritten(m.network, identities)->nodes().size(), 3u);
}

TEST(Identities, GivesTheNameOfAnOutputToItsSource) {
  Model m;
  Value& relu = m.relu(m.input({2, 3}));
  m.output(m.add(std::make_unique<Identity>(), {&relu}), "y");
  const auto after = rewritten(m.network, identities);
  ASSERT_EQ(after->nodes().size(), 1u);
  EXPECT_EQ(after->nodes()[0]->outputs[0]->name, "y");
}

TEST(Identities, OneTensorBecomesOneOfItsOutputs) {
  Model m;
  Value& relu = m.relu(m.input({2, 3}));
  m.output(m.add(std::make_unique<Identity>(), {&relu}), "y");
  m.output(m.add(std::make_unique<Identity>(), {&relu}), "z");
  const auto after = rewritten(m.network, identities);
  ASSERT_EQ(after->outputs().size(), 2u);
  EXPECT_EQ(after->outputs()[0]->name, "y");
  EXPECT_EQ(after->outputs()[1]->name, "z");
}

TEST(Identities, AChainFromAnInputToAnOutputKeepsOneLayer) {
  Model m;
  Value* v = &m.input({2, 3});
  for (int i = 0; i < 4; ++i) v = &m.add(std::make_unique<Identity>(), {v});
  m.output(*v, "y");
  EXPECT_EQ(rewritten(m.network, identities)->nodes().size(), 1u);
}

TEST(Identities, KeepsForcedTypes) {
  Model m;
  Value& x = m.add(std::make_unique<Identity>(), {&m.relu(m.input({2}))});
  x.producer->output_types[0] = DataType::kHALF;
  m.output(m.relu(x));
  EXPECT_FALSE(identities(m.network, FusingTarget()));
}

}  // namespace
}  // namespace tenon
