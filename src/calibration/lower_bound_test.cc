#include "calibration/lower_bound.h"

#include <limits>

#include "ops/concatenation.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
constexpr double kNoBound = -std::numeric_limits<double>::infinity();

TEST(LowerBound, OfActivations) {
  Model m;
  Value& x = m.input({1, 2, 4, 4});
  EXPECT_EQ(lower_bound_of(x), kNoBound);
  EXPECT_EQ(lower_bound_of(m.convolution(x, 2)), kNoBound);
  for (const auto type :
       {ActivationType::kRELU, ActivationType::kSIGMOID, ActivationType::kHARD_SIGMOID})
    EXPECT_EQ(lower_bound_of(m.activation(x, type)), 0);
  EXPECT_EQ(lower_bound_of(m.activation(x, ActivationType::kCLIP, -2, 6)), -2);
  EXPECT_EQ(lower_bound_of(m.activation(m.relu(x), ActivationType::kCLIP, -2, 6)), 0);
  EXPECT_EQ(lower_bound_of(m.activation(x, ActivationType::kLEAKY_RELU, 0.1f)), kNoBound);
  EXPECT_EQ(lower_bound_of(m.activation(x, ActivationType::kELU, 2)), -2);
}

// The lowest values of functions are what 20,000 points of them give.
TEST(LowerBound, OfFunctionsWithAValley) {
  Model m;
  Value& x = m.input({1, 2, 4, 4});
  const auto lowest = [](const auto& function) {
    double low = 0;
    for (int i = 0; i < 20000; ++i) low = std::min(low, function(-10 + i * 1e-3));
    return low;
  };
  const double of_gelu =
      lowest([](double t) { return 0.5 * t * (1 + std::erf(t / std::sqrt(2.0))); });
  EXPECT_NEAR(lower_bound_of(m.activation(x, ActivationType::kGELU_ERF)), of_gelu, 1e-4);
  EXPECT_LE(lower_bound_of(m.activation(x, ActivationType::kGELU_ERF)), of_gelu);
  const double of_tanh = lowest([](double t) {
    return 0.5 * t * (1 + std::tanh(std::sqrt(2 / M_PI) * (t + 0.044715 * t * t * t)));
  });
  EXPECT_NEAR(lower_bound_of(m.activation(x, ActivationType::kGELU_TANH)), of_tanh, 1e-4);
  EXPECT_LE(lower_bound_of(m.activation(x, ActivationType::kGELU_TANH)), of_tanh);
  const double of_swish = lowest([](double t) { return t / (1 + std::exp(-t)); });
  Value& swish = m.product(m.activation(x, ActivationType::kSIGMOID), x);
  EXPECT_NEAR(lower_bound_of(swish), of_swish, 1e-4);
  EXPECT_LE(lower_bound_of(swish), of_swish);
  Value& hard_swish = m.product(x, m.activation(x, ActivationType::kHARD_SIGMOID, 1 / 6.f, 0.5f));
  EXPECT_NEAR(lower_bound_of(hard_swish), -0.375, 1e-6);
}

TEST(LowerBound, PassesThroughOtherLayers) {
  Model m;
  Value& x = m.input({1, 2, 4, 4});
  Value& gate = m.activation(m.convolution(x, 2), ActivationType::kSIGMOID);
  EXPECT_EQ(lower_bound_of(m.product(m.relu(x), gate)), 0);
  EXPECT_EQ(lower_bound_of(m.product(x, gate)), kNoBound);
  EXPECT_EQ(lower_bound_of(m.product(m.relu(x), x)), kNoBound);
  EXPECT_EQ(lower_bound_of(m.sum(m.activation(x, ActivationType::kTANH), m.relu(x))), -1);
  auto join = std::make_unique<Concatenation>();
  join->axis = 1;
  EXPECT_EQ(
      lower_bound_of(m.add(std::move(join), {&m.relu(x), &m.activation(x, ActivationType::kTANH)})),
      -1);
}

}  // namespace
}  // namespace tenon
