#include "tenon/serve/norm.h"

#include <gmock/gmock.h>

namespace tenon::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

TEST(Norm, IsOneProductAndSum) {
  const Norm norm = Norm::mean_std({0.5F, 0.25F, 0}, {0.5F, 2, 1}, 0.5F, ChannelType::Invert);
  EXPECT_THAT(norm.scale, ElementsAre(1, 0.25F, 0.5F));
  EXPECT_THAT(norm.shift, ElementsAre(-1, -0.125F, 0));
  EXPECT_EQ(norm.channel_type, ChannelType::Invert);
  EXPECT_THAT(Norm::mean_std({0, 0, 0}, {1, 1, 1}).scale, ::testing::Each(FloatEq(1 / 255.F)));
  const Norm plain = Norm::alpha_beta(2, 3);
  EXPECT_THAT(plain.scale, ::testing::Each(2));
  EXPECT_THAT(plain.shift, ::testing::Each(3));
  EXPECT_EQ(plain.channel_type, ChannelType::None);
  EXPECT_THAT(Norm::None().scale, ::testing::Each(1));
  EXPECT_THAT(Norm::None().shift, ::testing::Each(0));
}

}  // namespace
}  // namespace tenon::serve
