// An application in the style of TensorRT 8.x: implicit names, bindings, destroy().
#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <cuda_runtime_api.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace nvinfer1;

class Logger : public ILogger {
  void log(Severity severity, const char* msg) noexcept override {
    if (severity <= Severity::kWARNING) std::cerr << msg << std::endl;
  }
};

template <typename T> struct Destroy {
  void operator()(T* object) const { object->destroy(); }
};

template <typename T> using Owned = std::unique_ptr<T, Destroy<T>>;

class Calibrator : public IInt8EntropyCalibrator2 {
 public:
  int getBatchSize() const noexcept override { return 1; }
  bool getBatch(void* bindings[], const char* names[], int nbBindings) noexcept override {
    return bindings == nullptr && names == nullptr && nbBindings == 0;
  }
  const void* readCalibrationCache(size_t& length) noexcept override {
    length = 0;
    return nullptr;
  }
  void writeCalibrationCache(const void* cache, size_t length) noexcept override {
    size = cache != nullptr ? length : 0;
  }
  size_t size = 0;
};

class Allocator : public IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t /*alignment*/, uint32_t /*flags*/) noexcept override {
    void* memory = nullptr;
    return cudaMalloc(&memory, size) == cudaSuccess ? memory : nullptr;
  }
  void free(void* memory) noexcept override { cudaFree(memory); }
};

Owned<IHostMemory> buildFromOnnx(Logger& logger, Calibrator& calibrator, const char* file) {
  Owned<IBuilder> builder(createInferBuilder(logger));
  builder->setMaxBatchSize(8);
  Owned<INetworkDefinition> network(builder->createNetworkV2(
      1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH)));
  Owned<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  if (!parser->parseFromFile(file, static_cast<int>(ILogger::Severity::kWARNING))) return nullptr;
  Owned<IBuilderConfig> config(builder->createBuilderConfig());
  config->setMaxWorkspaceSize(1U << 30);
  config->setFlag(BuilderFlag::kSTRICT_TYPES);
  if (builder->platformHasFastInt8()) {
    config->setFlag(BuilderFlag::kINT8);
    config->setInt8Calibrator(&calibrator);
  }
  auto* profile = builder->createOptimizationProfile();
  profile->setDimensions("input", OptProfileSelector::kMIN, Dims4{1, 3, 224, 224});
  profile->setDimensions("input", OptProfileSelector::kOPT, Dims4{4, 3, 224, 224});
  profile->setDimensions("input", OptProfileSelector::kMAX, Dims4{8, 3, 224, 224});
  config->addOptimizationProfile(profile);
  return Owned<IHostMemory>(builder->buildSerializedNetwork(*network, *config));
}

ICudaEngine* buildByHand(IBuilder& builder, IBuilderConfig& config, Weights weights, Weights bias) {
  INetworkDefinition* network = builder.createNetworkV2(0U);
  ITensor* input = network->addInput("data", DataType::kFLOAT, Dims3{1, 28, 28});
  auto* conv = network->addConvolution(*input, 20, DimsHW{5, 5}, weights, bias);
  conv->setStride(DimsHW{1, 1});
  conv->setPadding(DimsHW{2, 2});
  conv->setDilation(DimsHW{1, 1});
  auto* pool = network->addPooling(*conv->getOutput(0), PoolingType::kMAX, DimsHW{2, 2});
  pool->setStride(DimsHW{2, 2});
  auto* up = network->addDeconvolution(*pool->getOutput(0), 20, DimsHW{2, 2}, weights, bias);
  up->setStride(DimsHW{2, 2});
  auto* pad = network->addPadding(*up->getOutput(0), DimsHW{1, 1}, DimsHW{0, 0});
  pad->setPostPadding(DimsHW{1, 1});
  auto* resize = network->addResize(*pad->getOutput(0));
  resize->setResizeMode(ResizeMode::kLINEAR);
  resize->setAlignCorners(true);
  auto* slice =
      network->addSlice(*resize->getOutput(0), Dims3{0, 0, 0}, Dims3{20, 8, 8}, Dims3{1, 1, 1});
  slice->setMode(SliceMode::kWRAP);
  auto* fc = network->addFullyConnected(*slice->getOutput(0), 10, weights, bias);
  fc->setNbOutputChannels(10);
  fc->setName("fc");
  auto* softmax = network->addSoftMax(*fc->getOutput(0));
  network->markOutput(*softmax->getOutput(0));
  ICudaEngine* engine = builder.buildEngineWithConfig(*network, config);
  network->destroy();
  return engine;
}

bool infer(IRuntime& runtime, const IHostMemory& plan, const std::vector<float>& image) {
  Owned<ICudaEngine> engine(runtime.deserializeCudaEngine(plan.data(), plan.size(), nullptr));
  Owned<IExecutionContext> context(engine->createExecutionContext());
  std::vector<void*> buffers(engine->getNbBindings());
  const int input = engine->getBindingIndex("input");
  context->setOptimizationProfile(0);
  context->setBindingDimensions(input, Dims4{1, 3, 224, 224});
  for (int i = 0; i < engine->getNbBindings(); ++i) {
    const Dims dims = context->getBindingDimensions(i);
    size_t volume = engine->getBindingDataType(i) == DataType::kHALF ? 2 : 4;
    for (int d = 0; d < dims.nbDims; ++d) volume *= dims.d[d];
    if (engine->isShapeBinding(i) || cudaMalloc(&buffers[i], volume) != cudaSuccess) return false;
    std::cout << engine->getBindingName(i) << (engine->bindingIsInput(i) ? " in" : " out") << "\n";
  }
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaMemcpyAsync(buffers[input], image.data(), image.size() * sizeof(float),
                  cudaMemcpyHostToDevice, stream);
  bool done = context->enqueueV2(buffers.data(), stream, nullptr);
  done = done && context->executeV2(buffers.data());
  done = done && context->enqueue(engine->getMaxBatchSize(), buffers.data(), stream, nullptr);
  done = done && context->execute(1, buffers.data());
  cudaStreamSynchronize(stream);
  for (void* buffer : buffers) cudaFree(buffer);
  cudaStreamDestroy(stream);
  return done;
}
