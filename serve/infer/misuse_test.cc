// What applications do wrong at the doors of engines: an error that says so, and no crash.
#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tenon/serve/dlpack.h"
#include "tenon/serve/engine_instances.h"
#include "tenon/serve/tensor_file.h"
#include "tenon/serve/trt.h"
#include "test_models.h"
#include "test_networks.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> relu_plan(const CompileOptions& options = {}) {
  CompileOutput plan;
  const std::string model = relu_model();
  const auto compiled = compile(Mode::FP32, source_of(model), plan, options);
  EXPECT_TRUE(compiled) << compiled.error();
  return plan.data();
}

// Of inputs of shape (1 or 2, 2, 4).
std::shared_ptr<EngineContext> engine_of_two() {
  CompileOptions options;
  options.max_batch_size = 2;
  auto engine = EngineContext::load(relu_plan(options));
  EXPECT_TRUE(engine) << engine.error();
  return *engine;
}

TEST(Misuse, NullPointersAreErrors) {
  EXPECT_EQ(Infer::make(nullptr).error(), "there is no engine: the pointer is null");
  EXPECT_EQ(engine_instances(nullptr, {}).error(), "there is no engine: the pointer is null");
  EXPECT_NE(load_infer_from_memory(nullptr, 0).error(), "");
  EXPECT_NE(load_infer_from_memory(nullptr, 100).error(), "");
  EXPECT_NE(load_infer("").error(), "");
  CompileOutput plan;
  EXPECT_NE(compile(Mode::FP32, ModelSource::onnx_data(nullptr, 0), plan).error(), "");
  EXPECT_NE(compile(Mode::FP32, ModelSource::onnx_data(nullptr, 100), plan).error(), "");
  EXPECT_NE(compile(Mode::FP32, "", plan).error(), "");

  const auto infer = *Infer::make(engine_of_two());
  EXPECT_EQ(infer->set_input(0, nullptr).error(), "input 'x': the tensor is null");
  EXPECT_EQ(infer->set_output(0, nullptr).error(), "output 'y': the tensor is null");
  Tensor tensor(Shape{2});
  EXPECT_EQ(tensor.copy_from_cpu(0, nullptr, 2).error(),
            "2 elements are copied from a null pointer");
  EXPECT_EQ(tensor.copy_from_gpu(0, nullptr, 2).error(),
            "2 elements are copied from a null pointer");
  EXPECT_TRUE(tensor.copy_from_cpu(0, nullptr, 0));
  Tensor without_memory(Shape{2}, DataType::kFLOAT, std::shared_ptr<MixMemory>());
  EXPECT_TRUE(without_memory.set_to(1)) << "it gets some";
}

TEST(Misuse, AnEngineThatIsNoneIsAnErrorAtEachLength) {
  const auto plan = relu_plan();
  for (size_t length = 0; length < plan.size(); length += 1 + length / 50) {
    // In memory of its own, so that sanitizers see reads behind it.
    const std::vector<std::byte> part(plan.begin(),
                                      plan.begin() + static_cast<std::ptrdiff_t>(length));
    const auto engine = EngineContext::load(part);
    ASSERT_FALSE(engine) << length;
    EXPECT_NE(engine.error(), "") << length;
  }
}

TEST(Misuse, ShapesThatDoNotFitAreNamed) {
  const auto infer = *Infer::make(engine_of_two());
  const auto error = [&](const Shape& shape) {
    EXPECT_TRUE(infer->input()->resize(shape));
    EXPECT_TRUE(infer->input()->set_to(1));
    return infer->forward().error();
  };
  EXPECT_THAT(error({3, 2, 4}),
              HasSubstr("input 'x': shape 3x2x4 is outside profile 0, which allows "
                        "1x2x4 to 2x2x4"));
  EXPECT_THAT(error({0, 2, 4}), HasSubstr("input 'x': shape 0x2x4"));
  EXPECT_THAT(error({2, 4}), HasSubstr("input 'x'"));
  EXPECT_THAT(error({}), HasSubstr("input 'x'"));
  EXPECT_THAT(error({1, 1, 1, 1, 1, 1, 1, 1, 8}), HasSubstr("1x1x1x1x1x1x1x1x8"));
  EXPECT_EQ(error({2, 2, 4}), "");
  EXPECT_EQ(infer->output()->shape(), (Shape{2, 2, 4}));
  EXPECT_NE(infer->input()->resize({-2, 2, 4}).error(), "");
  EXPECT_NE(infer->input()->resize({INT64_MAX, 2, 4}).error(), "");
}

TEST(Misuse, MemoryThatIsTooSmallIsNotWrittenTo) {
  const auto infer = *Infer::make(engine_of_two());
  ASSERT_TRUE(infer->input()->set_to(1));
  float small[8] = {};
  const auto given = std::make_shared<MixMemory>(small, sizeof small - 1, small, sizeof small - 1);
  ASSERT_TRUE(
      infer->set_output(0, std::make_shared<Tensor>(Shape{2, 2, 4}, DataType::kFLOAT, given)));
  EXPECT_THAT(infer->forward().error(), HasSubstr("that the caller gave has 31 bytes, and 64 bytes "
                                                  "are needed"));
  EXPECT_EQ(small[0], 0);
  ASSERT_TRUE(infer->set_input(
      0, std::make_shared<Tensor>(Shape{2, 2, 4}, DataType::kFLOAT, given, DataHead::kHost)));
  EXPECT_THAT(infer->forward().error(), HasSubstr("that the caller gave has 31 bytes"));
}

TEST(Misuse, AnInferInTwoThreadsAtOnceIsAnError) {
  const auto infer = *Infer::make(engine_of_two());
  ASSERT_TRUE(infer->input()->set_to(1));
  ASSERT_TRUE(infer->forward());
  std::atomic<int> right{0}, refused{0}, other{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int run = 0; run < 500; ++run) {
        const auto done = infer->forward();
        if (done)
          ++right;
        else if (done.error().find("two threads at once") != std::string::npos)
          ++refused;
        else
          ++other;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right + refused, 2000);
  EXPECT_GT(right, 0);
  EXPECT_TRUE(infer->forward()) << "it is usable afterwards";
  EXPECT_EQ(*infer->output()->at<float>({0, 0, 0}), 1);
}

TEST(Misuse, ObjectsGoInAnyOrder) {
  Tensors kept;
  std::shared_ptr<Tensor> output;
  {
    auto engine = engine_of_two();
    auto infer = *Infer::make(engine);
    engine.reset();
    ASSERT_TRUE(infer->input()->set_to(3));
    ASSERT_TRUE(infer->forward());
    output = infer->output();
  }
  EXPECT_EQ(*output->at<float>({0, 1, 3}), 3);
  {
    auto engine = engine_of_two();
    EngineInstanceOptions of_instances;
    of_instances.count = 2;
    of_instances.max_batch = 2;
    auto instances = *engine_instances(engine, of_instances);
    engine.reset();
    using Output = std::shared_ptr<Tensors>;
    Stages<float, Output, Tensors, Tensors> stages;
    stages.instances = instances;
    stages.preprocess = [](float& value, const JobContext&) -> Result<Tensors> {
      Tensors tensors;
      tensors.emplace_back(Shape{1, 2, 4});
      if (auto set = tensors[0].set_to(value); !set) return Error{set.error()};
      return tensors;
    };
    stages.postprocess = [](float&, Tensors& y, const JobContext&) -> Result<Output> {
      return std::make_shared<Tensors>(std::move(y));
    };
    PipelineOptions options;
    options.max_batch = 2;
    auto pipeline = *Pipeline<float, Output>::start(options, std::move(stages));
    const auto future = pipeline->commit(5);
    future.wait();
    pipeline.reset();
    const auto& answer = future.get();
    ASSERT_TRUE(answer) << answer.error().text();
    kept = std::move(**answer);
  }  // the instances after the pipeline
  EXPECT_EQ(*kept[0].at<float>({0, 1, 3}), 5);
}

TEST(Misuse, ProgressThatThrowsIsTheError) {
  CompileOptions options;
  options.progress = [](auto...) -> bool { throw std::runtime_error("the display is gone"); };
  CompileOutput plan;
  const std::string model = relu_model();
  EXPECT_EQ(compile(Mode::FP32, source_of(model), plan, options).error(), "the display is gone");
  options.progress = [](auto...) { return false; };
  EXPECT_THAT(compile(Mode::FP32, source_of(model), plan, options).error(), HasSubstr("cancel"));
}

// Gives no batch, and what it was told to as its cache.
class Calibrator final : public nvinfer1::IInt8EntropyCalibrator2 {
 public:
  explicit Calibrator(std::string cache) : cache_(std::move(cache)) {}
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void**, const char**, int32_t) noexcept override { return false; }
  const void* readCalibrationCache(size_t& length) noexcept override {
    length = cache_.size();
    return cache_.empty() ? nullptr : cache_.data();
  }
  void writeCalibrationCache(const void*, size_t) noexcept override {}

 private:
  std::string cache_;
};

TEST(Misuse, ACalibrationCacheThatIsNoneIsNamedOrNotUsed) {
  const std::string head = "TRT-101600-EntropyCalibration2\n";
  for (const std::string& cache :
       {std::string(), std::string("dummy"), std::string(1000, '\xff'), head,
        head + "nobody: 3c010a14\n", head + "x: zzzzzzzz\n", head + "x: 7f800000\n", head + "x"}) {
    Calibrator calibrator(cache);
    CompileOptions options;
    options.calibrator = &calibrator;
    CompileOutput plan;
    const std::string model = relu_model();
    const auto compiled = compile(Mode::INT8, source_of(model), plan, options);
    if (!compiled) {
      EXPECT_THAT(compiled.error(), HasSubstr("calibrat"));
    } else {
      EXPECT_TRUE(EngineContext::load(plan.data()));
    }
  }
}

TEST(Misuse, DevicesThatAreNotThereAreNamed) {
  const std::vector<std::byte> plan = relu_plan({});
  const auto current = EngineContext::load(plan, -1);  // the thread's
  ASSERT_TRUE(current) << current.error();
  int device = -1;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ((*current)->device(), device);
  for (const int none : {-2, 1000, INT_MIN, INT_MAX}) {
    const auto loaded = EngineContext::load(plan, none);
    ASSERT_FALSE(loaded) << none;
    EXPECT_THAT(loaded.error(), HasSubstr("device " + std::to_string(none) + ": "));
    EXPECT_FALSE(MixMemory(none).gpu(16));
    EXPECT_FALSE(Tensor(Shape{4}, DataType::kFLOAT, none).gpu());
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  int after = -1;
  ASSERT_EQ(cudaGetDevice(&after), cudaSuccess);
  EXPECT_EQ(after, device);
}

TEST(Misuse, ATimingCacheThatIsNoneIsRefusedAndTheModelIsBuilt) {
  // What a build leaves is taken by the next.
  std::vector<std::byte> cache;
  std::unique_ptr<nvinfer1::ITimingCache> used;
  CompileOptions options;
  options.hook = [&](nvinfer1::INetworkDefinition&, nvinfer1::IBuilderConfig& config) {
    used.reset(config.createTimingCache(cache.data(), cache.size()));
    if (used == nullptr) throw std::runtime_error("no timing cache");
    if (!config.setTimingCache(*used, false)) throw std::runtime_error("not taken");
  };
  (void)relu_plan(options);
  const std::unique_ptr<nvinfer1::IHostMemory> written(used->serialize());
  ASSERT_NE(written, nullptr);
  const auto* const bytes = static_cast<const std::byte*>(written->data());
  const std::vector<std::byte> whole(bytes, bytes + written->size());
  cache = whole;
  (void)relu_plan(options);

  CompileOutput plan;
  const std::string model = relu_model();
  std::vector<std::vector<std::byte>> broken;
  for (size_t length = 1; length < whole.size(); ++length)
    broken.emplace_back(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
  for (size_t at = 0; at < whole.size(); ++at) {
    broken.push_back(whole);
    broken.back()[at] ^= std::byte{0x55};
  }
  broken.emplace_back(100, std::byte{'x'});
  for (const auto& one : broken) {
    cache = one;
    const auto compiled = compile(Mode::FP32, source_of(model), plan, options);
    if (!compiled) {
      EXPECT_THAT(compiled.error(), HasSubstr("no timing cache: createTimingCache"));
    }
  }
  EXPECT_FALSE(compile(Mode::FP32, source_of(model), plan, options)) << "of text";
}

}  // namespace
}  // namespace tenon::serve
