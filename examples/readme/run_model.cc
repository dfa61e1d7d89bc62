// Enlarges a picture with the super-resolution model: TensorRT's API, nothing else.
#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

using namespace nvinfer1;

// From an ONNX model to a plan for pictures of up to 512x512 pixels.
std::unique_ptr<IHostMemory> build(const char* model, ILogger& logger) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  if (!parser->parseFromFile(model, 0)) return nullptr;
  IOptimizationProfile* profile = builder->createOptimizationProfile();
  profile->setDimensions("input", OptProfileSelector::kMIN, Dims4(1, 3, 16, 16));
  profile->setDimensions("input", OptProfileSelector::kOPT, Dims4(1, 3, 128, 128));
  profile->setDimensions("input", OptProfileSelector::kMAX, Dims4(1, 3, 512, 512));
  profile->setDimensions("factor", OptProfileSelector::kMIN, Dims4(1, 1, 16, 16));
  profile->setDimensions("factor", OptProfileSelector::kOPT, Dims4(1, 1, 384, 384));
  profile->setDimensions("factor", OptProfileSelector::kMAX, Dims4(1, 1, 1536, 1536));
  std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  config->addOptimizationProfile(profile);
  return std::unique_ptr<IHostMemory>(builder->buildSerializedNetwork(*network, *config));
}

// A picture of 64x48 pixels becomes one of 192x144. The pointers are device memory.
bool enlarge(IExecutionContext& context, void* picture, void* factor, void* result,
             cudaStream_t stream) {
  context.setInputShape("input", Dims4(1, 3, 48, 64));
  context.setInputShape("factor", Dims4(1, 1, 144, 192));
  context.setTensorAddress("input", picture);
  context.setTensorAddress("factor", factor);
  context.setTensorAddress("output", result);
  return context.enqueueV3(stream);
}

struct Logger : ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "%s\n", text);
  }
};

int fail(const char* what) {
  std::fprintf(stderr, "run_model: %s\n", what);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return fail("usage: run_model srcnn.onnx");
  Logger logger;
  const std::unique_ptr<IHostMemory> plan = build(argv[1], logger);
  if (plan == nullptr) return fail("the model cannot be built");
  std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
  std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  if (engine == nullptr) return fail("the plan cannot be loaded");
  std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());

  std::vector<float> picture(3 * 48 * 64, 0.5f), result(3 * 144 * 192);
  void *in = nullptr, *factor = nullptr, *out = nullptr;
  cudaStream_t stream = nullptr;
  cudaMalloc(&in, picture.size() * sizeof(float));
  cudaMalloc(&factor, 144 * 192 * sizeof(float));
  cudaMalloc(&out, result.size() * sizeof(float));
  cudaStreamCreate(&stream);
  cudaMemcpyAsync(in, picture.data(), picture.size() * sizeof(float), cudaMemcpyHostToDevice,
                  stream);
  const bool enqueued = enlarge(*context, in, factor, out, stream);
  cudaMemcpyAsync(result.data(), out, result.size() * sizeof(float), cudaMemcpyDeviceToHost,
                  stream);
  const bool done = cudaStreamSynchronize(stream) == cudaSuccess;
  cudaStreamDestroy(stream);
  for (void* memory : {in, factor, out}) cudaFree(memory);
  if (!enqueued || !done) return fail("the run failed");

  // A grey picture stays about grey.
  const float middle = result[72 * 192 + 96];
  std::printf("64x48 -> 192x144; the middle is %.3f\n", middle);
  return std::abs(middle - 0.5f) < 0.05f ? 0 : fail("the result is not grey");
}
