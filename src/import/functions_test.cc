#include "onnx_model/functions.h"

#include <onnx_schema.pb.h>

#include "import/small_models.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using namespace testing;

TEST(Functions, BecomeTheirNodes) {
  auto model = relu_model();
  auto& node = *model.mutable_graph()->mutable_node(0);
  node.set_op_type("Double");
  node.set_domain("mine");
  auto& function = *model.add_functions();
  function.set_name("Double");
  function.set_domain("mine");
  function.add_opset_import()->set_version(17);
  function.add_input("a");
  function.add_output("b");
  auto& body = *function.add_node();
  body.set_op_type("Add");
  body.add_input("a");
  body.add_input("a");
  body.add_output("b");
  EXPECT_EQ(numbers(run(model, {floats({1, 2, 3})})), (std::vector<double>{2, 4, 6}));

  function.mutable_node(0)->set_op_type("Double");
  function.mutable_node(0)->set_domain("mine");
  function.mutable_node(0)->mutable_input()->RemoveLast();
  EXPECT_THAT(error_of(model), HasSubstr("recurse"));
}

TEST(Functions, AttributesReachNodesAndTheirGraphs) {
  onnx::FunctionProto function;
  auto& fallback = *function.add_attribute_proto();
  fallback.set_name("b");
  fallback.set_i(5);
  onnx::NodeProto call, node;
  auto& given = *call.add_attribute();
  given.set_name("a");
  given.set_i(7);
  const auto refer = [](onnx::NodeProto& to, const char* name, const char* reference) {
    auto& attribute = *to.add_attribute();
    attribute.set_name(name);
    attribute.set_ref_attr_name(reference);
  };
  auto& graph = *node.add_attribute();
  graph.set_name("then_branch");
  refer(*graph.mutable_g()->add_node(), "axis", "a");
  refer(node, "given", "a");
  refer(node, "default", "b");
  refer(node, "missing", "c");
  const onnx::NodeProto found = substituted(node, call, function);
  ASSERT_EQ(found.attribute_size(), 3);  // the one that nothing gives is left out
  EXPECT_EQ(found.attribute(0).g().node(0).attribute(0).name(), "axis");
  EXPECT_EQ(found.attribute(0).g().node(0).attribute(0).i(), 7);
  EXPECT_EQ(found.attribute(1).i(), 7);
  EXPECT_EQ(found.attribute(2).name(), "default");
  EXPECT_EQ(found.attribute(2).i(), 5);
}

}  // namespace
}  // namespace tenon
