#include "loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "error.h"

namespace tenon::tool {
namespace {

session::Array array(const std::vector<float>& values, const session::Shape& shape) {
  session::Array made = *session::make_array(nvinfer1::DataType::kFLOAT, shape);
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  return made;
}

// Two batches of two rows, of which one has its largest element elsewhere.
double loss_of(LossMetric metric) {
  Loss loss(metric);
  loss.add({{"y", array({1, 2, 3.5f, -4, 0, 1}, {2, 3})}},
           {{"y", array({1, 2.25f, 3, -4, 0, 1}, {2, 3})}});
  loss.add({{"y", array({5, 6, 1, 2, 8, 1}, {2, 3})}}, {{"y", array({6, 5, 1, 2, 7, 1}, {2, 3})}});
  return loss.value();
}

TEST(LossTest, OfOrdinaryNumbers) {
  // numpy: sqrt(((f - e)**2).sum() / (e**2).sum()); 1 - f@e / norms; (f.argmax(1) !=
  // e.argmax(1)).mean()
  EXPECT_NEAR(loss_of(LossMetric::kRelative), 0.14957375769544437, 1e-12);
  EXPECT_NEAR(loss_of(LossMetric::kCosine), 0.009080385424791282, 1e-12);
  EXPECT_DOUBLE_EQ(loss_of(LossMetric::kTop1), 0.25);
}

TEST(LossTest, TheWorstOutputCounts) {
  Loss loss(LossMetric::kRelative);
  loss.add({{"a", array({1}, {1})}, {"b", array({3}, {1})}},
           {{"a", array({1}, {1})}, {"b", array({4}, {1})}});
  EXPECT_DOUBLE_EQ(loss.value(), 0.25);
}

TEST(LossTest, NumbersThatAreNotFinite) {
  Loss same(LossMetric::kTop1), other(LossMetric::kCosine);
  same.add({{"y", array({NAN, 1}, {2})}}, {{"y", array({NAN, 1}, {2})}});
  EXPECT_EQ(same.value(), 0);
  other.add({{"y", array({NAN, 1}, {2})}}, {{"y", array({2, 1}, {2})}});
  EXPECT_TRUE(std::isinf(other.value()));
}

TEST(LossTest, OutputsOfOtherShapesAreRefused) {
  Loss loss(LossMetric::kTop1);
  const session::Arrays expected{{"boxes", array({1, 2}, {2})}};
  EXPECT_THROW(loss.add({}, expected), Failure);
  EXPECT_THROW(loss.add({{"boxes", array({1, 2, 3}, {3})}}, expected), Failure);
}

}  // namespace
}  // namespace tenon::tool
