// The plugins in a network built by hand: network LIBRARY prints what becomes of an image of 3x3
// pixels.
#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <memory>

using namespace nvinfer1;

struct Logger : ILogger {
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "%s\n", message);
  }
};

// The output of a plugin layer on x.
ITensor* add_plugin(INetworkDefinition& network, ITensor* x, const char* name, PluginField field) {
  auto* creator =
      static_cast<IPluginCreatorV3One*>(getPluginRegistry()->getCreator(name, "1", "tutorial"));
  if (creator == nullptr) return nullptr;
  const PluginFieldCollection fields{1, &field};
  const std::unique_ptr<IPluginV3> plugin(
      creator->createPlugin(name, &fields, TensorRTPhase::kBUILD));
  if (plugin == nullptr) return nullptr;
  return network.addPluginV3(&x, 1, nullptr, 0, *plugin)->getOutput(0);
}

int main(int, char** arguments) {
  Logger logger;
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  if (getPluginRegistry()->loadLibrary(arguments[1]) == nullptr) return 1;

  std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims4(1, 1, 3, 3));
  const float epsilon = 1e-3f;
  x = add_plugin(*network, x, "InstanceNorm", {"epsilon", &epsilon, PluginFieldType::kFLOAT32, 1});
  const int32_t pads[] = {1, 1, 0, 0};
  x = add_plugin(*network, x, "ReflectPad", {"pads", pads, PluginFieldType::kINT32, 4});
  x->setName("y");
  network->markOutput(*x);

  std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
  std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());

  const float in[9] = {0, 0, 0, 0, 4, 8, 8, 8, 8};
  float out[15];
  void *in_memory, *out_memory;
  cudaMalloc(&in_memory, sizeof(in));
  cudaMalloc(&out_memory, sizeof(out));
  cudaMemcpy(in_memory, in, sizeof(in), cudaMemcpyHostToDevice);
  context->setTensorAddress("x", in_memory);
  context->setTensorAddress("y", out_memory);
  const bool fine = context->enqueueV3(nullptr);
  cudaMemcpy(out, out_memory, sizeof(out), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 15; ++i) std::printf("%6.3f%s", out[i], i % 5 == 4 ? "\n" : " ");
  cudaFree(in_memory);
  cudaFree(out_memory);
  return fine ? 0 : 1;
}
