#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

#include <random>

namespace {

using tenon::kit::DataType;
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

std::string nd_error(std::vector<int64_t> indices, std::vector<double> values,
                     std::vector<int64_t> updates) {
  int64_t volume = 1;
  for (const int64_t d : updates) volume *= d;
  return PluginCase("ScatterND")
      .in("data", {3, 2}, {0, 0, 0, 0, 0, 0})
      .in("indices", DataType::kINT32, std::move(indices), std::move(values))
      .in("updates", std::move(updates), std::vector<double>(static_cast<size_t>(volume), 0))
      .out("output", {3, 2}, {0, 0, 0, 0, 0, 0})
      .check();
}

TEST(ScatterNdTest, IndicesOutsideAreErrors) {
  EXPECT_EQ(nd_error({1, 1}, {-3}, {1, 2}), "");
  EXPECT_THAT(nd_error({1, 1}, {3}, {1, 2}), HasSubstr("index 3 is outside [-3, 3)"));
  EXPECT_THAT(nd_error({1, 1}, {-4}, {1, 2}), HasSubstr("index -4 is outside [-3, 3)"));
  EXPECT_THAT(nd_error({1, 2}, {0, 2}, {1}), HasSubstr("index 2 is outside [-2, 2)"));
}

TEST(ScatterNdTest, ShapesThatDoNotFitAreErrors) {
  EXPECT_THAT(nd_error({1, 1}, {0}, {2, 2}),
              HasSubstr("data (3, 2), indices (1, 1) and updates (2, 2) do not fit; expected "
                        "updates (1, 2)"));
  EXPECT_THAT(nd_error({1, 3}, {0, 0, 0}, {1}), HasSubstr("expected at most 2 in a row"));
  EXPECT_THAT(nd_error({}, {0}, {2}), HasSubstr("expected indices with an axis"));
}

std::string elements_error(int32_t axis, std::vector<double> indices, std::vector<int64_t> dims,
                           std::vector<int64_t> updates) {
  return PluginCase("ScatterElements")
      .attribute("axis", axis)
      .in("data", {2, 2}, {0, 0, 0, 0})
      .in("indices", DataType::kINT64, std::move(dims), std::move(indices))
      .in("updates", std::move(updates), {0, 0, 0})
      .out("output", {2, 2}, {0, 0, 0, 0})
      .check();
}

TEST(ScatterElementsTest, IndicesOutsideAreErrors) {
  EXPECT_EQ(elements_error(0, {0, -2, 1}, {3, 1}, {3, 1}), "");
  EXPECT_THAT(elements_error(0, {0, 2, 0}, {3, 1}, {3, 1}),
              HasSubstr("index 2 is outside [-2, 2)"));
}

TEST(ScatterElementsTest, ShapesThatDoNotFitAreErrors) {
  EXPECT_THAT(elements_error(2, {0, 0, 0}, {3, 1}, {3, 1}), HasSubstr("axis 2 is not one of"));
  EXPECT_THAT(elements_error(1, {0, 0, 0}, {3, 1}, {3, 1}),
              HasSubstr("expected no more indices than data, but along axis 1"));
  EXPECT_THAT(elements_error(0, {0, 0, 0}, {3, 1}, {1, 3}),
              HasSubstr("expected as many updates as indices"));
  EXPECT_THAT(elements_error(0, {0, 0, 0}, {3}, {3}), HasSubstr("expected as many axes"));
}

// So many that threads share them; where they meet, their order counts.
TEST(ScatterNdTest, ManyUpdatesAreAppliedInOrder) {
  for (const int64_t block : {1, 60}) {
    const int64_t blocks = 60000 / block, tuples = 3 * blocks;
    std::mt19937 generator(5);
    std::vector<double> data(60000), indices, updates, out;
    for (double& x : data) x = static_cast<double>(generator() % 100);
    out = data;
    for (int64_t i = 0; i < tuples; ++i) {
      const auto position = static_cast<int64_t>(generator() % static_cast<uint64_t>(blocks));
      indices.push_back(static_cast<double>(position));
      for (int64_t k = 0; k < block; ++k) {
        updates.push_back(static_cast<double>(generator() % 100));
        out[static_cast<size_t>(position * block + k)] = updates.back();
      }
    }
    EXPECT_EQ(PluginCase("ScatterND")
                  .in("data", {blocks, block}, data)
                  .in("indices", DataType::kINT64, {tuples, 1}, indices)
                  .in("updates", {tuples, block}, updates)
                  .out("output", {blocks, block}, out)
                  .check(),
              "");
  }
}

}  // namespace
