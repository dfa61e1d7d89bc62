#include "tenon/session/engine.h"

#include <gmock/gmock.h>

#include <fstream>
#include <vector>

#include "test_networks.h"

namespace tenon::session {
namespace {

TEST(Engine, OpensAPlanFile) {
  ErrorLog log;
  const Engine sum = build_sum(log);
  const std::unique_ptr<nvinfer1::IHostMemory> plan(sum.engine->serialize());
  const std::string path = ::testing::TempDir() + "/sum.plan";
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(plan->data()), static_cast<std::streamsize>(plan->size()));
  for (const auto open : {&Engine::open, &Engine::stream}) {
    const auto engine = open(path, log, {});
    ASSERT_TRUE(engine) << engine.error();
    EXPECT_EQ(engine->engine->getNbOptimizationProfiles(), 2);
  }
}

TEST(Engine, CodeThatThePlanHoldsRunsOnlyWhereItIsAllowed) {
  ErrorLog log;
  const std::unique_ptr<nvinfer1::IHostMemory> plan(build_sum(log).engine->serialize());
  for (const bool allowed : {false, true}) {
    const auto engine = Engine::load(*plan, log, {.allows_host_code = allowed});
    ASSERT_TRUE(engine) << engine.error();
    EXPECT_EQ(engine->runtime->getEngineHostCodeAllowed(), allowed);
  }
  EXPECT_FALSE(Engine::load(*plan, log)->runtime->getEngineHostCodeAllowed());
}

TEST(Engine, WhatIsNoPlanIsAnErrorWithItsReason) {
  ErrorLog log;
  const std::vector<std::byte> bytes(100);
  EXPECT_THAT(Engine::load(bytes, log).error(), ::testing::HasSubstr("plan"));
  for (const auto open : {&Engine::open, &Engine::stream})
    EXPECT_THAT(open("/nowhere.plan", log, {}).error(), ::testing::HasSubstr("/nowhere.plan"));
}

}  // namespace
}  // namespace tenon::session
