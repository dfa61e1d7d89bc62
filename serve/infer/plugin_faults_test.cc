// Plugins that break their contract, in engines of serve: an error, and no crash.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tenon/serve/engine_instances.h"
#include "test_models.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;

enum class Breaks {
  kNothing,
  kNegativeOutputs,
  kManyOutputs,
  kHugeWorkspace,
  kManyDimensions,
  kNegativeDimensions,
  kNullDimension,
  kNegativeExtent,
  kHugeSerialization,
  kEnqueue,
};
std::atomic<Breaks> breaks = Breaks::kNothing;
std::atomic<bool> is_running = false, may_end = true;

// Copies its input of 8 numbers an item, if it breaks nothing.
class Copy final : public nvinfer1::IPluginV2DynamicExt {
 public:
  const char* getPluginType() const noexcept override { return "ServeTestCopy"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override {
    return breaks == Breaks::kNegativeOutputs ? -1 : breaks == Breaks::kManyOutputs ? 1 << 30 : 1;
  }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override {
    return breaks == Breaks::kHugeSerialization ? SIZE_MAX / 2 : 0;
  }
  void serialize(void*) const noexcept override {}
  void destroy() noexcept override { delete this; }
  Copy* clone() const noexcept override { return new Copy(*this); }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
  DataType getOutputDataType(int32_t, const DataType* types, int32_t) const noexcept override {
    return types[0];
  }
  nvinfer1::DimsExprs getOutputDimensions(int32_t, const nvinfer1::DimsExprs* in, int32_t,
                                          nvinfer1::IExprBuilder& exprs) noexcept override {
    nvinfer1::DimsExprs out = in[0];
    if (breaks == Breaks::kManyDimensions) out.nbDims = 99;
    if (breaks == Breaks::kNegativeDimensions) out.nbDims = -3;
    if (breaks == Breaks::kNullDimension) out.d[1] = nullptr;
    if (breaks == Breaks::kNegativeExtent) out.d[1] = exprs.constant(-5);
    return out;
  }
  bool supportsFormatCombination(int32_t i, const nvinfer1::PluginTensorDesc* descs, int32_t,
                                 int32_t) noexcept override {
    return descs[i].type == DataType::kFLOAT && descs[i].format == nvinfer1::TensorFormat::kLINEAR;
  }
  void configurePlugin(const nvinfer1::DynamicPluginTensorDesc*, int32_t,
                       const nvinfer1::DynamicPluginTensorDesc*, int32_t) noexcept override {}
  size_t getWorkspaceSize(const nvinfer1::PluginTensorDesc*, int32_t,
                          const nvinfer1::PluginTensorDesc*, int32_t) const noexcept override {
    return breaks == Breaks::kHugeWorkspace ? SIZE_MAX - 7 : 0;  // -8, if it were signed
  }
  int32_t enqueue(const nvinfer1::PluginTensorDesc* in, const nvinfer1::PluginTensorDesc*,
                  const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    is_running = true;
    while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (breaks == Breaks::kEnqueue) return 1;
    const auto bytes = 8 * sizeof(float) * static_cast<size_t>(in[0].dims.d[0]);
    return cudaMemcpyAsync(outputs[0], inputs[0], bytes, cudaMemcpyDeviceToDevice, stream)
           != cudaSuccess;
  }
};

class CopyCreator final : public nvinfer1::IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "ServeTestCopy"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  nvinfer1::IPluginV2* createPlugin(const char*,
                                    const nvinfer1::PluginFieldCollection*) noexcept override {
    return new Copy;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override {
    return new Copy;
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }

 private:
  nvinfer1::PluginFieldCollection fields_{};
};

// Of a model whose output is the plugin's.
Result<std::shared_ptr<EngineContext>> engine_of_copy() {
  static CopyCreator creator;
  static const bool is_known = getPluginRegistry()->registerCreator(creator, "");
  EXPECT_TRUE(is_known);
  CompileOptions options;
  options.max_batch_size = 2;
  options.hook = [](nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig&) {
    nvinfer1::ITensor* y = network.getOutput(0);
    network.unmarkOutput(*y);
    Copy copy;
    auto* const layer = network.addPluginV2(&y, 1, copy);
    if (layer == nullptr) throw std::runtime_error("the network does not take the plugin");
    layer->getOutput(0)->setName("copied");
    network.markOutput(*layer->getOutput(0));
  };
  CompileOutput plan;
  const std::string model = relu_model();
  if (const auto done = compile(Mode::FP32, source_of(model), plan, options); !done)
    return Error{done.error()};
  return EngineContext::load(plan.data());
}

// The error of building, loading and running it.
std::string error_of(Breaks what) {
  breaks = what;
  const auto engine = engine_of_copy();
  if (!engine) return engine.error();
  const auto infer = Infer::make(*engine);
  if (!infer) return infer.error();
  EXPECT_TRUE((*infer)->input()->set_to(3));
  const auto done = (*infer)->forward();
  if (!done) return done.error();
  EXPECT_EQ(*(*infer)->output()->at<float>({1, 1, 3}), 3);
  return "";
}

TEST(PluginFaults, AreErrors) {
  EXPECT_EQ(error_of(Breaks::kNothing), "");
  for (const Breaks what :
       {Breaks::kNegativeOutputs, Breaks::kManyOutputs, Breaks::kHugeWorkspace,
        Breaks::kManyDimensions, Breaks::kNegativeDimensions, Breaks::kNullDimension,
        Breaks::kNegativeExtent, Breaks::kHugeSerialization, Breaks::kEnqueue})
    EXPECT_THAT(error_of(what), HasSubstr("ServeTestCopy")) << static_cast<int>(what);
  EXPECT_EQ(error_of(Breaks::kNothing), "") << "a sound one works after them";
}

TEST(PluginFaults, OneThatFailsInARunFailsThoseJobs) {
  breaks = Breaks::kNothing;
  const auto engine = engine_of_copy();
  ASSERT_TRUE(engine) << engine.error();
  Stages<float, float, Tensors, Tensors> stages;
  stages.instances = *engine_instances(*engine, {});
  stages.preprocess = [](float& value, const JobContext&) -> Result<Tensors> {
    Tensors tensors;
    tensors.emplace_back(Shape{1, 2, 4});
    if (auto set = tensors[0].set_to(value); !set) return Error{set.error()};
    return tensors;
  };
  stages.postprocess = [](float&, Tensors& y, const JobContext&) -> Result<float> {
    return y[0].at<float>({0, 0, 0});
  };
  const auto pipeline = Pipeline<float, float>::start({}, std::move(stages));
  ASSERT_TRUE(pipeline) << pipeline.error();
  EXPECT_EQ(*(*pipeline)->commit(2).get(), 2);
  breaks = Breaks::kEnqueue;
  const auto failed = (*pipeline)->commit(3);
  EXPECT_EQ(failed.get().error().stage, Stage::kInfer);
  EXPECT_THAT(failed.get().error().cause, HasSubstr("ServeTestCopy"));
  breaks = Breaks::kNothing;
  EXPECT_EQ(*(*pipeline)->commit(4).get(), 4);
}

TEST(PluginFaults, WhileOneRunsItsInferIsRunByNobodyElse) {
  breaks = Breaks::kNothing;
  const auto engine = engine_of_copy();
  ASSERT_TRUE(engine) << engine.error();
  const auto infer = *Infer::make(*engine);
  ASSERT_TRUE(infer->input()->set_to(1));
  is_running = may_end = false;
  std::thread first([&] { EXPECT_TRUE(infer->forward()); });
  while (!is_running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(infer->forward().error(),
            "an Infer is run by two threads at once: make one for each thread");
  may_end = true;
  first.join();
  EXPECT_TRUE(infer->forward());
}

}  // namespace
}  // namespace tenon::serve
