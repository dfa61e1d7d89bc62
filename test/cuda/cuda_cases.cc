// cuda_cases [--bare] [--errors=FILE] CASES: runs every case of every CASES/*/cases.json, or of the
// one file CASES, on the GPU, through enqueue() of both plugin protocols, and compares with what is
// expected and with the CPU's kernel. Needs no engine. --bare is for compute-sanitizer: no zones
// around memory, no timing. --errors writes a line of JSON for each plugin and type: the largest
// errors there, on the CPU and on the GPU.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <tenon/plugin/cases.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>

#include "guarded_memory.h"

namespace tenon::cuda_cases {
namespace {

using namespace tenon::kit;           // NOLINT: the program is a test of it
using namespace tenon::kit::testing;  // NOLINT
namespace fs = std::filesystem;

// Of one type.
struct Differences {
  bool is_measured = false;
  Difference gpu_from_expected, gpu_from_cpu, cpu_from_expected;
};

// What a plugin's cases gave.
struct Summary {
  int cases = 0, failures = 0;
  std::map<DataType, Differences> differences;  // by the type of outputs
  float slowest_us = 0;                         // of the cases' fastest launches
};

class Gpu final : public Machine {
 public:
  explicit Gpu(bool is_bare) : is_bare_(is_bare) {
    require(cudaStreamCreate(&stream_), "cudaStreamCreate");
    for (cudaEvent_t& event : events_) require(cudaEventCreate(&event), "cudaEventCreate");
  }

  // Gathers what the next runs give.
  Summary* summary = nullptr;

  std::string run(const PluginCase& c, CaseRun& run, const CaseKernel& cpu,
                  const CaseKernel& enqueue) override {
    if (std::string why = HostMachine().run(c, run, cpu, enqueue); !why.empty())
      return "on the CPU: " + why;
    const size_t inputs = run.inputs.size();
    const std::vector<std::vector<char>> on_cpu(run.memory.begin() + static_cast<int>(inputs),
                                                run.memory.end());
    std::vector<GuardedMemory> memory;
    for (const std::vector<char>& bytes : run.memory) memory.emplace_back(bytes.size(), !is_bare_);
    for (size_t i = 0; i < inputs; ++i) memory[i].write(run.inputs[i]);
    memory.emplace_back(run.workspace_bytes, !is_bare_);
    for (size_t i = inputs; i < memory.size(); ++i) memory[i].fill(HostMachine::kNoise);
    std::vector<const void*> in;
    std::vector<void*> out;
    for (size_t i = 0; i < inputs; ++i) in.push_back(memory[i].data());
    for (size_t i = inputs; i < run.memory.size(); ++i) out.push_back(memory[i].data());
    const auto launch = [&] {
      return enqueue(in.data(), out.data(), memory.back().data(), stream_);
    };

    if (!launch()) return "enqueue: " + last_error();
    require(cudaStreamSynchronize(stream_), "the kernel");
    for (size_t i = 0; i < memory.size(); ++i)
      if (!memory[i].is_intact())
        return "memory beside "
               + (i == run.memory.size() ? "the workspace"
                  : i < inputs           ? c.inputs()[i].name
                                         : c.outputs()[i - inputs].name)
               + " was written to";
    for (size_t i = 0; i < inputs; ++i) {
      std::vector<char> bytes(run.memory[i].size());
      memory[i].read(bytes.data());
      if (bytes != run.memory[i]) return c.inputs()[i].name + " was written to";
    }
    for (size_t o = 0; o < out.size(); ++o) memory[inputs + o].read(run.outputs[o]);
    for (size_t o = 0; o < out.size(); ++o) measure(c, run, o, on_cpu[o].data());
    if (!is_bare_) summary->slowest_us = std::max(summary->slowest_us, fastest_us(launch));
    return "";
  }

 private:
  void measure(const PluginCase& c, const CaseRun& run, size_t o, const void* on_cpu) {
    const CaseTensor& output = c.outputs()[o];
    const PluginTensorDesc& desc = run.descs[run.inputs.size() + o];
    Differences& differences = summary->differences[desc.type];
    for (size_t i = 0; i < output.values.size(); ++i) {
      const double got = output.element(desc.type, desc.format, run.outputs[o], i);
      const double cpu = output.element(desc.type, desc.format, on_cpu, i);
      differences.is_measured = true;
      differences.gpu_from_expected.add(got, output.values[i]);
      differences.gpu_from_cpu.add(got, cpu);
      differences.cpu_from_expected.add(cpu, output.values[i]);
    }
  }

  template <class Launch> float fastest_us(const Launch& launch) {
    float quickest = std::numeric_limits<float>::infinity();
    for (int i = 0; i < 5; ++i) {
      require(cudaEventRecord(events_[0], stream_), "cudaEventRecord");
      launch();
      require(cudaEventRecord(events_[1], stream_), "cudaEventRecord");
      require(cudaEventSynchronize(events_[1]), "the kernel");
      float ms = 0;
      require(cudaEventElapsedTime(&ms, events_[0], events_[1]), "cudaEventElapsedTime");
      quickest = std::min(quickest, ms * 1000);
    }
    return quickest;
  }

  bool is_bare_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t events_[2] = {};
};

void print(const std::string& plugin, const Summary& s) {
  const auto differences = [&](DataType type) {
    const auto found = s.differences.find(type);
    if (found == s.differences.end() || !found->second.is_measured)
      return std::printf(" %9s %9s", "", "");
    return std::printf(" %9.1e %9.1e", found->second.gpu_from_expected.relative,
                       found->second.gpu_from_cpu.relative);
  };
  std::printf("%-44s %5d %6d", plugin.c_str(), s.cases, s.failures);
  differences(DataType::kFLOAT);
  differences(DataType::kHALF);
  std::printf(" %8.1f\n", static_cast<double>(s.slowest_us));
}

void write_errors(const std::string& path, const std::string& plugin, const Summary& s) {
  std::ofstream file(path, std::ios::app);
  const auto pair = [](const Difference& d) { return nlohmann::json{d.absolute, d.relative}; };
  for (const auto& [type, d] : s.differences)
    if (d.is_measured)
      file << nlohmann::json{{"plugin", plugin},
                             {"type", types_text(bit(type))},
                             {"cases", s.cases},
                             {"failures", s.failures},
                             {"cpu from expected", pair(d.cpu_from_expected)},
                             {"gpu from expected", pair(d.gpu_from_expected)},
                             {"gpu from cpu", pair(d.gpu_from_cpu)}}
           << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

// What the command line says.
struct Options {
  bool is_bare = false;
  std::string errors;
  fs::path cases;  // a file, or the folder of all
};

// Runs the cases of one file, and prints a line for each plugin. The number of failures.
int check(const fs::path& file, const Options& options) {
  Gpu gpu(options.is_bare);
  std::map<std::string, Summary> summaries;
  int failures = 0;
  bool is_lost = false;  // after a wrong access the GPU takes nothing more from this process
  for (const auto& [name, test] : read_cases(file)) {
    Summary& summary = summaries[test.key()];
    gpu.summary = &summary;
    ++summary.cases;
    std::string why;
    try {
      why = CaseRunner(test, gpu).check();
    } catch (const std::exception& e) {
      why = std::string(e.what()) + "; the cases after this one are not run";
      is_lost = true;
    }
    if (!why.empty()) {
      ++failures;
      ++summary.failures;
      std::printf("%s: %s: %s\n", test.key().c_str(), name.c_str(), why.c_str());
    }
    if (is_lost) break;
  }
  for (const auto& [key, summary] : summaries) {
    print(key, summary);
    if (!options.errors.empty()) write_errors(options.errors, key, summary);
  }
  return failures;
}

// check() in a process of its own. The number of failures.
int check_apart(const fs::path& file, const Options& options) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    int failures = 1;
    try {
      failures = check(file, options);
    } catch (const std::exception& e) {
      std::printf("%s: %s\n", file.c_str(), e.what());
    }
    std::fflush(stdout);
    _exit(std::min(failures, 100));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::printf("%s: ended by signal %d\n", file.c_str(), WTERMSIG(status));
  return 1;
}

int check_all(const Options& options) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(options.cases))
    if (fs::exists(entry.path() / "cases.json")) files.insert(entry.path() / "cases.json");
  int failures = 0;
  std::set<std::string> tried;
  for (const fs::path& file : files)
    for (const NamedCase& c : read_cases(file)) tried.insert(c.test.key());
  for (const auto& [key, entry] : entries())
    if (!tried.contains(key)) {
      std::printf("%s: has no cases\n", key.c_str());
      ++failures;
    }
  std::printf("%-44s %5s %6s %19s %19s %8s\n%-44s %5s %6s %9s %9s %9s %9s %8s\n", "", "", "",
              "fp32: distance from", "fp16: distance from", "slowest", "plugin", "cases", "failed",
              "expected", "CPU", "expected", "CPU", "us");
  for (const fs::path& file : files) failures += check_apart(file, options);
  std::printf("%zu plugins, %d failures\n", tried.size(), failures);
  return failures;
}

}  // namespace
}  // namespace tenon::cuda_cases

int main(int argc, char** argv) try {
  using namespace tenon::cuda_cases;
  constexpr std::string_view kErrors = "--errors=";
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--bare")
      options.is_bare = true;
    else if (argument.starts_with(kErrors))
      options.errors = argument.substr(kErrors.size());
    else
      options.cases = argument;
  }
  if (options.cases.empty()) {
    std::fprintf(stderr, "usage: cuda_cases [--bare] [--errors=FILE] CASES\n");
    return 2;
  }
  const bool is_file = std::filesystem::is_regular_file(options.cases);
  return (is_file ? check(options.cases, options) : check_all(options)) == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "cuda_cases: %s\n", e.what());
  return 1;
}
