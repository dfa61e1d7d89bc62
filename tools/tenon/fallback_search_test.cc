#include "fallback_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tenon::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A loss to which each group that is in int8 adds its cost.
auto additive(const std::vector<double>& costs) {
  return [costs](const Groups& kept) {
    double loss = std::accumulate(costs.begin(), costs.end(), 0.0);
    for (const size_t group : kept) loss -= costs[group];
    return loss;
  };
}

TEST(FallbackSearchTest, KeepsTheFewestFromTheFront) {
  const Fallback found = find_fallback(8, 7, additive({32, 16, 8, 4, 2, 1, 0.5, 0.25}));
  EXPECT_THAT(found.kept, ElementsAre(0, 1, 2, 3)) << "4 + 2 + 1 + 0.5 + 0.25 are more than 7";
  EXPECT_DOUBLE_EQ(found.loss, 3.75);
  EXPECT_TRUE(found.holds);
}

TEST(FallbackSearchTest, WhatWasRankedTooHighReturnsToInt8) {
  std::vector<double> costs(12, 0);
  costs[5] = costs[9] = 10;
  const Fallback found = find_fallback(costs.size(), 5, additive(costs));
  EXPECT_THAT(found.kept, ElementsAre(5, 9));
  EXPECT_EQ(found.loss, 0);
}

TEST(FallbackSearchTest, NothingToDo) {
  const Fallback found = find_fallback(3, 10, additive({1, 2, 3}));
  EXPECT_THAT(found.kept, IsEmpty());
  EXPECT_EQ(found.loss, 6);
  EXPECT_EQ(found.measured, 1);
  EXPECT_THAT(find_fallback(0, 0, additive({})).kept, IsEmpty());
}

TEST(FallbackSearchTest, NothingHolds) {
  const Fallback found = find_fallback(3, 0.5, [](const Groups&) { return 1.0; });
  EXPECT_FALSE(found.holds);
  EXPECT_THAT(found.kept, ElementsAre(0, 1, 2));
}

TEST(FallbackSearchTest, FewSetsAreMeasured) {
  constexpr size_t kGroups = 1000;
  std::vector<double> costs(kGroups);
  for (size_t i = 0; i < kGroups; ++i) costs[i] = static_cast<double>(kGroups - i);
  const Fallback found = find_fallback(kGroups, 1000, additive(costs));
  EXPECT_TRUE(found.holds);
  EXPECT_LE(found.measured, 60);
  EXPECT_LE(found.kept.size(), 956) << "the last 44 cost 990";
}

}  // namespace
}  // namespace tenon::tool
