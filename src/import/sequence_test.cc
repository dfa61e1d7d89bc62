#include "import/sequence.h"

#include <onnx_schema.pb.h>

#include "import/small_models.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using namespace testing;

onnx::NodeProto& add_graph_node(onnx::GraphProto& graph, const char* op,
                                const std::vector<std::string>& inputs, const std::string& output) {
  auto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

// A loop over "x" whose body makes the sequence "after" of the sequence "before" with one node.
onnx::ModelProto loop_model(const char* op, const std::vector<std::string>& inputs) {
  onnx::ModelProto model = relu_model();
  auto& graph = *model.mutable_graph();
  graph.clear_node();
  for (const char* name : {"yes", "trips"}) {
    auto& t = *graph.add_initializer();
    t.set_name(name);
    t.set_data_type(name[0] == 'y' ? onnx::TensorProto::BOOL : onnx::TensorProto::INT64);
    if (name[0] == 'y')
      t.add_int32_data(1);
    else
      t.add_int64_data(2);
  }
  add_graph_node(graph, "SequenceConstruct", {"x", "x"}, "list");
  auto& body = *add_graph_node(graph, "Loop", {"trips", "yes", "list"}, "grown").add_attribute();
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  auto& inner = *body.mutable_g();
  for (const char* name : {"i", "go", "before"}) inner.add_input()->set_name(name);
  add_graph_node(inner, op, inputs, "after");
  for (const char* name : {"go", "after"}) inner.add_output()->set_name(name);
  auto& concat = add_graph_node(graph, "ConcatFromSequence", {"grown"}, "y");
  auto& axis = *concat.add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  return model;
}

TEST(Sequence, LoopsAppend) {
  EXPECT_EQ(numbers(run(loop_model("SequenceInsert", {"before", "x"}), {floats({1, 2, 3})})),
            (std::vector<double>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
}

TEST(Sequence, WhatLoopsCannotDoIsNamed) {
  EXPECT_THAT(error_of(loop_model("SequenceErase", {"before"})),
              HasSubstr("a loop that does more with one than append to it"));
  EXPECT_THAT(error_of(loop_model("SequenceInsert", {"before", "x", "i"})),
              HasSubstr("the position in the sequence (input 2) must be constant"));
  EXPECT_THAT(error_of(loop_model("SequenceAt", {"before", "i"})),
              HasSubstr("state 0 is a sequence before an iteration and a tensor after it"));
  auto model = loop_model("SequenceInsert", {"before", "first"});
  auto& body = *model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  add_graph_node(body, "SequenceAt", {"before", "i"}, "first");
  body.mutable_node()->SwapElements(0, 1);
  EXPECT_THAT(error_of(model),
              HasSubstr("a loop that reads the sequence to which it appends is not supported yet"));
}

TEST(Sequence, IsNoTensor) {
  auto model = loop_model("SequenceInsert", {"before", "x"});
  model.mutable_graph()->mutable_node(2)->set_op_type("Relu");
  EXPECT_THAT(error_of(model),
              HasSubstr("input 0 is a sequence of tensors, which is not supported here"));
  model.mutable_graph()->mutable_node(2)->set_op_type("ConcatFromSequence");
  model.mutable_graph()->mutable_node(2)->set_input(0, "x");
  EXPECT_THAT(error_of(model), HasSubstr("input 0 is no sequence of tensors"));
}

}  // namespace
}  // namespace tenon
