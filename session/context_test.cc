#include "tenon/session/context.h"

#include <gmock/gmock.h>

#include "tenon/session/output.h"
#include "tenon/session/shape.h"
#include "test_networks.h"

namespace tenon::session {
namespace {

using ::testing::HasSubstr;

TEST(Context, KnowsWhatWasSet) {
  ErrorLog log;
  const Engine sum = build_sum(log);
  const auto context = *Context::make(*sum.engine, 1, nullptr, &log);
  EXPECT_EQ(context->find("y"), 1);
  EXPECT_EQ(context->find("z"), -1);
  EXPECT_FALSE(context->has_shape(0, Dims{2, {4, 3}}));
  ASSERT_TRUE(context->set_shape(0, Dims{2, {4, 3}}));
  EXPECT_TRUE(context->has_shape(0, Dims{2, {4, 3}}));
  EXPECT_EQ(to_shape(context->shape(1)), (Shape{4, 3}));
  // What failed is not there.
  EXPECT_THAT(context->set_shape(0, Dims{2, {1, 3}}).error(), HasSubstr("outside profile 1"));
  EXPECT_FALSE(context->has_shape(0, Dims{2, {4, 3}}));
}

TEST(Context, OfNoProfileIsAnError) {
  ErrorLog log;
  const Engine sum = build_sum(log);
  for (const int profile : {-1, 2})
    EXPECT_THAT(Context::make(*sum.engine, profile, nullptr, &log).error(),
                HasSubstr("the engine has 2, numbered from 0"));
}

TEST(Context, RunsOnTheCallersMemory) {
  ErrorLog log;
  const Engine sum = build_sum(log);
  if (!runs_on_cpu(*sum.engine)) GTEST_SKIP() << "its memory is a GPU's";
  const auto context = *Context::make(*sum.engine, 0, nullptr, nullptr);
  float x[] = {1, 2, 3}, y[3] = {};
  GrowingOutput output{Memory(*sum.engine)};
  ASSERT_TRUE(context->set_shape(0, Dims{2, {1, 3}}));
  ASSERT_TRUE(context->set_address(0, x));
  ASSERT_TRUE(context->set_output(1, &output));
  output.use(y, sizeof y);
  void* addresses[] = {x, nullptr};
  ASSERT_TRUE(context->get().executeV2(addresses));
  EXPECT_THAT(y, ::testing::ElementsAre(2, 4, 6));
}

}  // namespace
}  // namespace tenon::session
