// A small LeNet built layer by layer and run, in the style of TensorRT 8: weights from a text
// file, bindings by index, destroy().
#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <cassert>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace nvinfer1;

#define CHECK(status)                                                   \
  do {                                                                  \
    auto ret = (status);                                                \
    if (ret != 0) {                                                     \
      std::cerr << "CUDA failure: " << cudaGetErrorString(ret) << "\n"; \
      std::abort();                                                     \
    }                                                                   \
  } while (0)

static const int INPUT_H = 28;
static const int INPUT_W = 28;
static const int OUTPUT_SIZE = 10;
static const int MAX_BATCH = 8;
static const char* INPUT_BLOB_NAME = "data";
static const char* OUTPUT_BLOB_NAME = "prob";

class Logger : public ILogger {
  void log(Severity severity, const char* msg) noexcept override {
    if (severity <= Severity::kWARNING) std::cerr << msg << std::endl;
  }
} gLogger;

// "count", then for each blob "name size hex hex ...".
std::map<std::string, Weights> loadWeights(const std::string& file) {
  std::map<std::string, Weights> weightMap;
  std::ifstream input(file);
  if (!input.is_open()) return weightMap;
  int32_t count = 0;
  input >> count;
  while (count--) {
    Weights wt{DataType::kFLOAT, nullptr, 0};
    uint32_t size = 0;
    std::string name;
    input >> name >> std::dec >> size;
    uint32_t* val = new uint32_t[size];
    for (uint32_t x = 0; x < size; ++x) input >> std::hex >> val[x];
    wt.values = val;
    wt.count = size;
    weightMap[name] = wt;
  }
  return weightMap;
}

IHostMemory* buildPlan(const std::string& wtsFile) {
  IBuilder* builder = createInferBuilder(gLogger);
  const auto explicitBatch =
      1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH);
  INetworkDefinition* network = builder->createNetworkV2(explicitBatch);
  std::map<std::string, Weights> weightMap = loadWeights(wtsFile);
  if (weightMap.empty()) {
    std::cerr << "lenet: cannot read " << wtsFile << std::endl;
    return nullptr;
  }

  ITensor* data =
      network->addInput(INPUT_BLOB_NAME, DataType::kFLOAT, Dims4{-1, 1, INPUT_H, INPUT_W});
  IConvolutionLayer* conv1 = network->addConvolutionNd(
      *data, 4, DimsHW{5, 5}, weightMap["conv1.weight"], weightMap["conv1.bias"]);
  conv1->setStrideNd(DimsHW{1, 1});
  IActivationLayer* relu1 = network->addActivation(*conv1->getOutput(0), ActivationType::kRELU);
  IPoolingLayer* pool1 =
      network->addPoolingNd(*relu1->getOutput(0), PoolingType::kMAX, DimsHW{2, 2});
  pool1->setStrideNd(DimsHW{2, 2});
  // The spelling before Nd, which 8.x still has.
  IConvolutionLayer* conv2 = network->addConvolution(
      *pool1->getOutput(0), 8, DimsHW{3, 3}, weightMap["conv2.weight"], weightMap["conv2.bias"]);
  conv2->setStride(DimsHW{1, 1});
  IActivationLayer* relu2 = network->addActivation(*conv2->getOutput(0), ActivationType::kRELU);
  IPoolingLayer* pool2 =
      network->addPooling(*relu2->getOutput(0), PoolingType::kAVERAGE, DimsHW{2, 2});
  pool2->setStride(DimsHW{2, 2});
  IFullyConnectedLayer* fc = network->addFullyConnected(
      *pool2->getOutput(0), OUTPUT_SIZE, weightMap["fc.weight"], weightMap["fc.bias"]);
  ISoftMaxLayer* prob = network->addSoftMax(*fc->getOutput(0));
  prob->setAxes(1U << 1);
  prob->getOutput(0)->setName(OUTPUT_BLOB_NAME);
  network->markOutput(*prob->getOutput(0));

  IBuilderConfig* config = builder->createBuilderConfig();
  config->setMaxWorkspaceSize(16 * (1 << 20));
  IOptimizationProfile* profile = builder->createOptimizationProfile();
  profile->setDimensions(INPUT_BLOB_NAME, OptProfileSelector::kMIN, Dims4{1, 1, INPUT_H, INPUT_W});
  profile->setDimensions(INPUT_BLOB_NAME, OptProfileSelector::kOPT, Dims4{4, 1, INPUT_H, INPUT_W});
  profile->setDimensions(INPUT_BLOB_NAME, OptProfileSelector::kMAX,
                         Dims4{MAX_BATCH, 1, INPUT_H, INPUT_W});
  config->addOptimizationProfile(profile);
  IHostMemory* plan = nullptr;
  ICudaEngine* engine = builder->buildEngineWithConfig(*network, *config);
  if (engine != nullptr) {
    plan = engine->serialize();
    engine->destroy();
  }

  config->destroy();
  network->destroy();
  builder->destroy();
  for (auto& mem : weightMap) delete[] static_cast<const uint32_t*>(mem.second.values);
  return plan;
}

void doInference(IExecutionContext& context, float* input, float* output, int batchSize) {
  const ICudaEngine& engine = context.getEngine();
  assert(engine.getNbBindings() == 2);
  void* buffers[2];
  const int inputIndex = engine.getBindingIndex(INPUT_BLOB_NAME);
  const int outputIndex = engine.getBindingIndex(OUTPUT_BLOB_NAME);
  assert(engine.bindingIsInput(inputIndex) && !engine.bindingIsInput(outputIndex));
  CHECK(cudaMalloc(&buffers[inputIndex], batchSize * INPUT_H * INPUT_W * sizeof(float)));
  CHECK(cudaMalloc(&buffers[outputIndex], batchSize * OUTPUT_SIZE * sizeof(float)));
  context.setBindingDimensions(inputIndex, Dims4{batchSize, 1, INPUT_H, INPUT_W});
  assert(context.allInputDimensionsSpecified());

  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMemcpyAsync(buffers[inputIndex], input, batchSize * INPUT_H * INPUT_W * sizeof(float),
                        cudaMemcpyHostToDevice, stream));
  context.enqueueV2(buffers, stream, nullptr);
  CHECK(cudaMemcpyAsync(output, buffers[outputIndex], batchSize * OUTPUT_SIZE * sizeof(float),
                        cudaMemcpyDeviceToHost, stream));
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  CHECK(cudaFree(buffers[inputIndex]));
  CHECK(cudaFree(buffers[outputIndex]));
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: lenet lenet.wts images.bin" << std::endl;
    return 1;
  }
  std::ifstream file(argv[2], std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  const int batchSize = static_cast<int>(size / (INPUT_H * INPUT_W * sizeof(float)));
  if (batchSize < 1 || batchSize > MAX_BATCH) {
    std::cerr << "lenet: " << argv[2] << " does not hold 1 to " << MAX_BATCH << " images\n";
    return 1;
  }
  std::vector<float> images(batchSize * INPUT_H * INPUT_W), prob(batchSize * OUTPUT_SIZE);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(images.data()), images.size() * sizeof(float));

  IHostMemory* plan = buildPlan(argv[1]);
  if (plan == nullptr) return 1;
  IRuntime* runtime = createInferRuntime(gLogger);
  ICudaEngine* engine = runtime->deserializeCudaEngine(plan->data(), plan->size(), nullptr);
  assert(engine != nullptr);
  plan->destroy();
  IExecutionContext* context = engine->createExecutionContext();
  assert(context != nullptr);
  doInference(*context, images.data(), prob.data(), batchSize);
  for (int i = 0; i < batchSize; i++) {
    for (int j = 0; j < OUTPUT_SIZE; j++) std::cout << prob[i * OUTPUT_SIZE + j] << " ";
    std::cout << std::endl;
  }
  context->destroy();
  engine->destroy();
  runtime->destroy();
  return 0;
}
