// Conditionals whose branches make tensors of different ranks. What they compute, ONNX Runtime
// says: testdata/models/branches_*.
#include "import/onnx/branches.h"

#include <onnx_schema.pb.h>

#include "import/small_models.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using namespace testing;

onnx::NodeProto& add_to(onnx::GraphProto& graph, const char* op, const char* input,
                        const std::string& output) {
  auto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(output);
  node.add_input(input);
  node.add_output(output);
  return node;
}

void set_integers(onnx::NodeProto& node, const char* name, std::vector<int64_t> values) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) attribute.add_ints(value);
}

// "r" is "x" (1, 3) without its first axis where "b" holds, else "x".
void add_if(onnx::GraphProto& graph) {
  auto& node = *graph.add_node();
  node.set_op_type("If");
  node.set_name("if");
  node.add_input("b");
  node.add_output("r");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    auto& branch = *attribute.mutable_g();
    branch.set_name(name);
    const bool first = name[0] == 't';
    auto& inside = add_to(branch, first ? "Squeeze" : "Identity", "x", name);
    if (first) set_integers(inside, "axes", {0});
    branch.add_output()->set_name(name);
  }
}

onnx::ModelProto model_of_branches() {
  onnx::ModelProto model = relu_model();
  model.mutable_opset_import(0)->set_version(12);
  auto& graph = *model.mutable_graph();
  graph.clear_node();
  auto& shape = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.mutable_dim(0)->set_dim_value(1);
  shape.add_dim()->set_dim_value(3);
  auto& input = *graph.add_input();
  input.set_name("b");
  input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
  input.mutable_type()->mutable_tensor_type()->mutable_shape();
  add_if(graph);
  return model;
}

std::vector<Tensor> run_with(const onnx::ModelProto& model, bool b) {
  const std::vector<float> x{-1, 0, 2};
  return run(model, {Tensor::of<float>(DataType::kFLOAT, {1, 3}, x),
                     Tensor::of<bool>(DataType::kBOOL, Shape(), std::span(&b, 1))});
}

TEST(Branches, GoOnSeparately) {
  auto model = model_of_branches();
  auto& graph = *model.mutable_graph();
  // Between the two, and read by what is behind them.
  add_to(graph, "Neg", "x", "other");
  add_to(graph, "Add", "r", "sum").add_input("other");
  add_to(graph, "Flatten", "sum", "y");
  for (const bool b : {false, true})
    EXPECT_EQ(run_with(model, b).at(0).numbers(), (std::vector<double>{0, 0, 0}));
  Network network;
  ImportReport report;
  import_onnx(bytes_of(model.SerializeAsString()), ImportOptions(), network, report);
  ASSERT_EQ(report.supported_nodes.size(), 1u);
  EXPECT_EQ(report.supported_nodes[0].size(), 4u);
}

TEST(Branches, OfWhichOneCanGoOnAreAsserted) {
  auto model = model_of_branches();
  set_integers(add_to(*model.mutable_graph(), "Transpose", "r", "y"), "perm", {1, 0});
  EXPECT_EQ(run_with(model, false).at(0).shape(), (Shape{3, 1}));
  try {
    run_with(model, true);
    ADD_FAILURE() << "the other branch ran";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("the condition of node 'if' (If) is true, where node 'y' "
                                    "(Transpose): attribute 'perm' is [1, 0]; its input has 1"));
  }
}

TEST(Branches, OfWhichNoneCanGoOnAreRefused) {
  auto model = model_of_branches();
  set_integers(add_to(*model.mutable_graph(), "Transpose", "r", "y"), "perm", {2, 1, 0});
  const std::string error = error_of(model);
  EXPECT_THAT(error, HasSubstr("node 'if' (If): its branches make tensors of different ranks"));
  EXPECT_THAT(error, HasSubstr("true: node 'y' (Transpose): attribute 'perm' is [2, 1, 0]"));
  EXPECT_THAT(error, HasSubstr("false: node 'y' (Transpose)"));
}

// A small file must not take hours.
TEST(Branches, OfManyConditionalsInARowAreRefused) {
  auto model = model_of_branches();
  auto& graph = *model.mutable_graph();
  const onnx::NodeProto first = graph.node(0);
  for (int i = 0; i < 30; ++i) {
    const std::string in = i == 0 ? "x" : fmt::format("flat{}", i), out = fmt::format("r{}", i);
    onnx::NodeProto& node = i == 0 ? *graph.mutable_node(0) : *graph.add_node();
    node = first;
    node.set_name(out);
    node.set_output(0, out);
    onnx::ValueInfoProto condition = graph.input(1);
    condition.set_name(fmt::format("b{}", i));
    node.set_input(0, condition.name());
    *graph.add_input() = condition;
    for (int branch = 0; branch < 2; ++branch) {
      auto& inside = *node.mutable_attribute(branch)->mutable_g();
      inside.mutable_node(0)->set_input(0, in);
      inside.mutable_node(0)->set_output(0, fmt::format("{} {}", out, branch));
      inside.mutable_output(0)->set_name(fmt::format("{} {}", out, branch));
    }
    add_to(graph, "Reshape", out.c_str(), i == 29 ? "y" : fmt::format("flat{}", i + 1))
        .add_input("shape");
  }
  auto& shape = *graph.add_initializer();
  shape.set_name("shape");
  shape.set_data_type(onnx::TensorProto::INT64);
  shape.add_dims(2);
  for (int64_t extent : {1, 3}) shape.add_int64_data(extent);
  EXPECT_THAT(error_of(model), HasSubstr("would be imported more than 4096 times"));
}

TEST(Branches, GraphsInsideNodesMakeOneRank) {
  auto model = model_of_branches();
  auto& graph = *model.mutable_graph();
  onnx::NodeProto inner = graph.node(0);
  auto& outer = *graph.mutable_node(0);
  outer.set_output(0, "y");
  for (int i = 0; i < 2; ++i) {
    auto& branch = *outer.mutable_attribute(i)->mutable_g();
    branch.clear_node();
    onnx::NodeProto& node = *branch.add_node();
    node = inner;
    const std::string output = i == 0 ? "one" : "two";
    node.set_output(0, output);
    branch.mutable_output(0)->set_name(output);
  }
  EXPECT_THAT(error_of(model),
              HasSubstr("'one' has 1 dimensions where the condition is true, and 2 "
                        "where it is false: a tensor that leaves a graph inside"));
}

}  // namespace
}  // namespace tenon
