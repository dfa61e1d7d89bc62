#include "plan/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Place = PlanTensor::Place;

// Plans by hand: each tensor lies in the context's memory.
class StreamsBuilder {
 public:
  explicit StreamsBuilder(int32_t aux_streams) { plan.aux_streams = aux_streams; }

  int32_t tensor(int32_t alias_of = -1) {
    PlanTensor t;
    t.place = alias_of < 0 ? Place::kArena : Place::kAlias;
    t.alias_of = alias_of;
    plan.tensors.push_back(t);
    return static_cast<int32_t>(plan.tensors.size()) - 1;
  }
  // A step's output; it overwrites the tensor `over`, if that is not negative.
  int32_t step(std::vector<int32_t> inputs, int32_t over = -1) {
    PlanStep s;
    s.inputs = std::move(inputs);
    s.outputs = {tensor(over)};
    plan.steps.push_back(std::move(s));
    return plan.steps.back().outputs[0];
  }
  std::vector<int32_t> streams() const {
    std::vector<int32_t> list;
    for (const Streams::Step& s : streams_of(plan).steps) list.push_back(s.stream);
    return list;
  }

  Plan plan;
};

// x, then branches of the given lengths, then their sum.
StreamsBuilder branches(const std::vector<int>& lengths, int32_t aux_streams) {
  StreamsBuilder b(aux_streams);
  const int32_t x = b.step({});
  std::vector<int32_t> ends;
  for (int length : lengths) {
    ends.push_back(x);
    for (int i = 0; i < length; ++i) ends.back() = b.step({ends.back()});
  }
  b.step({b.step(ends)});
  return b;
}

TEST(Streams, BranchesRunSideBySide) {
  const StreamsBuilder b = branches({2, 1, 3}, 2);
  EXPECT_THAT(b.streams(), ElementsAre(0, 0, 0, 1, 2, 2, 2, 0, 0));
  const Streams s = streams_of(b.plan);
  EXPECT_EQ(s.auxiliary, 2);
  EXPECT_FALSE(s.begin_is_awaited);
  EXPECT_THAT(s.steps[1].waits, IsEmpty());
  EXPECT_THAT(s.steps[3].waits, ElementsAre(0));
  EXPECT_THAT(s.steps[4].waits, ElementsAre(0));
  EXPECT_THAT(s.steps[7].waits, ElementsAre(3, 6));
  EXPECT_THAT(s.steps[8].waits, IsEmpty());
  EXPECT_THAT(s.waits_at_end, IsEmpty());
  EXPECT_TRUE(s.steps[0].is_awaited && s.steps[3].is_awaited && s.steps[6].is_awaited);
  EXPECT_FALSE(s.steps[2].is_awaited || s.steps[4].is_awaited || s.steps[7].is_awaited);
}

TEST(Streams, NoMoreThanAllowed) {
  EXPECT_THAT(branches({1, 1, 1}, 1).streams(), ElementsAre(0, 0, 1, 0, 0, 0));
  EXPECT_THAT(branches({1, 1, 1}, 0).streams(), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(branches({1, 1, 1}, Plan::kMaxAuxStreams).streams(), ElementsAre(0, 0, 1, 2, 0, 0));
}

TEST(Streams, AChainNeedsOne) {
  const StreamsBuilder b = branches({5}, 3);
  EXPECT_EQ(streams_of(b.plan).auxiliary, 0);
}

TEST(Streams, RunsMayBeginAndEndWithBranches) {
  StreamsBuilder b(3);
  b.step({b.step({})});
  b.step({b.step({})});
  const Streams s = streams_of(b.plan);
  EXPECT_THAT(b.streams(), ElementsAre(0, 0, 1, 1));
  EXPECT_TRUE(s.begin_is_awaited);
  EXPECT_THAT(s.steps[2].waits, ElementsAre(Streams::kBegin));
  EXPECT_THAT(s.waits_at_end, ElementsAre(3));
}

TEST(Streams, WhatOverwritesWaitsForReaders) {
  StreamsBuilder b(3);
  const int32_t x = b.step({});
  const int32_t y = b.step({x});
  const int32_t z = b.step({x}, x);
  b.step({y, z});
  const Streams s = streams_of(b.plan);
  EXPECT_EQ(s.auxiliary, 0) << "each step waits for the one before";
}

TEST(Streams, NoneWhereSizesAreToldLate) {
  StreamsBuilder b = branches({1, 1}, 2);
  EXPECT_EQ(streams_of(b.plan).auxiliary, 1);
  b.plan.symbols.emplace_back();
  EXPECT_EQ(streams_of(b.plan).auxiliary, 0);
}

// Which steps are over before each other one starts, from what streams and waits alone say.
std::vector<std::vector<bool>> order_of(const Streams& s) {
  const size_t count = s.steps.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
  std::vector<int32_t> latest(static_cast<size_t>(s.auxiliary) + 1, Streams::kBegin);
  for (size_t i = 0; i < count; ++i) {
    std::vector<int32_t> on = s.steps[i].waits;
    int32_t& previous = latest[static_cast<size_t>(s.steps[i].stream)];
    on.push_back(previous);
    previous = static_cast<int32_t>(i);
    for (int32_t earlier : on) {
      if (earlier == Streams::kBegin) continue;
      const auto e = static_cast<size_t>(earlier);
      before[i][e] = true;
      for (size_t k = 0; k < e; ++k)
        if (before[e][k]) before[i][k] = true;
    }
  }
  return before;
}

bool share(const Plan& plan, size_t a, size_t b) {
  const auto storages = [&](const std::vector<int32_t>& tensors) {
    std::vector<int32_t> roots;
    for (int32_t t : tensors) roots.push_back(plan.root_of(t));
    return roots;
  };
  const auto touched = [&](size_t i) {
    auto all = storages(plan.steps[i].inputs);
    for (int32_t root : storages(plan.steps[i].outputs)) all.push_back(root);
    return all;
  };
  const auto meet = [](const std::vector<int32_t>& x, const std::vector<int32_t>& y) {
    return std::any_of(x.begin(), x.end(),
                       [&](int32_t i) { return std::find(y.begin(), y.end(), i) != y.end(); });
  };
  return meet(storages(plan.steps[a].outputs), touched(b))
         || meet(storages(plan.steps[b].outputs), touched(a));
}

TEST(Streams, OfAnyNetworkAreOrderedWhereTheyMustBe) {
  std::mt19937 random(5);
  int used = 0;
  for (int round = 0; round < 300; ++round) {
    StreamsBuilder b(static_cast<int32_t>(random() % 5));
    const int reach = 1 + static_cast<int>(random() % 8);
    std::vector<int32_t> made{b.tensor()};
    for (int i = 0; i < 40; ++i) {
      std::vector<int32_t> inputs;
      for (size_t k = random() % 3; k > 0; --k) {
        const size_t back = 1 + random() % static_cast<size_t>(reach);
        inputs.push_back(made[made.size() - std::min(made.size(), back)]);
      }
      const bool overwrites = !inputs.empty() && random() % 8 == 0;
      made.push_back(b.step(inputs, overwrites ? inputs[0] : -1));
    }
    const Streams s = streams_of(b.plan);
    used += s.auxiliary;
    ASSERT_LE(s.auxiliary, b.plan.aux_streams);
    const auto before = order_of(s);
    for (size_t i = 0; i < s.steps.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        ASSERT_TRUE(before[i][j] || !share(b.plan, i, j)) << round << ": " << j << " and " << i;
        // What is not ordered must not share memory.
        const bool apart =
            s.steps[j].last < static_cast<int32_t>(i) || s.steps[i].first > static_cast<int32_t>(j);
        ASSERT_TRUE(before[i][j] || !apart) << round << ": " << j << " and " << i;
      }
    // The caller's stream has seen everything at the end, and the begin was seen by all.
    std::vector<bool> seen(s.steps.size());
    std::vector<int32_t> ends = s.waits_at_end;
    for (size_t i = 0; i < s.steps.size(); ++i)
      if (s.steps[i].stream == 0) ends.push_back(static_cast<int32_t>(i));
    for (int32_t end : ends) {
      const auto e = static_cast<size_t>(end);
      seen[e] = true;
      for (size_t k = 0; k < e; ++k)
        if (before[e][k]) seen[k] = true;
    }
    EXPECT_THAT(seen, ::testing::Each(true)) << round;
    std::vector<bool> started(static_cast<size_t>(s.auxiliary) + 1);
    for (const Streams::Step& step : s.steps) {
      const bool begins = step.stream > 0 && !started[static_cast<size_t>(step.stream)];
      EXPECT_FALSE(begins && step.waits.empty()) << round;
      started[static_cast<size_t>(step.stream)] = true;
    }
  }
  EXPECT_GT(used, 100);
}

}  // namespace
}  // namespace tenon
