#include "import/stand_ins.h"

#include <onnx_schema.pb.h>

#include "import/small_models.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing;
using Type = onnx::TensorProto;

onnx::NodeProto& add_node(onnx::ModelProto& model, const char* op, const char* input,
                          const char* output) {
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type(op);
  node.set_name(output);
  node.add_input(input);
  node.add_output(output);
  return node;
}

void add_cast(onnx::ModelProto& model, const char* input, const char* output, int32_t to) {
  auto& attribute = *add_node(model, "Cast", input, output).add_attribute();
  attribute.set_name("to");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(to);
}

// x as `type`, then the operator, which makes "y".
onnx::ModelProto integer_model(int32_t type, const char* op, int inputs = 1) {
  onnx::ModelProto model = relu_model();
  auto& graph = *model.mutable_graph();
  graph.clear_node();
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(Type::UINT8);
  add_cast(model, "x", "narrow", type);
  auto& node = add_node(model, op, "narrow", "y");
  for (int i = 1; i < inputs; ++i) node.add_input("narrow");
  return model;
}

TEST(StandIns, WhatDependsOnTheWidthIsRefused) {
  EXPECT_THAT(error_of(integer_model(Type::UINT16, "Pow", 2)),
              HasSubstr("node 'y' (Pow): not supported yet: arithmetic in uint16, which is int32 "
                        "here; cast the inputs to int32"));
  EXPECT_THAT(error_of(integer_model(Type::UINT32, "MatMul", 2)),
              HasSubstr("arithmetic in uint32"));
  EXPECT_THAT(error_of(integer_model(Type::INT16, "Relu")), HasSubstr("arithmetic in int16"));
}

TEST(StandIns, ArithmeticInUint64IsRefused) {
  for (const char* op : {"Sub", "Mul", "BitShift", "Sum"})
    EXPECT_THAT(error_of(integer_model(Type::UINT64, op, 2)), HasSubstr("arithmetic in uint64"));
  EXPECT_EQ(error_of(integer_model(Type::UINT64, "Max", 2)), "");
}

TEST(StandIns, OnlyWhatFitsBecomesUint64) {
  auto model = integer_model(Type::UINT64, "Identity");
  EXPECT_EQ(error_of(model), "");
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      Type::INT64);
  EXPECT_THAT(error_of(model), HasSubstr("not supported yet: a cast of int64 to uint64"));
}

TEST(StandIns, FloatsLoseTheirFractionAndWrap) {
  auto model = integer_model(Type::UINT16, "Identity");
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      Type::FLOAT);
  EXPECT_THAT(numbers(run(model, {floats({70000.5, -1, 300.9F})})), ElementsAre(4464, 65535, 300));
}

TEST(StandIns, BodiesDoNotMakeThem) {
  auto model = integer_model(Type::UINT16, "Loop");
  auto& graph = *model.mutable_graph();
  auto& loop = *graph.mutable_node(1);
  loop.clear_input();
  loop.add_input("trips");
  loop.add_input("");
  auto& trips = *graph.add_initializer();
  trips.set_name("trips");
  trips.set_data_type(Type::INT64);
  trips.add_int64_data(2);
  auto& attribute = *loop.add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  auto& body = *attribute.mutable_g();
  body.set_name("body");
  for (const char* name : {"i", "go"}) body.add_input()->set_name(name);
  auto& node = *body.add_node();
  node.set_op_type("Identity");
  node.add_input("narrow");
  node.add_output("made");
  for (const char* name : {"go", "made"}) body.add_output()->set_name(name);
  EXPECT_THAT(error_of(model), HasSubstr("graph 'body' makes uint16 (output 'made')"));
}

class Warnings final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override {
    if (severity == Severity::kWARNING) texts.emplace_back(text);
  }
  std::vector<std::string> texts;
};

std::vector<std::string> warnings_of(const onnx::ModelProto& model) {
  Warnings warnings;
  ImportOptions options;
  options.log = Log(&warnings);
  Network network;
  ImportReport report;
  const std::string bytes = model.SerializeAsString();
  import_onnx(bytes_of(bytes), options, network, report);
  return warnings.texts;
}

// What computes in float64 says nothing; what comes by float32 stays so.
TEST(StandIns, NodesWhoseFloat64IsFloat32AreNamedOnce) {
  auto model = relu_model();
  EXPECT_THAT(warnings_of(model), IsEmpty());
  auto& graph = *model.mutable_graph();
  graph.clear_node();
  add_cast(model, "x", "first", Type::DOUBLE);
  add_node(model, "Sin", "first", "exact");
  add_cast(model, "exact", "y", Type::FLOAT);
  EXPECT_THAT(warnings_of(model), IsEmpty());
  graph.mutable_node(1)->set_op_type("Elu");
  add_node(model, "Relu", "y", "single");  // no more
  EXPECT_THAT(warnings_of(model),
              ElementsAre("float64 is float32 in 2 nodes of the model: 'exact' (Elu), 'y' (Cast)"));
  graph.mutable_node(2)->set_op_type("Neg");
  graph.mutable_node(2)->clear_attribute();
  add_node(model, "Abs", "single", "last");
  EXPECT_THAT(warnings_of(model),
              ElementsAre("float64 is float32 in 4 nodes of the model: 'exact' (Elu), 'y' (Neg), "
                          "'single' (Relu), and others"));
}

TEST(StandIns, WeightsInFloat64AreNamedByTheirNode) {
  onnx::TensorProto weight;
  weight.set_name("w");
  weight.set_data_type(Type::DOUBLE);
  weight.add_dims(1);
  weight.add_double_data(1e9);
  EXPECT_THAT(warnings_of(add_model(weight)),
              ElementsAre("float64 is float32 in 1 node of the model: 'add' (Add)"));
}

}  // namespace
}  // namespace tenon
