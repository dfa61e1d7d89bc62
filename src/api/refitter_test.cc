// Refits as applications make them: new weights for an engine, by role and by name, while contexts
// exist and run.
#include <atomic>
#include <string_view>
#include <thread>

#include "api/cnn_testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

using Refitter = std::unique_ptr<IRefitter>;

constexpr int kRows = 6, kColumns = 4;

// Other weights for the same network.
Cnn other_cnn() {
  Cnn other;
  other.kernel = numbers(other.kernel.size(), -0.125f);
  other.bias = {-2, 3, 0.25f};
  return other;
}

struct Refitted : Session {
  Cnn first;
  const Cnn second = other_cnn();
  std::unique_ptr<ICudaEngine> engine;

  explicit Refitted(BuilderFlag flag = BuilderFlag::kREFIT, bool named = false) {
    first.add_to(*this, false);
    if (named) {
      network->setWeightsName(weights(first.kernel), "kernel");
      network->setWeightsName(weights(first.bias), "bias");
    }
    config->setFlag(flag);
  }
  void make() {
    engine = Session::engine();
    ASSERT_NE(engine, nullptr) << logger.take_errors();
  }
  Refitter refitter() { return Refitter(createInferRefitter(*engine, logger)); }
  bool give(IRefitter& refitter, const Cnn& cnn) const {
    return refitter.setWeights("conv", WeightsRole::kKERNEL, weights(cnn.kernel))
           && refitter.setWeights("conv", WeightsRole::kBIAS, weights(cnn.bias));
  }
};

Floats run(IExecutionContext& context) {
  const Floats x = numbers(Cnn::kIn * kRows * kColumns, 0.5f);
  Floats y(3 * 3 * 2, -1);
  void* bindings[] = {const_cast<float*>(x.data()), y.data()};
  EXPECT_TRUE(context.executeV2(bindings));
  return y;
}

Floats expected(const Cnn& cnn) {
  return cnn.expected(numbers(Cnn::kIn * kRows * kColumns, 0.5f), 1, kRows, kColumns);
}

auto near(const Cnn& cnn) {
  return ::testing::Pointwise(::testing::FloatNear(1e-4f), expected(cnn));
}

std::vector<std::string> names_of(IRefitter& refitter, bool missing) {
  std::vector<const char*> names(16);
  const int32_t count = missing ? refitter.getMissingWeights(16, names.data())
                                : refitter.getAllWeights(16, names.data());
  return {names.begin(), names.begin() + count};
}

bool holds(const IHostMemory& plan, const Floats& values) {
  const std::string_view bytes(static_cast<const char*>(plan.data()), plan.size());
  return bytes.find({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)})
         != bytes.npos;
}

TEST(Refitter, GivesAContextNewWeightsAndTheOldOnesBack) {
  Refitted s;
  s.make();
  EXPECT_TRUE(s.engine->isRefittable());
  const Context context(s.engine->createExecutionContext());
  const Floats before = run(*context);
  EXPECT_THAT(before, near(s.first));
  const Refitter refitter = s.refitter();
  ASSERT_NE(refitter, nullptr) << s.logger.take_errors();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(s.give(*refitter, s.second));
    EXPECT_EQ(refitter->getMissing(0, nullptr, nullptr), 0);
    ASSERT_TRUE(refitter->refitCudaEngine()) << s.logger.take_errors();
    EXPECT_THAT(run(*context), near(s.second));
    ASSERT_TRUE(s.give(*refitter, s.first));
    ASSERT_TRUE(refitter->refitCudaEngineAsync(nullptr)) << s.logger.take_errors();
    EXPECT_EQ(run(*context), before);
  }
}

TEST(Refitter, ListsWeightsByLayerAndRole) {
  Refitted s;
  s.make();
  const Refitter refitter = s.refitter();
  const char* layers[4] = {};
  WeightsRole roles[4] = {};
  ASSERT_EQ(refitter->getAll(4, layers, roles), 2);
  EXPECT_EQ(refitter->getAll(0, nullptr, nullptr), 2);
  EXPECT_THAT((std::vector<std::string>{layers[0], layers[1]}), ElementsAre("conv", "conv"));
  EXPECT_THAT((std::vector<WeightsRole>{roles[0], roles[1]}),
              UnorderedElementsAre(WeightsRole::kKERNEL, WeightsRole::kBIAS));
  EXPECT_EQ(refitter->getAllWeights(0, nullptr), 2);  // under names of their own
  EXPECT_EQ(refitter->getLogger(), &s.logger);
}

TEST(Refitter, TakesWeightsByNameFromEitherMemory) {
  Refitted s(BuilderFlag::kREFIT_IDENTICAL, true);
  s.make();
  const Context context(s.engine->createExecutionContext());
  const Refitter refitter = s.refitter();
  EXPECT_THAT(names_of(*refitter, false), UnorderedElementsAre("kernel", "bias"));
  const Weights prototype = refitter->getWeightsPrototype("kernel");
  EXPECT_EQ(prototype.count, static_cast<int64_t>(s.first.kernel.size()));
  EXPECT_EQ(prototype.type, DataType::kFLOAT);
  EXPECT_EQ(prototype.values, nullptr);
  EXPECT_EQ(refitter->getWeightsPrototype("nobody").count, -1);

  void* on_device = nullptr;
  const size_t bytes = s.second.bias.size() * sizeof(float);
  ASSERT_EQ(cudaMalloc(&on_device, bytes), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(on_device, s.second.bias.data(), bytes, cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_TRUE(refitter->setNamedWeights("kernel", weights(s.second.kernel)));
  ASSERT_TRUE(refitter->setNamedWeights(
      "bias", {DataType::kFLOAT, on_device, static_cast<int64_t>(s.second.bias.size())},
      TensorLocation::kDEVICE));
  EXPECT_EQ(refitter->getWeightsLocation("bias"), TensorLocation::kDEVICE);
  EXPECT_EQ(refitter->getNamedWeights("bias").values, on_device);
  ASSERT_TRUE(refitter->refitCudaEngine()) << s.logger.take_errors();
  EXPECT_THAT(run(*context), near(s.second));
  EXPECT_EQ(cudaFree(on_device), cudaSuccess);

  // Part of the weights: the rest stay.
  EXPECT_TRUE(refitter->unsetNamedWeights("bias"));
  EXPECT_FALSE(refitter->unsetNamedWeights("bias"));
  ASSERT_TRUE(refitter->setNamedWeights("kernel", weights(s.first.kernel)));
  ASSERT_TRUE(refitter->refitCudaEngine()) << s.logger.take_errors();
  Cnn mixed = s.second;
  mixed.kernel = s.first.kernel;
  EXPECT_THAT(run(*context), near(mixed));
}

TEST(Refitter, RefusesWhatDoesNotFit) {
  Refitted s(BuilderFlag::kREFIT, true);
  s.make();
  const Refitter refitter = s.refitter();
  const auto error_of = [&](bool fine) {
    EXPECT_FALSE(fine);
    return s.logger.take_errors();
  };
  const Floats three(3);
  EXPECT_THAT(error_of(refitter->setWeights("conv", WeightsRole::kKERNEL, weights(three))),
              HasSubstr("3 elements of float32 were given; expected 54 of float32"));
  EXPECT_THAT(error_of(refitter->setWeights("conv", WeightsRole::kSHIFT, weights(three))),
              HasSubstr("kSHIFT of layer 'conv'"));
  EXPECT_THAT(error_of(refitter->setWeights(nullptr, WeightsRole::kBIAS, weights(three))),
              HasSubstr("layer null"));
  EXPECT_THAT(error_of(refitter->setWeights("conv", static_cast<WeightsRole>(77), weights(three))),
              HasSubstr("77"));
  EXPECT_THAT(error_of(refitter->setNamedWeights("nobody", weights(three))), HasSubstr("'nobody'"));
  EXPECT_THAT(error_of(refitter->setNamedWeights(nullptr, weights(three))), HasSubstr("null"));
  EXPECT_THAT(error_of(refitter->setNamedWeights("bias", {DataType::kHALF, three.data(), 3})),
              HasSubstr("float16"));
  EXPECT_THAT(error_of(refitter->setNamedWeights("bias", {DataType::kFLOAT, nullptr, 3})),
              HasSubstr("null"));
  EXPECT_THAT(error_of(refitter->setDynamicRange("image", -1, 1)), HasSubstr("no range"));

  Session plain;
  Cnn().add_to(plain, false);
  const auto engine = plain.engine();
  EXPECT_FALSE(engine->isRefittable());
  EXPECT_EQ(createInferRefitter(*engine, plain.logger), nullptr);
  EXPECT_THAT(plain.logger.take_errors(), HasSubstr("BuilderFlag::kREFIT"));
}

TEST(Refitter, OfMarkedWeightsAlone) {
  Refitted s(BuilderFlag::kREFIT_INDIVIDUAL, true);
  EXPECT_FALSE(s.network->markWeightsRefittable("nobody"));
  ASSERT_TRUE(s.network->markWeightsRefittable("bias"));
  ASSERT_TRUE(s.network->markWeightsRefittable("kernel"));
  ASSERT_TRUE(s.network->unmarkWeightsRefittable("kernel"));
  EXPECT_TRUE(s.network->areWeightsMarkedRefittable("bias"));
  EXPECT_FALSE(s.network->areWeightsMarkedRefittable("kernel"));
  s.logger.take_errors();
  s.make();
  const Refitter refitter = s.refitter();
  EXPECT_THAT(names_of(*refitter, false), ElementsAre("bias"));
  EXPECT_FALSE(refitter->setNamedWeights("kernel", weights(s.second.kernel)));
  ASSERT_TRUE(refitter->setNamedWeights("bias", weights(s.second.bias)));
  ASSERT_TRUE(refitter->refitCudaEngine());
  Cnn mixed = s.first;
  mixed.bias = s.second.bias;
  const Context context(s.engine->createExecutionContext());
  EXPECT_THAT(run(*context), near(mixed));
}

TEST(Refitter, AStrippedPlanRunsOnceItIsComplete) {
  Refitted s(BuilderFlag::kREFIT, true);
  const auto whole = s.build();
  s.config->setFlag(BuilderFlag::kSTRIP_PLAN);
  const auto plan = s.build();
  ASSERT_NE(plan, nullptr) << s.logger.take_errors();
  EXPECT_TRUE(holds(*whole, s.first.kernel));
  EXPECT_FALSE(holds(*plan, s.first.kernel));
  s.engine.reset(s.runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(s.engine, nullptr) << s.logger.take_errors();
  EXPECT_EQ(s.engine->getNbIOTensors(), 2);
  EXPECT_EQ(s.engine->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE), (54 + 3) * 4);
  EXPECT_EQ(s.engine->createExecutionContext(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("stripped of its weights"));

  const Refitter refitter = s.refitter();
  EXPECT_THAT(names_of(*refitter, true), UnorderedElementsAre("kernel", "bias"));
  ASSERT_TRUE(refitter->setNamedWeights("kernel", weights(s.first.kernel)));
  EXPECT_THAT(names_of(*refitter, true), ElementsAre("bias"));
  EXPECT_FALSE(refitter->refitCudaEngine());
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("weights 'bias' are missing"));
  EXPECT_EQ(s.engine->createExecutionContext(), nullptr);
  s.logger.take_errors();
  ASSERT_TRUE(refitter->setNamedWeights("bias", weights(s.first.bias)));
  ASSERT_TRUE(refitter->refitCudaEngine()) << s.logger.take_errors();
  EXPECT_EQ(refitter->getMissingWeights(0, nullptr), 0);
  const Context context(s.engine->createExecutionContext());
  EXPECT_THAT(run(*context), near(s.first));
}

TEST(Refitter, WhatWasRefittedIsSerialized) {
  Refitted s(BuilderFlag::kREFIT, true);
  s.make();
  const Refitter refitter = s.refitter();
  ASSERT_TRUE(s.give(*refitter, s.second));
  ASSERT_TRUE(refitter->refitCudaEngine());
  const std::unique_ptr<IHostMemory> plan(s.engine->serialize());
  const std::unique_ptr<ICudaEngine> again(
      s.runtime->deserializeCudaEngine(plan->data(), plan->size()));
  const Context context(again->createExecutionContext());
  EXPECT_THAT(run(*context), near(s.second));

  const std::unique_ptr<ISerializationConfig> config(s.engine->createSerializationConfig());
  config->setFlag(SerializationFlag::kEXCLUDE_WEIGHTS);
  const std::unique_ptr<IHostMemory> without(s.engine->serializeWithConfig(*config));
  ASSERT_NE(without, nullptr) << s.logger.take_errors();
  EXPECT_TRUE(holds(*plan, s.second.kernel));
  EXPECT_FALSE(holds(*without, s.second.kernel));
  const std::unique_ptr<ICudaEngine> empty(
      s.runtime->deserializeCudaEngine(without->data(), without->size()));
  EXPECT_EQ(empty->createExecutionContext(), nullptr);
}

// Each run has the weights of before or those of after, whole.
TEST(Refitter, ContextsRunWhileWeightsChange) {
  Refitted s;
  s.make();
  const Refitter refitter = s.refitter();
  const Context first(s.engine->createExecutionContext());
  const Context second(s.engine->createExecutionContext());
  std::atomic<bool> over = false;
  std::atomic<int> wrong = 0;
  const Floats a = expected(s.first), b = expected(s.second);
  const auto is_near = [](const Floats& y, const Floats& z) {
    for (size_t i = 0; i < y.size(); ++i)
      if (std::abs(y[i] - z[i]) > 1e-4f) return false;
    return true;
  };
  const auto keep_running = [&](IExecutionContext& context) {
    while (!over) {
      const Floats y = run(context);
      if (!is_near(y, a) && !is_near(y, b)) ++wrong;
    }
  };
  std::thread one([&] { keep_running(*first); }), two([&] { keep_running(*second); });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(s.give(*refitter, i % 2 == 0 ? s.second : s.first));
    EXPECT_TRUE(refitter->refitCudaEngine());
  }
  over = true;
  one.join(), two.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(run(*first), near(s.first));
}

TEST(Refitter, WhatTheApplicationSetInAContextStays) {
  Session s;
  const Cnn cnn, other = other_cnn();
  cnn.add_to(s, true);
  add_profile(s, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
  add_profile(s, {1, 2, 6, 4}, {1, 2, 6, 4}, {1, 2, 6, 4});
  s.config->setFlag(BuilderFlag::kREFIT);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const Context context(
      engine->createExecutionContext(ExecutionContextAllocationStrategy::kUSER_MANAGED));
  ASSERT_TRUE(context->setOptimizationProfileAsync(1, nullptr));
  const auto bytes = static_cast<size_t>(engine->getDeviceMemorySizeV2());
  const CudaStream stream;
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, bytes + 1), cudaSuccess);
  context->setDeviceMemoryV2(memory, static_cast<int64_t>(bytes));
  const Floats x = numbers(Cnn::kIn * kRows * kColumns, 0.5f);
  Floats y(3 * 3 * 2);
  ASSERT_TRUE(context->setInputShape("image", dims({1, Cnn::kIn, kRows, kColumns})));
  ASSERT_TRUE(context->setInputTensorAddress("image", x.data()));
  ASSERT_TRUE(context->setTensorAddress("features", y.data()));
  ASSERT_TRUE(context->enqueueV3(stream.stream));
  ASSERT_EQ(cudaStreamSynchronize(stream.stream), cudaSuccess);
  EXPECT_THAT(y, near(cnn));
  const Refitter refitter(createInferRefitter(*engine, s.logger));
  ASSERT_TRUE(refitter->setWeights("conv", WeightsRole::kKERNEL, weights(other.kernel)));
  ASSERT_TRUE(refitter->setWeights("conv", WeightsRole::kBIAS, weights(other.bias)));
  ASSERT_TRUE(refitter->refitCudaEngine());
  EXPECT_EQ(context->getOptimizationProfile(), 1);
  ASSERT_TRUE(context->enqueueV3(stream.stream)) << s.logger.take_errors();
  ASSERT_EQ(cudaStreamSynchronize(stream.stream), cudaSuccess);
  EXPECT_THAT(y, near(other));
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(Refitter, RunsInCudaGraphsHoldTheirWeights) {
  Refitted s;
  s.make();
  const Refitter refitter = s.refitter();
  Context context(s.engine->createExecutionContext());
  const Floats x = numbers(Cnn::kIn * kRows * kColumns, 0.5f);
  Floats y(3 * 3 * 2);
  ASSERT_TRUE(context->setInputTensorAddress("image", x.data()));
  ASSERT_TRUE(context->setTensorAddress("features", y.data()));
  const CudaStream stream;
  ASSERT_TRUE(context->enqueueV3(stream.stream));
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_TRUE(context->enqueueV3(stream.stream));
  ASSERT_EQ(cudaStreamEndCapture(stream.stream, &graph), cudaSuccess);
  ASSERT_TRUE(s.give(*refitter, s.second));
  EXPECT_FALSE(refitter->refitCudaEngine());
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("CUDA graphs"));
  EXPECT_THAT(run(*context), near(s.first));
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  context.reset();
  EXPECT_TRUE(refitter->refitCudaEngine()) << s.logger.take_errors();
}

}  // namespace
}  // namespace tenon::testing
