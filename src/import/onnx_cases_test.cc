// ONNX's own tests: single operators, and small networks that PyTorch exported with opset 6. Every
// case passes, or has a reason that follows from the case itself; docs/onnx_node_tests.json has the
// result of each, and TENON_RENEW=1 writes it anew.
#include <onnx_schema.pb.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "import/case_reasons.h"
#include "import/testing.h"
#include "tenon_source_dir.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct CaseOutcome {
  enum Kind { kPassed, kWrong, kRefused } kind = kPassed;
  std::string text;
};

struct Case {
  std::string model;
  std::vector<Tensor> inputs, outputs;
  double rtol = 1e-3, atol = 1e-7;
  bool random = false;  // only types and shapes can be compared
};

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Results of 16 bits may differ by two units in the last place: the expected values were rounded at
// other points than those of the layers that an operator is composed of.
double tolerance(const Case& c, DataType type) {
  if (type == DataType::kBF16) return std::max(c.rtol, 2.0 / 128);
  if (type == DataType::kHALF) return std::max(c.rtol, 2.0 / 1024);
  return c.rtol;
}

CaseOutcome compare(const Case& c, const std::vector<Tensor>& results) {
  if (results.size() != c.outputs.size())
    return {CaseOutcome::kWrong,
            fmt::format("{} outputs; expected {}", results.size(), c.outputs.size())};
  for (size_t i = 0; i < results.size(); ++i) {
    if (c.random && results[i].type() == c.outputs[i].type()
        && results[i].shape() == c.outputs[i].shape())
      continue;
    const std::string text =
        testing::difference(results[i], c.outputs[i], tolerance(c, results[i].type()), c.atol);
    if (!text.empty()) return {CaseOutcome::kWrong, fmt::format("output {}: {}", i, text)};
  }
  return {};
}

CaseOutcome run_once(const Case& c) {
  Network network;
  ImportReport report;
  try {
    import_onnx(testing::bytes_of(c.model), ImportOptions(), network, report);
    return compare(c, run_reference(network, c.inputs));
  } catch (const Error& e) {
    return {CaseOutcome::kRefused, report.problems.empty() ? e.what() : report.problems[0].text};
  }
}

// The tests pass axes, sizes and the like as inputs of the graph, which need constants here: all
// inputs but the first become initializers; of operators that only make constants, all.
Case with_constants(Case c, const fs::path& data, bool all = false) {
  onnx::ModelProto model;
  model.ParseFromString(c.model);
  auto& graph = *model.mutable_graph();
  const std::string& op = graph.node(0).op_type();
  all |= contains(op, "Window") || op == "MelWeightMatrix";
  std::vector<Tensor> kept;
  for (int i = 0; i < graph.input_size(); ++i) {
    if (i == 0 && !all) {
      kept.push_back(c.inputs[0]);
      continue;
    }
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.ParseFromString(testing::read_file(data / fmt::format("input_{}.pb", i)));
    tensor.set_name(graph.input(i).name());
  }
  c.inputs = kept;
  c.model = model.SerializeAsString();
  return c;
}

struct Result {
  CaseOutcome outcome;
  bool with_constants = false;
};

Result run_onnx_case(const fs::path& folder, const fs::path& data) {
  Case c;
  c.model = testing::read_file(folder / "model.onnx");
  c.random = folder.filename().string().starts_with("test_bernoulli");
  std::ifstream(folder / "tolerance") >> c.rtol >> c.atol;
  // NumPy transforms float32 as it is: its zeros are rounding errors of the elements, up to 100.
  if (folder.filename().string().starts_with("test_dft")) c.atol = 1e-6;
  try {
    c.inputs = testing::read_tensors(data, "input");
    c.outputs = testing::read_tensors(data, "output");
  } catch (const Error& e) {
    return {{CaseOutcome::kRefused, e.what()}};  // element types without a counterpart
  }
  const CaseOutcome outcome = run_once(c);
  const bool needs_constants =
      contains(outcome.text, "must be a constant") || contains(outcome.text, "must be constant")
      || contains(outcome.text, "sizes that are not constant")
      || contains(outcome.text, "give the axes") || contains(outcome.text, "a tensor has one rank");
  if (!needs_constants) return {outcome};
  return {run_once(with_constants(c, data)), true};
}

// The results of one suite.
struct Tally {
  std::map<std::string, std::pair<int, int>> operators;      // passed, all
  std::map<std::string, std::vector<std::string>> excluded;  // by reason
  std::vector<std::string> only_with_constants;
};

// Cases that may fail for a reason that they do not show themselves.
const std::map<std::string, std::string> kExceptions = {
    // Their expected values contradict the operator's text, for which ONNX Runtime and PyTorch
    // agree with it: align_corners divides by the length of the output, which is a whole number.
    {"test_resize_downsample_scales_cubic_align_corners", "expected values contradict the text"},
    {"test_resize_downsample_scales_linear_align_corners", "expected values contradict the text"},
    {"test_sequence_model8", "an input says in how many parts a sequence is split"},
};

void count(const fs::path& folder, const fs::path& data, Tally& tally) {
  const std::string name = folder.filename().string();
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(testing::read_file(folder / "model.onnx"))) << name;
  const bool alone = model.graph().node_size() == 1;
  auto& [passed, all] = tally.operators[alone ? qualified_operator_of(model) : ""];
  ++all;
  const auto [outcome, with_constants] = run_onnx_case(folder, data);
  const auto exception = kExceptions.find(name);
  const bool listed = exception != kExceptions.end();
  if (outcome.kind == CaseOutcome::kPassed) {
    ++passed;
    if (with_constants) tally.only_with_constants.push_back(name);
    EXPECT_FALSE(listed) << name << " passes: take it off the list of exceptions";
    return;
  }
  const std::string reason = listed ? exception->second : reason_in(model);
  const bool excused = !reason.empty() && (listed || outcome.kind == CaseOutcome::kRefused);
  EXPECT_TRUE(excused) << name << ": " << outcome.text;
  tally.excluded[reason].push_back(name);
}

Tally run_cases(const std::vector<fs::path>& folders, bool data_inside) {
  Tally tally;
  for (const fs::path& folder : folders)
    count(folder, data_inside ? folder : folder / "test_data_set_0", tally);
  int passed = 0;
  for (const auto& [name, counts] : tally.operators) {
    passed += counts.first;
    std::cout << fmt::format("{}: {} of {}\n", name.empty() ? "several operators" : name,
                             counts.first, counts.second);
  }
  for (const auto& [reason, names] : tally.excluded)
    std::cout << fmt::format("not: {} x {}\n", names.size(), reason);
  std::cout << fmt::format("{} of {} pass, {} of them with constants as inputs\n", passed,
                           folders.size(), tally.only_with_constants.size());
  return tally;
}

std::vector<fs::path> folders_in(const fs::path& root) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root))
    if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

Json as_json(const Tally& tally) {
  Json operators = Json::object();
  for (const auto& [name, counts] : tally.operators)
    operators[name] = {counts.first, counts.second};
  return {{"operators", operators},
          {"only_with_constants", tally.only_with_constants},
          {"not_passed", tally.excluded}};
}

TEST(OnnxCases, Operators) {
  const fs::path file = TENON_SOURCE_DIR "/docs/onnx_node_tests.json";
  const Json found = as_json(run_cases(folders_in(TENON_ONNX_CASES), true));
  if (std::getenv("TENON_RENEW") != nullptr) std::ofstream(file) << found.dump(1) << '\n';
  const Json stored = Json::parse(testing::read_file(file));
  EXPECT_EQ(found, stored) << "differs: " << Json::diff(stored, found) << "\nTENON_RENEW=1 writes "
                           << file;
}

// Integers of types that TensorRT lacks, as constants inside.
TEST(OnnxCases, UnsupportedIntegersInside) {
  const std::set<std::string> reasons{"type int16", "type uint16", "type uint32", "type uint64"};
  int passed = 0;
  for (const fs::path& folder : folders_in(TENON_ONNX_CASES)) {
    Case c;
    c.model = testing::read_file(folder / "model.onnx");
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(c.model));
    if (!reasons.contains(reason_in(model))) continue;
    CaseOutcome outcome;
    try {
      c.inputs = testing::read_tensors(folder, "input");
      c.outputs = testing::read_tensors(folder, "output");
      outcome = run_once(with_constants(c, folder, true));
    } catch (const Error& e) {
      outcome = {CaseOutcome::kRefused, e.what()};  // a number that is too large for int64
    }
    passed += outcome.kind == CaseOutcome::kPassed;
    const bool refused = outcome.kind == CaseOutcome::kRefused
                         && (contains(outcome.text, "not supported yet")
                             || contains(outcome.text, "does not fit int64"));
    EXPECT_TRUE(outcome.kind == CaseOutcome::kPassed || refused) << folder << ": " << outcome.text;
  }
  EXPECT_EQ(passed, 67);  // of 80
}

const fs::path kPackage = fs::path(TENON_ONNX_PACKAGE) / "backend/test/data";

TEST(OnnxCases, PytorchModels) {
  run_cases(folders_in(kPackage / "pytorch-converted"), false);
}
TEST(OnnxCases, PytorchOperators) {
  run_cases(folders_in(kPackage / "pytorch-operator"), false);
}
TEST(OnnxCases, SimpleModels) {
  run_cases(folders_in(kPackage / "simple"), false);
}
// Of our own, with the results of ONNX Runtime.
TEST(OnnxCases, ModelsOfSeveralNodes) {
  run_cases(folders_in(TENON_SOURCE_DIR "/src/import/testdata/models"), false);
}

}  // namespace
}  // namespace tenon
