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

Outcome run_case(const fs::path& folder, const fs::path& data, double rtol, double atol) {
  const std::string model = testing::read_file(folder / "model.onnx");
  Network network;
  ImportReport report;
  try {
    import_onnx(testing::bytes_of(model), ImportOptions(), network, report);
  } catch (const Error& e) {
    const bool unknown = report.problems[0].text.find("not supported yet") != std::string::npos;
    return {unknown ? Outcome::kNotSupported : Outcome::kRefused, report.problems[0].text};
  }
  try {
    const auto results = run_reference(network, testing::read_tensors(data, "input"));
    const auto expected = testing::read_tensors(data, "output");
    if (results.size() != expected.size())
      return {Outcome::kWrong, fmt::format("{} outputs; expected {}", results.size(), expected.size())};
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string text = testing::difference(results[i], expected[i], rtol, atol);
      if (!text.empty()) return {Outcome::kWrong, fmt::format("output {}: {}", i, text)};
    }
  } catch (const Error& e) {
    const bool unknown = std::string(e.what()).find("not supported yet") != std::string::npos;
    return {unknown ? Outcome::kNotSupported : Outcome::kRefused, e.what()};
  }
  return {};
}

// Every failure is listed; what is not supported yet is printed, so that nothing goes unnoticed.
void run_cases(const std::vector<fs::path>& folders, bool data_inside, size_t least_passed) {
  std::map<std::string, std::vector<std::string>> unsupported;
  size_t passed = 0, failed = 0;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    double rtol = 1e-3, atol = 1e-7;
    std::ifstream(folder / "tolerance") >> rtol >> atol;
    const Outcome outcome =
        run_case(folder, data_inside ? folder : folder / "test_data_set_0", rtol, atol);
    if (outcome.kind == Outcome::kPassed) ++passed;
    else if (outcome.kind == Outcome::kNotSupported) unsupported[outcome.text].push_back(name);
    else {
      ++failed;
      ADD_FAILURE() << name << ": " << outcome.text;
    }
  }
  size_t skipped = 0;
  for (const auto& [reason, names] : unsupported) {
    skipped += names.size();
    std::cout << "not supported yet: " << names.size() << " x " << reason << " [" << names[0] << "]\n";
  }
  std::cout << passed << " passed, " << failed << " failed, " << skipped << " not supported yet\n";
  EXPECT_GE(passed, least_passed);
}

std::vector<fs::path> folders_in(const fs::path& root) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root))
    if (fs::exists(entry.path() / "model.onnx") && !fs::exists(entry.path() / "no_tensors"))
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

const fs::path kPackage = fs::path(TENON_ONNX_PACKAGE) / "backend/test/data";

TEST(OnnxCases, Operators) { run_cases(folders_in(TENON_ONNX_CASES), true, 1); }
TEST(OnnxCases, PytorchModels) { run_cases(folders_in(kPackage / "pytorch-converted"), false, 1); }
TEST(OnnxCases, PytorchOperators) { run_cases(folders_in(kPackage / "pytorch-operator"), false, 1); }
TEST(OnnxCases, SimpleModels) { run_cases(folders_in(kPackage / "simple"), false, 1); }

}  // namespace
}  // namespace tenon
