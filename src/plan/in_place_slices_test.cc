#include "plan/in_place_slices.h"

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
class SlicesBuilder {
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
  std::vector<SliceOffset> places() const {
    return slice_offsets(plan, stages_of(plan), 0, in_place_slices(plan), shapes);
  }
  MemoryPlan memory(int64_t max_bytes) const {
    return plan_context_memory(plan, stages_of(plan), 0, lifetimes(plan, streams_of(plan)), shapes,
                               std::vector<size_t>(plan.steps.size()), max_bytes);
  }

  Plan plan;
  std::vector<Shape> shapes;
};

TEST(Parts, LieBehindEachOther) {
  SlicesBuilder b;
  const auto x = b.made({1, 16, 2, 2}), y = b.made({1, 32, 2, 2});
  const auto whole = b.joined({x, y}, {1, 48, 2, 2});
  EXPECT_THAT(b.places(), ElementsAre(LiesAt(whole, 0), LiesAt(whole, 256), LiesAt(-1, 0)));
}

TEST(Parts, OfSeveralImagesAreCopied) {
  SlicesBuilder b;
  const auto x = b.made({2, 16, 2, 2}), y = b.made({2, 32, 2, 2});
  b.joined({x, y}, {2, 48, 2, 2});
  EXPECT_THAT(b.places(), ElementsAre(LiesAt(-1, 0), LiesAt(-1, 0), LiesAt(-1, 0)));
}

TEST(Parts, OfSeveralImagesOneAfterTheOtherAreNot) {
  SlicesBuilder b;
  const auto x = b.made({2, 16, 2, 2}), y = b.made({1, 16, 2, 2});
  const auto whole = b.joined({x, y}, {3, 16, 2, 2}, 0);
  EXPECT_THAT(b.places(), ElementsAre(LiesAt(whole, 0), LiesAt(whole, 512), LiesAt(-1, 0)));
}

TEST(Parts, BeginWhereTensorsMay) {
  SlicesBuilder b;
  const auto x = b.made({1, 48}), y = b.made({1, 16}), z = b.made({1, 13});
  const auto whole = b.joined({x, y, z}, {1, 77});
  for (PlanTensor& t : b.plan.tensors) t.layout = Layout::kLinear;
  EXPECT_THAT(b.places(),
              ElementsAre(LiesAt(whole, 0), LiesAt(-1, 0), LiesAt(whole, 256), LiesAt(-1, 0)));
}

TEST(Parts, ArePartsOfOneWhole) {
  SlicesBuilder b;
  const auto x = b.made({1, 16, 2, 2});
  const auto first = b.joined({x, x}, {1, 32, 2, 2});
  b.joined({x, first}, {1, 48, 2, 2});
  EXPECT_THAT(b.places(), ElementsAre(LiesAt(first, 0), LiesAt(2, 256), LiesAt(-1, 0)));
}

TEST(Parts, AreTheContextsAndWrittenBefore) {
  SlicesBuilder b;
  const auto input = b.tensor({1, 16, 2, 2}, Place::kInput), x = b.made({1, 16, 2, 2});
  const auto weight = b.tensor({1, 16, 2, 2}, Place::kWeight), y = b.made({1, 16, 2, 2});
  const auto whole = b.joined({input, x, weight, y}, {1, 64, 2, 2});
  b.step({y}, b.tensor({1, 16, 2, 2}, Place::kAlias, y));  // overwrites y afterwards
  const auto places = b.places();
  EXPECT_THAT(places[static_cast<size_t>(x)], LiesAt(whole, 256));
  for (int32_t other : {input, weight, y})
    EXPECT_THAT(places[static_cast<size_t>(other)], LiesAt(-1, 0)) << other;
}

TEST(Parts, OfWhatIsOverwrittenAreCopied) {
  SlicesBuilder b;
  const auto x = b.made({1, 16, 2, 2});
  const auto whole = b.joined({x}, {1, 16, 2, 2});
  b.step({whole}, b.tensor({1, 16, 2, 2}, Place::kAlias, whole));
  EXPECT_THAT(b.places()[static_cast<size_t>(x)], LiesAt(-1, 0));
}

// A sum that overwrites one of its operands before it is joined.
TEST(Parts, MayBeOverwrittenBefore) {
  SlicesBuilder b;
  const auto x = b.made({1, 16, 2, 2}), sum = b.tensor({1, 16, 2, 2}, Place::kAlias, x);
  b.step({x}, sum);
  const auto whole = b.joined({sum}, {1, 16, 2, 2});
  EXPECT_THAT(b.places()[static_cast<size_t>(x)], LiesAt(whole, 0));
}

TEST(Parts, OfPartsLieInTheOutermost) {
  SlicesBuilder b;
  const auto x = b.made({1, 16, 4, 4}), y = b.made({1, 16, 4, 4});
  const auto inner = b.joined({x, y}, {1, 32, 4, 4});
  const auto z = b.made({1, 16, 4, 4});
  const auto outer = b.joined({z, inner}, {1, 48, 4, 4});
  b.step({outer}, b.tensor({1, 48, 4, 4}, Place::kOutput));
  const MemoryPlan memory = b.memory(INT64_MAX);
  ASSERT_EQ(memory.offsets.size(), 5u + b.plan.steps.size());
  const int64_t at = memory.offsets[static_cast<size_t>(outer)];
  EXPECT_EQ(memory.bytes, 48 * 16 * 4);
  EXPECT_EQ(memory.offsets[static_cast<size_t>(z)], at);
  EXPECT_EQ(memory.offsets[static_cast<size_t>(inner)], at + 1024);
  EXPECT_EQ(memory.offsets[static_cast<size_t>(x)], at + 1024);
  EXPECT_EQ(memory.offsets[static_cast<size_t>(y)], at + 2048);
}

// Room for the whole is needed from its first part on, here beside something large.
TEST(Parts, AreCopiedWhereTheyTakeMuchMoreMemory) {
  constexpr int64_t kX = 1024, kY = 4096, kSmall = 256, kWhole = kX + kY;
  const auto bytes = [&](int64_t large, int64_t max_bytes) {
    SlicesBuilder b;
    const auto x = b.made({1, 16, 4, 4}), in_the_way = b.made({1, large / 4});
    const auto small = b.tensor({1, kSmall / 4}), y = b.tensor({1, 64, 4, 4});
    for (int32_t t : {in_the_way, small})
      b.plan.tensors[static_cast<size_t>(t)].layout = Layout::kLinear;
    b.step({in_the_way}, small);
    b.step({small}, y);
    const auto whole = b.joined({x, y}, {1, 80, 4, 4});
    b.step({whole}, b.tensor({1, 80, 4, 4}, Place::kOutput));
    const MemoryPlan memory = b.memory(max_bytes);
    const auto at = [&](int32_t t) { return memory.offsets[static_cast<size_t>(t)]; };
    return std::pair(memory.bytes, at(x) == at(whole) && at(y) == at(whole) + kX);
  };
  constexpr int64_t kApart = kX + kY + kWhole + kSmall;
  EXPECT_EQ(bytes(6144, INT64_MAX), std::pair(kWhole + 6144 + kSmall, true));
  EXPECT_EQ(bytes(6144, kWhole + 6144 + kSmall - 1), std::pair(kApart, false));
  EXPECT_EQ(bytes(9216, INT64_MAX), std::pair(kApart, false));
}

}  // namespace
}  // namespace tenon
