// plugin_errors CASES FILE: runs every case of every CASES/*/cases.json on the CPU, and
// writes a line of JSON for each plugin and type of its outputs: the largest errors, absolute and
// as tolerances count them.
#include <tenon/plugin/cases.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace tenon::plugins {
namespace {

using namespace tenon::kit;           // NOLINT: the program runs its cases
using namespace tenon::kit::testing;  // NOLINT
using nvinfer1::DataType;

// What a plugin's cases gave.
struct Summary {
  int cases = 0, failures = 0;
  std::map<DataType, Difference> errors;  // by the type of outputs
};

class MeasuringMachine final : public Machine {
 public:
  Summary* summary = nullptr;

  std::string run(const PluginCase& c, CaseRun& run, const CaseKernel& cpu,
                  const CaseKernel& enqueue) override {
    if (std::string why = HostMachine().run(c, run, cpu, enqueue); !why.empty()) return why;
    for (size_t o = 0; o < run.outputs.size(); ++o) {
      const CaseTensor& output = c.outputs()[o];
      const DataType type = run.descs[run.inputs.size() + o].type;
      for (size_t i = 0; i < output.values.size(); ++i)
        summary->errors[type].add(output.element(type, run.format, run.outputs[o], i),
                                  output.values[i]);
    }
    return "";
  }
};

int measure(const std::filesystem::path& file, std::ostream& lines) {
  MeasuringMachine machine;
  std::map<std::string, Summary> summaries;
  int failures = 0;
  for (const auto& [name, test] : read_cases(file)) {
    Summary& summary = summaries[test.key()];
    machine.summary = &summary;
    ++summary.cases;
    const std::string why = CaseRunner(test, machine).check();
    if (why.empty()) continue;
    ++failures;
    ++summary.failures;
    std::fprintf(stderr, "%s: %s: %s\n", test.key().c_str(), name.c_str(), why.c_str());
  }
  for (const auto& [key, summary] : summaries)
    for (const auto& [type, error] : summary.errors)
      lines << nlohmann::json{{"plugin", key},
                              {"type", types_text(bit(type))},
                              {"cases", summary.cases},
                              {"failures", summary.failures},
                              {"cpu from expected", {error.absolute, error.relative}}}
            << '\n';
  return failures;
}

}  // namespace
}  // namespace tenon::plugins

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: plugin_errors CASES FILE\n");
    return 2;
  }
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
    if (std::filesystem::exists(entry.path() / "cases.json"))
      files.insert(entry.path() / "cases.json");
  std::ofstream lines(argv[2]);
  int failures = 0;
  for (const auto& file : files) failures += tenon::plugins::measure(file, lines);
  if (!lines.flush()) throw std::runtime_error(std::string("cannot write ") + argv[2]);
  return failures == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "plugin_errors: %s\n", e.what());
  return 1;
}
