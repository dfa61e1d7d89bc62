#include "provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace tenon::ort {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Inputs = std::vector<std::vector<size_t>>;

TEST(GroupsOf, AreOneWhereAllAreSupported) {
  EXPECT_THAT(groups_of({true, true, true}, Inputs{{}, {0}, {0, 1}}),
              ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(GroupsOf, AreNoneWhereNoneIs) {
  EXPECT_THAT(groups_of({false, false}, Inputs{{}, {0}}), IsEmpty());
}

TEST(GroupsOf, AreTwoAroundANodeThatIsNot) {
  // 0 -> 1 (not supported) -> 2, and 0 -> 2.
  EXPECT_THAT(groups_of({true, false, true}, Inputs{{}, {0}, {0, 1}}),
              ElementsAre(ElementsAre(0), ElementsAre(2)));
}

TEST(GroupsOf, HaveNodesBesideOneThatIsNot) {
  // 0 -> 1 (not supported), and 0 -> 2 -> 3.
  EXPECT_THAT(groups_of({true, false, true, true}, Inputs{{}, {0}, {0}, {2}}),
              ElementsAre(ElementsAre(0, 2, 3)));
}

// Whatever leaves a group never comes back to it: else ONNX Runtime would have a circle.
TEST(GroupsOf, AreConvexInRandomGraphs) {
  std::mt19937 random(1);
  for (int times = 0; times < 300; ++times) {
    const size_t count = 1 + random() % 24;
    std::vector<bool> supported(count);
    Inputs inputs(count);
    for (size_t node = 0; node < count; ++node) {
      supported[node] = random() % 3 != 0;
      for (size_t before = 0; before < node; ++before)
        if (random() % 6 == 0) inputs[node].push_back(before);
    }
    std::set<size_t> seen;
    for (const auto& group : groups_of(supported, inputs)) {
      const std::set<size_t> members(group.begin(), group.end());
      // Nodes outside that a member leads to.
      std::vector<bool> is_behind(count);
      for (size_t node = 0; node < count; ++node)
        for (const size_t before : inputs[node]) {
          EXPECT_FALSE(members.contains(node) && is_behind[before]);
          if (members.contains(before) || is_behind[before])
            is_behind[node] = is_behind[node] || !members.contains(node);
        }
      for (const size_t node : group) {
        EXPECT_TRUE(supported[node]);
        EXPECT_TRUE(seen.insert(node).second);
      }
    }
    EXPECT_EQ(seen.size(), static_cast<size_t>(std::ranges::count(supported, true)));
  }
}

}  // namespace
}  // namespace tenon::ort
