// Without memory, parsing, building, loading and running are refused with a message, or give the
// right result; and the next time they work. Each allocation fails once, in a process of its own:
// first alone, and then with all that follow.
//
// ALLOC_EVERY=n tries each n-th allocation; without it a few of each kind are tried.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "npz.h"
#include "tenon/build.h"
#include "tenon/session/array.h"
#include "tenon_source_dir.h"
#include "test/alloc/memory.h"
#include "test/support/engine.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using session::Array;
using session::Arrays;

// What the hook reads. A process has one attempt at a time.
std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;
int64_t failing = 0;
std::atomic<const void*> failed_caller = nullptr;

bool may_allocate(const void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return true;
  const int64_t number = allocations.fetch_add(1, std::memory_order_relaxed);
  if (number == failing) failed_caller = caller;
  return number != failing;
}

class CountingLogger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char*) noexcept override {
    if (severity <= Severity::kERROR) ++errors;
  }
  int errors = 0;
};

// A model, what it is given, and what it computes.
struct Golden {
  std::vector<char> model;
  Arrays inputs, outputs;
};

std::vector<char> bytes_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Golden read_golden(const fs::path& folder) {
  Golden golden{bytes_of_file(folder / "model.onnx"), {}, {}};
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".npz" || !golden.inputs.empty()) continue;
    for (auto& [name, array] : tool::read_npz(entry.path().string()))
      (name.starts_with("in:") ? golden.inputs : golden.outputs)[name.substr(name.find(':') + 1)] =
          array;
  }
  return golden;
}

enum class Outcome { kRight, kWrong, kRefused, kRefusedSilently };

bool is_close(const Array& actual, const Array& expected) {
  const std::vector<double> a = *session::numbers(actual), b = *session::numbers(expected);
  for (size_t i = 0; i < b.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= 1e-5 + 1e-3 * std::abs(b[i]))) return false;
  return a.size() == b.size();
}

std::unique_ptr<nvinfer1::IHostMemory> build(const Golden& golden, nvinfer1::ILogger& logger) {
  using nvinfer1::OptProfileSelector;
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger));
  if (builder == nullptr) return nullptr;
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  if (network == nullptr) return nullptr;
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  if (parser == nullptr || !parser->parse(golden.model.data(), golden.model.size())) return nullptr;
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(builder->createBuilderConfig());
  if (config == nullptr) return nullptr;
  set_deterministic(*config, true);
  nvinfer1::IOptimizationProfile* const profile = builder->createOptimizationProfile();
  if (profile == nullptr) return nullptr;
  for (const auto& [name, array] : golden.inputs)
    for (const auto which :
         {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
      if (!profile->setDimensions(name.c_str(), which, *session::to_dims(array.shape)))
        return nullptr;
  if (config->addOptimizationProfile(profile) < 0) return nullptr;
  return std::unique_ptr<nvinfer1::IHostMemory>(builder->buildSerializedNetwork(*network, *config));
}

bool run(nvinfer1::IExecutionContext& context, const Golden& golden, Arrays& outputs) {
  for (const auto& [name, array] : golden.inputs)
    if (!context.setInputShape(name.c_str(), *session::to_dims(array.shape))
        || !context.setTensorAddress(name.c_str(), const_cast<std::byte*>(array.bytes.data())))
      return false;
  for (auto& [name, array] : outputs)
    if (!context.setTensorAddress(name.c_str(), array.bytes.data())) return false;
  cudaStream_t stream = nullptr;
  if (cudaStreamCreate(&stream) != cudaSuccess) return false;
  const bool is_enqueued = context.enqueueV3(stream);
  const bool is_done = cudaStreamSynchronize(stream) == cudaSuccess;
  return cudaStreamDestroy(stream) == cudaSuccess && is_enqueued && is_done;
}

// Whether everything went well.
bool parse_build_load_run(const Golden& golden, nvinfer1::ILogger& logger, Arrays& outputs) {
  const auto plan = build(golden, logger);
  if (plan == nullptr) return false;
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
  if (runtime == nullptr) return false;
  const std::unique_ptr<nvinfer1::ICudaEngine> engine(
      runtime->deserializeCudaEngine(plan->data(), plan->size()));
  if (engine == nullptr) return false;
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  return context != nullptr && run(*context, golden, outputs);
}

Outcome attempt(const Golden& golden, int64_t failing_allocation) {
  Arrays outputs = golden.outputs;
  for (auto& [name, array] : outputs) std::ranges::fill(array.bytes, std::byte{0xff});
  CountingLogger logger;
  allocations = 0;
  failing = failing_allocation;
  counting = true;
  const bool is_done = parse_build_load_run(golden, logger, outputs);
  counting = false;
  // The runtime's calls have a result of their own, and no logger.
  if (!is_done)
    return logger.errors > 0 || cudaGetLastError() == cudaErrorMemoryAllocation
               ? Outcome::kRefused
               : Outcome::kRefusedSilently;
  for (const auto& [name, array] : outputs)
    if (!is_close(array, golden.outputs.at(name))) return Outcome::kWrong;
  return Outcome::kRight;
}

// Attempts of a process that look for leaks: libraries keep a block now and then, but not each
// time.
constexpr int kRepeats = 4;

// What a process writes for its parent.
struct Report {
  int64_t allocations;  // of the first attempt
  const void* failed_caller;
  Outcome without[1 + kRepeats], with[2];
  int64_t live_blocks[2];  // after each attempt with memory
};

// Attempts in a new process: one without memory and one with it, which make what is made once; then
// some more without memory, which must leave nothing behind. Returns the process's status.
int run_process(const Golden& golden, int64_t failing_allocation, Report& report) {
  const pid_t process = fork();
  if (process == 0) {
    alarm(60);
    const auto without_memory = [&](int i) {
      report.without[i] = attempt(golden, failing_allocation);
    };
    const auto with_memory = [&](int i) {
      report.with[i] = attempt(golden, INT64_MAX);
      report.live_blocks[i] = testing::live_blocks;
    };
    without_memory(0);
    report.allocations = allocations;
    report.failed_caller = failed_caller;
    with_memory(0);
    for (int i = 1; i <= kRepeats; ++i) without_memory(i);
    with_memory(1);
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  return status;
}

// The library and the offset in it; empty where there is none.
std::string place_of(const void* caller) {
  Dl_info info{};
  if (caller == nullptr || dladdr(caller, &info) == 0) return "";
  char text[512];
  std::snprintf(text, sizeof text, "%s + 0x%zx", info.dli_fname,
                static_cast<size_t>(static_cast<const char*>(caller)
                                    - static_cast<const char*>(info.dli_fbase)));
  return text;
}

// What is wrong with it; empty for nothing.
std::string problem_in(int status, const Report& report) {
  if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
  if (status != 0) return "the process ended with " + std::to_string(status);
  for (const Outcome outcome : report.without) {
    if (outcome == Outcome::kWrong) return "a wrong result";
    if (outcome == Outcome::kRefusedSilently) return "refused without a message";
  }
  for (const Outcome outcome : report.with)
    if (outcome != Outcome::kRight) return "no result afterwards, with memory";
  const int64_t left = report.live_blocks[1] - report.live_blocks[0];
  // oneDNN leaks where it finds no memory itself.
  const bool is_ours = place_of(report.failed_caller).find("libdnnl") == std::string::npos;
  return left < kRepeats || !is_ours ? "" : std::to_string(left) + " blocks leaked";
}

class WithoutMemory : public ::testing::TestWithParam<const char*> {};

TEST_P(WithoutMemory, IsRefusedOrRight) {
  const Golden golden = read_golden(fs::path(TENON_SOURCE_DIR) / "test/golden" / GetParam());
  ASSERT_FALSE(golden.outputs.empty());
  testing::allocation_hook = &may_allocate;
  setenv("TENON_THREADS", "1", 1);  // so that allocations have the same numbers each time
  auto* const report = static_cast<Report*>(
      mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(report, MAP_FAILED);

  const int whole = run_process(golden, INT64_MAX, *report);
  ASSERT_EQ(problem_in(whole, *report), "");
  ASSERT_EQ(report->without[0], Outcome::kRight);
  const int64_t count = report->allocations;
  EXPECT_GT(count, 1000);

  const char* const every = std::getenv("ALLOC_EVERY");
  const int64_t step = every != nullptr ? std::max(1, std::atoi(every)) : count / 100;
  int problems = 0;
  for (int64_t i = 0; i < count && problems < 20; i += step) {
    *report = {};
    const int status = run_process(golden, i, *report);
    const std::string problem = problem_in(status, *report);
    EXPECT_EQ(problem, "") << "allocation " << i << " of " << count << ", made at "
                           << place_of(report->failed_caller);
    if (!problem.empty()) ++problems;
  }
  munmap(report, sizeof(Report));
}

INSTANTIATE_TEST_SUITE_P(Golden, WithoutMemory, ::testing::Values("mlp"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace tenon
