// A program that opens the engine for itself alone (RTLD_LOCAL), as Python's ctypes and NVIDIA's
// bindings do, and the plugin library the same way: how is libvignette.so's plugin found?
//     local_engine opened|loaded|exported MODEL LIBNVINFER LIBNVONNXPARSER LIBRARY
#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace {

using namespace nvinfer1;

class Logger final : public ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "%s\n", text);
  }
} logger;

template <class F> F* function(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) std::exit(std::fprintf(stderr, "no %s: %s\n", name, dlerror()));
  return reinterpret_cast<F*>(found);
}

void* open(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::exit(std::fprintf(stderr, "%s\n", dlerror()));
  return library;
}

}  // namespace

int main(int, char** arguments) {
  const char* const way = arguments[1];
  void* const engine_library = open(arguments[3]);
  void* const parser_library = open(arguments[4]);
  auto& registry = *function<IPluginRegistry*()>(engine_library, "getPluginRegistry")();
  if (std::strcmp(way, "opened") == 0) {  // it registers its plugins by itself
    open(arguments[5]);
  } else if (std::strcmp(way, "loaded") == 0) {
    if (registry.loadLibrary(arguments[5]) == nullptr) return 1;
  } else {  // what it registers is as if it were not there
    int32_t count = 0;
    void* const library = open(arguments[5]);
    auto* const* creators =
        function<IPluginCreatorInterface* const*(int32_t&)>(library, "getCreators")(count);
    for (int32_t i = 0; i < count; ++i) {
      registry.deregisterCreator(*creators[i]);
      if (!registry.registerCreator(*creators[i], "")) return 1;
    }
  }
  if (registry.getCreator("Vignette", "1", "") == nullptr) return std::puts("not found"), 1;

  const std::unique_ptr<IBuilder> builder(static_cast<IBuilder*>(function<void*(void*, int32_t)>(
      engine_library, "createInferBuilder_INTERNAL")(&logger, NV_TENSORRT_VERSION)));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(static_cast<nvonnxparser::IParser*>(
      function<void*(void*, void*, int32_t)>(parser_library, "createNvOnnxParser_INTERNAL")(
          network.get(), &logger, NV_ONNX_PARSER_VERSION)));
  if (!parser->parseFromFile(arguments[2], 2)) return 1;
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  IOptimizationProfile* const profile = builder->createOptimizationProfile();
  const Dims shape{4, {1, 3, 20, 40}};
  for (auto point : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    profile->setDimensions(network->getInput(0)->getName(), point, shape);
  config->addOptimizationProfile(profile);
  const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  if (plan == nullptr) return 1;
  const std::unique_ptr<IRuntime> runtime(static_cast<IRuntime*>(function<void*(void*, int32_t)>(
      engine_library, "createInferRuntime_INTERNAL")(&logger, NV_TENSORRT_VERSION)));
  const std::unique_ptr<ICudaEngine> engine(
      runtime->deserializeCudaEngine(plan->data(), plan->size()));
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> in(3 * 20 * 40, 1), out(in.size());
  // Every profile fixes the shape, and so does the engine.
  const Dims fixed = engine->getTensorShape("input");
  if (fixed.nbDims != shape.nbDims || !std::equal(fixed.d, fixed.d + fixed.nbDims, shape.d))
    return std::puts("the engine's shape is not the profile's"), 1;
  void* const bindings[] = {in.data(), out.data()};
  if (!context->executeV2(bindings)) return 1;
  std::printf("corner %g\n", static_cast<double>(out[0]));
}
