#include "import/graph.h"

#include <onnx_schema.pb.h>

#include "import/small_models.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using namespace testing;

TEST(Graph, ReportsEveryUnknownOperator) {
  auto model = relu_model();
  for (const char* op : {"Frobnicate", "Wibble"}) {
    auto& node = *model.mutable_graph()->add_node();
    node.set_op_type(op);
    node.set_domain("my.domain");
    node.add_input("y");
    node.add_output(op);
  }
  const std::string text = error_of(model);
  EXPECT_THAT(text, HasSubstr("my.domain::Frobnicate"));
  EXPECT_THAT(text, HasSubstr("my.domain::Wibble"));
}

TEST(Graph, NodesMayStandInAnyOrder) {
  auto model = relu_model();
  auto& graph = *model.mutable_graph();
  auto& last = *graph.add_node();
  last.set_op_type("Neg");
  last.add_input("y");
  last.add_output("z");
  graph.mutable_output(0)->set_name("z");
  graph.mutable_node()->SwapElements(0, 1);
  EXPECT_EQ(error_of(model), "");
  graph.mutable_node(1)->set_input(0, "z");
  EXPECT_THAT(error_of(model), HasSubstr("the nodes form a cycle"));
}

TEST(Graph, KnowsOperatorsOfOtherDomains) {
  auto model = relu_model();
  auto& node = *model.mutable_graph()->mutable_node(0);
  node.set_domain("com.microsoft");
  node.set_op_type("Gelu");  // the model does not say which version of the domain
  EXPECT_THAT(error_of(model), "");
  EXPECT_TRUE(operator_is_known("com.microsoft::Gelu"));
  node.set_op_type("Relu");
  EXPECT_THAT(error_of(model), HasSubstr("operator 'com.microsoft::Relu' is not supported yet"));
}

TEST(Graph, NamesTheNodeOfAnError) {
  auto model = relu_model();
  auto& node = *model.mutable_graph()->mutable_node(0);
  node.set_op_type("Flatten");
  auto& attribute = *node.add_attribute();
  attribute.set_name("axis");
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s("1");
  EXPECT_THAT(error_of(model),
              HasSubstr("node 'relu' (Flatten): attribute 'axis' is of kind STRING"));
  node.set_name("two\nlines");
  node.clear_attribute();
  node.set_op_type("Frob\x1bnicate");
  EXPECT_THAT(error_of(model), HasSubstr("node 'two\\nlines' (Frob\\x1bnicate): "));
}

TEST(Graph, UnsupportedOutputsMatterOnlyWhenUsed) {
  auto model = relu_model();
  model.mutable_opset_import(0)->set_version(11);  // which does not say what the mask holds
  auto& node = *model.mutable_graph()->mutable_node(0);
  node.set_op_type("Dropout");
  node.add_output("mask");
  EXPECT_EQ(error_of(model), "");
  model.mutable_graph()->add_output()->set_name("mask");
  EXPECT_THAT(error_of(model), HasSubstr("output 1 ('mask') of node 'relu' (Dropout)"));
}

}  // namespace
}  // namespace tenon
