#include <gtest/gtest.h>

#include <string>

#include "provider.h"

extern "C" {
tenon::ort::OrtStatus* CreateEpFactories(const char*, const tenon::ort::OrtApiBase* base,
                                         const void*, tenon::ort::OrtEpFactory** factories,
                                         size_t max, size_t* count);
tenon::ort::OrtStatus* ReleaseEpFactory(tenon::ort::OrtEpFactory* factory);
}

namespace tenon::ort {
namespace {

std::string said;
bool is_new = false;
OrtApi api{};

const OrtApiBase kRuntime{[](uint32_t version) -> const OrtApi* {
                            return version == kApiVersion && !is_new ? nullptr : &api;
                          },
                          [] { return "1.22.0"; }};

class CreateEpFactoriesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    api.CreateStatus = [](OrtErrorCode, const char* message) {
      said = message;
      return reinterpret_cast<OrtStatus*>(&said);
    };
  }
  OrtEpFactory* factory_ = nullptr;
  size_t count_ = 7;
};

TEST_F(CreateEpFactoriesTest, RefusesAnOldRuntime) {
  is_new = false;
  EXPECT_NE(CreateEpFactories("tenon", &kRuntime, nullptr, &factory_, 1, &count_), nullptr);
  EXPECT_EQ(said, "Tenon's execution provider needs ONNX Runtime 1.23 or newer");
  EXPECT_EQ(count_, 0u);
}

TEST_F(CreateEpFactoriesTest, GivesTheFactory) {
  is_new = true;
  EXPECT_NE(CreateEpFactories("tenon", &kRuntime, nullptr, &factory_, 0, &count_), nullptr);
  ASSERT_EQ(CreateEpFactories("tenon", &kRuntime, nullptr, &factory_, 1, &count_), nullptr);
  EXPECT_EQ(count_, 1u);
  EXPECT_STREQ(factory_->GetName(factory_), "TenonExecutionProvider");
  EXPECT_EQ(factory_->ort_version_supported, 23u);
  EXPECT_FALSE(factory_->IsStreamAware(factory_));
  EXPECT_EQ(ReleaseEpFactory(factory_), nullptr);
}

}  // namespace
}  // namespace tenon::ort
