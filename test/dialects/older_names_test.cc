// TENON_TRT_OLDER_NAMES: a program for TensorRT 11 that keeps builder flags of precision for now.
#define TENON_TRT_OLDER_NAMES 1
#include <NvInfer.h>
#include <gtest/gtest.h>

#include <memory>

namespace {

using namespace nvinfer1;

static_assert(NV_TENSORRT_MAJOR == 11);

class Logger : public ILogger {
  void log(Severity, const char*) noexcept override {}
};

TEST(OlderNames, NetworksAreTypedByBuilderFlags) {
  Logger logger;
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  EXPECT_FALSE(network->getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  config->setFlag(BuilderFlag::kFP16);
  EXPECT_TRUE(config->getFlag(BuilderFlag::kFP16));
  config->setMaxWorkspaceSize(1 << 20);
  EXPECT_EQ(config->getMemoryPoolLimit(MemoryPoolType::kWORKSPACE), 1U << 20);
}

}  // namespace
