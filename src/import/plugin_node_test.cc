// Nodes that become plugins: how creators are found, and what they get.
#include <onnx_schema.pb.h>
#include <tenon/plugin_host.h>

#include <algorithm>
#include <cstring>

#include "import/testing.h"
#include "plugin_layers/idle_plugin_test.h"
#include "plugin_layers/plugin.h"
#include "registry/registry.h"

namespace tenon {
namespace {

using nvinfer1::PluginField;
using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginFieldType;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// Only what its creator receives matters.
class Plugin final : public testing::IdlePlugin {
 public:
  const char* getPluginType() const noexcept override { return "Probe"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const char* getPluginNamespace() const noexcept override { return "lab"; }
  Plugin* clone() const noexcept override { return new Plugin(*this); }
};

class Creator final : public nvinfer1::IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return name; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return &declared; }
  nvinfer1::IPluginV2* createPlugin(const char*,
                                    const PluginFieldCollection* given) noexcept override {
    if (refuses) {
      tenonReportPluginError(reason);
      return nullptr;
    }
    fields.clear();
    for (int i = 0; i < given->nbFields; ++i) {
      const PluginField& f = given->fields[i];
      std::string value;
      for (int k = 0; k < f.length; ++k) {
        if (f.type == PluginFieldType::kFLOAT32)
          value += fmt::format("{} ", static_cast<const float*>(f.data)[k]);
        if (f.type == PluginFieldType::kINT32)
          value += fmt::format("{} ", static_cast<const int32_t*>(f.data)[k]);
      }
      // Read past `length`: strings end with a NUL.
      if (f.data == nullptr)
        value = "nothing";
      else if (f.type == PluginFieldType::kCHAR)
        value = static_cast<const char*>(f.data);
      // A name that comes again is told apart by its number.
      std::string key = f.name;
      for (int again = 2; fields.contains(key); ++again) key = fmt::format("{} {}", f.name, again);
      fields[key] = fmt::format("{}:{}:{}", static_cast<int>(f.type), f.length, value);
    }
    return new Plugin;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override {
    return new Plugin;
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return "lab"; }

  std::map<std::string, std::string> fields;
  const char* name = "Probe";
  bool refuses = false;
  const char* reason = nullptr;

 private:
  // Names only, as many plugins declare them: the type is the node's.
  PluginField names_[7] = {{"size"},  {"scales"},  {"mode"},         {"table"},
                           {"unset"}, {"weights"}, {"weights_shape"}};

 public:
  PluginFieldCollection declared{7, names_};
};

class Logger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override {
    if (severity == Severity::kWARNING) warnings += std::string(text) + "\n";
  }
  std::string warnings;
};

class PluginNode : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(plugin_registry().registerCreator(creator_, "lab"));
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(13);
    auto& graph = *model_.mutable_graph();
    node_ = graph.add_node();
    node_->set_op_type("Probe");
    node_->set_domain("any.domain");  // which does not matter
    node_->set_name("probe");
    node_->add_input("x");
    node_->add_output("y");
    set_text("plugin_version", "2");
    set_text("plugin_namespace", "lab");
    auto& input = *graph.add_input();
    input.set_name("x");
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_value(3);
    graph.add_output()->set_name("y");
  }
  void TearDown() override { plugin_registry().deregisterCreator(creator_); }

  onnx::AttributeProto& attribute(const char* name, onnx::AttributeProto::AttributeType type) {
    auto& a = *node_->add_attribute();
    a.set_name(name);
    a.set_type(type);
    return a;
  }
  void set_text(const char* name, const char* value) {
    attribute(name, onnx::AttributeProto::STRING).set_s(value);
  }
  std::string import() {
    Network network;
    report_ = {};
    ImportOptions options;
    options.log = Log(&logger_);
    const std::string bytes = model_.SerializeAsString();
    try {
      import_onnx(testing::bytes_of(bytes), options, network, report_);
      layer_inputs_ = network.nodes().back()->inputs.size();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  Creator creator_;
  Logger logger_;
  onnx::ModelProto model_;
  onnx::NodeProto* node_ = nullptr;
  ImportReport report_;
  size_t layer_inputs_ = 0;
};

TEST_F(PluginNode, FieldsAtANullAddressAreAnError) {
  creator_.declared = {9, nullptr};
  EXPECT_THAT(import(), HasSubstr("says that it has 9 fields (getFieldNames) and gives none"));
  creator_.declared = {-1, nullptr};
  EXPECT_THAT(import(), HasSubstr("says that it has -1 fields"));
  creator_.declared = {};
  EXPECT_EQ(import(), "");
}

TEST_F(PluginNode, GetsItsAttributes) {
  attribute("size", onnx::AttributeProto::INT).set_i(7);
  auto& scales = attribute("scales", onnx::AttributeProto::FLOATS);
  scales.add_floats(0.5f);
  scales.add_floats(2);
  set_text("mode", "bilinear");
  auto& table = *attribute("table", onnx::AttributeProto::TENSOR).mutable_t();
  table.set_data_type(onnx::TensorProto::INT32);
  for (int i = 1; i < 4; ++i) table.add_int32_data(i);
  table.add_dims(3);
  attribute("spare", onnx::AttributeProto::INT).set_i(1);
  ASSERT_EQ(import(), "");
  const std::map<std::string, std::string> expected = {{"size", "5:1:7 "},
                                                       {"scales", "1:2:0.5 2 "},
                                                       {"mode", "6:8:bilinear"},
                                                       {"table", "5:3:1 2 3 "}};
  EXPECT_EQ(creator_.fields, expected);
  EXPECT_THAT(logger_.warnings, HasSubstr("attribute 'spare' is not used"));
  EXPECT_EQ(report_.plugins, std::vector<std::string>{"Probe"});
}

TEST_F(PluginNode, AnEmptyListIsNoNumber) {
  attribute("scales", onnx::AttributeProto::FLOATS);
  ASSERT_EQ(import(), "");
  EXPECT_EQ(creator_.fields["scales"], "1:0:nothing");
}

TEST_F(PluginNode, RefusesWhatDoesNotFit) {
  attribute("size", onnx::AttributeProto::INT).set_i(int64_t{1} << 40);
  EXPECT_THAT(import(), HasSubstr("attribute 'size' holds 1099511627776, which does not fit"));
}

TEST_F(PluginNode, NeedsTheRightVersion) {
  node_->mutable_attribute(0)->set_s("9");
  EXPECT_THAT(import(), HasSubstr("node 'probe' (any.domain::Probe)"));
  EXPECT_THAT(import(), HasSubstr("\"2\""));  // the version that exists
}

TEST_F(PluginNode, IsMeantByItsAttributesWhereOnnxHasTheName) {
  node_->set_op_type("NonMaxSuppression");
  node_->set_domain("");
  node_->add_input("x");
  attribute("max_output_boxes_per_class", onnx::AttributeProto::INT).set_i(7);
  EXPECT_THAT(import(), HasSubstr("its plugin of this name is not registered"));
  creator_.name = "NonMaxSuppression";
  plugin_registry().deregisterCreator(creator_);
  ASSERT_TRUE(plugin_registry().registerCreator(creator_, "lab"));
  EXPECT_EQ(import(), "");
  EXPECT_EQ(report_.plugins, std::vector<std::string>{"NonMaxSuppression"});
}

TEST_F(PluginNode, TakesConstantsAsWeightsAndItsNameFromAnAttribute) {
  node_->set_op_type("Plugin");
  set_text("name", "Probe");
  node_->add_input("first");
  node_->add_input("second");
  auto& graph = *model_.mutable_graph();
  const auto add_constant = [&](const char* name, std::vector<float> values,
                                std::vector<int64_t> dims) {
    auto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t extent : dims) tensor.add_dims(extent);
    for (const float value : values) tensor.add_float_data(value);
  };
  add_constant("first", {1, 2}, {2, 1});
  add_constant("second", {0.5f}, {});
  ASSERT_EQ(import(), "");
  const std::map<std::string, std::string> expected = {{"weights", "1:2:1 2 "},
                                                       {"weights_shape", "5:2:2 1 "},
                                                       {"weights 2", "1:1:0.5 "},
                                                       {"weights_shape 2", "5:0:nothing"}};
  EXPECT_EQ(creator_.fields, expected);
  EXPECT_EQ(layer_inputs_, 1u);
  EXPECT_EQ(report_.plugins, std::vector<std::string>{"Probe"});
  EXPECT_EQ(logger_.warnings, "");
}

TEST_F(PluginNode, SaysWhichPluginIsMissing) {
  node_->set_op_type("Plugin");
  set_text("name", "Prob");
  EXPECT_THAT(import(), HasSubstr("Probe"));
}

TEST_F(PluginNode, SaysWhyItsCreatorMadeNone) {
  creator_.refuses = true;
  creator_.reason = "Probe: size must be 1 to 3, not 7";
  EXPECT_THAT(import(), EndsWith("made no plugin from this node's attributes: Probe: size must be "
                                 "1 to 3, not 7"));
  creator_.reason = nullptr;
  EXPECT_THAT(import(), EndsWith("from this node's attributes; its own messages may say why"));
}

TEST_F(PluginNode, WarnsWhereAnotherNamespaceIsTaken) {
  plugin_registry().deregisterCreator(creator_);
  ASSERT_TRUE(plugin_registry().registerCreator(creator_, ""));
  ASSERT_EQ(import(), "");
  EXPECT_EQ(logger_.warnings,
            "node 'probe' (Probe): there is no plugin 'Probe' version '2' in the "
            "namespace 'lab'; the one without a namespace is taken\n");
}

TEST_F(PluginNode, CannotMakeMoreOutputsThanThePlugin) {
  node_->add_output("z");
  EXPECT_THAT(import(), HasSubstr("the node has 2 outputs, but the plugin makes 1"));
}

}  // namespace
}  // namespace tenon
