// Nothing is lost with a real engine, on a CPU or a GPU.
#include <gtest/gtest.h>

#include "pipeline/stress.h"
#include "tenon/serve/engine_instances.h"
#include "tenon/serve/tensor_allocator.h"
#include "test_networks.h"

namespace tenon::serve {
namespace {

constexpr int kLargestBatch = 8, kContexts = 2, kTensors = 64;

// y = x + x of shape (-1, 3), for batches up to kLargestBatch.
std::shared_ptr<EngineContext> sum_engine() {
  session::ErrorLog log;
  const auto engine = session::build_engine(log, [](auto& builder, auto& network, auto& config) {
    auto* x = network.addInput("x", DataType::kFLOAT, nvinfer1::Dims2(-1, 3));
    auto* y = network.addElementWise(*x, *x, nvinfer1::ElementWiseOperation::kSUM)->getOutput(0);
    session::add_output(network, *y, "y");
    auto* profile = builder.createOptimizationProfile();
    using Selector = nvinfer1::OptProfileSelector;
    profile->setDimensions("x", Selector::kMIN, nvinfer1::Dims2(1, 3));
    profile->setDimensions("x", Selector::kOPT, nvinfer1::Dims2(kLargestBatch, 3));
    profile->setDimensions("x", Selector::kMAX, nvinfer1::Dims2(kLargestBatch, 3));
    config.addOptimizationProfile(profile);
  });
  const std::unique_ptr<nvinfer1::IHostMemory> plan(engine.engine->serialize());
  auto shared = EngineContext::load({static_cast<const std::byte*>(plan->data()), plan->size()});
  EXPECT_TRUE(shared) << shared.error();
  return *shared;
}

class EngineStress : public ::testing::TestWithParam<bool> {};

TEST_P(EngineStress, EachJobIsAnsweredOnceAndRight) {
  TensorAllocator tensors(kTensors);
  Stages<int, int, Tensors, Tensors> stages;
  stages.preprocess = [&](int& job, const JobContext&) -> Result<Tensors> {
    if (fails(job, 0)) throw std::runtime_error("pre-process");
    Tensors made;
    // An engine takes no rows of four.
    auto tensor = tensors.query({1, fails(job, 1) ? 4 : 3}, DataType::kFLOAT);
    if (!tensor) return Error{tensor.error()};
    made.push_back(*std::move(tensor));
    if (const auto set = made[0].set_to(static_cast<float>(job)); !set) return Error{set.error()};
    return made;
  };
  EngineInstanceOptions instances;
  instances.count = kContexts;
  instances.max_batch = kLargestBatch;
  instances.cuda_graph = true;
  auto made = engine_instances(sum_engine(), instances);
  ASSERT_TRUE(made) << made.error();
  stages.instances = *std::move(made);
  stages.postprocess = [](int& job, Tensors& y, const JobContext&) -> Result<int> {
    if (fails(job, 2)) return Error{"post-process"};
    return static_cast<int>(*y[0].at<float>({0, 2}));
  };
  PipelineOptions options;
  options.max_jobs = 200;
  options.max_batch = kLargestBatch;
  options.preprocess_workers = options.postprocess_workers = 2;
  StressCounts counts;
  stress(options, std::move(stages), 10000 * test_times() / kProducers * kProducers, GetParam(),
         counts);
  EXPECT_GT(counts.succeeded, 0);
  EXPECT_GT(counts.failed[static_cast<size_t>(Failure::kStage)], 0);
}

INSTANTIATE_TEST_SUITE_P(Pipeline, EngineStress, ::testing::Bool());

}  // namespace
}  // namespace tenon::serve
