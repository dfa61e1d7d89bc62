#include "builder/fixed_extents.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

ProfileRequest profile(const Shape& min, const Shape& opt, const Shape& max) {
  ProfileRequest request;
  request.inputs["x"] = {min, opt, max, {}, {}, {}};
  return request;
}

Shape fixed(const std::vector<ProfileRequest>& profiles) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {-1, 3, -1});
  fix_extents(n, profiles);
  return x.declared;
}

TEST(FixedExtentsTest, AreThoseThatEveryProfileFixes) {
  EXPECT_EQ(fixed({}), Shape({-1, 3, -1}));
  EXPECT_EQ(fixed({profile({2, 3, 4}, {2, 3, 4}, {2, 3, 4})}), Shape({2, 3, 4}));
  EXPECT_EQ(fixed({profile({2, 3, 4}, {2, 3, 4}, {2, 3, 5})}), Shape({2, 3, -1}));
  EXPECT_EQ(
      fixed({profile({2, 3, 4}, {2, 3, 4}, {2, 3, 4}), profile({2, 3, 8}, {2, 3, 8}, {2, 3, 8})}),
      Shape({2, 3, -1}));
}

TEST(FixedExtentsTest, ProfilesThatAreNotCompleteFixNothing) {
  EXPECT_EQ(fixed({ProfileRequest()}), Shape({-1, 3, -1}));
  EXPECT_EQ(fixed({profile({2, 3}, {2, 3}, {2, 3})}), Shape({-1, 3, -1}));
}

}  // namespace
}  // namespace tenon
