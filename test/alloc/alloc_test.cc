// Runs at unchanged shapes take no memory: calls of malloc and operator new are counted by the
// library that makes them. What oneDNN, TBB and the C++ library take for themselves is theirs.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <random>
#include <thread>

#include "tenon_source_dir.h"
#include "test/alloc/memory.h"
#include "test/support/engine.h"

namespace {

constexpr size_t kMost = 4096;
std::atomic<bool> counting = false;
std::atomic<size_t> calls = 0;
std::array<const void*, kMost> callers;

bool note(const void* caller) {
  if (counting.load(std::memory_order_relaxed)) {
    const size_t i = calls.fetch_add(1, std::memory_order_relaxed);
    if (i < kMost) callers[i] = caller;
  }
  return true;
}
const bool noting = [] {
  tenon::testing::allocation_hook = &note;
  return true;
}();

}  // namespace

namespace tenon {
namespace {

namespace fs = std::filesystem;

// The calls made by our libraries since counting began, one line each.
std::string calls_of_ours() {
  std::string text;
  for (size_t i = 0; i < std::min(calls.load(), kMost); ++i) {
    Dl_info info{};
    if (dladdr(callers[i], &info) == 0) continue;
    const std::string library = fs::path(info.dli_fname).filename();
    if (!library.starts_with("libtenon") && !library.starts_with("libnv")) continue;
    const auto offset =
        static_cast<const char*>(callers[i]) - static_cast<const char*>(info.dli_fbase);
    char line[64];
    std::snprintf(line, sizeof line, " + 0x%zx\n", static_cast<size_t>(offset));
    text += library + line;
  }
  return text;
}

using Plan = std::unique_ptr<nvinfer1::IHostMemory>;

// An engine of float inputs and outputs, with a context at one shape.
class Runner {
 public:
  Runner(const fs::path& model, const testing::InputShapes& shapes)
      : Runner([&](nvinfer1::ILogger& logger) {
          return testing::build_plan(logger, fs::path(TENON_SOURCE_DIR) / model, shapes);
        }) {
    for (const auto& [name, list] : shapes)
      EXPECT_TRUE(context_->setInputShape(name.c_str(), list.at(0)));
  }
  explicit Runner(const std::function<Plan(nvinfer1::ILogger&)>& build) {
    const Plan plan = build(logger_);
    runtime_.reset(nvinfer1::createInferRuntime(logger_));
    engine_.reset(runtime_->deserializeCudaEngine(plan->data(), plan->size()));
    context_.reset(engine_->createExecutionContext());
    EXPECT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
  }
  ~Runner() {
    for (void* data : bindings_) cudaFree(data);
    cudaStreamDestroy(stream_);
  }

  // Runs until everything that is made once has been made, then counts.
  void expect_no_calls() {
    set_bindings();
    expect_no_calls(&Runner::enqueue);
    expect_no_calls(&Runner::execute);
    // A thread that has run nothing before.
    counting = true;
    std::jthread([&] { EXPECT_TRUE(execute()); }).join();
    counting = false;
    EXPECT_EQ(calls_of_ours(), "");
  }

 private:
  bool enqueue() {
    return context_->enqueueV3(stream_) && cudaStreamSynchronize(stream_) == cudaSuccess;
  }
  bool execute() { return context_->executeV2(bindings_.data()); }

  // Numbers of both signs as inputs. An output whose size the run decides gets more than enough.
  void set_bindings() {
    std::minstd_rand random;
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
      const char* name = engine_->getIOTensorName(i);
      const nvinfer1::Dims shape = context_->getTensorShape(name);
      size_t count = 1;
      for (int32_t axis = 0; axis < shape.nbDims; ++axis)
        count *= shape.d[axis] < 0 ? 4096 : static_cast<size_t>(shape.d[axis]);
      void* data = nullptr;
      EXPECT_EQ(cudaMalloc(&data, count * sizeof(float)), cudaSuccess);
      std::generate_n(static_cast<float*>(data), count, [&] { return uniform(random); });
      EXPECT_TRUE(context_->setTensorAddress(name, data));
      bindings_.push_back(data);
    }
  }

  void expect_no_calls(bool (Runner::*run)()) {
    bool good = true;
    for (int i = 0; i < 5; ++i) good &= (this->*run)();
    calls = 0;
    counting = true;
    for (int i = 0; i < 10; ++i) good &= (this->*run)();
    counting = false;
    EXPECT_TRUE(good);
    EXPECT_LE(calls.load(), kMost);
    EXPECT_EQ(calls_of_ours(), "");
  }

  testing::Logger logger_;
  std::unique_ptr<nvinfer1::IRuntime> runtime_;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  cudaStream_t stream_ = nullptr;
  std::vector<void*> bindings_;
};

TEST(Counter, SeesTheLibrary) {
  testing::Logger logger;
  counting = true;
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
  counting = false;
  EXPECT_NE(calls_of_ours(), "");
}

class Models : public ::testing::TestWithParam<std::pair<const char*, nvinfer1::Dims4>> {};

TEST_P(Models, TakeNoMemory) {
  const auto& [name, shape] = GetParam();
  Runner runner(fs::path("test/golden") / name / "model.onnx", {{"input", {shape}}});
  runner.expect_no_calls();
}

INSTANTIATE_TEST_SUITE_P(Enqueue, Models,
                         ::testing::Values(std::pair("mini_resnet", nvinfer1::Dims4(1, 3, 64, 64)),
                                           std::pair("mini_mobilenet",
                                                     nvinfer1::Dims4(2, 3, 50, 75)),
                                           std::pair("mini_vgg", nvinfer1::Dims4(1, 3, 65, 65)),
                                           std::pair("mini_unet", nvinfer1::Dims4(1, 3, 32, 32)),
                                           std::pair("mlp", nvinfer1::Dims4(1, 1, 12, 12))),
                         [](const auto& parameter) { return std::string(parameter.param.first); });

TEST(Plugin, TakesNoMemory) {
  Runner runner(
      "examples/super_resolution/srcnn.onnx",
      {{"input", {nvinfer1::Dims4(1, 3, 32, 24)}}, {"factor", {nvinfer1::Dims4(1, 1, 96, 72)}}});
  runner.expect_no_calls();
}

// Sizes that only running tells, and layers with bodies, from write_models.py.
TEST(Models, WhoseSizesAreLateTakeNoMemory) {
  size_t models = 0;
  for (const auto& entry : fs::directory_iterator(TENON_ALLOC_MODELS)) {
    if (entry.path().extension() != ".onnx") continue;
    ++models;
    SCOPED_TRACE(entry.path().stem().string());
    Runner(entry.path(), {}).expect_no_calls();
  }
  EXPECT_EQ(models, 7u);
}

// The same with TensorRT's layers: a loop that ends on a condition of its own, in a conditional.
Plan build_flow(nvinfer1::ILogger& logger) {
  using namespace nvinfer1;
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const auto number = [&](float value, int32_t rank) -> ITensor& {
    const Dims ones{rank, {1, 1}};
    return *network->addConstant(ones, {DataType::kFLOAT, &value, 1})->getOutput(0);
  };
  const auto apply = [&](ElementWiseOperation op, ITensor& a, ITensor& b) -> ITensor& {
    return *network->addElementWise(a, b, op)->getOutput(0);
  };
  const auto has_above = [&](ITensor& tensor, float least) -> ITensor& {
    ITensor& most = *network->addReduce(tensor, ReduceOperation::kMAX, 3, false)->getOutput(0);
    return apply(ElementWiseOperation::kGREATER, most, number(least, 0));
  };
  ITensor& input = *network->addInput("input", DataType::kFLOAT, Dims2(8, 40));
  IIfConditional& conditional = *network->addIfConditional();
  conditional.setCondition(has_above(input, 0.5f));
  ITensor& inside = *conditional.addInput(input)->getOutput(0);

  ILoop& loop = *network->addLoop();
  IRecurrenceLayer& state = *loop.addRecurrence(inside);
  ITensor& value = *state.getOutput(0);
  ITensor& halved = apply(ElementWiseOperation::kPROD, value, number(0.5f, 2));
  state.setInput(1, halved);
  loop.addTripLimit(has_above(value, 0.01f), TripLimit::kWHILE);
  ITensor& last = *loop.addLoopOutput(value, LoopOutput::kLAST_VALUE)->getOutput(0);
  ITensor& otherwise = apply(ElementWiseOperation::kSUM, inside, inside);
  ITensor& result = *conditional.addOutput(last, otherwise)->getOutput(0);
  network->markOutput(result);

  // Rows through an iterator, and joined again.
  ILoop& rows = *network->addLoop();
  const int32_t eight = 8;
  ITensor& count = *network->addConstant(Dims{0, {}}, {DataType::kINT32, &eight, 1})->getOutput(0);
  rows.addTripLimit(count, TripLimit::kCOUNT);
  ITensor& row = *rows.addIterator(result, 0)->getOutput(0);
  ILoopOutputLayer& joined = *rows.addLoopOutput(
      *network->addActivation(row, ActivationType::kRELU)->getOutput(0), LoopOutput::kREVERSE, 0);
  joined.setInput(1, count);
  network->markOutput(*joined.getOutput(0));
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  return Plan(builder->buildSerializedNetwork(*network, *config));
}

TEST(Flow, TakesNoMemory) {
  Runner(build_flow).expect_no_calls();
}

}  // namespace
}  // namespace tenon
