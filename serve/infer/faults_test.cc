// Faults in each stage of a pipeline over an engine: only the job at fault fails, and says why; the
// pipeline goes on.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "tenon/picture.h"
#include "tenon/serve/engine_instances.h"
#include "test_models.h"

namespace tenon::serve {
namespace {

using Bytes = std::vector<uint8_t>;

// A picture, as a client sends it, and where its job is out of memory.
struct Request {
  Bytes picture;
  Stage out_of_memory = Stage::kAdmission;
};
using Red = Pipeline<Request, float>;

// Of two rows of four pixels, all of that red.
Request red_picture(uint8_t red, const char* name = "x.png") {
  tenon::Picture picture = grey_picture(4, 2, 0);
  for (size_t i = 0; i < picture.pixels.size(); i += 3) picture.pixels[i] = red;
  return {encode_picture(picture, name)};
}

std::shared_ptr<EngineContext> relu_engine() {
  CompileOutput plan;
  CompileOptions options;
  options.max_batch_size = 4;
  const std::string model = relu_model();
  const auto compiled = compile(Mode::FP32, source_of(model), plan, options);
  EXPECT_TRUE(compiled) << compiled.error();
  auto engine = EngineContext::load(plan.data());
  EXPECT_TRUE(engine) << engine.error();
  return *engine;
}

constexpr float kOutOfMemory = -1;  // an input for which the instance has no memory

std::unique_ptr<Red> start_red(PipelineOptions options = {}) {
  EngineInstanceOptions of_instances;
  of_instances.max_batch = options.max_batch = 4;
  auto instances = engine_instances(relu_engine(), of_instances);
  EXPECT_TRUE(instances) << instances.error();
  Stages<Request, float, Tensors, Tensors> stages;
  stages.batch_key = shape_key;
  stages.preprocess = [](Request& request, const JobContext&) -> Result<Tensors> {
    if (request.out_of_memory == Stage::kPreprocess) throw std::bad_alloc();
    const tenon::Picture decoded =
        decode_picture(request.picture.data(), request.picture.size(), "the picture");
    Tensors tensors;
    tensors.emplace_back(Shape{1, decoded.height, decoded.width});
    float* const to = *tensors[0].cpu<float>();
    for (size_t i = 0; i < decoded.pixels.size() / 3; ++i) to[i] = decoded.pixels[3 * i];
    if (request.out_of_memory == Stage::kInfer) to[0] = kOutOfMemory;
    return tensors;
  };
  Instance<Tensors, Tensors> instance = (*instances)[0];
  instance.run = [run = instance.run](std::span<Tensors* const> batch) -> BatchResult<Tensors> {
    for (Tensors* const job : batch)
      if (**(*job)[0].cpu<float>() == kOutOfMemory) throw std::bad_alloc();
    return run(batch);
  };
  stages.instances.push_back(std::move(instance));
  stages.postprocess = [](Request& request, Tensors& y, const JobContext&) -> Result<float> {
    if (request.out_of_memory == Stage::kPostprocess) throw std::bad_alloc();
    return y[0].at<float>({0, 1, 3});
  };
  auto pipeline = Red::start(options, std::move(stages));
  EXPECT_TRUE(pipeline) << pipeline.error();
  return *std::move(pipeline);
}

TEST(Faults, ADamagedPictureFailsItsJobAlone) {
  const auto pipeline = start_red();
  for (const char* const name : {"x.png", "x.jpg"}) {
    const Bytes whole = red_picture(200, name).picture;
    std::vector<Request> requests;
    constexpr size_t kEnd = 17;  // without its end a picture is whole
    for (size_t length = 0; length + kEnd < whole.size(); length += 7)
      requests.push_back({{whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}});
    const size_t damaged = requests.size();
    for (uint8_t red = 0; red < 20; ++red) requests.push_back(red_picture(red));
    const auto futures = pipeline->commits(std::move(requests));
    for (size_t i = 0; i < futures.size(); ++i) {
      const auto& answer = futures[i].get();
      ASSERT_EQ(static_cast<bool>(answer), i >= damaged) << name << " " << i;
      if (answer) {
        EXPECT_EQ(*answer, static_cast<float>(i - damaged));
        continue;
      }
      EXPECT_EQ(answer.error().failure, Failure::kStage);
      EXPECT_EQ(answer.error().stage, Stage::kPreprocess);
      EXPECT_EQ(answer.error().cause.rfind("the picture: ", 0), 0u) << answer.error().cause;
    }
  }
}

TEST(Faults, APictureOfAnotherSizeIsNamedByTheEngine) {
  const auto pipeline = start_red();
  const auto wide = pipeline->commit({encode_picture(grey_picture(5, 2, 9), "x.png")});
  const auto right = pipeline->commit(red_picture(3));
  EXPECT_EQ(wide.get().error().stage, Stage::kInfer);
  EXPECT_NE(wide.get().error().cause.find("input 'x'"), std::string::npos)
      << wide.get().error().cause;
  EXPECT_NE(wide.get().error().cause.find("1x2x5"), std::string::npos) << wide.get().error().cause;
  EXPECT_EQ(*right.get(), 3);
}

TEST(Faults, AStageWithoutMemoryFailsItsJobAlone) {
  PipelineOptions options;
  options.adaptive = false;  // so that the jobs at fault share batches with others
  options.max_wait = std::chrono::milliseconds(50);
  const auto pipeline = start_red(options);
  for (const Stage stage : {Stage::kPreprocess, Stage::kInfer, Stage::kPostprocess}) {
    std::vector<Request> requests;
    for (uint8_t red = 0; red < 24; ++red) {
      requests.push_back(red_picture(red));
      if (red % 4 == 1) requests.back().out_of_memory = stage;
    }
    const auto futures = pipeline->commits(std::move(requests));
    for (size_t i = 0; i < futures.size(); ++i) {
      const auto& answer = futures[i].get();
      ASSERT_EQ(static_cast<bool>(answer), i % 4 != 1) << i;
      if (answer) {
        EXPECT_EQ(*answer, static_cast<float>(i));
      } else {
        EXPECT_EQ(answer.error().text(), std::string(name_of(stage)) + ": failed: out of memory");
      }
    }
  }
  EXPECT_GT(pipeline->statistics().split_batches, 0u);
}

TEST(Faults, AnAnswerWithoutMemoryHarmsNoOther) {
  const auto pipeline = start_red();
  std::atomic<int> answers{0};
  for (uint8_t red = 0; red < 10; ++red)
    pipeline->submit(red_picture(red), {}, [&](const Answer<float>&) {
      ++answers;
      throw std::bad_alloc();
    });
  EXPECT_EQ(*pipeline->commit(red_picture(11)).get(), 11);
  EXPECT_TRUE(pipeline->stop());
  EXPECT_EQ(answers, 10);
}

}  // namespace
}  // namespace tenon::serve
