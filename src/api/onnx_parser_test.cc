// IParser as applications use it.
#include <NvOnnxParser.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx_schema.pb.h>

#include <cstring>
#include <filesystem>
#include <memory>

namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;
namespace onnx = tenon_onnx;

class Logger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) errors += std::string(message) + "\n";
  }
  std::string errors;
};

// y = Op(x, w), with w an initializer.
std::string model_of(const char* op) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  auto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name("first");
  node.add_input("x");
  node.add_input("w");
  node.add_output("y");
  auto& input = *graph.add_input();
  input.set_name("x");
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("n");
  type.mutable_shape()->add_dim()->set_dim_value(2);
  auto& weight = *graph.add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(2);
  weight.add_float_data(1);
  weight.add_float_data(2);
  graph.add_output()->set_name("y");
  return model.SerializeAsString();
}

class OnnxParser : public ::testing::Test {
 protected:
  bool parse(const std::string& model) { return parser_->parse(model.data(), model.size()); }
  std::string first_error() const {
    return parser_->getNbErrors() > 0 ? parser_->getError(0)->desc() : "";
  }

  Logger logger_;
  std::unique_ptr<nvinfer1::IBuilder> builder_{nvinfer1::createInferBuilder(logger_)};
  std::unique_ptr<nvinfer1::INetworkDefinition> network_{builder_->createNetworkV2(0)};
  std::unique_ptr<nvonnxparser::IParser> parser_{nvonnxparser::createParser(*network_, logger_)};
};

TEST_F(OnnxParser, FillsTheNetwork) {
  ASSERT_TRUE(parse(model_of("Add"))) << logger_.errors;
  ASSERT_EQ(network_->getNbInputs(), 1);
  ASSERT_EQ(network_->getNbOutputs(), 1);
  EXPECT_THAT(network_->getInput(0)->getName(), StrEq("x"));
  EXPECT_THAT(network_->getInput(0)->getDimensionName(0), StrEq("n"));
  EXPECT_EQ(network_->getInput(0)->getDimensions().d[0], -1);
  EXPECT_THAT(network_->getOutput(0)->getName(), StrEq("y"));
  EXPECT_EQ(parser_->getLayerOutputTensor("first", 0), network_->getOutput(0));
  EXPECT_EQ(parser_->getLayerOutputTensor("first", 1), nullptr);
  EXPECT_EQ(parser_->getNbErrors(), 0);
}

TEST_F(OnnxParser, KeepsErrorsUntilTheyAreCleared) {
  EXPECT_FALSE(parse(model_of("Frobnicate")));
  ASSERT_EQ(parser_->getNbErrors(), 1);
  const nvonnxparser::IParserError& error = *parser_->getError(0);
  EXPECT_EQ(error.code(), nvonnxparser::ErrorCode::kUNSUPPORTED_NODE);
  EXPECT_EQ(error.node(), 0);
  EXPECT_THAT(error.nodeName(), StrEq("first"));
  EXPECT_THAT(error.nodeOperator(), StrEq("Frobnicate"));
  EXPECT_THAT(logger_.errors, HasSubstr("Frobnicate"));
  parser_->clearErrors();
  EXPECT_EQ(parser_->getNbErrors(), 0);
  EXPECT_EQ(parser_->getError(0), nullptr);
}

TEST_F(OnnxParser, SaysWhatAModelNeeds) {
  SubGraphCollection_t parts;
  const std::string good = model_of("Add"), bad = model_of("Frobnicate");
  EXPECT_TRUE(parser_->supportsModel(good.data(), good.size(), parts));
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(parts[0].second);
  EXPECT_FALSE(parser_->supportsModelV2(bad.data(), bad.size()));
  ASSERT_EQ(parser_->getNbSubgraphs(), 1);
  EXPECT_FALSE(parser_->isSubgraphSupported(0));
  EXPECT_EQ(network_->getNbLayers(), 0);
  EXPECT_TRUE(parser_->supportsOperator("Conv"));
  EXPECT_FALSE(parser_->supportsOperator("Frobnicate"));
}

TEST_F(OnnxParser, TakesWeightsFromTheApplication) {
  const std::string model = model_of("Add");
  EXPECT_FALSE(parser_->parseModelProto());  // nothing is loaded
  ASSERT_TRUE(parser_->loadModelProto(model.data(), model.size()));
  const float wrong[3] = {};
  ASSERT_TRUE(parser_->loadInitializer("w", wrong, sizeof(wrong)));
  EXPECT_FALSE(parser_->parseModelProto());
  EXPECT_THAT(first_error(), HasSubstr("12 bytes were given"));
}

TEST_F(OnnxParser, RefusesBadFiles) {
  EXPECT_FALSE(parser_->parseFromFile("/no/such/model.onnx", 1));
  EXPECT_THAT(first_error(), HasSubstr("/no/such/model.onnx"));
  parser_->clearErrors();
  EXPECT_FALSE(parser_->parseFromFile(std::filesystem::temp_directory_path().c_str(), 1));
  EXPECT_THAT(first_error(), HasSubstr("is a directory"));
  EXPECT_FALSE(parser_->parseFromFile(nullptr, 1));
  EXPECT_FALSE(parser_->parse(nullptr, 5));
}

TEST_F(OnnxParser, OutlivesItsNetworkSafely) {
  network_.reset();
  EXPECT_FALSE(parse(model_of("Add")));
  EXPECT_THAT(logger_.errors, HasSubstr("has been deleted"));
}

TEST_F(OnnxParser, RefusesAForeignNetwork) {
  alignas(16) char foreign[64] = {};  // is recognised by its address, and not touched
  EXPECT_EQ(createNvOnnxParser_INTERNAL(foreign, &logger_, NV_ONNX_PARSER_VERSION), nullptr);
  EXPECT_THAT(logger_.errors, HasSubstr("was not made by this library's builder"));
}

}  // namespace
