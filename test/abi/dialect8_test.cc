// What TENON_TRT_API=8 changes. The other tests of this program are compiled without it.
#define TENON_TRT_API 8
#include <gtest/gtest.h>

#include "fakes.h"

namespace nvinfer1 {
namespace {

static_assert(NV_TENSORRT_MAJOR == 8 && NV_TENSORRT_MINOR == 6 && NV_TENSORRT_PATCH == 1);
static_assert(NV_TENSORRT_VERSION == 8601);
static_assert(TENON_TRT_ABI_VERSION == 101600);

class Builder : public FakeBuilder {
 public:
  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags given) noexcept override {
    flags = given;
    return nullptr;
  }
  IPluginRegistry& getPluginRegistry() noexcept override { return *registry; }

  NetworkDefinitionCreationFlags flags = 0;
  IPluginRegistry* registry = nullptr;
};

TEST(Dialect8, NetworksWithoutTheExplicitBitHaveAnImplicitBatch) {
  Builder builder;
  IBuilder& seen_by_program = builder;
  seen_by_program.createNetworkV2(0U);
  EXPECT_EQ(builder.flags, tenon::kImplicitBatchFlag);
  seen_by_program.createNetworkV2(1U);
  EXPECT_EQ(builder.flags, 1U);
}

}  // namespace
}  // namespace nvinfer1
