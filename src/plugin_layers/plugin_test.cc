#include "plugin_layers/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "network/network.h"
#include "plugin_layers/faulty_plugins_test.h"
#include "registry/registry.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using testing::calls;
using ::testing::ElementsAre;
using testing::Faults;
using testing::FillV3;
using testing::FillV3Creator;
using ::testing::HasSubstr;
using testing::TimesV2;
using testing::TimesV2Creator;

class PluginTest : public ::testing::Test {
 protected:
  void SetUp() override { calls.clear(); }
  void TearDown() override {
    plugin_registry().deregisterCreator(times_);
    plugin_registry().deregisterCreator(fill_);
  }
  std::vector<float> run(const Op& op, std::vector<TensorView> inputs, const Shape& out) {
    std::vector<float> y(out.volume());
    const TensorView outputs[] = {{y.data(), DataType::kFLOAT, out}};
    op.reference({inputs, outputs});
    return y;
  }
  // What inference over a 2 x N input says, or the text of the error.
  std::string infer(std::unique_ptr<Op> op) {
    Network network;
    Value& x = network.add_input("x", DataType::kFLOAT, Shape{2, -1});
    Node& node = network.add_node(std::move(op), {&x});
    network.infer(node);
    return text_of(node.outputs[0]->dims[0]) + "," + text_of(node.outputs[0]->dims[1]);
  }
  std::string error_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
  std::string error_of_v2(Faults faults) {
    return error_of([&] {
      TimesV2 plugin(3, faults);
      infer(make_plugin_v2(plugin));
    });
  }

  TimesV2Creator times_;
  FillV3Creator fill_;
  float x_[2] = {1, 2};
  std::vector<TensorView> input_{{x_, DataType::kFLOAT, Shape{1, 2}}};
};

TEST_F(PluginTest, V2SpeaksForItsShapes) {
  TimesV2 plugin(3);
  EXPECT_EQ(infer(make_plugin_v2(plugin)), "2,(s0 * 2)");
}

TEST_F(PluginTest, V2RunsInTheDocumentedOrder) {
  {
    TimesV2 plugin(3);
    const auto op = make_plugin_v2(plugin);
    EXPECT_THAT(run(*op, input_, Shape{1, 4}), ElementsAre(3, 6, 3, 6));
  }
  EXPECT_THAT(
      calls, ElementsAre("clone", "configure 1x2", "initialize", "clone", "attach", "configure 1x2",
                         "workspace", "enqueue", "detach", "destroy", "terminate", "destroy"));
}

TEST_F(PluginTest, V2ComesBackFromItsFields) {
  TimesV2 plugin(5);
  const FieldList fields = fields_of(*make_plugin_v2(plugin));
  auto loaded = make_op("PluginV2");
  ASSERT_NE(loaded, nullptr);
  set_fields(*loaded, fields);
  EXPECT_EQ(fields_of(*loaded), fields);  // needs no creator
  EXPECT_THAT(
      error_of([&] { infer(loaded->clone()); }),
      AllOf(HasSubstr("no plugin \"Times\" version \"1\" is registered"), HasSubstr("--plugins=")));
  plugin_registry().registerCreator(times_, "");
  EXPECT_EQ(infer(loaded->clone()), "2,(s0 * 2)");
  EXPECT_THAT(run(*loaded, input_, Shape{1, 4}), ElementsAre(5, 10, 5, 10));
}

TEST_F(PluginTest, NamesThePluginThatMisbehaves) {
  EXPECT_THAT(error_of_v2({.outputs = -1}),
              AllOf(HasSubstr("plugin \"Times\" version \"1\""), HasSubstr("-1 outputs")));
  EXPECT_THAT(error_of_v2({.null_clone = true}), HasSubstr("clone() gave null"));
  EXPECT_THAT(error_of_v2({.rank = 9}), HasSubstr("\"Times\" version \"1\": output 0 has rank 9"));
  EXPECT_THAT(error_of_v2({.rank = -1}), HasSubstr("rank -1: no rank today"));
  EXPECT_THAT(error_of_v2({.null_expression = true}), HasSubstr("null expression"));
  EXPECT_THAT(error_of_v2({.divides_by_zero = true}), HasSubstr("\"Times\""));
  EXPECT_THAT(error_of_v2({.type = static_cast<DataType>(77)}), HasSubstr("data type 77"));
  EXPECT_THAT(error_of_v2({.size_tensor = true}),
              HasSubstr("only plugins of version 3 (IPluginV3) have size tensors"));
  EXPECT_THAT(error_of_v2({.version = 8601}), HasSubstr("built for TensorRT 8.6"));
  EXPECT_THAT(error_of_v2({.version = 4 << 24 | 101600}), HasSubstr("of kind 4 are not supported"));
}

TEST_F(PluginTest, TakesThoseThatNvidiasBindingsMarkAsPython) {
  TimesV2 plugin(3, {.version = (0x40 | 3) << 24 | 101600});
  EXPECT_THAT(run(*make_plugin_v2(plugin), input_, Shape{1, 4}), ElementsAre(3, 6, 3, 6));
}

TEST_F(PluginTest, ReportsFailuresOfRunning) {
  const auto error = [&](Faults faults) {
    return error_of([&] {
      TimesV2 plugin(3, faults);
      run(*make_plugin_v2(plugin), input_, Shape{1, 4});
    });
  };
  EXPECT_THAT(error({.initialize = 4}), HasSubstr("initialize() failed with 4"));
  EXPECT_THAT(error({.enqueue = 9}),
              AllOf(HasSubstr("\"Times\""), HasSubstr("enqueue() failed with 9")));
  TimesV2 plugin(3);
  const auto op = make_plugin_v2(plugin);
  input_[0].type = DataType::kINT32;
  EXPECT_THAT(error_of([&] { run(*op, input_, Shape{1, 4}); }),
              HasSubstr("refuses linear int32 for input 0 (inputs: int32; outputs: float32)"));
}

TEST_F(PluginTest, V3GetsShapeInputsAsValues) {
  FillV3 plugin({1, 10});
  const auto op = make_plugin_v3(plugin, 1);
  Network network;
  Value& x = network.add_input("x", DataType::kFLOAT, Shape{2, -1});
  const std::vector<int64_t> extents{3, 2};
  Value& size =
      network.add_weight(Tensor::of(DataType::kINT64, Shape{2}, std::span<const int64_t>(extents)));
  Node& node = network.add_node(op->clone(), {&x, &size});
  network.infer(node);
  ASSERT_EQ(node.outputs[0]->dims.size(), 2u);
  EXPECT_EQ(text_of(node.outputs[0]->dims[0]), "3");
  EXPECT_EQ(text_of(node.outputs[0]->dims[1]), "2");

  input_.push_back({const_cast<int64_t*>(extents.data()), DataType::kINT64, Shape{2}});
  EXPECT_THAT(run(*op, input_, Shape{2, 2}), ElementsAre(3, 30, 3, 30));
  EXPECT_THAT(calls, ElementsAre("configure", "attach", "tactic 0", "shapes of 1", "enqueue"));
}

TEST_F(PluginTest, V3ComesBackFromItsFields) {
  FillV3 plugin({2, 3, 4});
  const FieldList fields = fields_of(*make_plugin_v3(plugin, 0));
  auto loaded = make_op("PluginV3");
  ASSERT_NE(loaded, nullptr);
  set_fields(*loaded, fields);
  EXPECT_EQ(fields_of(*loaded), fields);
  EXPECT_THAT(error_of([&] { run(*loaded, input_, Shape{3}); }),
              HasSubstr("no plugin \"Fill\" version \"2\" is registered in namespace \"mine\""));
  plugin_registry().registerCreator(fill_, "mine");
  EXPECT_THAT(run(*loaded, input_, Shape{3}), ElementsAre(6, 9, 12));
  EXPECT_EQ(fields_of(*loaded), fields);
}

TEST_F(PluginTest, V3ReportsItsStatus) {
  FillV3 plugin({1}, {.status = 5}), silent({1});
  EXPECT_THAT(error_of([&] { infer(make_plugin_v3(plugin, 0)); }),
              HasSubstr("\"Fill\" version \"2\": getOutputDataTypes() failed with 5"));
  EXPECT_THAT(error_of([&] { infer(make_plugin_v3(silent, 0)); }),
              HasSubstr("getOutputShapes() failed with 7"));
}

TEST_F(PluginTest, RefusesOutputsInTheMemoryOfInputs) {
  FillV3 plugin({1}, {.aliased_input = 0});
  EXPECT_THAT(error_of([&] { infer(make_plugin_v3(plugin, 0)); }),
              AllOf(HasSubstr("\"Fill\" version \"2\": output 0"), HasSubstr("getAliasedInput"),
                    HasSubstr("not supported yet")));
}

TEST_F(PluginTest, RefusesAnotherKindOfCreator) {
  class Impostor final : public nvinfer1::IPluginCreatorV3One {
    nvinfer1::IPluginV3* createPlugin(const char*, const nvinfer1::PluginFieldCollection*,
                                      nvinfer1::TensorRTPhase) noexcept override {
      return nullptr;
    }
    const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
    const char* getPluginName() const noexcept override { return "Times"; }
    const char* getPluginVersion() const noexcept override { return "1"; }
    const char* getPluginNamespace() const noexcept override { return ""; }
  } impostor;
  plugin_registry().registerCreator(impostor, "");
  TimesV2 plugin(5);
  auto loaded = make_op("PluginV2");
  set_fields(*loaded, fields_of(*make_plugin_v2(plugin)));
  EXPECT_THAT(error_of([&] { infer(std::move(loaded)); }),
              HasSubstr("the registered creator is a \"PLUGIN CREATOR_V3ONE\""));
  plugin_registry().deregisterCreator(impostor);
}

}  // namespace
}  // namespace tenon
