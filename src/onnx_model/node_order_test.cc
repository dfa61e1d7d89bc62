#include "onnx_model/node_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx_schema.pb.h>

namespace tenon {
namespace {

using ::testing::ElementsAre;

void add_node(onnx::GraphProto& graph, const std::vector<std::string>& inputs,
              const std::string& output) {
  auto& node = *graph.add_node();
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
}

TEST(NodeOrder, IsThatOfTheFileWhereItCanBe) {
  onnx::GraphProto graph;
  add_node(graph, {"x"}, "b");
  add_node(graph, {"x", ""}, "a");
  add_node(graph, {"a", "b"}, "y");
  EXPECT_THAT(node_order(graph.node()), ElementsAre(0, 1, 2));
}

TEST(NodeOrder, PutsProducersFirst) {
  onnx::GraphProto graph;
  add_node(graph, {"b", "b"}, "y");
  add_node(graph, {"x"}, "z");
  add_node(graph, {"a"}, "b");
  add_node(graph, {"x"}, "a");
  EXPECT_THAT(node_order(graph.node()), ElementsAre(1, 3, 2, 0));
}

TEST(NodeOrder, CountsWhatGraphsInsideANodeRead) {
  onnx::GraphProto graph;
  add_node(graph, {"condition"}, "y");
  onnx::GraphProto& inner = *graph.mutable_node(0)->add_attribute()->mutable_g();
  add_node(inner, {"a"}, "inner");
  add_node(graph, {"x"}, "a");
  add_node(graph, {"x"}, "condition");
  EXPECT_THAT(node_order(graph.node()), ElementsAre(1, 2, 0));
}

TEST(NodeOrder, LeavesCyclesLast) {
  onnx::GraphProto graph;
  add_node(graph, {"b"}, "a");
  add_node(graph, {"a"}, "b");
  add_node(graph, {"b"}, "y");
  add_node(graph, {"x"}, "z");
  EXPECT_THAT(node_order(graph.node()), ElementsAre(3, 0, 1, 2));
}

}  // namespace
}  // namespace tenon
