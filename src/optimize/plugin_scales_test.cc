#include "optimize/plugin_scales.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/dequantize.h"
#include "ops/quantize.h"
#include "plugin_layers/idle_plugin_test.h"
#include "plugin_layers/plugin.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Scales = std::unordered_map<std::string, float>;

Value& numbers(Network& n, std::initializer_list<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  Tensor tensor(DataType::kFLOAT, count == 1 ? Shape{} : Shape{count});
  std::ranges::copy(values, tensor.mutable_data<float>());
  return n.add_weight(std::move(tensor));
}

Value& quantized(Network& n, Value& x, std::initializer_list<float> scales) {
  auto op = std::make_unique<Quantize>();
  if (scales.size() > 1) op->layout.axis = 0;
  return *n.add_node(std::move(op), {&x, &numbers(n, scales)}).outputs[0];
}

void dequantize(Network& n, Value& x, float scale) {
  n.mark_output(*n.add_node(std::make_unique<Dequantize>(), {&x, &numbers(n, {scale})}).outputs[0]);
}

Node& plugin(Network& n, Value& x) {
  testing::IdlePlugin idle;
  return n.add_node(make_plugin_v2(idle), {&x});
}

std::vector<float> scales_of(Network& n, const Node& node, const Scales& ranges = {}) {
  set_plugin_scales(n, ranges);
  return dynamic_cast<const PluginLayer&>(*node.op).scales;
}

TEST(PluginScalesTest, AreThoseOfTheNeighbours) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {3});
  Node& node = plugin(n, quantized(n, x, {0.5f}));
  dequantize(n, *node.outputs[0], 0.25f);
  EXPECT_THAT(scales_of(n, node, {{"x", 7.f}}), ElementsAre(0.5f, 0.25f));
}

TEST(PluginScalesTest, AreThoseOfRangesWithoutSuchNeighbours) {
  Network n;
  Value& x = n.add_input("x", DataType::kINT8, {3});
  Node& node = plugin(n, x);
  node.outputs[0]->name = "y";
  n.mark_output(*node.outputs[0]);
  EXPECT_THAT(scales_of(n, node), IsEmpty());
  EXPECT_THAT(scales_of(n, node, {{"x", 2.f}, {"y", 3.f}}), ElementsAre(2, 3));
  EXPECT_THAT(scales_of(n, node), ElementsAre(2, 3)) << "as when weights change";
}

TEST(PluginScalesTest, AreOneWhereStepsDiffer) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {2});
  Node& node = plugin(n, quantized(n, x, {0.5f, 0.25f}));
  n.mark_output(*node.outputs[0]);
  EXPECT_THAT(scales_of(n, node), IsEmpty());
}

TEST(PluginScalesTest, AreOneForFloats) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {2});
  Node& node = plugin(n, x);
  n.mark_output(*node.outputs[0]);
  EXPECT_THAT(scales_of(n, node, {{"x", 2.f}}), IsEmpty());
}

}  // namespace
}  // namespace tenon
