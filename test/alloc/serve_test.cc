// Without memory, what stands on tenon::serve is refused with a message, or gives the right result:
// engines, files, and each job of a pipeline, which is answered once. With memory it works again,
// and nothing is left behind.
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <vector>

#include "serve/infer/test_models.h"
#include "tenon/replace_file.h"
#include "tenon/serve/engine_instances.h"
#include "tenon/serve/tensor_file.h"
#include "tenon/serve/trt.h"
#include "test/alloc/memory.h"

namespace tenon::serve {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0, first_failing = 0, last_failing = 0;

bool may_allocate(const void*) {
  if (!counting.load(std::memory_order_relaxed)) return true;
  const int64_t number = allocations.fetch_add(1, std::memory_order_relaxed);
  return number < first_failing || number > last_failing;
}

// As long as it lives, the allocations from `first` to `last` find no memory.
class NoMemory {
 public:
  NoMemory(int64_t first, int64_t last) {
    testing::allocation_hook = &may_allocate;
    allocations = 0;
    first_failing = first;
    last_failing = last;
    counting = true;
  }
  ~NoMemory() { counting = false; }
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

// Libraries, and threads that are about to end, keep a block now and then, but not each time.
constexpr int kRepeats = 4;

// Every allocation that `attempt` makes fails once, alone or with all that follow. `attempt` says
// what went wrong. With memory it is tried again, and leaves as many blocks as before.
enum class Fails { kAlone, kWithAllThatFollow };
void fail_each_allocation(Fails fails, const std::function<std::string(bool has_memory)>& attempt) {
  setenv("TENON_THREADS", "1", 1);
  const auto try_all = [&](int64_t failing) -> std::string {
    {
      const NoMemory none(failing, fails == Fails::kAlone ? failing : INT64_MAX);
      if (std::string problem = attempt(false); !problem.empty()) return problem;
    }
    const NoMemory none(INT64_MAX, INT64_MAX);
    return attempt(true);
  };
  ASSERT_EQ(try_all(INT64_MAX), "");
  const int64_t count = allocations;
  ASSERT_GT(count, 10);
  std::vector<std::string> problems;
  for (int64_t i = 0; i < count && problems.size() < 10; ++i) {
    std::string problem = try_all(i);
    const int64_t before = testing::live_blocks;
    for (int again = 0; again < kRepeats && problem.empty(); ++again) problem = try_all(i);
    const int64_t leaked = testing::live_blocks - before;
    if (problem.empty() && leaked >= kRepeats) problem = std::to_string(leaked) + " blocks leaked";
    if (!problem.empty())
      problems.push_back("allocation " + std::to_string(i) + " of " + std::to_string(count) + ": "
                         + problem);
  }
  EXPECT_THAT(problems, ::testing::IsEmpty());
}

class WithoutMemory : public ::testing::TestWithParam<Fails> {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_ = fs::path(::testing::TempDir()) / ("tenon_alloc." + std::to_string(getpid()));
};

// "" for what may come of a call: success, or without memory an error with a text.
template <class T> std::string problem_in(const Result<T>& result, bool has_memory) {
  if (result) return "";
  if (has_memory) return "fails with memory: " + result.error();
  return result.error().empty() ? "an error without a text" : "";
}

TEST_P(WithoutMemory, ModelsAreCompiledLoadedAndRun) {
  const std::string model = relu_model();
  fail_each_allocation(GetParam(), [&](bool has_memory) -> std::string {
    CompileOutput output;
    const auto compiled = compile(Mode::FP32, source_of(model), output);
    if (!compiled) return problem_in(compiled, has_memory);
    const auto infer = load_infer_from_memory(output.data().data(), output.data().size());
    if (!infer) return problem_in(infer, has_memory);
    const auto set = (*infer)->input()->set_to(3);
    if (!set) return problem_in(set, has_memory);
    const auto done = (*infer)->forward();
    if (!done) return problem_in(done, has_memory);
    const auto y = (*infer)->output()->at<float>({0, 0, 0});
    if (!y) return problem_in(y, has_memory);
    return *y == 3 ? "" : "a wrong result";
  });
}

TEST_P(WithoutMemory, TrtBuildsAndRuns) {
  const std::string onnx = (folder_ / "x.onnx").string();
  const std::string model = relu_model();
  replace_file(onnx, model.data(), model.size());
  fail_each_allocation(GetParam(), [&](bool has_memory) -> std::string {
    try {
      Trt trt;
      trt.SetCustomOutput({"y"});
      const auto built = trt.BuildEngine(onnx, "");
      if (!built) return problem_in(built, has_memory);
      const std::vector<float> x{-1, 2, -3, 4, 5, 6, 7, -8};
      std::vector<float> y;
      for (const auto& done : {trt.CopyFromHostToDevice(x, 0), trt.Forward()})
        if (!done) return problem_in(done, has_memory);
      const auto copied = trt.CopyFromDeviceToHost(y, 1);
      if (!copied) return problem_in(copied, has_memory);
      return y == std::vector<float>{0, 2, 0, 4, 5, 6, 7, 0} ? "" : "a wrong result";
    } catch (const std::bad_alloc&) {  // of what the caller gives
      return has_memory ? "std::bad_alloc with memory" : "";
    }
  });
}

TEST_P(WithoutMemory, TensorsAreWrittenAndRead) {
  const std::string path = (folder_ / "x.tensor").string();
  fail_each_allocation(GetParam(), [&](bool has_memory) -> std::string {
    // What the shape takes is the caller's to allocate, as with any container.
    try {
      Tensor tensor(Shape{2, 3});
      if (const auto set = tensor.set_to(7); !set) return problem_in(set, has_memory);
      if (const auto saved = save_to_file(tensor, path); !saved)
        return problem_in(saved, has_memory);
      auto again = load_from_file(path);
      if (!again) return problem_in(again, has_memory);
      const auto x = again->at<float>({1, 2});
      if (!x) return problem_in(x, has_memory);
      return *x == 7 ? "" : "a wrong result";
    } catch (const std::bad_alloc&) {
      return has_memory ? "std::bad_alloc with memory" : "";
    }
  });
}

// A job of the pipeline below: doubles three numbers, or fails in one of the stages.
enum class Kind { kRight, kThrowsBefore, kDoesNotFit, kThrowsAfter };
struct Request {
  Kind kind = Kind::kRight;
  float first = 0;
};
constexpr const char* kLongText = "a text that is too long to be held without memory of its own";

Stages<Request, float, Tensors, Tensors> stages_of(Instance<Tensors, Tensors> instance) {
  Stages<Request, float, Tensors, Tensors> stages;
  stages.instances.push_back(std::move(instance));
  stages.batch_key = shape_key;
  stages.preprocess = [](Request& request, const JobContext&) -> Result<Tensors> {
    if (request.kind == Kind::kThrowsBefore) throw std::runtime_error(kLongText);
    Tensors tensors;
    tensors.emplace_back(Shape{1, 2, request.kind == Kind::kDoesNotFit ? 5 : 4});
    auto made = tensors[0].set_to(request.first);
    if (!made) return Error{made.error()};
    return tensors;
  };
  stages.postprocess = [](Request& request, Tensors& y, const JobContext&) -> Result<float> {
    if (request.kind == Kind::kThrowsAfter) throw Error{kLongText};
    return y[0].at<float>({0, 1, 3});
  };
  return stages;
}

// The answers of some jobs.
struct Answers {
  static constexpr Kind kKinds[] = {Kind::kRight,      Kind::kThrowsBefore, Kind::kRight,
                                    Kind::kDoesNotFit, Kind::kRight,        Kind::kThrowsAfter};
  std::array<std::atomic<int>, std::size(kKinds)> answered{}, refused{};
  std::atomic<const char*> problem = "";

  void take(size_t job, const Answer<float>& answer, bool has_memory) {
    ++answered[job];
    const bool is_right = kKinds[job] == Kind::kRight;
    if (answer) {
      if (!is_right || *answer != static_cast<float>(job)) problem = "a wrong answer";
      return;
    }
    const JobError& error = answer.error();
    if (is_right && has_memory) problem = "an error with memory";
    if (error.cause.empty()) problem = "an error without a cause";
    if (error.failure != Failure::kStage && error.failure != Failure::kRefused)
      problem = "a failure of another kind";
  }
  std::string once() const {
    for (size_t job = 0; job < std::size(kKinds); ++job)
      if (answered[job] + refused[job] != 1)
        return "job " + std::to_string(job) + " is answered " + std::to_string(answered[job])
               + " times, and refused " + std::to_string(refused[job]) + " times";
    return problem.load();
  }
};

std::string run_pipeline(const std::shared_ptr<EngineContext>& engine, bool has_memory) {
  Answers answers;
  try {
    EngineInstanceOptions of_instances;
    of_instances.max_batch = 2;
    auto instances = engine_instances(engine, of_instances);
    if (!instances) return problem_in(instances, has_memory);
    PipelineOptions options;
    options.model = "a name that is too long to be held without memory";
    options.max_batch = 2;
    options.trace_spans = 32;
    auto pipeline = Pipeline<Request, float>::start(options, stages_of(std::move((*instances)[0])));
    if (!pipeline) return problem_in(pipeline, has_memory);
    std::stop_source stop;
    for (size_t job = 0; job < std::size(Answers::kKinds); ++job) {
      try {
        JobOptions of_job;
        of_job.correlation_id = kLongText;
        of_job.deadline = Clock::now() + std::chrono::hours(1);
        of_job.stop = stop.get_token();
        (*pipeline)->submit(
            {Answers::kKinds[job], static_cast<float>(job)}, std::move(of_job),
            [&, job](const Answer<float>& answer) { answers.take(job, answer, has_memory); });
      } catch (const std::bad_alloc&) {
        ++answers.refused[job];
      }
    }
    if (const auto stopped = (*pipeline)->stop(); !stopped) return stopped.error();
  } catch (const std::bad_alloc&) {  // of the options and the stages
    return has_memory ? "std::bad_alloc with memory" : "";
  }
  return answers.once();
}

TEST_P(WithoutMemory, EachJobIsAnsweredOnce) {
  CompileOutput plan;
  CompileOptions options;
  options.max_batch_size = 2;
  const std::string model = relu_model();
  ASSERT_TRUE(compile(Mode::FP32, source_of(model), plan, options));
  const auto engine = EngineContext::load(plan.data());
  ASSERT_TRUE(engine) << engine.error();
  fail_each_allocation(GetParam(),
                       [&](bool has_memory) { return run_pipeline(*engine, has_memory); });
}

INSTANTIATE_TEST_SUITE_P(Serve, WithoutMemory,
                         ::testing::Values(Fails::kAlone, Fails::kWithAllThatFollow),
                         [](const auto& parameter) {
                           return parameter.param == Fails::kAlone ? "Alone" : "WithAllThatFollow";
                         });

}  // namespace
}  // namespace tenon::serve
