// Single nodes against ONNX Runtime: every file that a script of testdata/ wrote.
#include <onnx_schema.pb.h>

#include <nlohmann/json.hpp>

#include "import/testing.h"
#include "tenon_source_dir.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// JSON has no NaN and no infinity: they are text.
double number_from(const Json& j) {
  return j.is_string() ? std::stod(j.get<std::string>()) : j.get<double>();
}

int32_t type_named(const std::string& name) {
  for (int32_t type = 1; type < 30; ++type)
    if (onnx_type_name(type) == name) return type;
  throw std::runtime_error("no element type " + name);
}

onnx::TensorProto tensor_from(const Json& j, const std::string& name) {
  onnx::TensorProto t;
  t.set_name(name);
  t.set_data_type(type_named(j.at("type")));
  for (const Json& d : j.at("shape")) t.add_dims(d.get<int64_t>());
  for (const Json& value : j.at("data")) {
    if (t.data_type() == onnx::TensorProto::FLOAT)
      t.add_float_data(static_cast<float>(number_from(value)));
    else if (t.data_type() == onnx::TensorProto::FLOAT16)
      t.add_int32_data(
          std::bit_cast<uint16_t>(static_cast<Half>(static_cast<float>(number_from(value)))));
    else if (t.data_type() == onnx::TensorProto::INT64)
      t.add_int64_data(value.get<int64_t>());
    else
      t.add_int32_data(value.get<int32_t>());
  }
  return t;
}

void set_attribute(onnx::NodeProto& node, const std::string& name, const Json& value) {
  auto& a = *node.add_attribute();
  a.set_name(name);
  const bool list = value.is_array();
  const bool real = list ? !value.empty() && value[0].is_number_float() : value.is_number_float();
  const bool text = list ? !value.empty() && value[0].is_string() : value.is_string();
  if (list) {
    a.set_type(real   ? onnx::AttributeProto::FLOATS
               : text ? onnx::AttributeProto::STRINGS
                      : onnx::AttributeProto::INTS);
    for (const Json& v : value) {
      if (real)
        a.add_floats(v.get<float>());
      else if (text)
        a.add_strings(v.get<std::string>());
      else
        a.add_ints(v.get<int64_t>());
    }
  } else if (real) {
    a.set_type(onnx::AttributeProto::FLOAT);
    a.set_f(value.get<float>());
  } else if (text) {
    a.set_type(onnx::AttributeProto::STRING);
    a.set_s(value.get<std::string>());
  } else {
    a.set_type(onnx::AttributeProto::INT);
    a.set_i(value.get<int64_t>());
  }
}

Tensor made(const Json& j) {
  onnx::TensorProto proto = tensor_from(j, "t");
  TensorSource source;
  return make_tensor(proto, source);
}

// Axes that may be unknown in a case of attention: the batch, and the length of (N, length, size)
// or (N, heads, length, size).
bool is_length(int axis, int rank) {
  return axis == 0 || axis == (rank < 4 ? 1 : 2);
}

struct Model {
  onnx::ModelProto proto;
  std::vector<Tensor> inputs;
};

// With known extents, or with extents that only running tells.
Model model_from(const Json& j, bool known_extents) {
  Model m;
  m.proto.set_ir_version(10);
  m.proto.add_opset_import()->set_version(j.at("opset"));
  auto* other = m.proto.add_opset_import();
  other->set_domain(j.at("domain"));
  other->set_version(other->domain().empty() ? j.at("opset").get<int64_t>() : 1);
  auto& graph = *m.proto.mutable_graph();
  auto& node = *graph.add_node();
  node.set_op_type(j.at("op"));
  node.set_domain(j.at("domain"));
  node.set_name("node");
  for (const auto& [name, value] : j.at("attributes").items()) set_attribute(node, name, value);
  for (const Json& input : j.at("inputs")) {
    const std::string name = input.is_null() ? "" : fmt::format("x{}", node.input_size());
    node.add_input(name);
    if (input.is_null()) continue;
    if (input.value("constant", false)) {
      *graph.add_initializer() = tensor_from(input, name);
      continue;
    }
    auto& info = *graph.add_input();
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(type_named(input.at("type")));
    type.mutable_shape();
    const int rank = static_cast<int>(input.at("shape").size());
    for (const Json& d : input.at("shape")) {
      const Json kept = j.value("static", Json());
      const bool fixed = (kept == "heads" && !is_length(type.shape().dim_size(), rank))
                         || (kept == "lists" && rank == 1);
      auto& dim = *type.mutable_shape()->add_dim();
      if (known_extents || fixed) dim.set_dim_value(d.get<int64_t>());
    }
    m.inputs.push_back(made(input));
  }
  for (const Json& name : j.at("output_names")) {
    node.add_output(name.get<std::string>());
    if (!name.get<std::string>().empty()) graph.add_output()->set_name(name.get<std::string>());
  }
  return m;
}

void run_case(const Json& j, bool known_extents) {
  const Model m = model_from(j, known_extents);
  Network network;
  ImportReport report;
  const std::string bytes = m.proto.SerializeAsString();
  import_onnx(testing::bytes_of(bytes), ImportOptions(), network, report);
  const std::vector<Tensor> results = run_reference(network, m.inputs);
  ASSERT_EQ(results.size(), j.at("outputs").size());
  const double tolerance = j.at("tolerance");
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(testing::difference(results[i], made(j.at("outputs")[i]), tolerance, tolerance), "")
        << "output " << i;
}

class NodeCases : public ::testing::TestWithParam<fs::path> {};

TEST_P(NodeCases, AgreeWithOnnxRuntime) {
  std::ifstream file(GetParam());
  for (const Json& j : Json::parse(file))
    for (const bool known_extents : {true, false}) {
      if (!known_extents && j.value("static", Json()) == true) continue;
      SCOPED_TRACE(fmt::format("{}, extents {}", j.at("name").get<std::string>(),
                               known_extents ? "known" : "unknown"));
      try {
        run_case(j, known_extents);
      } catch (const std::exception& e) {
        ADD_FAILURE() << e.what();
      }
    }
}

std::vector<fs::path> files() {
  std::vector<fs::path> list;
  for (const auto& entry : fs::directory_iterator(TENON_SOURCE_DIR "/src/import/testdata"))
    if (entry.path().extension() == ".json") list.push_back(entry.path());
  std::sort(list.begin(), list.end());
  return list;
}

INSTANTIATE_TEST_SUITE_P(Files, NodeCases, ::testing::ValuesIn(files()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace tenon
