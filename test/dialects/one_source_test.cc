// One program as sources for several versions of TensorRT are written, compiled for 8, 10 and 11:
// a network by hand and one from a model, built, stored, opened and run.
#include <NvInfer.h>
#include <NvInferPlugin.h>
#include <NvOnnxParser.h>
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace {

using namespace nvinfer1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Logger : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) errors += std::string(message) + "\n";
  }
  std::string errors;
};

struct Deleter {
  template <class T> void operator()(T* object) const {
#if NV_TENSORRT_MAJOR < 10
    object->destroy();
#else
    delete object;
#endif
  }
};
template <class T> using Owned = std::unique_ptr<T, Deleter>;

uint32_t creation_flags() {
#if NV_TENSORRT_MAJOR < 11
  return 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH);
#else
  return 0;
#endif
}

void allow_workspace(IBuilderConfig& config, size_t bytes) {
#if NV_TENSORRT_MAJOR < 10
  config.setMaxWorkspaceSize(bytes);
#else
  config.setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, bytes);
#endif
}

// relu(x * kernel + bias) with a window of 1x1, and the result as half floats and back.
void add_layers(INetworkDefinition& network) {
  static const float kKernel[] = {1, -1}, kBias[] = {2};
  ITensor* const x = network.addInput("x", DataType::kFLOAT, Dims4{-1, 2, 1, 3});
#if NV_TENSORRT_MAJOR < 10
  IConvolutionLayer* const convolution =
      network.addConvolution(*x, 1, DimsHW{1, 1}, Weights{DataType::kFLOAT, kKernel, 2},
                             Weights{DataType::kFLOAT, kBias, 1});
  convolution->setStride(DimsHW{1, 1});
#else
  IConvolutionLayer* const convolution =
      network.addConvolutionNd(*x, 1, Dims2{1, 1}, Weights{DataType::kFLOAT, kKernel, 2},
                               Weights{DataType::kFLOAT, kBias, 1});
  convolution->setStrideNd(Dims2{1, 1});
#endif
  ITensor* y =
      network.addActivation(*convolution->getOutput(0), ActivationType::kRELU)->getOutput(0);
#if NV_TENSORRT_MAJOR < 11
  ILayer* const half = network.addIdentity(*y);
  half->setOutputType(0, DataType::kHALF);
  ILayer* const back = network.addIdentity(*half->getOutput(0));
  back->setOutputType(0, DataType::kFLOAT);
#else
  ILayer* const half = network.addCast(*y, DataType::kHALF);
  ILayer* const back = network.addCast(*half->getOutput(0), DataType::kFLOAT);
#endif
  y = back->getOutput(0);
  y->setName("y");
  network.markOutput(*y);
}

std::vector<float> run(ICudaEngine& engine, const std::vector<float>& x) {
  Owned<IExecutionContext> context(engine.createExecutionContext());
  std::vector<float> y(3);
  void *x_address = nullptr, *y_address = nullptr;
  cudaMalloc(&x_address, x.size() * sizeof(float));
  cudaMalloc(&y_address, y.size() * sizeof(float));
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaMemcpyAsync(x_address, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice, stream);
#if NV_TENSORRT_MAJOR < 10
  std::vector<void*> bindings(static_cast<size_t>(engine.getNbBindings()));
  bindings[static_cast<size_t>(engine.getBindingIndex("x"))] = x_address;
  bindings[static_cast<size_t>(engine.getBindingIndex("y"))] = y_address;
  EXPECT_TRUE(context->setBindingDimensions(engine.getBindingIndex("x"), Dims4{1, 2, 1, 3}));
  EXPECT_TRUE(context->enqueueV2(bindings.data(), stream, nullptr));
#else
  EXPECT_TRUE(context->setInputShape("x", Dims4{1, 2, 1, 3}));
  EXPECT_TRUE(context->setTensorAddress("x", x_address));
  EXPECT_TRUE(context->setTensorAddress("y", y_address));
  EXPECT_TRUE(context->enqueueV3(stream));
#endif
  cudaMemcpyAsync(y.data(), y_address, y.size() * sizeof(float), cudaMemcpyDeviceToHost, stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  cudaStreamDestroy(stream);
  cudaFree(x_address);
  cudaFree(y_address);
  return y;
}

TEST(OneSource, BuildsAndRuns) {
  Logger logger;
  Owned<IBuilder> builder(createInferBuilder(logger));
  Owned<INetworkDefinition> network(builder->createNetworkV2(creation_flags()));
  add_layers(*network);
  Owned<IBuilderConfig> config(builder->createBuilderConfig());
  allow_workspace(*config, 1 << 20);
  IOptimizationProfile* const profile = builder->createOptimizationProfile();
  for (const auto selector :
       {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX}) {
    profile->setDimensions("x", selector, Dims4{1, 2, 1, 3});
  }
  config->addOptimizationProfile(profile);
#if NV_TENSORRT_MAJOR < 11
  if (builder->platformHasFastFp16()) config->setFlag(BuilderFlag::kFP16);
#endif
  Owned<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr) << logger.errors;
  Owned<IRuntime> runtime(createInferRuntime(logger));
  Owned<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr) << logger.errors;
  // By hand: x0 - x1 + 2, and not below 0.
  EXPECT_THAT(run(*engine, {1, 5, -2, 3, 4, 7}), ElementsAre(0, 3, 0));
  EXPECT_EQ(logger.errors, "");
}

TEST(OneSource, ReadsAModelWithAPlugin) {
  Logger logger;
  ASSERT_TRUE(initLibNvInferPlugins(&logger, ""));
  Owned<IBuilder> builder(createInferBuilder(logger));
  Owned<INetworkDefinition> network(builder->createNetworkV2(creation_flags()));
  Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  ASSERT_TRUE(parser->parseFromFile(TENON_MODEL, 1)) << logger.errors;
  EXPECT_EQ(network->getNbInputs(), 2);
  EXPECT_FALSE(parser->parse("no model", 8));
  EXPECT_GT(parser->getNbErrors(), 0);
}

TEST(OneSource, FindsTheLibraryOfItsVersion) {
  EXPECT_EQ(getInferLibVersion(), NV_TENSORRT_VERSION);
}

#if NV_TENSORRT_MAJOR >= 10
TEST(OneSource, TypesAreStrictFrom11On) {
  Logger logger;
  Owned<IBuilder> builder(createInferBuilder(logger));
  Owned<INetworkDefinition> network(builder->createNetworkV2(0));
  EXPECT_EQ(network->getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED),
            NV_TENSORRT_MAJOR >= 11);
}
#endif

#if NV_TENSORRT_MAJOR >= 11
TEST(OneSource, AttentionsTakeTheirMaskByName) {
  Logger logger;
  Owned<IBuilder> builder(createInferBuilder(logger));
  Owned<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* const query = network->addInput("query", DataType::kFLOAT, Dims4{1, 1, 2, 4});
  ITensor* const key = network->addInput("key", DataType::kFLOAT, Dims4{1, 1, 3, 4});
  const auto add = [&](ITensor& keys, CausalMaskKind kind) {
    return network->addAttentionV2(*query, keys, keys, AttentionNormalizationOp::kSOFTMAX, kind);
  };
  IAttention* const causal = add(*key, CausalMaskKind::kUPPER_LEFT);
  ASSERT_NE(causal, nullptr) << logger.errors;
  EXPECT_TRUE(causal->getCausal());
  EXPECT_EQ(causal->getCausalKind(), CausalMaskKind::kUPPER_LEFT);
  EXPECT_FALSE(causal->setQueryForm(AttentionIOForm::kPACKED_NHD));
  EXPECT_NE(add(*query, CausalMaskKind::kLOWER_RIGHT), nullptr);
  EXPECT_EQ(logger.errors, "");
  EXPECT_EQ(add(*key, CausalMaskKind::kLOWER_RIGHT), nullptr);
  EXPECT_THAT(logger.errors, HasSubstr("kLOWER_RIGHT is not supported"));
}

TEST(OneSource, AuxiliaryStreamsAreAnswered) {
  Logger logger;
  Owned<IBuilder> builder(createInferBuilder(logger));
  Owned<IBuilderConfig> config(builder->createBuilderConfig());
  const bool is_taken = config->setMaxAuxStreams(2);
  EXPECT_TRUE(is_taken);
  EXPECT_EQ(config->getMaxAuxStreams(), 2);
}
#endif

}  // namespace
