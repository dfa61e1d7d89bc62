// Whole runs as applications make them: a network by hand, a plan, an engine, contexts.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/open_plan.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

float at(const Floats& v, size_t i) {
  return v[i];
}

Floats numbers(size_t count, float step) {
  Floats v(count);
  for (size_t i = 0; i < count; ++i) v[i] = static_cast<float>(static_cast<int>(i % 11) - 5) * step;
  return v;
}

// A small CNN: a 3x3 convolution (2 to 3 channels) with padding, ReLU, 2x2 maximum.
struct Cnn {
  static constexpr int kIn = 2, kOut = 3;
  Floats kernel = numbers(kOut * kIn * 9, 0.25f), bias = {0.5f, -0.5f, 1};

  void add_to(Session& s, bool dynamic) const {
    ITensor& x = dynamic ? s.input("image", {-1, kIn, -1, -1}) : s.input("image", {1, kIn, 6, 4});
    IConvolutionLayer* conv =
        s.network->addConvolutionNd(x, kOut, dims({3, 3}), weights(kernel), weights(bias));
    conv->setName("conv");
    conv->setPaddingNd(dims({1, 1}));
    ITensor* relu =
        s.network->addActivation(*conv->getOutput(0), ActivationType::kRELU)->getOutput(0);
    IPoolingLayer* pool = s.network->addPoolingNd(*relu, PoolingType::kMAX, dims({2, 2}));
    pool->setStrideNd(dims({2, 2}));
    pool->getOutput(0)->setName("features");
    s.network->markOutput(*pool->getOutput(0));
  }

  // The same in plain loops.
  Floats expected(const Floats& x, int n, int h, int w) const {
    Floats out;
    const auto pixel = [&](int b, int c, int i, int j) {
      const bool inside = i >= 0 && i < h && j >= 0 && j < w;
      return inside ? at(x, static_cast<size_t>(((b * kIn + c) * h + i) * w + j)) : 0.f;
    };
    const auto convolved = [&](int b, int k, int i, int j) {
      float sum = bias[static_cast<size_t>(k)];
      for (int c = 0; c < kIn; ++c)
        for (int r = 0; r < 9; ++r)
          sum += kernel[static_cast<size_t>((k * kIn + c) * 9 + r)]
                 * pixel(b, c, i + r / 3 - 1, j + r % 3 - 1);
      return std::max(sum, 0.f);
    };
    for (int b = 0; b < n; ++b)
      for (int k = 0; k < kOut; ++k)
        for (int i = 0; i + 1 < h; i += 2)
          for (int j = 0; j + 1 < w; j += 2)
            out.push_back(std::max({convolved(b, k, i, j), convolved(b, k, i + 1, j),
                                    convolved(b, k, i, j + 1), convolved(b, k, i + 1, j + 1)}));
    return out;
  }
};

void add_profile(Session& s, std::initializer_list<int64_t> min, std::initializer_list<int64_t> opt,
                 std::initializer_list<int64_t> max) {
  IOptimizationProfile* p = s.builder->createOptimizationProfile();
  p->setDimensions("image", OptProfileSelector::kMIN, dims(min));
  p->setDimensions("image", OptProfileSelector::kOPT, dims(opt));
  p->setDimensions("image", OptProfileSelector::kMAX, dims(max));
  s.config->addOptimizationProfile(p);
}

using Context = std::unique_ptr<IExecutionContext>;

void expect_right(const Cnn& cnn, IExecutionContext& context, int n, int h, int w,
                  cudaStream_t stream) {
  const Floats x = numbers(static_cast<size_t>(n * Cnn::kIn * h * w), 0.5f);
  const Floats expected = cnn.expected(x, n, h, w);
  Floats y(expected.size(), -1);
  ASSERT_TRUE(context.setInputShape("image", dims({n, Cnn::kIn, h, w})));
  ASSERT_TRUE(context.setInputTensorAddress("image", x.data()));
  ASSERT_TRUE(context.setTensorAddress("features", y.data()));
  EXPECT_EQ(list(context.getTensorShape("features")), (List{n, Cnn::kOut, h / 2, w / 2}));
  ASSERT_TRUE(context.enqueueV3(stream));
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_THAT(y, Pointwise(::testing::FloatNear(1e-4f), expected));
}

struct Stream {
  Stream() { cudaStreamCreate(&stream); }
  ~Stream() { cudaStreamDestroy(stream); }
  cudaStream_t stream = nullptr;
};

TEST(Engine, AStaticNetworkRunsWithExecuteV2) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, false);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const Context context(engine->createExecutionContext());
  const Floats x = numbers(2 * 6 * 4, 0.5f);
  Floats y(3 * 3 * 2, -1);
  void* bindings[] = {const_cast<float*>(x.data()), y.data()};
  ASSERT_TRUE(context->executeV2(bindings)) << s.logger.take_errors();
  EXPECT_THAT(y, Pointwise(::testing::FloatNear(1e-4f), cnn.expected(x, 1, 6, 4)));
  EXPECT_FALSE(context->executeV2(nullptr));
  void* nulls[] = {nullptr, nullptr};
  s.logger.take_errors();
  EXPECT_FALSE(context->executeV2(nulls));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("'image' has no address"));
}

TEST(Engine, DescribesItsTensors) {
  Session s;
  Cnn().add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  ASSERT_EQ(engine->getNbIOTensors(), 2);
  EXPECT_STREQ(engine->getIOTensorName(0), "image");
  EXPECT_STREQ(engine->getIOTensorName(1), "features");
  EXPECT_EQ(engine->getIOTensorName(2), nullptr);
  EXPECT_EQ(engine->getTensorIOMode("image"), TensorIOMode::kINPUT);
  EXPECT_EQ(engine->getTensorIOMode("features"), TensorIOMode::kOUTPUT);
  EXPECT_EQ(engine->getTensorIOMode("nobody"), TensorIOMode::kNONE);
  EXPECT_EQ(engine->getTensorIOMode(nullptr), TensorIOMode::kNONE);
  EXPECT_EQ(list(engine->getTensorShape("image")), (List{-1, 2, -1, -1}));
  EXPECT_EQ(list(engine->getTensorShape("features")), (List{-1, 3, -1, -1}));
  EXPECT_EQ(engine->getTensorDataType("features"), DataType::kFLOAT);
  EXPECT_EQ(engine->getTensorLocation("image"), TensorLocation::kDEVICE);
  EXPECT_EQ(engine->getTensorFormat("image"), TensorFormat::kLINEAR);
  EXPECT_THAT(engine->getTensorFormatDesc("image"), HasSubstr("kLINEAR"));
  EXPECT_EQ(engine->getNbOptimizationProfiles(), 1);
  EXPECT_EQ(list(engine->getProfileShape("image", 0, OptProfileSelector::kMAX)),
            (List{2, 2, 16, 16}));
  EXPECT_EQ(engine->getProfileShape("image", 1, OptProfileSelector::kMAX).nbDims, -1);
  EXPECT_EQ(engine->getProfileShape("features", 0, OptProfileSelector::kMAX).nbDims, -1);
  s.logger.take_errors();
  EXPECT_EQ(engine->getTensorShape("imag").nbDims, -1);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("it has 'image', 'features'"));
  EXPECT_FALSE(engine->isRefittable());
  EXPECT_EQ(createInferRefitter(*engine, s.logger), nullptr);
  const std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
  EXPECT_THAT(inspector->getEngineInformation(LayerInformationFormat::kJSON), HasSubstr("conv"));
  EXPECT_EQ(inspector->getLayerInformation(999, LayerInformationFormat::kJSON), nullptr);
  EXPECT_NE(inspector->getLayerInformation(0, LayerInformationFormat::kONELINE), nullptr);
}

TEST(Engine, DynamicShapesUseTwoProfiles) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  add_profile(s, {1, 2, 20, 20}, {1, 2, 20, 20}, {1, 2, 32, 32});
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const Context context(engine->createExecutionContext());
  const Stream stream;
  const char* missing[2] = {};
  EXPECT_EQ(context->inferShapes(2, missing), 1);
  EXPECT_STREQ(missing[0], "image");
  EXPECT_FALSE(context->allInputDimensionsSpecified());
  EXPECT_EQ(list(context->getTensorShape("features")), (List{-1, 3, -1, -1}));
  EXPECT_EQ(context->getMaxOutputSize("features"), 2 * 3 * 8 * 8 * 4);
  EXPECT_FALSE(context->enqueueV3(stream.stream));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("'image' has no shape yet"));
  expect_right(cnn, *context, 1, 4, 4, stream.stream);
  expect_right(cnn, *context, 2, 16, 6, stream.stream);
  expect_right(cnn, *context, 1, 4, 4, stream.stream);
  EXPECT_EQ(context->inferShapes(0, nullptr), 0);
  EXPECT_TRUE(context->allInputShapesSpecified());
  EXPECT_EQ(list(context->getTensorStrides("image")), (List{32, 16, 4, 1}));
  EXPECT_FALSE(context->setInputShape("image", dims({1, 2, 20, 20})));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("outside profile 0"));
  EXPECT_FALSE(context->setInputShape("features", dims({1})));
  EXPECT_FALSE(context->setInputShape("image", dims({1, 2})));
  EXPECT_FALSE(context->setInputShape("image", nvinfer1::Dims{-1, {}}));
  ASSERT_TRUE(context->setOptimizationProfileAsync(1, stream.stream));
  EXPECT_EQ(context->getOptimizationProfile(), 1);
  EXPECT_FALSE(context->allInputDimensionsSpecified());
  expect_right(cnn, *context, 1, 20, 32, stream.stream);
  EXPECT_FALSE(context->setOptimizationProfileAsync(2, stream.stream));
  EXPECT_EQ(context->getOptimizationProfile(), 1);
}

TEST(Engine, ADynamicNetworkWithoutAProfileSaysWhatToDo) {
  Session s;
  Cnn().add_to(s, true);
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("setDimensions"));
}

TEST(Engine, TheBindingsOf8xWork) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const Context context(engine->createExecutionContext());
  const int image = engine->getBindingIndex("image"),
            features = engine->getBindingIndex("features");
  EXPECT_TRUE(engine->bindingIsInput(image));
  ASSERT_TRUE(context->setBindingDimensions(image, dims({1, 2, 4, 6})));
  EXPECT_TRUE(context->allInputDimensionsSpecified());
  EXPECT_EQ(list(context->getBindingDimensions(features)), (List{1, 3, 2, 3}));
  const Floats x = numbers(2 * 4 * 6, 0.5f);
  Floats y(3 * 2 * 3, -1);
  void* bindings[2] = {};
  bindings[image] = const_cast<float*>(x.data());
  bindings[features] = y.data();
  const Stream stream;
  ASSERT_TRUE(context->enqueueV2(bindings, stream.stream, nullptr));
  cudaStreamSynchronize(stream.stream);
  EXPECT_THAT(y, Pointwise(::testing::FloatNear(1e-4f), cnn.expected(x, 1, 4, 6)));
}

TEST(Engine, ABuiltEngineEqualsADeserialisedOne) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  const std::unique_ptr<ICudaEngine> engine(
      s.builder->buildEngineWithConfig(*s.network, *s.config));
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const Stream stream;
  expect_right(cnn, *Context(engine->createExecutionContext()), 1, 8, 8, stream.stream);
  const std::unique_ptr<IHostMemory> once(engine->serialize());
  const std::unique_ptr<ICudaEngine> copy(
      s.runtime->deserializeCudaEngine(once->data(), once->size()));
  ASSERT_NE(copy, nullptr) << s.logger.take_errors();
  const std::unique_ptr<IHostMemory> twice(copy->serialize());
  ASSERT_EQ(once->size(), twice->size());
  EXPECT_EQ(std::memcmp(once->data(), twice->data(), once->size()), 0);
  const std::unique_ptr<ISerializationConfig> config(engine->createSerializationConfig());
  EXPECT_NE(std::unique_ptr<IHostMemory>(engine->serializeWithConfig(*config)), nullptr);
  EXPECT_TRUE(config->setFlag(SerializationFlag::kEXCLUDE_WEIGHTS));
  EXPECT_EQ(engine->serializeWithConfig(*config), nullptr);
  // The network may be changed and built again.
  s.network->getInput(0)->setDimensions(dims({-1, 2, 4, -1}));
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("image"));
}

// Gives `size` bytes at most `piece` at a time; then nothing.
struct Reader final : IStreamReader {
  int64_t read(void* to, int64_t count) override {
    const auto n = static_cast<size_t>(std::min<int64_t>(count, piece));
    const auto given = std::min(n, bytes.size());
    std::copy_n(bytes.begin(), given, static_cast<char*>(to));
    bytes = bytes.subspan(given);
    return static_cast<int64_t>(given);
  }
  std::span<const char> bytes;
  int64_t piece = 1 << 20;
};

TEST(Runtime, ReadsStreamsAndFiles) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, false);
  struct Writer final : IStreamWriter {
    int64_t write(const void* data, int64_t count) override {
      const int64_t n = std::min<int64_t>(count, 100);
      bytes.append(static_cast<const char*>(data), static_cast<size_t>(n));
      return n;
    }
    std::string bytes;
  } writer;
  ASSERT_TRUE(s.builder->buildSerializedNetworkToStream(*s.network, *s.config, writer));
  Reader reader;
  reader.bytes = writer.bytes;
  reader.piece = 77;
  const std::unique_ptr<ICudaEngine> streamed(s.runtime->deserializeCudaEngine(reader));
  ASSERT_NE(streamed, nullptr) << s.logger.take_errors();
  const Stream stream;
  expect_right(cnn, *Context(streamed->createExecutionContext()), 1, 6, 4, stream.stream);
  reader.bytes = std::span(writer.bytes).first(writer.bytes.size() - 1);
  EXPECT_EQ(s.runtime->deserializeCudaEngine(reader), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("the stream ended"));
  reader.bytes = {};
  EXPECT_EQ(s.runtime->deserializeCudaEngine(reader), nullptr);

  const std::string path = ::testing::TempDir() + "engine_test.plan";
  std::ofstream(path, std::ios::binary) << writer.bytes;
  const auto opened = open_plan(*s.runtime, path.c_str());
  ASSERT_NE(opened, nullptr) << s.logger.take_errors();
  expect_right(cnn, *Context(opened->createExecutionContext()), 1, 6, 4, stream.stream);
  std::filesystem::remove(path);
  s.logger.take_errors();
  EXPECT_EQ(open_plan(*s.runtime, path.c_str()), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr(path));
  EXPECT_EQ(open_plan(*s.runtime, nullptr), nullptr);
}

TEST(Runtime, RefusesWhatIsNoPlan) {
  Session s;
  Cnn().add_to(s, false);
  const auto plan = s.build();
  ASSERT_NE(plan, nullptr);
  Recorder recorder;
  s.runtime->setErrorRecorder(&recorder);
  EXPECT_EQ(s.runtime->deserializeCudaEngine(nullptr, 5), nullptr);
  EXPECT_EQ(s.runtime->deserializeCudaEngine(plan->data(), 0), nullptr);
  EXPECT_EQ(s.runtime->deserializeCudaEngine("just some text, no plan at all.......", 36), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("not a Tenon plan"));
  for (size_t size : {size_t{1}, size_t{31}, size_t{32}, plan->size() / 2, plan->size() - 1})
    EXPECT_EQ(s.runtime->deserializeCudaEngine(plan->data(), size), nullptr) << size;
  std::vector<char> bytes(static_cast<char*>(plan->data()),
                          static_cast<char*>(plan->data()) + plan->size());
  for (size_t i = 0; i < bytes.size(); i += 13) {
    bytes[i] = static_cast<char>(bytes[i] ^ 0x20);
    EXPECT_EQ(s.runtime->deserializeCudaEngine(bytes.data(), bytes.size()), nullptr) << i;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x20);
  }
  EXPECT_GT(recorder.getNbErrors(), 10);
  s.runtime->setErrorRecorder(nullptr);
  EXPECT_EQ(recorder.references, 0);
}

TEST(Context, NullAndUnknownArgumentsAreErrors) {
  Session s;
  Cnn().add_to(s, false);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  const Context context(engine->createExecutionContext());
  float data = 0;
  EXPECT_FALSE(context->setTensorAddress(nullptr, &data));
  EXPECT_FALSE(context->setTensorAddress("nobody", &data));
  EXPECT_FALSE(context->setInputTensorAddress("features", &data));
  EXPECT_FALSE(context->setOutputTensorAddress("image", &data));
  EXPECT_EQ(context->getTensorAddress("nobody"), nullptr);
  EXPECT_EQ(context->getTensorShape(nullptr).nbDims, -1);
  EXPECT_EQ(context->inferShapes(3, nullptr), -1);
  EXPECT_FALSE(context->setOutputAllocator("image", nullptr));
  EXPECT_FALSE(context->reportToProfiler());
  struct Listener : IDebugListener {
    bool processDebugTensor(const void*, TensorLocation, DataType, const Dims&, const char*,
                            cudaStream_t) override {
      return false;
    }
  } listener;  // is there as in TensorRT, though no tensor can be one for it
  EXPECT_TRUE(context->setDebugListener(&listener));
  EXPECT_EQ(context->getDebugListener(), &listener);
  EXPECT_TRUE(context->setAllTensorsDebugState(true));
  EXPECT_FALSE(context->getDebugState("image"));
  EXPECT_TRUE(context->setDebugListener(nullptr));
  EXPECT_FALSE(context->setTensorDebugState("image", true));
  context->setName(nullptr);
  EXPECT_STREQ(context->getName(), "");
  context->setName("main");
  EXPECT_STREQ(context->getName(), "main");
  EXPECT_EQ(engine->createExecutionContext(static_cast<ExecutionContextAllocationStrategy>(9)),
            nullptr);
  EXPECT_EQ(engine->createExecutionContext(static_cast<IRuntimeConfig*>(nullptr)), nullptr);
}

TEST(Context, DeviceMemoryMayBeTheCallers) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, false);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  const Context context(engine->createExecutionContextWithoutDeviceMemory());
  const size_t bytes = context->updateDeviceMemorySizeForShapes();
  EXPECT_LE(bytes, static_cast<size_t>(engine->getDeviceMemorySizeV2()));
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, bytes + 64), cudaSuccess);
  context->setDeviceMemoryV2(memory, static_cast<int64_t>(bytes));
  const Stream stream;
  expect_right(cnn, *context, 1, 6, 4, stream.stream);
  cudaFree(memory);
}

TEST(Context, ProfilerOutputAllocatorAndEvent) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, false);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  const Context context(engine->createExecutionContext());
  struct Profiler final : IProfiler {
    void reportLayerTime(const char* name, float) noexcept override { names.emplace_back(name); }
    std::vector<std::string> names;
  } profiler;
  struct Allocator final : IOutputAllocator {
    void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                                cudaStream_t) override {
      memory.resize(size / sizeof(float));
      return memory.data();
    }
    void notifyShape(const char*, const nvinfer1::Dims& d) noexcept override { shape = list(d); }
    Floats memory;
    List shape;
  } allocator;
  context->setProfiler(&profiler);
  EXPECT_EQ(context->getProfiler(), &profiler);
  ASSERT_TRUE(context->setOutputAllocator("features", &allocator));
  EXPECT_EQ(context->getOutputAllocator("features"), &allocator);
  const Floats x = numbers(2 * 6 * 4, 0.5f);
  context->setInputTensorAddress("image", x.data());
  cudaEvent_t consumed = nullptr;
  cudaEventCreate(&consumed);
  EXPECT_TRUE(context->setInputConsumedEvent(consumed));
  const Stream stream;
  ASSERT_TRUE(context->enqueueV3(stream.stream)) << s.logger.take_errors();
  EXPECT_EQ(cudaEventSynchronize(consumed), cudaSuccess);
  cudaStreamSynchronize(stream.stream);
  EXPECT_EQ(allocator.shape, (List{1, 3, 3, 2}));
  EXPECT_THAT(allocator.memory, Pointwise(::testing::FloatNear(1e-4f), cnn.expected(x, 1, 6, 4)));
  EXPECT_FALSE(profiler.names.empty());
  cudaEventDestroy(consumed);
}

TEST(Context, ShapeInputsOf8xAreSetByValue) {
  Session s;
  ITensor& x = s.input("x", {2, 6});
  ITensor& size = s.input("size", {2}, DataType::kINT64);
  IShuffleLayer* reshape = s.network->addShuffle(x);
  reshape->setInput(1, size);
  reshape->getOutput(0)->setName("y");
  s.network->markOutput(*reshape->getOutput(0));
  IOptimizationProfile* p = s.builder->createOptimizationProfile();
  const int64_t low[] = {1, 1}, usual[] = {3, 4}, high[] = {12, 12};
  p->setShapeValuesV2("size", OptProfileSelector::kMIN, low, 2);
  p->setShapeValuesV2("size", OptProfileSelector::kOPT, usual, 2);
  p->setShapeValuesV2("size", OptProfileSelector::kMAX, high, 2);
  s.config->addOptimizationProfile(p);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  EXPECT_TRUE(engine->isShapeInferenceIO("size"));
  EXPECT_EQ(engine->getTensorLocation("size"), TensorLocation::kHOST);
  EXPECT_EQ(engine->getProfileTensorValues("size", 0, OptProfileSelector::kOPT)[1], 4);
  EXPECT_EQ(engine->getProfileTensorValuesV2("size", 0, OptProfileSelector::kMAX)[0], 12);
  const Context context(engine->createExecutionContext());
  EXPECT_FALSE(context->allInputShapesSpecified());
  const int32_t wanted[] = {4, 3};
  ASSERT_TRUE(context->setInputShapeBinding(engine->getBindingIndex("size"), wanted));
  EXPECT_EQ(list(context->getTensorShape("y")), (List{4, 3}));
  const Floats in = numbers(12, 1);
  Floats out(12, -9);
  context->setInputTensorAddress("x", in.data());
  context->setTensorAddress("y", out.data());
  ASSERT_TRUE(context->enqueueV3(nullptr)) << s.logger.take_errors();
  cudaStreamSynchronize(nullptr);
  EXPECT_EQ(out, in);
}

TEST(Life, ObjectsMayDieInAnyOrder) {
  CapturingLogger logger;
  const Cnn cnn;
  auto s = std::make_unique<Session>();
  cnn.add_to(*s, true);
  add_profile(*s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  auto engine = s->engine();
  ASSERT_NE(engine, nullptr);
  s->builder.reset();
  s->network.reset();
  s->config.reset();
  s->runtime.reset();
  Context context(engine->createExecutionContext());
  std::unique_ptr<IEngineInspector> inspector(engine->createEngineInspector());
  EXPECT_TRUE(inspector->setExecutionContext(context.get()));
  EXPECT_EQ(&context->getEngine(), engine.get());
  engine.reset();
  EXPECT_EQ(context->getEngine().getNbIOTensors(), 2);
  const Stream stream;
  expect_right(cnn, *context, 1, 8, 8, stream.stream);
  EXPECT_NE(inspector->getEngineInformation(LayerInformationFormat::kJSON), nullptr);
  context.reset();
  EXPECT_NE(inspector->getEngineInformation(LayerInformationFormat::kJSON), nullptr);
  inspector.reset();
}

TEST(Threads, EachMayHaveItsContext) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      const Context context(engine->createExecutionContext());
      const Stream stream;
      for (int i = 0; i < 20; ++i)
        expect_right(cnn, *context, 1 + (i + t) % 2, 4 + 2 * (i % 5), 8, stream.stream);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
}

// The first thread waits inside the run until the second has tried to enter.
TEST(Threads, OneContextRefusesASecondThread) {
  Session s;
  Cnn().add_to(s, false);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr);
  const Context context(engine->createExecutionContext());
  struct Allocator final : IOutputAllocator {
    void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                                cudaStream_t) override {
      void* others[] = {nullptr, nullptr};
      std::thread([&] { second_entered = context->executeV2(others); }).join();
      memory.resize(size);
      return memory.data();
    }
    void notifyShape(const char*, const nvinfer1::Dims&) noexcept override {}
    IExecutionContext* context = nullptr;
    bool second_entered = true;
    std::vector<char> memory;
  } allocator;
  Floats x = numbers(2 * 6 * 4, 0.5f), y(18);
  void* bindings[] = {x.data(), y.data()};
  allocator.context = context.get();
  context->setOutputAllocator("features", &allocator);
  EXPECT_TRUE(context->executeV2(bindings));
  EXPECT_FALSE(allocator.second_entered);
  EXPECT_EQ(context->getTensorAddress("image"), x.data());  // not the second thread's
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("two threads"));
}

}  // namespace
}  // namespace tenon::testing
