// Real models through the whole engine, against what ONNX Runtime computed: see README.md beside
// this file.
#include <tenon/open_plan.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

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

// The largest error, as a part of the range of the values that are right.
constexpr double kError = 1e-4;

// The same with layers in float16, whose numbers have 11 bits. Edges of what the text detector
// finds are steep: rounding the operands of one of its convolutions alone moves a pixel by 0.04.
// The loop of the table's structure feeds its roundings back some thirty times. Edges of masks are
// steep too, and boxes of cells without a face mean nothing: PyTorch, with weights and results of
// all layers rounded to float16, is off by 0.05 for the mask, 0.04 for faces, 0.007 for a pose.
double half_error(const std::string& model) {
  if (model == "ppocrv4_det") return 0.3;
  if (model == "selfie_segmentation") return 0.1;
  if (model == "centerface") return 0.05;
  if (model == "pose_landmark") return 0.02;
  return model == "ppocrv4_rec" || model == "slanet_plus" ? 0.05 : 1e-2;
}

const fs::path kSource = TENON_SOURCE_DIR;
const fs::path kModels = kSource / ".cache/models";

struct Model {
  std::string name;
  bool labels = false;  // the largest element along the last axis is the answer
};

void PrintTo(const Model& model, std::ostream* out) {
  *out << model.name;
}

std::vector<Model> models() {
  std::vector<Model> list;
  std::ifstream file(kSource / "test/models/models.json");
  for (const auto& entry : nlohmann::json::parse(file))
    list.push_back({entry.at("name"), entry.value("labels", false)});
  return list;
}

struct Case {
  std::string name;
  Arrays inputs, outputs;
};

std::vector<Case> cases_of(const Model& model) {
  std::vector<Case> cases;
  for (const auto& entry : fs::directory_iterator(kModels / model.name)) {
    if (entry.path().extension() != ".npz") continue;
    Case one{entry.path().stem(), {}, {}};
    for (auto& [name, array] : tool::read_npz(entry.path().string()))
      (name.starts_with("in:") ? one.inputs : one.outputs)[name.substr(name.find(':') + 1)] =
          std::move(array);
    cases.push_back(std::move(one));
  }
  std::sort(cases.begin(), cases.end(), [](auto& a, auto& b) { return a.name < b.name; });
  return cases;
}

void expect_equal(const Array& actual, const Array& expected) {
  const auto a = *session::numbers(actual), b = *session::numbers(expected);
  for (size_t i = 0; i < b.size(); ++i) ASSERT_EQ(a[i], b[i]) << "element " << i;
}

void expect_close(const Array& actual, const Array& expected, double most_error) {
  const auto a = *session::numbers(actual), b = *session::numbers(expected);
  if (b.empty()) return;
  const auto [least, most] = std::minmax_element(b.begin(), b.end());
  double worst = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    ASSERT_EQ(std::isnan(a[i]), std::isnan(b[i])) << "element " << i << " is " << a[i];
    if (!std::isnan(b[i])) worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  EXPECT_LE(worst, most_error * (*most - *least))
      << "for values from " << *least << " to " << *most;
}

std::vector<int64_t> labels_of(const Array& scores) {
  const auto values = *session::numbers(scores);
  const auto classes = static_cast<ptrdiff_t>(scores.shape.back());
  std::vector<int64_t> labels;
  for (auto row = values.begin(); row != values.end(); row += classes)
    labels.push_back(std::max_element(row, row + classes) - row);
  return labels;
}

void expect_outputs(const Model& model, const Case& expected, const Arrays& actual,
                    double most_error) {
  for (const auto& [name, array] : expected.outputs) {
    SCOPED_TRACE("output " + name);
    const auto found = actual.find(name);
    ASSERT_NE(found, actual.end());
    ASSERT_EQ(found->second.type, array.type);
    ASSERT_EQ(found->second.shape, array.shape);
    if (array.type != nvinfer1::DataType::kFLOAT) {
      expect_equal(found->second, array);  // detections
      continue;
    }
    expect_close(found->second, array, most_error);
    if (model.labels) {
      EXPECT_EQ(labels_of(found->second), labels_of(array));
    }
  }
}

void run_cases(const Model& model, nvinfer1::ICudaEngine& engine, const std::vector<Case>& cases,
               Way way, double most_error = kError) {
  for (const Case& one : cases) {
    SCOPED_TRACE("case " + one.name);
    expect_outputs(model, one, testing::run_engine(engine, one.inputs, way), most_error);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

class RealModel : public ::testing::TestWithParam<Model> {};

testing::InputShapes shapes_of(const std::vector<Case>& cases) {
  testing::InputShapes shapes;
  for (const Case& one : cases)
    for (const auto& [name, array] : one.inputs)
      shapes[name].push_back(*session::to_dims(array.shape));
  return shapes;
}

// On every target: what is asked for single layers does not depend on what is quick.
TEST_P(RealModel, IsNearItWithLayersInFloat16) {
  const Model& model = GetParam();
  const std::vector<Case> cases = cases_of(model);
  testing::Logger logger(nvinfer1::ILogger::Severity::kERROR);  // warnings name layers of float32
  const auto plan = testing::build_plan(
      logger, (kModels / (model.name + ".onnx")).string(), shapes_of(cases),
      [](nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config) {
        config.setFlag(nvinfer1::BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
        for (int32_t i = 0; i < network.getNbLayers(); ++i)
          network.getLayer(i)->setPrecision(nvinfer1::DataType::kHALF);
      });
  ASSERT_NE(plan, nullptr);
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
  const std::unique_ptr<nvinfer1::ICudaEngine> engine(
      runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr);
  run_cases(model, *engine, cases, Way::kEnqueueV3, half_error(model.name));
}

TEST_P(RealModel, IsWhatOnnxRuntimeComputes) {
  const Model& model = GetParam();
  ASSERT_TRUE(fs::exists(kModels / model.name / "stamp"))
      << "the models are not there: run `./dev models`, which fetches them";
  const std::vector<Case> cases = cases_of(model);
  testing::Logger logger;
  const auto plan =
      testing::build_plan(logger, (kModels / (model.name + ".onnx")).string(), shapes_of(cases));
  ASSERT_NE(plan, nullptr);
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
  {
    SCOPED_TRACE("deserialized");
    const std::unique_ptr<nvinfer1::ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan->data(), plan->size()));
    ASSERT_NE(engine, nullptr);
    run_cases(model, *engine, cases, Way::kExecuteV2);
  }
  SCOPED_TRACE("from a plan file");
  const fs::path file =
      fs::temp_directory_path() / (model.name + "_" + std::to_string(::getpid()) + ".plan");
  tool::write_file(file.string(), plan->data(), plan->size());
  {
    const auto engine = open_plan(*runtime, file.c_str());
    ASSERT_NE(engine, nullptr);
    run_cases(model, *engine, cases, Way::kEnqueueV3);
  }
  fs::remove(file);
}

INSTANTIATE_TEST_SUITE_P(Models, RealModel, ::testing::ValuesIn(models()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace tenon
