#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "network/test_op.h"

namespace tenon {
namespace {

using namespace testing;

void build(Network& network) {
  network.name = "example";
  Value& x = network.add_input("x", DataType::kFLOAT, {-1, 3, 224}, {"N"});
  Value& sizes = network.add_weight(
      Tensor::of<int32_t>(DataType::kINT32, {2}, std::vector<int32_t>{4, 5}), "sizes");
  auto op = std::make_unique<Repeat>(2);
  op->factor = 0.5;
  op->shape = {1, 2};
  Node& node = network.add_node(std::move(op), {&x, nullptr, &sizes}, "first");
  node.metadata = "[ONNX Layer: first]";
  network.infer(node);
  Node& last = add(network, {node.outputs[1]}, "last");
  last.outputs[0]->name = "y";
  network.mark_output(*last.outputs[0]);
}

TEST(Dump, PrintsALineForEachLayer) {
  Network network;
  build(network);
  EXPECT_EQ(dump(network),
            "network example\n"
            "input x: float32[N, 3, 224]\n"
            "first: Repeat(x, -, sizes int32[2] = [4, 5]) -> first_output_0: float32[N, 3, 224], "
            "first_output_1: float32[N, 3, 224] {outputs=2, factor=0.5, shape=[1, 2]}\n"
            "last: Repeat(first_output_1) -> y: float32[N, 3, 224] "
            "{outputs=1, factor=1, shape=[]}\n"
            "output y: float32[N, 3, 224]\n");
}

TEST(Dump, ShowsTensorsOfUnknownShape) {
  Network network;
  Value& x = network.add_input("x", DataType::kFLOAT, {2});
  network.add_node(std::make_unique<Repeat>(), {&x}, "a");
  EXPECT_THAT(dump(network), ::testing::HasSubstr("a: Repeat(x) -> a_output_0: ?"));
}

TEST(Dump, WritesJson) {
  Network network;
  build(network);
  const auto json = nlohmann::json::parse(dump_json(network));
  EXPECT_EQ(json["name"], "example");
  EXPECT_EQ(json["inputs"][0]["shape"], nlohmann::json({"N", 3, 224}));
  EXPECT_EQ(json["outputs"][0]["name"], "y");
  ASSERT_EQ(json["layers"].size(), 2u);
  const auto& first = json["layers"][0];
  EXPECT_EQ(first["kind"], "Repeat");
  EXPECT_EQ(first["metadata"], "[ONNX Layer: first]");
  EXPECT_TRUE(first["inputs"][1].is_null());
  EXPECT_EQ(first["inputs"][2]["weight"], true);
  EXPECT_EQ(first["outputs"][1]["type"], "float32");
  EXPECT_EQ(first["attributes"],
            nlohmann::json({{"outputs", 2}, {"factor", 0.5}, {"shape", {1, 2}}}));
}

TEST(Dump, WritesJsonForNamesThatAreNotUtf8) {
  Network network;
  network.add_input("\xff", DataType::kFLOAT, {2});
  EXPECT_FALSE(nlohmann::json::parse(dump_json(network)).is_discarded());
}

}  // namespace
}  // namespace tenon
