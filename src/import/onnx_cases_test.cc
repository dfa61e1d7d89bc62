// ONNX's own tests: single operators, and small networks that PyTorch exported with opset 6.
#include <map>
#include <set>

#include "import/testing.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  enum Kind { kPassed, kWrong, kNotSupported, kRefused } kind = kPassed;
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

Outcome compare(const Case& c, const std::vector<Tensor>& results) {
  if (results.size() != c.outputs.size())
    return {Outcome::kWrong,
            fmt::format("{} outputs; expected {}", results.size(), c.outputs.size())};
  for (size_t i = 0; i < results.size(); ++i) {
    if (c.random && results[i].type() == c.outputs[i].type()
        && results[i].shape() == c.outputs[i].shape())
      continue;
    const std::string text =
        testing::difference(results[i], c.outputs[i], tolerance(c, results[i].type()), c.atol);
    if (!text.empty()) return {Outcome::kWrong, fmt::format("output {}: {}", i, text)};
  }
  return {};
}

Outcome run_once(const Case& c) {
  Network network;
  ImportReport report;
  try {
    import_onnx(testing::bytes_of(c.model), ImportOptions(), network, report);
    return compare(c, run_reference(network, c.inputs));
  } catch (const Error& e) {
    const std::string text = report.problems.empty() ? e.what() : report.problems[0].text;
    return {contains(text, "not supported") ? Outcome::kNotSupported : Outcome::kRefused, text};
  }
}

// The tests pass axes, sizes and the like as inputs of the graph, which need constants here: all
// inputs but the first become initializers; of operators that only make constants, all.
Case with_constants(Case c, const fs::path& data) {
  onnx::ModelProto model;
  model.ParseFromString(c.model);
  auto& graph = *model.mutable_graph();
  const std::string& op = graph.node(0).op_type();
  const bool all = contains(op, "Window") || op == "MelWeightMatrix";
  std::vector<Tensor> kept;
  std::set<std::string> used;
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

Outcome run_case(const fs::path& folder, const fs::path& data) {
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
    return {Outcome::kNotSupported, e.what()};  // element types without a counterpart
  }
  const Outcome outcome = run_once(c);
  const bool needs_constants =
      contains(outcome.text, "must be a constant") || contains(outcome.text, "must be constant")
      || contains(outcome.text, "sizes that are not constant")
      || contains(outcome.text, "give the axes") || contains(outcome.text, "a tensor has one rank");
  return needs_constants ? run_once(with_constants(c, data)) : outcome;
}

// Expected values that contradict the operator's text, for which ONNX Runtime and PyTorch agree
// with it: align_corners divides by the length of the output, which is a whole number.
const std::set<std::string> kContradictions = {
    "test_resize_downsample_scales_cubic_align_corners",
    "test_resize_downsample_scales_linear_align_corners"};

// Every failure is listed; what is not supported yet is printed, so that nothing goes unnoticed.
void run_cases(const std::vector<fs::path>& folders, bool data_inside, size_t least_passed) {
  std::map<std::string, std::vector<std::string>> unsupported;
  size_t passed = 0, failed = 0;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    const Outcome outcome = run_case(folder, data_inside ? folder : folder / "test_data_set_0");
    if (outcome.kind == Outcome::kPassed)
      ++passed;
    else if (outcome.kind == Outcome::kNotSupported)
      unsupported[outcome.text].push_back(name);
    else {
      ++failed;
      ADD_FAILURE() << name << ": " << outcome.text;
    }
  }
  size_t skipped = 0;
  for (const auto& [reason, names] : unsupported) {
    skipped += names.size();
    std::cout << "not supported yet: " << names.size() << " x " << reason << " [" << names[0]
              << "]\n";
  }
  std::cout << passed << " passed, " << failed << " failed, " << skipped << " not supported yet\n";
  EXPECT_GE(passed, least_passed);
}

std::vector<fs::path> folders_in(const fs::path& root) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root))
    if (fs::exists(entry.path() / "model.onnx") && !fs::exists(entry.path() / "no_tensors")
        && !kContradictions.contains(entry.path().filename().string()))
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

const fs::path kPackage = fs::path(TENON_ONNX_PACKAGE) / "backend/test/data";

TEST(OnnxCases, Operators) {
  run_cases(folders_in(TENON_ONNX_CASES), true, 1560);
}
TEST(OnnxCases, PytorchModels) {
  run_cases(folders_in(kPackage / "pytorch-converted"), false, 82);
}
TEST(OnnxCases, PytorchOperators) {
  run_cases(folders_in(kPackage / "pytorch-operator"), false, 35);
}
TEST(OnnxCases, SimpleModels) {
  run_cases(folders_in(kPackage / "simple"), false, 14);
}

}  // namespace
}  // namespace tenon
