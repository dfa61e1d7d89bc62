// Models that are damaged or hostile: each is refused with its error, or does no harm.
#include <google/protobuf/repeated_field.h>
#include <onnx_schema.pb.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "import/testing.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr size_t kMaxBytes = size_t{1} << 24;
constexpr int64_t kMaxElements = 1 << 16;

struct Outcome {
  bool imported = false, ran = false;
  std::string error;
};

// Extents that nothing fixes get `extent`.
Tensor zeros_for(const Value& input, int64_t extent) {
  Shape shape = input.declared;
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] < 0) shape[i] = extent;
  require(shape.volume() <= kMaxElements, "too large for this test");
  Tensor tensor(input.type, shape);
  std::memset(tensor.mutable_data<std::byte>(), 0, bytes_of(input.type, shape.volume()));
  return tensor;
}

// Whether every tensor with known extents is small: others would only take long to fill.
bool is_small(const Network& network) {
  for (const auto& value : network.values()) {
    int64_t count = 1;
    for (Dim extent : value->dims) {
      if (!extent->is_integer_constant()) continue;
      const int64_t one = extent->value.integer;
      if (one > kMaxElements || (count *= std::max<int64_t>(one, 1)) > kMaxElements) return false;
    }
  }
  return true;
}

// Imports and, when that is possible, runs with zeros. Anything but an Error is a failure.
Outcome try_model(const std::string& bytes, const std::string& path = "") {
  Outcome outcome;
  Network network;
  ImportReport report;
  ImportOptions options;
  options.max_computed_bytes = kMaxBytes;
  options.model_path = path;
  try {
    import_onnx(testing::bytes_of(bytes), options, network, report);
    outcome.imported = true;
    if (!is_small(network)) return outcome;
    std::vector<Tensor> inputs;
    for (const Value* input : network.inputs()) inputs.push_back(zeros_for(*input, 2));
    run_reference(network, inputs);
    outcome.ran = true;
  } catch (const Error& e) {
    outcome.error = e.what();
    for (const auto& problem : report.problems) {
      EXPECT_NE(problem.code, nvonnxparser::ErrorCode::kSUCCESS);
      EXPECT_NE(problem.code, nvonnxparser::ErrorCode::kINTERNAL_ERROR) << problem.text;
      outcome.error += "\n" + problem.text;
    }
  }
  return outcome;
}

TEST(BadModels, AreRefusedByName) {
  size_t models = 0;
  for (const auto& entry : fs::directory_iterator(TENON_BAD_MODELS)) {
    if (entry.path().extension() != ".onnx") continue;
    ++models;
    SCOPED_TRACE(entry.path().stem().string());
    fs::path expected_file = entry.path();
    const std::string expected = testing::read_file(expected_file.replace_extension(".txt"));
    const Outcome outcome = try_model(testing::read_file(entry.path()), entry.path());
    if (expected.empty()) continue;  // it may do, or not
    EXPECT_FALSE(outcome.ran);
    if (expected == "run")
      EXPECT_NE(outcome.error, "");
    else
      EXPECT_THAT(outcome.error, HasSubstr(expected));
  }
  EXPECT_GT(models, 270u);
}

// ONNX's own node tests with one thing changed at a time.
class Damage {
 public:
  explicit Damage(const onnx::ModelProto& model) : model_(model) {}

  // All models that differ from it in an attribute, an input, or the shape of an input.
  template <class Try> void each(Try&& attempt) {
    for (int n = 0; n < model_.graph().node_size(); ++n) {
      const auto& node = model_.graph().node(n);
      for (int a = 0; a < node.attribute_size(); ++a) damage_attribute(n, a, attempt);
      for (int i = 0; i < node.input_size(); ++i) damage_input(n, i, attempt);
    }
    for (int i = 0; i < model_.graph().input_size(); ++i) damage_shape(i, attempt);
  }

 private:
  template <class Try> void damage_attribute(int n, int a, Try& attempt) {
    const auto changed = [&](auto&& change) {
      onnx::ModelProto copy = model_;
      change(*copy.mutable_graph()->mutable_node(n)->mutable_attribute(a));
      attempt(copy);
    };
    for (const int64_t extreme : kExtremes) {
      changed([&](auto& attribute) { attribute.set_i(extreme); });
      changed([&](auto& attribute) {
        if (attribute.ints_size() > 0) attribute.set_ints(attribute.ints_size() - 1, extreme);
      });
    }
    changed([](auto& attribute) { attribute.clear_ints(); });
    changed([](auto& attribute) { attribute.mutable_ints()->Resize(50, 1); });
    changed([](auto& attribute) { attribute.set_f(std::nanf("")); });
    changed([](auto& attribute) { attribute.set_s("\xff"); });
    changed([](auto& attribute) { attribute.set_type(onnx::AttributeProto::TENSOR); });
    changed([](auto& attribute) { attribute.set_name("nobody"); });
  }

  template <class Try> void damage_input(int n, int i, Try& attempt) {
    onnx::ModelProto copy = model_;
    auto& node = *copy.mutable_graph()->mutable_node(n);
    const std::string name = node.input(i);
    node.set_input(i, "");
    attempt(copy);
    node.set_input(i, node.input(0));
    attempt(copy);
    node.set_input(i, name);
    node.add_input(name);
    attempt(copy);
  }

  template <class Try> void damage_shape(int i, Try& attempt) {
    const auto changed = [&](auto&& change) {
      onnx::ModelProto copy = model_;
      auto* type = copy.mutable_graph()->mutable_input(i)->mutable_type();
      if (!type->has_tensor_type() || !type->tensor_type().has_shape()) return;
      change(*type->mutable_tensor_type());
      attempt(copy);
    };
    changed([](auto& type) { type.mutable_shape()->clear_dim(); });
    changed([](auto& type) { type.mutable_shape()->add_dim()->set_dim_value(2); });
    for (const int64_t extreme : {int64_t{0}, int64_t{1}, int64_t{1} << 40})
      changed([&](auto& type) {
        for (auto& dim : *type.mutable_shape()->mutable_dim()) dim.set_dim_value(extreme);
      });
    changed([](auto& type) {
      for (auto& dim : *type.mutable_shape()->mutable_dim()) dim.clear_value();
    });
    for (const auto type_of : {onnx::TensorProto::BOOL, onnx::TensorProto::INT64,
                               onnx::TensorProto::FLOAT8E4M3FN, onnx::TensorProto::STRING})
      changed([&](auto& type) { type.set_elem_type(type_of); });
  }

  static constexpr int64_t kExtremes[] = {0,         -1,       7, -9, 1 << 20, int64_t{1} << 32,
                                          INT64_MAX, INT64_MIN};
  const onnx::ModelProto& model_;
};

// One case of each set of operators: the others differ in their numbers.
std::vector<fs::path> one_of_each() {
  std::vector<fs::path> chosen;
  std::set<std::string> seen;
  for (const auto& entry : fs::directory_iterator(TENON_ONNX_CASES)) {
    onnx::ModelProto model;
    if (!model.ParseFromString(testing::read_file(entry.path() / "model.onnx"))) continue;
    std::string operators;
    for (const auto& node : model.graph().node()) {
      operators += node.op_type() + " ";
      for (const auto& attribute : node.attribute()) operators += attribute.name() + " ";
    }
    if (model.graph().node_size() <= 3 && seen.insert(operators).second)
      chosen.push_back(entry.path());
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// Under a sanitizer a model takes twenty times as long: `./dev test --asan` tries one of four.
size_t step_from_environment() {
  const char* const step = std::getenv("TENON_BAD_MODELS_STEP");
  return step != nullptr ? static_cast<size_t>(std::max(std::atoi(step), 1)) : 1;
}

TEST(BadModels, NoChangeToAnOperatorDoesHarm) {
  const size_t step = step_from_environment();
  size_t models = 0, tried = 0, refused = 0;
  for (const fs::path& folder : one_of_each()) {
    SCOPED_TRACE(folder.filename().string());
    onnx::ModelProto model;
    model.ParseFromString(testing::read_file(folder / "model.onnx"));
    Damage(model).each([&](const onnx::ModelProto& changed) {
      if (models++ % step != 0) return;
      ++tried;
      refused += !try_model(changed.SerializeAsString()).error.empty();
    });
  }
  EXPECT_GT(models, 5000u);
  EXPECT_GT(refused, tried / 4);
}

}  // namespace
}  // namespace tenon
