#include "tenon/serve/infer.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tenon/serve/engine_instances.h"
#include "tenon/serve/tensor_allocator.h"
#include "test_networks.h"

namespace tenon::serve {
namespace {

std::shared_ptr<EngineContext> shared_engine(
    const std::function<session::Engine(session::ErrorLog&)>& build) {
  session::ErrorLog log;
  const session::Engine engine = build(log);
  const std::unique_ptr<nvinfer1::IHostMemory> plan(engine.engine->serialize());
  auto shared = EngineContext::load({static_cast<const std::byte*>(plan->data()), plan->size()});
  EXPECT_TRUE(shared) << shared.error();
  return *shared;
}

std::shared_ptr<Infer> infer_of(const std::shared_ptr<EngineContext>& engine,
                                const Infer::Options& options = {}) {
  auto infer = Infer::make(engine, options);
  EXPECT_TRUE(infer) << infer.error();
  return infer ? *infer : nullptr;
}

void fill(Tensor& tensor, float first) {
  float* const x = *tensor.cpu<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) x[i] = first + static_cast<float>(i);
}

// Tensors have rows, whatever the engine's memory has; batches of an instance, too.
TEST(Infer, ConvertsFormats) {
  using nvinfer1::TensorFormat;
  for (const TensorFormat format : {TensorFormat::kHWC, TensorFormat::kHWC8, TensorFormat::kCHW2}) {
    const auto engine = shared_engine([&](session::ErrorLog& log) {
      return session::build_engine(log, [&](auto& builder, auto& network, auto& config) {
        auto* x = network.addInput("x", DataType::kFLOAT, nvinfer1::Dims4(-1, 3, 1, 2));
        auto& y =
            *network.addElementWise(*x, *x, nvinfer1::ElementWiseOperation::kSUM)->getOutput(0);
        x->setAllowedFormats(1U << static_cast<int>(format));
        y.setAllowedFormats(1U << static_cast<int>(format));
        session::add_output(network, y, "y");
        auto* profile = builder.createOptimizationProfile();
        using Selector = nvinfer1::OptProfileSelector;
        for (const auto& [selector, batch] :
             {std::pair{Selector::kMIN, 1}, std::pair{Selector::kOPT, 2},
              std::pair{Selector::kMAX, 2}})
          profile->setDimensions("x", selector, nvinfer1::Dims4(batch, 3, 1, 2));
        config.addOptimizationProfile(profile);
      });
    });
    const auto infer = infer_of(engine);
    for (const float first : {1.F, 7.F}) {
      fill(*infer->input(), first);
      const auto done = infer->forward(/*sync=*/false);
      ASSERT_TRUE(done) << done.error();
      ASSERT_EQ(infer->output()->shape(), (Shape{2, 3, 1, 2}));
      for (int64_t i = 0; i < 12; ++i)
        EXPECT_EQ((*infer->output()->cpu<float>())[i], 2 * (first + static_cast<float>(i)));
    }
    EngineInstanceOptions options;
    options.max_batch = 2;
    auto instances = engine_instances(engine, options);
    ASSERT_TRUE(instances) << instances.error();
    std::array<Tensors, 2> jobs;
    for (Tensors& job : jobs) {
      job.emplace_back(Shape{1, 3, 1, 2});
      fill(job[0], 4);
    }
    const std::array<Tensors*, 2> batch{&jobs[0], &jobs[1]};
    auto outputs = (*instances)[0].run(batch).result;
    ASSERT_TRUE(outputs) << outputs.error();
    for (Tensors& output : *outputs) EXPECT_EQ(*output[0].at<float>({0, 2, 0, 1}), 18);
  }
}

TEST(Infer, RunsWithEveryShapeOfItsProfile) {
  const auto infer = infer_of(shared_engine(session::build_sum));
  EXPECT_EQ(infer->get_input_name(), "x");
  EXPECT_EQ(infer->get_output_name(), "y");
  EXPECT_EQ(infer->input()->shape(), (Shape{2, 3}));
  EXPECT_EQ(infer->get_max_batch_size(), 2);
  EXPECT_EQ(infer->tensor("y"), infer->output());
  EXPECT_EQ(infer->tensor("z"), nullptr);
  EXPECT_EQ(infer->input(1), nullptr);
  for (const int64_t rows : {1, 2, 1}) {
    ASSERT_TRUE(infer->input()->resize({rows, 3}));
    fill(*infer->input(), 1);
    const auto done = infer->forward();
    ASSERT_TRUE(done) << done.error();
    EXPECT_EQ(infer->output()->shape(), (Shape{rows, 3}));
    for (int64_t i = 0; i < 3 * rows; ++i)
      EXPECT_EQ(*infer->output()->at<float>({i / 3, i % 3}), 2.f * static_cast<float>(1 + i));
  }
  ASSERT_TRUE(infer->input()->resize({3, 3}));
  fill(*infer->input(), 1);
  const std::string error = infer->forward().error();
  EXPECT_NE(error.find("x"), std::string::npos) << error;
  EXPECT_NE(error.find("3"), std::string::npos) << error;
}

TEST(Infer, TakesOtherProfilesAndSharedLayerMemory) {
  const auto engine = shared_engine(session::build_sum);
  Infer::Options options;
  options.profile = 1;
  options.layer_memory = std::make_shared<MixMemory>();
  const auto a = infer_of(engine, options), b = infer_of(engine, options);
  EXPECT_EQ(a->input()->shape(), (Shape{4, 3}));
  for (const auto& infer : {a, b}) {
    fill(*infer->input(), 5);
    ASSERT_TRUE(infer->forward());
    EXPECT_EQ(*infer->output()->at<float>({0, 0}), 10);
  }
  options.profile = 2;
  EXPECT_FALSE(Infer::make(engine, options));
}

TEST(Infer, AnInputWithoutDataIsAnError) {
  const auto infer = infer_of(shared_engine(session::build_sum));
  EXPECT_EQ(infer->forward().error(),
            "input 'x' has no data: write to its tensor before forward()");
}

TEST(Infer, AnInputOfAnotherTypeIsAnError) {
  const auto infer = infer_of(shared_engine(session::build_sum));
  EXPECT_EQ(infer->set_input(0, std::make_shared<Tensor>(Shape{2, 3}, DataType::kINT32)).error(),
            "input 'x' is of float32, and its tensor of int32");
  EXPECT_EQ(infer->set_input(1, nullptr).error(), "input 1 of an engine with 1");
  ASSERT_TRUE(infer->input()->set_to(1));
  ASSERT_TRUE(infer->input()->to_half());
  EXPECT_EQ(infer->forward().error(), "input 'x' is of float32, and its tensor of float16");
}

TEST(Infer, OutputsOfUnknownShapeAreThereAfterTheRun) {
  const auto infer = infer_of(shared_engine(session::build_non_zero));
  for (const int count : {2, 6, 0}) {
    ASSERT_TRUE(infer->input()->set_to(0));
    for (int i = 0; i < count; ++i) (*infer->input()->cpu<float>())[i] = 1;
    const auto done = infer->forward();
    ASSERT_TRUE(done) << done.error();
    EXPECT_EQ(infer->output()->shape(), (Shape{1, count}));
    for (int i = 0; i < count; ++i) EXPECT_EQ(*infer->output()->at<int32_t>({0, i}), i);
  }
}

TEST(Infer, OneRunsOnTheOutputOfAnother) {
  const auto engine = shared_engine(session::build_sum);
  const auto a = infer_of(engine), b = infer_of(engine);
  ASSERT_TRUE(b->set_input(0, a->output()));
  fill(*a->input(), 1);
  ASSERT_TRUE(a->forward(false));
  ASSERT_TRUE(a->synchronize());
  ASSERT_TRUE(b->forward());
  EXPECT_EQ(*b->output()->at<float>({1, 2}), 4 * 6);
}

// Of a stream of the application: what it put there before is done first, whoever runs the engine.
TEST(Infer, RunsAfterWhatIsInItsStream) {
  Infer::Options options;
  ASSERT_EQ(cudaStreamCreate(&options.stream), cudaSuccess);
  auto infer = infer_of(shared_engine(session::build_sum), options);
  for (const bool sync : {true, false}) {
    fill(*infer->input(), 0);
    const auto write = [](void* last) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      *static_cast<float*>(last) = 10;
    };
    ASSERT_EQ(cudaLaunchHostFunc(options.stream, write, *infer->input()->cpu<float>() + 5),
              cudaSuccess);
    ASSERT_TRUE(infer->forward(sync));
    ASSERT_TRUE(infer->synchronize());
    EXPECT_EQ(*infer->output()->at<float>({1, 2}), 2 * 10);
  }
  infer.reset();
  EXPECT_EQ(cudaStreamDestroy(options.stream), cudaSuccess);
}

TEST(Infer, SeveralOfOneEngineRunSideBySide) {
  const auto engine = shared_engine(session::build_sum);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const auto infer = infer_of(engine);
      for (int i = 0; i < 50; ++i) {
        fill(*infer->input(), static_cast<float>(t + i));
        ASSERT_TRUE(infer->forward());
        ASSERT_EQ(*infer->output()->at<float>({0, 0}), 2.f * static_cast<float>(t + i));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Infer, WhatIsNoPlanIsAnError) {
  EXPECT_FALSE(load_infer("/no/such/plan"));
  EXPECT_NE(load_infer("/no/such/plan").error().find("/no/such/plan"), std::string::npos);
  EXPECT_FALSE(load_infer_from_memory("plan", 4));
  EXPECT_FALSE(EngineContext::load({}, 77));
}

TEST(EngineInstances, ABatchWithAJobWithoutDataIsAnError) {
  EngineInstanceOptions options;
  options.max_batch = 2;
  const auto instances = engine_instances(shared_engine(session::build_sum), options);
  ASSERT_TRUE(instances) << instances.error();
  Tensors full, empty;
  full.emplace_back(Shape{1, 3});
  fill(full[0], 1);
  empty.emplace_back(Shape{1, 3});
  const std::vector<Tensors*> jobs{&full, &empty};
  EXPECT_EQ((*instances)[0].run(jobs).result.error(), "input 'x' of a job has no data");
}

TEST(EngineInstances, FillBatchesUpToSizesThatTheEngineRuns) {
  const auto engine = shared_engine(session::build_sum);
  EngineInstanceOptions options;
  options.profile = 1;  // of 3 to 5 rows
  options.max_batch = 5;
  std::vector<Tensors> jobs(4);
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].emplace_back(Shape{1, 3});
    fill(jobs[i][0], static_cast<float>(10 * i));
  }
  for (const std::vector<size_t>& sizes : {std::vector<size_t>{}, {5}, {1, 4}}) {
    options.batch_sizes = sizes;
    const auto instances = engine_instances(engine, options);
    ASSERT_TRUE(instances) << instances.error();
    for (size_t count = 1; count <= jobs.size(); ++count) {
      std::vector<Tensors*> batch;
      for (size_t i = 0; i < count; ++i) batch.push_back(&jobs[i]);
      auto ran = (*instances)[0].run(batch);
      ASSERT_TRUE(ran.result) << ran.result.error();
      ASSERT_EQ(ran.result->size(), count);
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ((*ran.result)[i][0].shape(), (Shape{1, 3}));
        EXPECT_EQ(*(*ran.result)[i][0].at<float>({0, 1}), 2.f * static_cast<float>(10 * i + 1));
      }
    }
    const auto times = (*instances)[0].warm_up();
    ASSERT_TRUE(times) << times.error();
    EXPECT_EQ(times->back().cost, 5u);
  }
  options.batch_sizes = {2, 2};
  EXPECT_EQ(engine_instances(engine, options).error(),
            "batch_sizes: expected ascending sizes from 1 to max_batch, 5, found 2");
}

TEST(EngineInstances, JobsMayBeSeveralItems) {
  EngineInstanceOptions options;
  options.profile = 1;  // of 3 to 5 rows
  options.max_batch = 5;
  for (const std::vector<size_t>& sizes : {std::vector<size_t>{}, {5}}) {
    options.batch_sizes = sizes;
    const auto instances = engine_instances(shared_engine(session::build_sum), options);
    ASSERT_TRUE(instances) << instances.error();
    std::vector<Tensors> jobs(3);
    for (size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].emplace_back(Shape{i == 1 ? 2 : 1, 3});
      fill(jobs[i][0], static_cast<float>(10 * i));
    }
    EXPECT_EQ(shape_key(jobs[0]), shape_key(jobs[1]));
    const std::vector<Tensors*> batch{&jobs[0], &jobs[1], &jobs[2]};
    auto ran = (*instances)[0].run(batch);
    ASSERT_TRUE(ran.result) << ran.result.error();
    for (size_t i = 0; i < jobs.size(); ++i) {
      Tensor& output = (*ran.result)[i][0];
      ASSERT_EQ(output.shape(), jobs[i][0].shape());
      for (int64_t element = 0; element < output.numel(); ++element)
        EXPECT_EQ((*output.cpu<float>())[element], 2 * (*jobs[i][0].cpu<float>())[element]);
    }
    Tensors none;
    none.emplace_back(Shape{0, 3});
    EXPECT_FALSE((*instances)[0].run(std::vector<Tensors*>{&jobs[0], &none}).result);
  }
}

TEST(EngineInstances, TakeTheSmallestBatchOfAProfileForAJob) {
  const auto engine = shared_engine(session::build_sum);
  EngineInstanceOptions options;
  options.profile = 1;  // of 3 to 5 rows
  const auto instances = engine_instances(engine, options);
  ASSERT_TRUE(instances) << instances.error();
  const auto times = (*instances)[0].warm_up();
  ASSERT_TRUE(times) << times.error();
  for (const size_t max_batch : {size_t{0}, SIZE_MAX}) {
    options.max_batch = max_batch;
    EXPECT_EQ(engine_instances(engine, options).error(),
              "batches of " + std::to_string(max_batch)
                  + " do not fit the engine, which takes at most 5");
  }
}

TEST(EngineInstances, GiveMemoryOfInputsBack) {
  TensorAllocator tensors(1);
  const auto instances = engine_instances(shared_engine(session::build_sum), {});
  ASSERT_TRUE(instances) << instances.error();
  for (int run = 0; run < 3; ++run) {
    Tensors job;
    auto tensor = tensors.query({1, run == 1 ? 4 : 3}, DataType::kFLOAT, std::chrono::seconds(1));
    ASSERT_TRUE(tensor) << tensor.error();
    job.push_back(*std::move(tensor));
    fill(job[0], 1);
    const std::vector<Tensors*> jobs{&job};
    EXPECT_EQ(static_cast<bool>((*instances)[0].run(jobs).result), run != 1);
  }
}

TEST(EngineInstances, MemoryOfOutputsIsUsedAgain) {
  const auto instances = engine_instances(shared_engine(session::build_sum), {});
  ASSERT_TRUE(instances) << instances.error();
  Tensors job;
  job.emplace_back(Shape{1, 3});
  fill(job[0], 1);
  const std::vector<Tensors*> jobs{&job};
  const auto first = (*instances)[0].run(jobs);
  const void* const held = (*first.result)[0][0].memory()->cpu();
  std::set<const void*> memories;
  for (int run = 0; run < 10; ++run) {
    const auto next = (*instances)[0].run(jobs);
    memories.insert((*next.result)[0][0].memory()->cpu());
  }
  EXPECT_EQ(memories.count(held), 0u);  // someone still looks at it
  EXPECT_LE(memories.size(), 2u);
}

TEST(EngineInstances, GiveEachJobItsPartOfTheBatch) {
  EngineInstanceOptions options;
  options.max_batch = 2;
  options.count = 2;
  const auto engine = shared_engine(session::build_sum);
  auto instances = engine_instances(engine, options);
  ASSERT_TRUE(instances) << instances.error();
  Stages<float, float, Tensors, Tensors> stages;
  stages.instances = *std::move(instances);
  stages.batch_key = shape_key;
  stages.preprocess = [](float& first, const JobContext&) -> Result<Tensors> {
    Tensors tensors;
    if (first == 13) {
      tensors.emplace_back(Shape{1, 4});
    } else {
      tensors.emplace_back(Shape{1, 3});
    }
    fill(tensors[0], first);
    return tensors;
  };
  stages.postprocess = [](float&, Tensors& y, const JobContext&) -> Result<float> {
    EXPECT_EQ(y[0].shape(), (Shape{1, 3}));
    return *y[0].at<float>({0, 2});
  };
  PipelineOptions pipeline_options;
  pipeline_options.max_batch = 2;
  pipeline_options.adaptive = false;
  auto pipeline = Pipeline<float, float>::start(pipeline_options, std::move(stages));
  ASSERT_TRUE(pipeline) << pipeline.error();
  std::vector<float> inputs;
  for (int i = 0; i < 100; ++i) inputs.push_back(static_cast<float>(i));
  const auto futures = (*pipeline)->commits(inputs);
  for (int i = 0; i < 100; ++i) {
    const auto& answer = futures[static_cast<size_t>(i)].get();
    EXPECT_EQ(static_cast<bool>(answer), i != 13);
    if (answer) {
      EXPECT_EQ(*answer, 2.f * static_cast<float>(i + 2));
    } else {
      EXPECT_EQ(answer.error().stage, Stage::kInfer);
    }
  }
  EXPECT_GT((*pipeline)->statistics().batch.mean(), 1.5);
  options.max_batch = 3;
  EXPECT_EQ(engine_instances(engine, options).error(),
            "batches of 3 do not fit the engine, which takes at most 2");
}

}  // namespace
}  // namespace tenon::serve
