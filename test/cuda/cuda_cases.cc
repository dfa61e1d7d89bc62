// cuda_cases [--bare] FOLDER: runs every case of every FOLDER/*/cases.json on the GPU, through
// enqueue() of both plugin protocols, and compares with what is expected and with the CPU's kernel.
// Needs no engine. --bare is for compute-sanitizer: no zones around memory, no timing.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <tenon/plugin/cases.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "guarded_memory.h"

namespace tenon::cuda_cases {
namespace {

using namespace tenon::kit;           // NOLINT: the program is a test of it
using namespace tenon::kit::testing;  // NOLINT
namespace fs = std::filesystem;

// The largest distances of results, as tolerances count them: |got - want| / (1 + |want|).
struct Distances {
  bool is_measured = false;
  double from_expected = 0, from_cpu = 0;
};

// What a plugin's cases gave.
struct Summary {
  int cases = 0, failures = 0;
  std::map<DataType, Distances> distances;  // by the type of outputs
  float slowest_us = 0;                     // of the cases' quickest launches
};

double distance(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  const double d = std::fabs(got - want) / (1 + std::fabs(want));
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

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
    if (!is_bare_) summary->slowest_us = std::max(summary->slowest_us, quickest_us(launch));
    return "";
  }

 private:
  void measure(const PluginCase& c, const CaseRun& run, size_t o, const void* on_cpu) {
    const CaseTensor& output = c.outputs()[o];
    const PluginTensorDesc& desc = run.descs[run.inputs.size() + o];
    Distances& distances = summary->distances[desc.type];
    for (size_t i = 0; i < output.values.size(); ++i) {
      const double got = output.element(desc.type, desc.format, run.outputs[o], i);
      const double cpu = output.element(desc.type, desc.format, on_cpu, i);
      distances.is_measured = true;
      distances.from_expected = std::max(distances.from_expected, distance(got, output.values[i]));
      distances.from_cpu = std::max(distances.from_cpu, distance(got, cpu));
    }
  }

  template <class Launch> float quickest_us(const Launch& launch) {
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
  const auto distances = [&](DataType type) {
    const auto found = s.distances.find(type);
    if (found == s.distances.end() || !found->second.is_measured)
      return std::printf(" %9s %9s", "", "");
    return std::printf(" %9.1e %9.1e", found->second.from_expected, found->second.from_cpu);
  };
  std::printf("%-44s %5d %6d", plugin.c_str(), s.cases, s.failures);
  distances(DataType::kFLOAT);
  distances(DataType::kHALF);
  std::printf(" %8.1f\n", static_cast<double>(s.slowest_us));
}

// Runs the cases of one file, and prints a line for each plugin. The number of failures.
int check(const fs::path& file, bool is_bare) {
  Gpu gpu(is_bare);
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
  for (const auto& [key, summary] : summaries) print(key, summary);
  return failures;
}

// check() in a process of its own. The number of failures.
int check_apart(const fs::path& file, bool is_bare) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    int failures = 1;
    try {
      failures = check(file, is_bare);
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

int check_all(const fs::path& folder, bool is_bare) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
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
  for (const fs::path& file : files) failures += check_apart(file, is_bare);
  std::printf("%zu plugins, %d failures\n", tried.size(), failures);
  return failures;
}

}  // namespace
}  // namespace tenon::cuda_cases

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool is_bare = !arguments.empty() && arguments.front() == "--bare";
  if (arguments.size() != (is_bare ? 2 : 1)) {
    std::fprintf(stderr, "usage: cuda_cases [--bare] FOLDER\n");
    return 2;
  }
  return tenon::cuda_cases::check_all(arguments.back(), is_bare) == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "cuda_cases: %s\n", e.what());
  return 1;
}
