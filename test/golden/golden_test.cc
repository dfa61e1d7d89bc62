// Models through the whole engine, against what PyTorch computed: see README.md beside this file.
#include <tenon/open_plan.h>

#include <cmath>
#include <filesystem>

#include "npz.h"
#include "tenon_source_dir.h"
#include "test/support/engine.h"
#include "test/support/run.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using session::Array;
using session::Arrays;
using testing::Way;

// numpy.allclose's tolerance.
struct Tolerance {
  double relative, absolute;
};
// What fp16 rounds is as large as the largest elements, as where corners of boxes come from
// middles.
Tolerance tolerance_of(const Array& actual, const std::vector<double>& expected) {
  if (actual.type != nvinfer1::DataType::kHALF) return {1e-3, 1e-5};
  double largest = 0;
  for (const double v : expected) largest = std::max(largest, std::abs(v));
  return {0, largest / 256};
}

const fs::path kGolden = fs::path(TENON_SOURCE_DIR) / "test/golden";

// The array `kind:name` of a case, or null.
const Array* find(const Arrays& golden, const std::string& kind, const std::string& name) {
  const auto it = golden.find(kind + ":" + name);
  return it == golden.end() ? nullptr : &it->second;
}

fs::path model_of(const fs::path& golden) {
  const fs::path own = golden.parent_path() / "model.onnx";
  return fs::exists(own) ? own
                         : fs::path(TENON_SOURCE_DIR) / "examples/super_resolution"
                               / (golden.parent_path().filename().string() + ".onnx");
}

std::vector<fs::path> cases_in(const fs::path& folder) {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".npz") cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  return cases;
}

// numpy.allclose(actual, expected).
void expect_close(const std::string& what, const std::vector<double>& actual,
                  const std::vector<double>& expected, Tolerance allowed) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_TRUE(std::abs(actual[i] - expected[i])
                <= allowed.absolute + allowed.relative * std::abs(expected[i]))
        << what << ", element " << i << ": " << actual[i] << ", expected " << expected[i];
}

// Elements of a tensor (N, C, H, W) from (top, left) on, `rows` times `columns` of them, `step`
// apart.
std::vector<double> part_of(const Array& whole, int64_t top, int64_t left, int64_t rows,
                            int64_t columns, int64_t step) {
  const int64_t height = whole.shape[2], width = whole.shape[3];
  std::vector<double> part;
  for (int64_t plane = 0; plane < whole.shape[0] * whole.shape[1]; ++plane)
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x)
        part.push_back(
            whole.as<float>()[(plane * height + top + y * step) * width + left + x * step]);
  return part;
}

std::vector<double> statistics(const std::vector<double>& values) {
  double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
  for (double v : values) {
    sum += v;
    least = std::min(least, v);
    most = std::max(most, v);
  }
  const double mean = sum / static_cast<double>(values.size());
  for (double v : values) squares += (v - mean) * (v - mean);
  return {mean, std::sqrt(squares / static_cast<double>(values.size())), least, most};
}

void expect_golden(const Arrays& golden, const std::string& name, const Array& actual) {
  if (const Array* whole = find(golden, "out", name)) {
    EXPECT_EQ(actual.shape, whole->shape) << name;
    const std::vector<double> expected = *session::numbers(*whole);
    return expect_close(name, *session::numbers(actual), expected, tolerance_of(actual, expected));
  }
  const Tolerance allowed = tolerance_of(actual, {});
  const Array* shape = find(golden, "shape", name);
  ASSERT_NE(shape, nullptr) << "nothing is known of output " << name;
  ASSERT_EQ(std::vector<double>(actual.shape.begin(), actual.shape.end()),
            *session::numbers(*shape));
  const Array &sample = golden.at("sample:" + name), &tile = golden.at("tile:" + name);
  const auto* at = golden.at("tile_at:" + name).as<int64_t>();
  expect_close(name + " sample", part_of(actual, 0, 0, sample.shape[2], sample.shape[3], 7),
               *session::numbers(sample), allowed);
  expect_close(name + " tile", part_of(actual, at[0], at[1], tile.shape[2], tile.shape[3], 1),
               *session::numbers(tile), allowed);
  expect_close(name + " statistics", statistics(*session::numbers(actual)),
               *session::numbers(golden.at("stats:" + name)), allowed);
}

void run(nvinfer1::ICudaEngine& engine, const Arrays& golden, Way way) {
  Arrays inputs;
  for (const auto& [name, array] : golden)
    if (name.starts_with("in:"))
      inputs[name.substr(3)] =
          *session::convert(array, engine.getTensorDataType(name.substr(3).c_str()));
  const Arrays outputs = testing::run_engine(engine, inputs, way);
  EXPECT_FALSE(outputs.empty());
  for (const auto& [name, array] : outputs) expect_golden(golden, name, array);
}

class Golden : public ::testing::TestWithParam<fs::path> {};

TEST_P(Golden, IsWhatPyTorchComputes) {
  const Arrays golden = tool::read_npz(GetParam().string());
  testing::InputShapes shapes;
  for (const fs::path& one : cases_in(GetParam().parent_path()))
    for (const auto& [name, array] : tool::read_npz(one.string()))
      if (name.starts_with("in:")) shapes[name.substr(3)].push_back(*session::to_dims(array.shape));
  testing::Logger logger;
  const auto plan = testing::build_plan(logger, model_of(GetParam()).string(), shapes);
  ASSERT_NE(plan, nullptr);

  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
  {
    SCOPED_TRACE("deserialized");
    const std::unique_ptr<nvinfer1::ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine, nullptr);
    run(*engine, golden, Way::kEnqueueV3);
    run(*engine, golden, Way::kExecuteV2);
  }
  SCOPED_TRACE("opened by path");
  const fs::path file = fs::temp_directory_path()
                        / ("golden_" + GetParam().parent_path().filename().string() + "_"
                           + GetParam().stem().string() + ".plan");
  tool::write_file(file.string(), plan->data(), plan->size());
  {
    const auto engine = open_plan(*runtime, file.c_str());
    ASSERT_NE(engine, nullptr);
    run(*engine, golden, Way::kEnqueueV3);
  }
  fs::remove(file);
}

INSTANTIATE_TEST_SUITE_P(Models, Golden, ::testing::ValuesIn(cases_in(kGolden)),
                         [](const auto& parameter) {
                           return parameter.param.parent_path().filename().string() + "_"
                                  + parameter.param.stem().string();
                         });

// Two cases of each of the fifteen models: nothing was left out unseen.
TEST(GoldenFolder, HoldsAllCases) {
  EXPECT_EQ(cases_in(kGolden).size(), 30u);
}

}  // namespace
}  // namespace tenon
