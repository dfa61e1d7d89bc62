#include "plan/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/concatenation.h"
#include "plan/memory.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using Place = PlanTensor::Place;

MATCHER_P2(LiesAt, whole, offset, "") {
  return arg.whole == whole && arg.offset == offset;
}

// Plans by hand, of float tensors in blocks of 16 channels.
class Builder {
 public:
  int32_t tensor(const Shape& shape, Place place = Place::kArena, int32_t alias_of = -1) {
    PlanTensor t;
    t.place = place;
    t.layout = Layout::kBlocked16;
    t.alias_of = alias_of;
    plan.tensors.push_back(t);
    shapes.push_back(shape);
    return static_cast<int32_t>(shapes.size()) - 1;
  }
  void step(const std::vector<int32_t>& inputs, int32_t output, const Op* op = nullptr) {
    PlanStep s;
    if (op != nullptr) s.op = op->name(), s.attributes = fields_of(*op);
    s.inputs = inputs;
    s.outputs = {output};
    plan.steps.push_back(std::move(s));
  }
  // What a step makes of nothing.
  int32_t made(const Shape& shape, Place place = Place::kArena) {
    const int32_t t = tensor(shape, place);
    step({}, t);
    return t;
  }
  int32_t joined(const std::vector<int32_t>& inputs, const Shape& shape, int32_t axis = 1) {
    Concatenation op;
    op.axis = axis;
    const int32_t t = tensor(shape);
    step(inputs, t, &op);
    return t;
  }
  std::vector<PartPlace> places() const {
    return part_places(plan, stages_of(plan), 0, parts_of(plan), shapes);
  }
  MemoryPlan memory(int64_t given) const {
    return plan_context_memory(plan, stages_of(plan), 0, lifetimes(plan, streams_of(plan)), shapes,
                               std::vector<size_t>(plan.steps.size()), given);
  }

  Plan plan;
  std::vector<Shape> shapes;
};

TEST(Parts, LieBehindEachOther) {
  Builder b;
  const auto x = b.made({1, 16, 2, 2}), y = b.made({1, 32, 2, 2});
  const auto whole = b.joined({x, y}, {1, 48, 2, 2});
  EXPECT_THAT(b.places(), ElementsAre(LiesAt(whole, 0), LiesAt(whole, 256), LiesAt(-1, 0)));
}

TEST(Parts, OfSeveralImagesAreCopied) {
  Builder b;
  const auto x = b.made({2, 16, 2, 2}), y = b.made({2, 32, 2, 2});
  b.joined({x, y}, {2, 48, 2, 2});
  EXPECT_THAT(b.places(), ElementsAre(LiesAt(-1, 0), LiesAt(-1, 0), LiesAt(-1, 0)));
}

TEST(Parts, OfSeveralImagesOneAfterTheOtherAreNot) {
  Builder b;
  const auto x = b.made({2, 16, 2, 2}), y = b.made({1, 16, 2, 2});
  const auto whole = b.joined({x, y}, {3, 16, 2, 2}, 0);
  EXPECT_THAT(b.places(), ElementsAre(LiesAt(whole, 0), LiesAt(whole, 512), LiesAt(-1, 0)));
}

TEST(Parts, BeginAtMultiplesOfACacheLine) {
  Builder b;
  const auto x = b.made({1, 3}), y = b.made({1, 16}), z = b.made({1, 13});
  const auto whole = b.joined({x, y, z}, {1, 32});
  for (PlanTensor& t : b.plan.tensors) t.layout = Layout::kLinear;
  EXPECT_THAT(b.places(),
              ElementsAre(LiesAt(whole, 0), LiesAt(-1, 0), LiesAt(-1, 0), LiesAt(-1, 0)));
}

TEST(Parts, ArePartsOfOneWhole) {
  Builder b;
  const auto x = b.made({1, 16, 1, 1});
  const auto first = b.joined({x, x}, {1, 32, 1, 1});
  b.joined({x, first}, {1, 48, 1, 1});
  EXPECT_THAT(b.places(), ElementsAre(LiesAt(first, 0), LiesAt(2, 64), LiesAt(-1, 0)));
}

TEST(Parts, AreTheContextsAndWrittenBefore) {
  Builder b;
  const auto input = b.tensor({1, 16, 1, 1}, Place::kInput), x = b.made({1, 16, 1, 1});
  const auto weight = b.tensor({1, 16, 1, 1}, Place::kWeight), y = b.made({1, 16, 1, 1});
  const auto whole = b.joined({input, x, weight, y}, {1, 64, 1, 1});
  b.step({y}, b.tensor({1, 16, 1, 1}, Place::kAlias, y));  // overwrites y afterwards
  const auto places = b.places();
  EXPECT_THAT(places[static_cast<size_t>(x)], LiesAt(whole, 64));
  for (int32_t other : {input, weight, y})
    EXPECT_THAT(places[static_cast<size_t>(other)], LiesAt(-1, 0)) << other;
}

TEST(Parts, OfWhatIsOverwrittenAreCopied) {
  Builder b;
  const auto x = b.made({1, 16, 1, 1});
  const auto whole = b.joined({x}, {1, 16, 1, 1});
  b.step({whole}, b.tensor({1, 16, 1, 1}, Place::kAlias, whole));
  EXPECT_THAT(b.places()[static_cast<size_t>(x)], LiesAt(-1, 0));
}

// A sum that overwrites one of its operands before it is joined.
TEST(Parts, MayBeOverwrittenBefore) {
  Builder b;
  const auto x = b.made({1, 16, 1, 1}), sum = b.tensor({1, 16, 1, 1}, Place::kAlias, x);
  b.step({x}, sum);
  const auto whole = b.joined({sum}, {1, 16, 1, 1});
  EXPECT_THAT(b.places()[static_cast<size_t>(x)], LiesAt(whole, 0));
}

TEST(Parts, OfPartsLieInTheOutermost) {
  Builder b;
  const auto x = b.made({1, 16, 4, 4}), y = b.made({1, 16, 4, 4});
  const auto inner = b.joined({x, y}, {1, 32, 4, 4});
  const auto z = b.made({1, 16, 4, 4});
  const auto outer = b.joined({z, inner}, {1, 48, 4, 4});
  b.step({outer}, b.tensor({1, 48, 4, 4}, Place::kOutput));
  const MemoryPlan memory = b.memory(0);
  ASSERT_EQ(memory.offsets.size(), 5u + b.plan.steps.size());
  const int64_t at = memory.offsets[static_cast<size_t>(outer)];
  EXPECT_EQ(memory.bytes, 48 * 16 * 4);
  EXPECT_EQ(memory.offsets[static_cast<size_t>(z)], at);
  EXPECT_EQ(memory.offsets[static_cast<size_t>(inner)], at + 1024);
  EXPECT_EQ(memory.offsets[static_cast<size_t>(x)], at + 1024);
  EXPECT_EQ(memory.offsets[static_cast<size_t>(y)], at + 2048);
}

// Room for the whole is needed from its first part on, here beside something large.
TEST(Parts, AreCopiedWhereTheyTakeMoreMemoryThanIsThere) {
  Builder b;
  const auto x = b.made({1, 16, 4, 4}), large = b.made({1, 96, 4, 4});
  const auto small = b.tensor({1, 4, 4, 4}), y = b.tensor({1, 16, 4, 4});
  b.plan.tensors[static_cast<size_t>(small)].layout = Layout::kLinear;
  b.step({large}, small);
  b.step({small}, y);
  const auto whole = b.joined({x, y}, {1, 32, 4, 4});
  b.step({whole}, b.tensor({1, 32, 4, 4}, Place::kOutput));
  const auto bytes = [&](int64_t given) {
    const MemoryPlan memory = b.memory(given);
    const int64_t distance =
        memory.offsets[static_cast<size_t>(y)] - memory.offsets[static_cast<size_t>(whole)];
    return std::pair(memory.bytes, distance == 1024);
  };
  constexpr int64_t kX = 1024, kLarge = 6144, kSmall = 256, kWhole = 2048;
  EXPECT_EQ(bytes(0), std::pair(kX + kLarge + kSmall, false));
  EXPECT_EQ(bytes(kWhole + kLarge + kSmall - 1), std::pair(kX + kLarge + kSmall, false));
  EXPECT_EQ(bytes(kWhole + kLarge + kSmall), std::pair(kWhole + kLarge + kSmall, true));
}

}  // namespace
}  // namespace tenon
