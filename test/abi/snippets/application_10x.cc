// An application in the style of TensorRT 10.x: named tensors, delete, enqueueV3.
#include <NvInfer.h>
#include <NvInferPlugin.h>
#include <NvOnnxParser.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

namespace {

class Listener : public nvinfer1::IProgressMonitor {
 public:
  void phaseStart(const char*, const char*, int32_t) noexcept final {}
  bool stepComplete(const char*, int32_t) noexcept final { return true; }
  void phaseFinish(const char*) noexcept final {}
};

class OutputBuffer : public nvinfer1::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                              cudaStream_t stream) override {
    return cudaMallocAsync(&memory, size, stream) == cudaSuccess ? memory : nullptr;
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override { shape = dims; }

  void* memory = nullptr;
  nvinfer1::Dims shape{};
};

}  // namespace

std::unique_ptr<nvinfer1::IHostMemory> build(nvinfer1::ILogger& logger,
                                             const std::vector<char>& model) {
  initLibNvInferPlugins(&logger, "");
  auto builder = std::unique_ptr<nvinfer1::IBuilder>(nvinfer1::createInferBuilder(logger));
  auto network = std::unique_ptr<nvinfer1::INetworkDefinition>(builder->createNetworkV2(
      1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
  auto parser =
      std::unique_ptr<nvonnxparser::IParser>(nvonnxparser::createParser(*network, logger));
  if (!parser->parse(model.data(), model.size())) {
    for (int32_t i = 0; i < parser->getNbErrors(); ++i) {
      logger.log(nvinfer1::ILogger::Severity::kERROR, parser->getError(i)->desc());
    }
    return nullptr;
  }
  auto config = std::unique_ptr<nvinfer1::IBuilderConfig>(builder->createBuilderConfig());
  config->setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE, 1U << 28);
  config->setBuilderOptimizationLevel(3);
  config->setProfilingVerbosity(nvinfer1::ProfilingVerbosity::kDETAILED);
  Listener listener;
  config->setProgressMonitor(&listener);
  auto cache = std::unique_ptr<nvinfer1::ITimingCache>(config->createTimingCache(nullptr, 0));
  config->setTimingCache(*cache, false);
  nvinfer1::IOptimizationProfile* profile = builder->createOptimizationProfile();
  const char* name = network->getInput(0)->getName();
  for (auto selector : {nvinfer1::OptProfileSelector::kMIN, nvinfer1::OptProfileSelector::kOPT,
                        nvinfer1::OptProfileSelector::kMAX}) {
    profile->setDimensions(name, selector, nvinfer1::Dims4(1, 3, 256, 256));
  }
  config->addOptimizationProfile(profile);
  return std::unique_ptr<nvinfer1::IHostMemory>(builder->buildSerializedNetwork(*network, *config));
}

bool run(nvinfer1::ILogger& logger, const nvinfer1::IHostMemory& plan, cudaStream_t stream) {
  auto runtime = std::unique_ptr<nvinfer1::IRuntime>(nvinfer1::createInferRuntime(logger));
  auto engine = std::unique_ptr<nvinfer1::ICudaEngine>(
      runtime->deserializeCudaEngine(plan.data(), plan.size()));
  auto context = std::unique_ptr<nvinfer1::IExecutionContext>(engine->createExecutionContext());
  OutputBuffer output;
  for (int32_t i = 0; i < engine->getNbIOTensors(); ++i) {
    const char* name = engine->getIOTensorName(i);
    if (engine->getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT) {
      void* buffer = nullptr;
      cudaMalloc(&buffer, 1 << 20);
      context->setInputShape(name, nvinfer1::Dims4(1, 3, 256, 256));
      context->setTensorAddress(name, buffer);
    } else {
      context->setOutputAllocator(name, &output);
    }
  }
  auto inspector = std::unique_ptr<nvinfer1::IEngineInspector>(engine->createEngineInspector());
  logger.log(nvinfer1::ILogger::Severity::kINFO,
             inspector->getEngineInformation(nvinfer1::LayerInformationFormat::kJSON));
  return context->allInputDimensionsSpecified() && context->enqueueV3(stream);
}
