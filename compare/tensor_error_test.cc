#include "compare/tensor_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace tenon::compare {
namespace {

session::Array array(const std::vector<float>& values, session::Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
  session::Array made = *session::make_array(nvinfer1::DataType::kFLOAT, shape);
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  return made;
}

constexpr float kNan = NAN, kInfinity = INFINITY;

TEST(TensorErrorTest, OfOrdinaryNumbers) {
  // numpy: d = f - e; abs(d).max(), sqrt((d*d).mean()), sqrt((e*e).mean()), f@e/norms, ptp(e)
  const auto error = error_of(array({1, 2, 3.5f, -4}), array({1, 2.25f, 3, -4}));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->count, 4);
  EXPECT_DOUBLE_EQ(error->largest, 0.5);
  EXPECT_NEAR(error->rms, 0.2795084971874737, 1e-15);
  EXPECT_NEAR(error->expected_rms, 2.7866871012009944, 1e-15);
  EXPECT_NEAR(error->cosine, 0.9957170653574035, 1e-12);
  EXPECT_DOUBLE_EQ(error->range, 7);
  EXPECT_EQ(error->worst, 2);
  EXPECT_DOUBLE_EQ(error->found, 3.5);
  EXPECT_DOUBLE_EQ(error->expected, 3);
  EXPECT_DOUBLE_EQ(error->of_range(), 0.5 / 7);
}

TEST(TensorErrorTest, OfTheSame) {
  const auto error = error_of(array({0, kNan, -kInfinity}), array({0, kNan, -kInfinity}));
  EXPECT_EQ(error->of_range(), 0);
  EXPECT_EQ(error->worst, -1);
  EXPECT_EQ(error->cosine, 1);
}

TEST(TensorErrorTest, OfWhatIsNotFinite) {
  const auto error = error_of(array({5, kInfinity, kNan, 1}), array({1, 70000, -kInfinity, 1}));
  EXPECT_EQ(error->not_finite, 2);
  EXPECT_EQ(error->worst, 1);
  EXPECT_EQ(error->expected, 70000);
  EXPECT_TRUE(std::isinf(error->of_range()));
  EXPECT_EQ(error->largest, 4) << "of the others";
}

TEST(TensorErrorTest, OfConstants) {
  EXPECT_DOUBLE_EQ(error_of(array({4, 5}), array({4, 4}))->of_range(), 0.25);
  EXPECT_TRUE(std::isinf(error_of(array({1, 0}), array({0, 0}))->of_range()));
  EXPECT_EQ(error_of(array({}, {0}), array({}, {0}))->of_range(), 0);
}

TEST(TensorErrorTest, OfOtherShapes) {
  const auto error = error_of(array({1, 2}, {1, 2}), array({1, 2}));
  ASSERT_FALSE(error);
  EXPECT_NE(error.error().find("1x2"), std::string::npos) << error.error();
}

}  // namespace
}  // namespace tenon::compare
