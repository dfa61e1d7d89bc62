// Plugins of IPluginV2, IPluginV2Ext and IPluginV2IOExt on the engine: by hand, from ONNX, and
// through a plan.
#include "plugin_layers/plugin_families_test.h"

#include <NvOnnxParser.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx_schema.pb.h>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Plugin> class PluginFamiliesOnTheEngine : public ::testing::Test {
 protected:
  PluginFamiliesOnTheEngine() {
    getPluginRegistry()->registerCreator(creator_, "");
    plugin_calls.clear();
  }
  ~PluginFamiliesOnTheEngine() override { getPluginRegistry()->deregisterCreator(creator_); }

  void add_by_hand() {
    ITensor* x = &s_.input("x", {2, 3});
    Plugin plugin({2, -1});
    ITensor& y = *s_.network->addPluginV2(&x, 1, plugin)->getOutput(0);
    y.setName("y");
    s_.network->markOutput(y);
  }
  // Runs the engine in two contexts, and says what the plugins were called for.
  void expect_twice(ICudaEngine& engine) {
    for (int i = 0; i < 2; ++i) {
      const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
      Floats x{1, 2, 3, 4, 5, 6}, y(6);
      void* bindings[] = {x.data(), y.data()};
      ASSERT_TRUE(context->executeV2(bindings)) << s_.logger.take_errors();
      EXPECT_THAT(y, ElementsAre(2, 4, 6, 8, 10, 12));
    }
  }
  // What a context does with its clone.
  static std::vector<std::string> life_of_context() {
    if constexpr (Plugin::kBasic)
      return {"clone", "workspace 1", "enqueue 1", "destroy"};
    else
      return {"clone", "attach", "workspace 1", "enqueue 1", "detach", "destroy"};
  }

  ScaledCreator<Plugin> creator_;
  Session s_;
};

using Families = ::testing::Types<ScaledBasic, ScaledExt, ScaledIOExt>;
TYPED_TEST_SUITE(PluginFamiliesOnTheEngine, Families);

TYPED_TEST(PluginFamiliesOnTheEngine, RunFromAPlan) {
  this->add_by_hand();
  const auto plan = this->s_.build();
  ASSERT_NE(plan, nullptr) << this->s_.logger.take_errors();
  EXPECT_THAT(plugin_calls, ::testing::Contains("serialize"));
  this->s_.network.reset();
  EXPECT_EQ(plugin_calls.back(), "destroy");
  EXPECT_EQ(std::count(plugin_calls.begin(), plugin_calls.end(), "initialize"),
            std::count(plugin_calls.begin(), plugin_calls.end(), "terminate"));

  plugin_calls.clear();
  std::unique_ptr<ICudaEngine> engine(
      this->s_.runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr) << this->s_.logger.take_errors();
  this->expect_twice(*engine);
  engine.reset();
  std::vector<std::string> expected = {"deserialize", "initialize"};
  for (int i = 0; i < 2; ++i)
    for (const std::string& call : this->life_of_context()) expected.push_back(call);
  for (const char* call : {"terminate", "destroy"}) expected.emplace_back(call);
  EXPECT_EQ(plugin_calls, expected);
}

TYPED_TEST(PluginFamiliesOnTheEngine, AreConfiguredBeforeTheyAreInitialized) {
  this->add_by_hand();
  ASSERT_NE(this->s_.build(), nullptr) << this->s_.logger.take_errors();
  const auto at = [](const std::string& start) {
    return std::find_if(plugin_calls.begin(), plugin_calls.end(),
                        [&](const std::string& call) { return call.starts_with(start); });
  };
  ASSERT_NE(at("configure"), plugin_calls.end());
  EXPECT_THAT(*at("configure"), HasSubstr(" 2x3 to 2x3 float batch 1"));
  EXPECT_LT(at("configure"), at("initialize"));
  EXPECT_LT(at("initialize"), at("terminate"));
}

TYPED_TEST(PluginFamiliesOnTheEngine, RunFromAnOnnxNode) {
  namespace onnx = tenon_onnx;
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  auto& node = *graph.add_node();
  node.set_op_type(TypeParam::name());
  node.add_input("x");
  node.add_output("y");
  auto& factor = *node.add_attribute();
  factor.set_name("factor");
  factor.set_type(onnx::AttributeProto::FLOAT);
  factor.set_f(2);
  auto& input = *graph.add_input();
  input.set_name("x");
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (int extent : {2, 3}) type.mutable_shape()->add_dim()->set_dim_value(extent);
  graph.add_output()->set_name("y");
  const std::string bytes = model.SerializeAsString();

  Session& s = this->s_;
  const std::unique_ptr<nvonnxparser::IParser> parser(
      nvonnxparser::createParser(*s.network, s.logger));
  ASSERT_TRUE(parser->parse(bytes.data(), bytes.size())) << s.logger.take_errors();
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  this->expect_twice(*engine);
}

}  // namespace
}  // namespace tenon::testing
