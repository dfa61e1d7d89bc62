// What plugins require of their attributes and tensors, and what they say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin.h>

#include <functional>

namespace tenon::kit {
namespace {

Shape shape(std::initializer_list<int64_t> extents) {
  Shape s{};
  for (const int64_t extent : extents) s.d[s.nbDims++] = extent;
  return s;
}

// What is said; nothing where all fits.
std::string said(const std::function<void()>& require) {
  try {
    require();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(RequireTest, AttributesHaveALeastValue) {
  EXPECT_EQ(said([] { require_at_least("stride", 1, 1); }), "");
  EXPECT_EQ(said([] { require_at_least("stride", 0, 1); }), "stride must be at least 1, found 0");
}

TEST(RequireTest, ListsHaveANumberOfElements) {
  EXPECT_EQ(said([] { require_elements("variance", 4, 4); }), "");
  EXPECT_EQ(said([] { require_elements("variance", 1, 4); }),
            "variance must have 4 elements, found 1");
  EXPECT_EQ(said([] { require_elements("weights", 2, 1); }),
            "weights must have 1 element, found 2");
}

TEST(RequireTest, TensorsHaveAsManyDimensionsAsAxesAreNamed) {
  EXPECT_EQ(said([] { require_axes("x", {2, 3, 4, 5}, "N, C, H, W"); }), "");
  EXPECT_EQ(said([] { require_axes("x", {2, 3, 4}, "N, C, H, W"); }),
            "x must have 4 dimensions (N, C, H, W), found 3");
  EXPECT_EQ(said([] { require_axes("starts", {}, "B + 1"); }),
            "starts must have 1 dimension (B + 1), found 0");
}

TEST(RequireTest, NumbersAmongAxesAreExtents) {
  EXPECT_EQ(said([] { require_shape("points", shape({2, 40, 3}), "B, points, 3"); }), "");
  EXPECT_EQ(said([] { require_shape("w", shape({6, 1, 10}), "3 * E, 1, 10"); }), "");
  EXPECT_EQ(said([] { require_shape("points", shape({2, 40, 4}), "B, points, 3"); }),
            "points must be (B, points, 3), found (2, 40, 4)");
  for (const Shape& other : {shape({}), shape({2, 40}), shape({2, 40, 3, 1}), shape({2, 40, 30})})
    EXPECT_NE(said([&] { require_shape("points", other, "B, points, 3"); }), "") << text_of(other);
}

TEST(RequireTest, ExtentsMayAllBeKnown) {
  EXPECT_EQ(said([] { require_shape("rois", shape({2, 0, 4}), {2, 0, 4}); }), "");
  EXPECT_EQ(said([] { require_shape("rois", shape({2, 20, 5}), {2, 20, 4}); }),
            "rois must be (2, 20, 4), found (2, 20, 5)");
  for (const Shape& other : {shape({}), shape({2, 0}), shape({2, 0, 4, 1})})
    EXPECT_NE(said([&] { require_shape("rois", other, {2, 0, 4}); }), "") << text_of(other);
}

}  // namespace
}  // namespace tenon::kit
