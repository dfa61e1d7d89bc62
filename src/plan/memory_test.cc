#include "plan/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tenon {
namespace {

bool overlap(const MemoryRequest& a, int64_t at_a, const MemoryRequest& b, int64_t at_b) {
  const bool together = a.first_step <= b.last_step && b.first_step <= a.last_step;
  return together && at_a < at_b + b.bytes && at_b < at_a + a.bytes;
}

TEST(PlanMemory, ReusesWhatIsFree) {
  // A chain of four equal tensors needs room for two.
  const MemoryRequest chain[] = {{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  const MemoryPlan plan = plan_memory(chain);
  EXPECT_EQ(plan.bytes, 2 * 1024);
}

TEST(PlanMemory, NothingAliveTogetherOverlaps) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<MemoryRequest> requests;
    for (int i = 0; i < 60; ++i) {
      const auto first = static_cast<int32_t>(random() % 40);
      requests.push_back({static_cast<int64_t>(random() % 5000), first,
                          first + static_cast<int32_t>(random() % 10)});
    }
    const MemoryPlan plan = plan_memory(requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % 256, 0);
      EXPECT_LE(plan.offsets[i] + requests[i].bytes, plan.bytes);
      for (size_t j = 0; j < i; ++j)
        EXPECT_FALSE(overlap(requests[i], plan.offsets[i], requests[j], plan.offsets[j]));
    }
  }
}

// The definition, taken word by word; no faster than the square of the number of requests.
int64_t lowest_free(std::span<const MemoryRequest> placed, std::span<const int64_t> offsets,
                    const MemoryRequest& r) {
  for (int64_t at = 0;; at += 256) {
    bool is_free = true;
    for (size_t i = 0; i < placed.size(); ++i) is_free &= !overlap(placed[i], offsets[i], r, at);
    if (is_free) return at;
  }
}

TEST(PlanMemory, TakesTheLowestOffsetsLargestFirst) {
  std::mt19937 random(11);
  std::vector<MemoryRequest> requests;
  for (int i = 0; i < 80; ++i) {
    const auto first = static_cast<int32_t>(random() % 37);
    requests.push_back({1 + static_cast<int64_t>(random() % 900), first,
                        first + static_cast<int32_t>(random() % 20)});
  }
  std::stable_sort(requests.begin(), requests.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  const MemoryPlan plan = plan_memory(requests);
  for (size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ(plan.offsets[i], lowest_free(std::span(requests).first(i), plan.offsets, requests[i]))
        << i;
}

}  // namespace
}  // namespace tenon
