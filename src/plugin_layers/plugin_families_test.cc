#include "plugin_layers/plugin_families_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "network/network.h"
#include "plugin_layers/plugin.h"
#include "registry/registry.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::plugin_calls;
using testing::ScaledBasic;
using testing::ScaledExt;
using testing::ScaledIOExt;

class PluginFamilies : public ::testing::Test {
 protected:
  PluginFamilies() { plugin_calls.clear(); }

  // A run of the layer over x, with its outputs.
  void run(const Op& op) {
    const TensorView inputs[] = {{x_, DataType::kFLOAT, Shape{1, 2}}};
    const TensorView outputs[] = {{y_, DataType::kFLOAT, Shape{1, 2}},
                                  {&count_, DataType::kINT32, Shape{}}};
    op.reference({inputs, std::span(outputs).first(static_cast<size_t>(op.output_count()))});
  }
  std::string error_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
  std::string infer_error(std::unique_ptr<Op> op, DataType type, const Shape& shape) {
    Network network;
    Value& x = network.add_input("x", type, shape);
    Node& node = network.add_node(std::move(op), {&x});
    return error_of([&] { network.infer(node); });
  }

  float x_[2] = {1, 2}, y_[2] = {};
  int32_t count_ = 0;
};

// The engine's copy is configured and initialised; a context runs a clone of it.
TEST_F(PluginFamilies, BasicRunsInTheDocumentedOrder) {
  {
    ScaledBasic plugin({3, -1});
    run(*make_plugin_v2(plugin));
  }
  EXPECT_EQ(y_[1], 6);
  EXPECT_THAT(plugin_calls,
              ElementsAre("clone", "configure format 1x2 to 1x2 float batch 1", "initialize",
                          "clone", "workspace 1", "enqueue 1", "destroy", "terminate", "destroy"));
}

TEST_F(PluginFamilies, ExtRunsInTheDocumentedOrder) {
  {
    ScaledExt plugin({3, -1});
    run(*make_plugin_v2(plugin));
  }
  EXPECT_EQ(y_[1], 6);
  EXPECT_EQ(count_, 2);
  EXPECT_THAT(plugin_calls, ElementsAre("clone", "configure types 1x2 to 1x2 float batch 1",
                                        "initialize", "clone", "attach", "workspace 1", "enqueue 1",
                                        "detach", "destroy", "terminate", "destroy"));
}

TEST_F(PluginFamilies, IOExtRunsInTheDocumentedOrder) {
  {
    ScaledIOExt plugin({3, -1});
    run(*make_plugin_v2(plugin));
  }
  EXPECT_EQ(y_[1], 6);
  EXPECT_EQ(count_, 2);
  EXPECT_THAT(plugin_calls, ElementsAre("clone", "configure descriptions 1x2 to 1x2 float batch 1",
                                        "initialize", "clone", "attach", "workspace 1", "enqueue 1",
                                        "detach", "destroy", "terminate", "destroy"));
}

TEST_F(PluginFamilies, OutputsHaveThePluginsTypesAndShapes) {
  ScaledExt plugin({3, -1});
  Network network;
  Value& x = network.add_input("x", DataType::kFLOAT, Shape{2, 5});
  Node& node = network.add_node(make_plugin_v2(plugin), {&x});
  network.infer(node);
  EXPECT_EQ(text_of(node.outputs[0]->dims[1]), "5");
  EXPECT_TRUE(node.outputs[1]->dims.empty());
  EXPECT_EQ(node.outputs[1]->type, DataType::kINT32);
}

TEST_F(PluginFamilies, ComeBackFromTheirFields) {
  testing::ScaledCreator<ScaledIOExt> creator;
  plugin_registry().registerCreator(creator, "");
  ScaledIOExt plugin({5, 2});
  auto loaded = make_op("PluginV2");
  set_fields(*loaded, fields_of(*make_plugin_v2(plugin)));
  plugin_calls.clear();
  run(*loaded);
  EXPECT_EQ(y_[0], 5);
  EXPECT_EQ(plugin_calls[0], "deserialize");
  plugin_registry().deregisterCreator(creator);
}

TEST_F(PluginFamilies, TakeFixedShapesAndTheTypesTheySupport) {
  ScaledBasic plugin({3, -1});
  EXPECT_THAT(infer_error(make_plugin_v2(plugin), DataType::kFLOAT, Shape{2, -1}),
              AllOf(HasSubstr("plugin \"ScaledBasic\" version \"1\""),
                    HasSubstr("plugins of IPluginV2 take fixed shapes")));
  const TensorView halves[] = {{x_, DataType::kHALF, Shape{2}}};
  const TensorView results[] = {{y_, DataType::kHALF, Shape{2}}};
  EXPECT_THAT(error_of([&] { make_plugin_v2(plugin)->reference({halves, results}); }),
              HasSubstr("refuses linear float16 for input 0"));
  const TensorView floats[] = {{x_, DataType::kFLOAT, Shape{2}}};
  const TensorView wrong[] = {{y_, DataType::kFLOAT, Shape{1}}};
  EXPECT_THAT(error_of([&] { make_plugin_v2(plugin)->reference({floats, wrong}); }),
              HasSubstr("makes output 0 of shape 2; expected 1"));
}

}  // namespace
}  // namespace tenon
