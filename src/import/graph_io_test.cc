#include "import/graph_io.h"

#include <onnx_schema.pb.h>

#include "import/small_models.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using namespace testing;

TEST(GraphIo, OutputsMayBeInputsAndConstants) {
  auto model = add_model(float_tensor("w", {3}, {1, 2, 3}));
  for (const char* name : {"x", "w"}) model.mutable_graph()->add_output()->set_name(name);
  Network network;
  ImportReport report;
  import_onnx(bytes_of(model.SerializeAsString()), ImportOptions(), network, report);
  const auto results = run_reference(network, std::vector<Tensor>{floats({1, 1, 1})});
  EXPECT_EQ(results.at(1).numbers(), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(results.at(2).numbers(), (std::vector<double>{1, 2, 3}));
  // Inputs and outputs are found by name, and TensorRT's parser renames the input.
  EXPECT_EQ(network.inputs()[0]->name, "__x");
  const char* names[] = {"y", "x", "w"};
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(network.outputs()[i]->name, names[i]);
}

TEST(GraphIo, AModelMayGiveItsInputOnly) {
  auto model = relu_model();
  model.mutable_graph()->clear_node();
  model.mutable_graph()->mutable_output(0)->set_name("x");
  auto& other = *model.mutable_graph()->add_input();
  other = model.graph().input(0);
  other.set_name("__x");
  Network network;
  ImportReport report;
  import_onnx(bytes_of(model.SerializeAsString()), ImportOptions(), network, report);
  EXPECT_EQ(network.inputs()[0]->name, "__x_1");
  EXPECT_EQ(network.inputs()[1]->name, "__x");
  EXPECT_EQ(network.outputs()[0]->name, "x");
}

TEST(GraphIo, EqualNamesAreEqualExtentsAndQuestionMarksAreNoNames) {
  const Tensor oblong(DataType::kFLOAT, Shape{2, 3});
  auto model = relu_model();
  auto& type = *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type.mutable_shape()->clear_dim();
  for (int i = 0; i < 2; ++i) type.mutable_shape()->add_dim()->set_dim_param("?");
  EXPECT_EQ(run(model, {oblong}).at(0).shape(), (Shape{2, 3}));
  Network network;
  ImportReport report;
  import_onnx(testing::bytes_of(model.SerializeAsString()), ImportOptions(), network, report);
  EXPECT_NE(network.inputs()[0]->dims[0], network.inputs()[0]->dims[1]);
}

TEST(GraphIo, ChecksExtents) {
  auto model = relu_model();
  auto* shape = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  shape->mutable_shape()->mutable_dim(0)->set_dim_value(-7);
  EXPECT_THAT(error_of(model), HasSubstr("input 'x': extent 0 is -7"));
  for (int i = 0; i < 9; ++i) shape->mutable_shape()->add_dim()->set_dim_value(1);
  EXPECT_THAT(error_of(model), HasSubstr("10 dimensions"));
  shape->clear_shape();
  EXPECT_THAT(error_of(model), HasSubstr("its shape is not declared"));
}

TEST(GraphIo, SequencesDoNotEnter) {
  auto model = relu_model();
  auto& graph = *model.mutable_graph();
  auto& type = *graph.mutable_input(0)->mutable_type();
  const onnx::TypeProto tensor = type;
  *type.mutable_sequence_type()->mutable_elem_type() = tensor;
  EXPECT_THAT(error_of(model), HasSubstr("input 'x': it is a sequence, and only tensors"));
  type.mutable_map_type();
  EXPECT_THAT(error_of(model), HasSubstr("input 'x': it is a map, and only tensors"));
  type.clear_value();
  EXPECT_THAT(error_of(model), HasSubstr("input 'x': its type is not declared"));
}

TEST(GraphIo, OptionalsAtTheBorderAreTensors) {
  auto model = relu_model();
  auto& graph = *model.mutable_graph();
  const onnx::TypeProto tensor = graph.input(0).type();
  auto& type = *graph.mutable_input(0)->mutable_type();
  *type.mutable_optional_type()->mutable_elem_type() = tensor;
  graph.mutable_node(0)->set_op_type("OptionalGetElement");
  EXPECT_EQ(numbers(run(model, {floats({1, 2, 3})})), (std::vector<double>{1, 2, 3}));
  graph.mutable_node(0)->set_op_type("OptionalHasElement");
  EXPECT_EQ(numbers(run(model, {floats({1, 2, 3})})), (std::vector<double>{1}));
  graph.mutable_node(0)->set_op_type("Optional");
  *graph.mutable_output(0)->mutable_type()->mutable_optional_type()->mutable_elem_type() = tensor;
  EXPECT_EQ(numbers(run(model, {floats({1, 2, 3})})), (std::vector<double>{1, 2, 3}));
  graph.mutable_node(0)->clear_input();
  EXPECT_THAT(error_of(model), HasSubstr("graph output 'y': it is an optional that holds nothing"));
}

TEST(GraphIo, ElementsOfASequenceLeaveOnTheirOwn) {
  auto model = relu_model();
  auto& graph = *model.mutable_graph();
  const onnx::TypeProto tensor = graph.input(0).type();
  graph.mutable_node(0)->set_op_type("SplitToSequence");
  *graph.mutable_output(0)->mutable_type()->mutable_sequence_type()->mutable_elem_type() = tensor;
  Network network;
  ImportReport report;
  import_onnx(bytes_of(model.SerializeAsString()), ImportOptions(), network, report);
  ASSERT_EQ(network.outputs().size(), 3u);
  EXPECT_EQ(network.outputs()[2]->name, "y_2");
  EXPECT_EQ(run_reference(network, std::vector<Tensor>{floats({4, 5, 6})}).at(2).numbers(),
            (std::vector<double>{6}));
  graph.mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("n");
  EXPECT_THAT(error_of(model), HasSubstr("a sequence whose length only running tells"));
  graph.mutable_node(0)->set_op_type("SequenceEmpty");
  graph.mutable_node(0)->clear_input();
  EXPECT_THAT(error_of(model), HasSubstr("an empty sequence"));
}

TEST(GraphIo, TypesAreThoseOfTensorRT) {
  auto model = relu_model();
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::DOUBLE);  // becomes float32
  EXPECT_EQ(numbers(run(model, {floats({-1, 0, 2})})), (std::vector<double>{0, 0, 2}));
  type->set_elem_type(onnx::TensorProto::STRING);
  EXPECT_THAT(error_of(model), HasSubstr("input 'x': data type string is not supported"));
}

TEST(GraphIo, OutputsAreListedOnce) {
  auto model = relu_model();
  model.mutable_graph()->add_output()->set_name("y");
  EXPECT_THAT(error_of(model), HasSubstr("graph output 'y': it is listed twice"));
}

TEST(GraphIo, InitializersAmongTheInputsAreWeights) {
  auto model = add_model(float_tensor("w", {3}, {1, 2, 3}));
  *model.mutable_graph()->add_input() = model.graph().input(0);
  model.mutable_graph()->mutable_input(1)->set_name("w");
  EXPECT_EQ(numbers(run(model, {floats({1, 1, 1})})), (std::vector<double>{2, 3, 4}));
  *model.mutable_graph()->add_initializer() = model.graph().initializer(0);
  EXPECT_THAT(error_of(model), HasSubstr("two initializers are called 'w'"));
}

TEST(GraphIo, GivenBytesReplaceAnInitializer) {
  const std::vector<float> other{10, 20, 30};
  ImportOptions options;
  options.initializers["w"] = std::as_bytes(std::span(other));
  Network network;
  ImportReport report;
  const std::string bytes = add_model(float_tensor("w", {3}, {1, 2, 3})).SerializeAsString();
  import_onnx(bytes_of(bytes), options, network, report);
  EXPECT_EQ(numbers(run_reference(network, std::vector<Tensor>{floats({1, 1, 1})})),
            (std::vector<double>{11, 21, 31}));
}

}  // namespace
}  // namespace tenon
