#include "plan/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Place = PlanTensor::Place;

// A plan by hand: slot 0 is the number 4, slot s + 1 the data-dependent symbol s.
class StagesBuilder {
 public:
  StagesBuilder() { plan.shapes.instructions.push_back({ExprOp::kConstant, false, Number::of(4)}); }

  int32_t tensor(Place place, std::vector<int32_t> extents, int32_t alias_of = -1) {
    PlanTensor t;
    t.name = fmt::format("t{}", plan.tensors.size());
    t.place = place;
    t.extents = std::move(extents);
    t.alias_of = alias_of;
    plan.tensors.push_back(std::move(t));
    return static_cast<int32_t>(plan.tensors.size()) - 1;
  }
  int32_t symbol(int32_t tensor, int32_t index, bool is_element = false) {
    const auto s = static_cast<int64_t>(plan.symbols.size());
    plan.symbols.push_back({-1, is_element, index, tensor});
    plan.shapes.instructions.push_back({ExprOp::kSymbol, false, Number(), s});
    return static_cast<int32_t>(s) + 1;
  }
  // A tensor whose only extent its step tells.
  int32_t data_dependent() {
    const auto t = tensor(Place::kDataDependent, {});
    plan.tensors[static_cast<size_t>(t)].extents = {symbol(t, 0)};
    return t;
  }
  void step(std::vector<int32_t> inputs, std::vector<int32_t> outputs) {
    PlanStep s;
    s.name = fmt::format("s{}", plan.steps.size());
    s.inputs = std::move(inputs);
    s.outputs = std::move(outputs);
    plan.steps.push_back(std::move(s));
  }
  int32_t extent_of(int32_t tensor) const {
    return plan.tensors[static_cast<size_t>(tensor)].extents[0];
  }
  std::string error() const {
    try {
      stages_of(plan);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }

  Plan plan;
};

TEST(Stages, ASizeIsKnownAfterTheStepThatTellsIt) {
  StagesBuilder b;
  const auto x = b.tensor(Place::kInput, {0}), found = b.data_dependent();
  const auto next = b.tensor(Place::kArena, {b.extent_of(found)});
  b.step({x}, {found});
  b.step({found}, {next});
  const Stages stages = stages_of(b.plan);
  EXPECT_EQ(stages.count, 2);
  EXPECT_THAT(stages.steps, ElementsAre(0, 1));
  EXPECT_THAT(stages.tensors, ElementsAre(0, 1, 1));
  EXPECT_THAT(stages.first_stages, ElementsAre(0, 0, 1));
  EXPECT_THAT(stages.symbols, ElementsAre(1));
  EXPECT_THAT(stages.made_symbols, ElementsAre(ElementsAre(0), ElementsAre()));
}

TEST(Stages, AnElementThatDecidesAShapeIsReadBackFirst) {
  StagesBuilder b;
  const auto x = b.tensor(Place::kInput, {0}), count = b.tensor(Place::kArena, {});
  const auto size = b.symbol(count, 0, true);
  const auto sized = b.tensor(Place::kArena, {size});
  b.step({x}, {count});
  b.step({x}, {sized});
  EXPECT_THAT(stages_of(b.plan).steps, ElementsAre(0, 1));
}

TEST(Stages, AnElementDecidesTheExtentsOfTheOtherOutputs) {
  StagesBuilder b;
  const auto x = b.tensor(Place::kInput, {0}), count = b.tensor(Place::kArena, {});
  const auto size = b.symbol(count, 0, true);
  const auto found = b.tensor(Place::kDataDependent, {size}),
             next = b.tensor(Place::kArena, {size});
  b.step({x}, {found, count});
  b.step({found}, {next});
  const Stages stages = stages_of(b.plan);
  EXPECT_THAT(stages.steps, ElementsAre(0, 1));
  EXPECT_EQ(stages.tensors[static_cast<size_t>(found)], 1);
  EXPECT_EQ(stages.first_stages[static_cast<size_t>(found)], 0);
}

TEST(Stages, MemoryThatALaterStepOverwritesStaysWhereItIs) {
  StagesBuilder b;
  const auto x = b.tensor(Place::kInput, {0}), residual = b.tensor(Place::kArena, {0});
  const auto found = b.data_dependent(), sum = b.tensor(Place::kAlias, {0}, residual);
  b.step({x}, {residual});
  b.step({x}, {found});
  b.step({found, residual}, {sum});
  const Stages stages = stages_of(b.plan);
  EXPECT_THAT(stages.steps, ElementsAre(0, 0, 1));
  EXPECT_EQ(stages.first_stages[static_cast<size_t>(residual)], 0);
}

TEST(Stages, AViewOfALateTensorWaitsForItsSize) {
  StagesBuilder b;
  const auto x = b.tensor(Place::kInput, {0}), found = b.data_dependent();
  const auto view = b.tensor(Place::kAlias, {0}, found), out = b.tensor(Place::kArena, {0});
  b.step({x}, {found});
  b.step({view}, {out});
  const Stages stages = stages_of(b.plan);
  EXPECT_EQ(stages.tensors[static_cast<size_t>(view)], 1);
  EXPECT_THAT(stages.steps, ElementsAre(0, 1));
}

// What a crafted plan may say.
TEST(Stages, RefusesSizesAndMemoryThatNobodyMakes) {
  StagesBuilder early;
  const auto found = early.data_dependent(),
             sized = early.tensor(Place::kArena, {early.extent_of(found)});
  early.step({}, {sized});
  early.step({}, {found});
  EXPECT_THAT(early.error(), HasSubstr("layer s0 needs a size before the layer that tells it"));

  StagesBuilder unwritten;
  const auto memory = unwritten.tensor(Place::kArena, {0});
  unwritten.step({memory}, {unwritten.tensor(Place::kArena, {0})});
  EXPECT_THAT(unwritten.error(), HasSubstr("layer s0 reads tensor 't0' before a layer writes it"));

  StagesBuilder data_dependent;
  const auto lost = data_dependent.data_dependent();
  data_dependent.step({lost}, {data_dependent.tensor(Place::kArena, {0})});
  EXPECT_THAT(data_dependent.error(),
              HasSubstr("layer s0 reads tensor 't0' before a layer writes it"));

  StagesBuilder constant;
  constant.step({}, {constant.tensor(Place::kDataDependent, {0})});
  EXPECT_THAT(constant.error(), HasSubstr("nothing tells the size of tensor 't0'"));

  StagesBuilder foreign;  // an extent that another tensor's step tells
  const auto first = foreign.data_dependent(), other = foreign.data_dependent();
  foreign.plan.tensors[static_cast<size_t>(first)].extents.push_back(foreign.extent_of(other));
  foreign.step({}, {first});
  foreign.step({}, {other});
  EXPECT_THAT(foreign.error(), HasSubstr("layer s0 needs a size"));
}

}  // namespace
}  // namespace tenon
