// IParser as applications use it.
#include <NvOnnxParser.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx_schema.pb.h>
#include <sys/stat.h>
#include <tenon/limits.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;
namespace onnx = tenon_onnx;

class Logger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) errors += std::string(message) + "\n";
    if (severity == Severity::kWARNING) warnings += std::string(message) + "\n";
  }
  std::string errors, warnings;
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

  // Of the network's first Constant layer.
  std::vector<float> constant_values() const {
    for (int32_t i = 0; i < network_->getNbLayers(); ++i) {
      nvinfer1::ILayer* layer = network_->getLayer(i);
      if (layer->getType() != nvinfer1::LayerType::kCONSTANT) continue;
      const nvinfer1::Weights weights = static_cast<nvinfer1::IConstantLayer*>(layer)->getWeights();
      const auto* values = static_cast<const float*>(weights.values);
      return {values, values + weights.count};
    }
    return {};
  }

  // With an empty network.
  void begin_again() {
    parser_.reset();
    network_.reset(builder_->createNetworkV2(0));
    parser_.reset(nvonnxparser::createParser(*network_, logger_));
  }

  Logger logger_;
  std::unique_ptr<nvinfer1::IBuilder> builder_{nvinfer1::createInferBuilder(logger_)};
  std::unique_ptr<nvinfer1::INetworkDefinition> network_{builder_->createNetworkV2(0)};
  std::unique_ptr<nvonnxparser::IParser> parser_{nvonnxparser::createParser(*network_, logger_)};
};

TEST_F(OnnxParser, LayersThatTensorRTDoesNotHaveAreIdentitiesToClients) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(model_of("Unique")));
  model.mutable_graph()->mutable_node(0)->mutable_input()->RemoveLast();
  ASSERT_TRUE(parse(model.SerializeAsString())) << first_error();
  for (int32_t i = 0; i < network_->getNbLayers(); ++i)
    EXPECT_LT(static_cast<int32_t>(network_->getLayer(i)->getType()),
              nvinfer1::EnumMax<nvinfer1::LayerType>())
        << network_->getLayer(i)->getName();
}

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
  EXPECT_EQ(parser_->getNbSubgraphs(), 0);
  EXPECT_FALSE(parser_->isSubgraphSupported(0));
  EXPECT_EQ(network_->getNbLayers(), 0);
  EXPECT_TRUE(parser_->supportsOperator("Conv"));
  EXPECT_FALSE(parser_->supportsOperator("Frobnicate"));
}

TEST_F(OnnxParser, TakesWeightsFromTheApplication) {
  const std::string model = model_of("Add");
  EXPECT_FALSE(parser_->parseModelProto());  // nothing is loaded
  EXPECT_FALSE(parser_->loadModelProto("no model", 8));
  EXPECT_EQ(parser_->getError(0)->code(), nvonnxparser::ErrorCode::kMODEL_DESERIALIZE_FAILED);
  parser_->clearErrors();
  ASSERT_TRUE(parser_->loadModelProto(model.data(), model.size()));
  const float wrong[3] = {};
  EXPECT_FALSE(parser_->loadInitializer("x", wrong, sizeof(wrong)));
  EXPECT_THAT(logger_.errors, HasSubstr("no initializer 'x'"));
  ASSERT_TRUE(parser_->loadInitializer("w", wrong, sizeof(wrong)));
  EXPECT_FALSE(parser_->parseModelProto());
  EXPECT_THAT(first_error(), HasSubstr("12 bytes were given"));
}

TEST_F(OnnxParser, GivenWeightsStandInPlaceOfTheModels) {
  const std::string model = model_of("Add");
  ASSERT_TRUE(parser_->loadModelProto(model.data(), model.size()));
  const float weights[2] = {10, 20};
  ASSERT_TRUE(parser_->loadInitializer("w", weights, sizeof(weights)));
  ASSERT_TRUE(parser_->parseModelProto()) << logger_.errors;
  EXPECT_EQ(constant_values(), (std::vector<float>{10, 20}));
  EXPECT_FALSE(parser_->parseModelProto());  // it is read once
}

TEST_F(OnnxParser, ReadsModelsWithDescriptorsAsOthers) {
  const std::string model = model_of("Add");
  EXPECT_TRUE(parser_->parseWithWeightDescriptors(model.data(), model.size()));
  EXPECT_EQ(network_->getNbOutputs(), 1);
  EXPECT_FALSE(parser_->parseWithWeightDescriptors(nullptr, 0));
}

// A row of Relu nodes n0, n1, …; those in `unknown` have an operator that nobody knows.
std::string chain(int length, const std::set<int>& unknown) {
  onnx::ModelProto model;
  model.ParseFromString(model_of("Relu"));
  auto& graph = *model.mutable_graph();
  graph.clear_node();
  for (int i = 0; i < length; ++i) {
    auto& node = *graph.add_node();
    node.set_op_type(unknown.contains(i) ? "Frobnicate" : "Relu");
    node.set_name("n" + std::to_string(i));
    node.add_input(i == 0 ? "x" : "t" + std::to_string(i - 1));
    node.add_output(i == length - 1 ? "y" : "t" + std::to_string(i));
  }
  return model.SerializeAsString();
}

TEST_F(OnnxParser, NamesTheSubgraphsThatItSupports) {
  const std::string model = chain(6, {2, 3});
  EXPECT_FALSE(parser_->supportsModelV2(model.data(), model.size()));
  ASSERT_EQ(parser_->getNbSubgraphs(), 2);
  const std::vector<std::vector<int64_t>> expected{{0, 1}, {4, 5}};
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(parser_->isSubgraphSupported(i));
    int64_t length = -1;
    const int64_t* nodes = parser_->getSubgraphNodes(i, length);
    EXPECT_EQ(std::vector<int64_t>(nodes, nodes + length), expected[static_cast<size_t>(i)]);
  }
  int64_t length = -1;
  for (int64_t outside : {int64_t{-1}, int64_t{2}}) {
    EXPECT_FALSE(parser_->isSubgraphSupported(outside));
    EXPECT_EQ(parser_->getSubgraphNodes(outside, length), nullptr);
    EXPECT_EQ(length, 0);
  }
  EXPECT_EQ(parser_->getNbErrors(), 2);  // one for each node
  SubGraphCollection_t parts;
  EXPECT_FALSE(parser_->supportsModel(model.data(), model.size(), parts));
  EXPECT_EQ(parts, (SubGraphCollection_t{{{0, 1}, true}, {{4, 5}, true}}));
  const std::string good = chain(2, {});
  EXPECT_TRUE(parser_->supportsModelV2(good.data(), good.size()));
  EXPECT_EQ(parser_->getNbSubgraphs(), 1);
}

// Also of a model whose nodes are not in that order.
TEST_F(OnnxParser, NodesOfASubgraphFollowTheirInputs) {
  onnx::ModelProto model;
  model.ParseFromString(chain(4, {}));
  model.mutable_graph()->mutable_node()->SwapElements(0, 3);
  const std::string bytes = model.SerializeAsString();
  SubGraphCollection_t parts;
  EXPECT_TRUE(parser_->supportsModel(bytes.data(), bytes.size(), parts));
  EXPECT_EQ(parts, (SubGraphCollection_t{{{3, 1, 2, 0}, true}}));
}

TEST_F(OnnxParser, ErrorsTellTheFunctionsAroundANode) {
  onnx::ModelProto model;
  model.ParseFromString(chain(2, {}));
  auto& call = *model.mutable_graph()->mutable_node(1);
  call.set_op_type("Outer");
  call.set_domain("mine");
  for (const char* name : {"Outer", "Inner"}) {
    auto& function = *model.add_functions();
    function.set_name(name);
    function.set_domain("mine");
    function.add_opset_import()->set_version(17);
    function.add_input("a");
    function.add_output("b");
    auto& node = *function.add_node();
    const bool outer = std::string(name) == "Outer";
    node.set_op_type(outer ? "Inner" : "Frobnicate");
    node.set_domain(outer ? "mine" : "");
    node.set_name(outer ? "call" : "bad");
    node.add_input("a");
    node.add_output("b");
  }
  EXPECT_FALSE(parse(model.SerializeAsString()));
  ASSERT_EQ(parser_->getNbErrors(), 1);
  const nvonnxparser::IParserError& error = *parser_->getError(0);
  EXPECT_EQ(error.code(), nvonnxparser::ErrorCode::kUNSUPPORTED_NODE);
  EXPECT_EQ(error.node(), 1);
  EXPECT_THAT(error.nodeName(), StrEq("n1"));
  ASSERT_EQ(error.localFunctionStackSize(), 2);
  EXPECT_THAT(error.localFunctionStack()[0], StrEq("mine::Outer"));
  EXPECT_THAT(error.localFunctionStack()[1], StrEq("mine::Inner"));
  EXPECT_THAT(error.desc(), HasSubstr("'bad' (Frobnicate)"));
  EXPECT_THAT(error.file(), StrEq(""));
  EXPECT_THAT(error.func(), StrEq(""));
  EXPECT_EQ(error.line(), 0);
}

TEST_F(OnnxParser, KeepsFlags) {
  using enum nvonnxparser::OnnxParserFlag;
  EXPECT_TRUE(parser_->getFlag(kNATIVE_INSTANCENORM));  // as TensorRT 10 begins
  EXPECT_FALSE(parser_->getFlag(kENABLE_PLUGIN_OVERRIDE));
  parser_->setFlag(kENABLE_PLUGIN_OVERRIDE);
  parser_->clearFlag(kNATIVE_INSTANCENORM);
  EXPECT_EQ(parser_->getFlags(), 1u << static_cast<int>(kENABLE_PLUGIN_OVERRIDE));
  EXPECT_EQ(logger_.warnings, "");
  parser_->setFlags(1u << static_cast<int>(kREPORT_CAPABILITY_DLA));
  EXPECT_TRUE(parser_->getFlag(kREPORT_CAPABILITY_DLA));
  EXPECT_THAT(logger_.warnings, HasSubstr("there is no DLA"));
}

TEST_F(OnnxParser, TakesAConfigurationAndNeedsNoLibraries) {
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(builder_->createBuilderConfig());
  EXPECT_TRUE(parser_->setBuilderConfig(config.get()));
  EXPECT_FALSE(parser_->setBuilderConfig(nullptr));
  int64_t count = -1;
  EXPECT_EQ(parser_->getUsedVCPluginLibraries(count), nullptr);
  EXPECT_EQ(count, 0);
}

// The weights of a model may lie in a file beside it, whether it is parsed by path or from memory.
TEST_F(OnnxParser, ReadsWeightsFromFilesBesideTheModel) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("tenon_parser_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const float weights[2] = {5, 6};
  std::ofstream(folder / "weights", std::ios::binary)
      .write(reinterpret_cast<const char*>(weights), sizeof(weights));
  onnx::ModelProto model;
  model.ParseFromString(model_of("Add"));
  auto& weight = *model.mutable_graph()->mutable_initializer(0);
  weight.clear_float_data();
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& location = *weight.add_external_data();
  location.set_key("location");
  location.set_value("weights");
  const std::string bytes = model.SerializeAsString(), path = folder / "model.onnx";
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_FALSE(parse(bytes));
  EXPECT_THAT(first_error(), HasSubstr("where the model is stored is not known"));
  begin_again();
  EXPECT_TRUE(parser_->supportsModelV2(bytes.data(), bytes.size(), path.c_str()));
  EXPECT_TRUE(parser_->parse(bytes.data(), bytes.size(), path.c_str())) << logger_.errors;
  EXPECT_EQ(constant_values(), (std::vector<float>{5, 6}));
  begin_again();
  EXPECT_TRUE(parser_->parseFromFile(path.c_str(), 1)) << logger_.errors;
  EXPECT_EQ(constant_values(), (std::vector<float>{5, 6}));
  fs::remove_all(folder);
}

// A small file must not fill the memory; how much it may take is the application's choice.
TEST_F(OnnxParser, LimitsWhatAModelMakesItCompute) {
  onnx::ModelProto model;
  model.ParseFromString(chain(1, {}));
  auto& graph = *model.mutable_graph();
  graph.clear_node();
  auto& node = *graph.add_node();
  node.set_op_type("ConstantOfShape");
  node.set_name("fill");
  node.add_input("shape");
  node.add_output("y");
  auto& shape = *graph.add_initializer();
  shape.set_name("shape");
  shape.set_data_type(onnx::TensorProto::INT64);
  shape.add_dims(1);
  shape.add_int64_data(1000);
  const std::string bytes = model.SerializeAsString();
  tenon::set_import_limit(3999);
  EXPECT_EQ(tenon::import_limit(), 3999u);
  EXPECT_FALSE(parse(bytes));
  EXPECT_THAT(first_error(), HasSubstr("'fill' (ConstantOfShape)"));
  EXPECT_THAT(first_error(), HasSubstr("than are allowed"));
  tenon::set_import_limit(0);
  begin_again();
  ::setenv("TENON_IMPORT_LIMIT", "lots", 1);
  EXPECT_FALSE(parse(bytes));
  EXPECT_THAT(logger_.errors, HasSubstr("TENON_IMPORT_LIMIT is 'lots'"));
  EXPECT_EQ(tenon::import_limit(), 0u);
  ::setenv("TENON_IMPORT_LIMIT", "1", 1);
  EXPECT_EQ(tenon::import_limit(), 1u << 20);
  EXPECT_TRUE(parse(bytes));
  ::unsetenv("TENON_IMPORT_LIMIT");
  EXPECT_EQ(tenon::import_limit(), size_t{1} << 31);
}

TEST_F(OnnxParser, LimitsTheNodesOfAModel) {
  const std::string bytes = chain(9, {});
  tenon::set_import_node_limit(8);
  EXPECT_FALSE(parse(bytes));
  EXPECT_EQ(parser_->getNbErrors(), 1);
  EXPECT_THAT(first_error(), HasSubstr("more nodes than are allowed (8"));
  tenon::set_import_node_limit(9);
  begin_again();
  EXPECT_TRUE(parse(bytes));
  tenon::set_import_node_limit(0);
  EXPECT_EQ(tenon::import_node_limit(), 200'000u);
  ::setenv("TENON_IMPORT_NODES", "8", 1);
  begin_again();
  EXPECT_FALSE(parse(bytes));
  ::unsetenv("TENON_IMPORT_NODES");
}

TEST_F(OnnxParser, ARefitterNeedsOneOfTheEngine) {
  EXPECT_EQ(createNvOnnxParserRefitter_INTERNAL(nullptr, &logger_, NV_ONNX_PARSER_VERSION),
            nullptr);
  EXPECT_THAT(logger_.errors, HasSubstr("createParserRefitter"));
  EXPECT_THAT(logger_.errors, HasSubstr("the refitter is null"));
}

TEST_F(OnnxParser, RefusesBadFiles) {
  EXPECT_FALSE(parser_->parseFromFile("/no/such/model.onnx", 1));
  EXPECT_THAT(first_error(), HasSubstr("/no/such/model.onnx"));
  parser_->clearErrors();
  EXPECT_FALSE(parser_->parseFromFile(std::filesystem::temp_directory_path().c_str(), 1));
  EXPECT_THAT(first_error(), HasSubstr("is a directory"));
  parser_->clearErrors();
  EXPECT_FALSE(parser_->parseFromFile("/dev/zero", 1));
  EXPECT_THAT(first_error(), HasSubstr("not a regular file"));
  parser_->clearErrors();
  const std::string fifo =
      std::filesystem::temp_directory_path() / ("tenon_fifo_" + std::to_string(::getpid()));
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(parser_->parseFromFile(fifo.c_str(), 1));  // and does not wait for a writer
  EXPECT_THAT(first_error(), HasSubstr("not a regular file"));
  std::filesystem::remove(fifo);
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
