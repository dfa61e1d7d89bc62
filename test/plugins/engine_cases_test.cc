// Every case of every plugins/*/cases.json through the whole engine: as an ONNX node, by
// addPluginV2() and by addPluginV3(), built, written as a plan, read back and run; and with empty
// batches.
#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <onnx_schema.pb.h>

#include <memory>

#include "plugins/folder_cases.h"
#include "test/support/device_array.h"

namespace tenon::plugins::testing {
namespace {

using kit::Entry;
using kit::testing::CaseField;
using kit::testing::CaseTensor;
using kit::testing::NamedCase;
using kit::testing::PluginCase;
using tenon::testing::DeviceArray;
using tenon::testing::on_host;
using namespace nvinfer1;  // NOLINT: the program is one of TensorRT's

class Logger final : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) text += std::string(message) + "\n";
  }
  std::string text;
};

// An allocator of one output.
class Output final : public IOutputAllocator {
 public:
  ~Output() override { cudaFree(data); }
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                              cudaStream_t) noexcept override {
    cudaFree(data);
    return cudaMalloc(&data, size) == cudaSuccess ? data : data = nullptr;
  }
  void notifyShape(const char*, const Dims& dims) noexcept override { shape = dims; }

  void* data = nullptr;
  Dims shape{-1, {}};
};

// Has one of an entry's creators in the registry, in place of the other.
class Registered {
 public:
  Registered(const Entry& entry, IPluginCreatorInterface* wanted) : entry_(entry), wanted_(wanted) {
    usual_ = entry.spec.protocol == kit::Protocol::kV2 ? entry.v2 : entry.v3;
    exchange(usual_, wanted_);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() { exchange(wanted_, usual_); }

 private:
  void exchange(IPluginCreatorInterface* out, IPluginCreatorInterface* in) const {
    if (out == in) return;
    EXPECT_TRUE(getPluginRegistry()->deregisterCreator(*out));
    EXPECT_TRUE(getPluginRegistry()->registerCreator(*in, entry_.spec.name_space));
  }
  const Entry& entry_;
  IPluginCreatorInterface *wanted_, *usual_;
};

enum class Way { kOnnx, kV2, kV3 };

class EngineCase {
 public:
  EngineCase(const PluginCase& c, const Entry& entry, Way way, DataType t)
      : case_(c), entry_(entry), way_(way), t_(t) {}

  // "" when the engine computes what the case says.
  std::string check() {
    std::string why = run();
    if (why.empty()) why = compare();
    return why.empty() ? "" : why + "\n" + logger_.text;
  }
  // "" when an empty batch runs, or the engine says why it does not.
  std::string check_empty() {
    is_empty_ = true;
    const std::string why = run();
    return why.empty() || !logger_.text.empty() ? "" : why + ", and nothing says why";
  }

 private:
  // Inputs whose first extent is that of the first one have the batch there.
  Dims dims_of(const CaseTensor& v) const {
    Dims dims = v.dims;
    const Dims& first = case_.inputs()[0].dims;
    if (is_empty_ && dims.nbDims > 0 && first.nbDims > 0 && dims.d[0] == first.d[0]) dims.d[0] = 0;
    return dims;
  }

  std::string run() {
    const std::unique_ptr<IHostMemory> plan = build();
    if (plan == nullptr) return "no plan";
    const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger_));
    const std::unique_ptr<ICudaEngine> engine(
        runtime->deserializeCudaEngine(plan->data(), plan->size()));
    if (engine == nullptr) return "no engine";
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    if (context == nullptr) return "no context";
    std::vector<std::unique_ptr<DeviceArray>> inputs;
    for (const CaseTensor& v : case_.inputs()) {
      const auto bytes = v.bytes(v.type_for(t_), TensorFormat::kLINEAR);
      inputs.push_back(std::make_unique<DeviceArray>(bytes.data(), bytes.size()));
      const std::string name = "in " + v.name;
      if (!context->setInputShape(name.c_str(), dims_of(v))
          || !context->setTensorAddress(name.c_str(), inputs.back()->data()))
        return name + " is refused";
    }
    outputs_ = std::vector<Output>(case_.outputs().size());
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (!context->setOutputAllocator(("out " + case_.outputs()[i].name).c_str(), &outputs_[i]))
        return "an output is refused";
    if (!context->enqueueV3(nullptr) || cudaStreamSynchronize(nullptr) != cudaSuccess)
      return "enqueueV3() failed";
    return "";
  }

  std::string compare() const {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const CaseTensor& wanted = case_.outputs()[i];
      const Dims& found = outputs_[i].shape;
      if (found.nbDims != wanted.dims.nbDims
          || !std::equal(found.d, found.d + found.nbDims, wanted.dims.d))
        return wanted.name + " has another shape";
      const DataType type = wanted.type_for(t_);
      const size_t bytes = wanted.bytes(type, TensorFormat::kLINEAR).size();
      const auto result = on_host<char>(outputs_[i].data, bytes);
      if (std::string why = case_.compare(i, type, result.data()); !why.empty()) return why;
    }
    return "";
  }

  std::unique_ptr<IHostMemory> build() {
    const std::unique_ptr<IBuilder> builder(createInferBuilder(logger_));
    const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
    const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
    std::unique_ptr<nvonnxparser::IParser> parser;
    if (way_ == Way::kOnnx) {
      parser.reset(nvonnxparser::createParser(*network, logger_));
      const std::string model = onnx_model();
      if (!parser->parse(model.data(), model.size())) return nullptr;
      IOptimizationProfile* profile = builder->createOptimizationProfile();
      for (const CaseTensor& v : case_.inputs())
        for (const auto at :
             {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
          profile->setDimensions(("in " + v.name).c_str(), at,
                                 at == OptProfileSelector::kMIN ? dims_of(v) : v.dims);
      config->addOptimizationProfile(profile);
      for (size_t i = 0; i < case_.inputs().size(); ++i)
        set_range(*network->getInput(static_cast<int32_t>(i)), case_.inputs()[i]);
      for (size_t i = 0; i < case_.outputs().size(); ++i)
        set_range(*network->getOutput(static_cast<int32_t>(i)), case_.outputs()[i]);
    } else {
      ILayer* layer = add_layer(*network);
      if (layer == nullptr) return nullptr;
      for (int i = 0; i < layer->getNbOutputs(); ++i) {
        layer->getOutput(i)->setName(("out " + case_.outputs().at(i).name).c_str());
        set_range(*layer->getOutput(i), case_.outputs().at(i));
        network->markOutput(*layer->getOutput(i));
      }
    }
    return std::unique_ptr<IHostMemory>(builder->buildSerializedNetwork(*network, *config));
  }

  // What says the scale of an int8.
  static void set_range(ITensor& tensor, const CaseTensor& v) {
    constexpr float kLargest = 127;
    if (v.scale != 1) tensor.setDynamicRange(-kLargest * v.scale, kLargest * v.scale);
  }

  ILayer* add_layer(INetworkDefinition& network) {
    std::vector<ITensor*> inputs, shapes;
    for (const CaseTensor& v : case_.inputs()) {
      inputs.push_back(network.addInput(("in " + v.name).c_str(), v.type_for(t_), dims_of(v)));
      set_range(*inputs.back(), v);
    }
    for (const auto& values : case_.shape_inputs()) {
      const auto count = static_cast<int64_t>(values.size());
      const Weights weights{DataType::kINT64, values.data(), count};
      shapes.push_back(network.addConstant(Dims{1, {count}}, weights)->getOutput(0));
    }
    std::vector<PluginField> fields;
    for (const CaseField& f : case_.fields()) fields.push_back(f.view());
    const PluginFieldCollection all{static_cast<int32_t>(fields.size()), fields.data()};
    const auto count = static_cast<int32_t>(inputs.size());
    if (way_ == Way::kV2) {
      const std::unique_ptr<IPluginV2, void (*)(IPluginV2*)> plugin(
          static_cast<IPluginCreator&>(*entry_.v2).createPlugin("layer", &all),
          [](IPluginV2* p) { p->destroy(); });
      return plugin ? network.addPluginV2(inputs.data(), count, *plugin) : nullptr;
    }
    const std::unique_ptr<IPluginV3> plugin(
        static_cast<IPluginCreatorV3One&>(*entry_.v3)
            .createPlugin("layer", &all, TensorRTPhase::kBUILD));
    if (plugin == nullptr) return nullptr;
    return network.addPluginV3(inputs.data(), count, shapes.data(),
                               static_cast<int32_t>(shapes.size()), *plugin);
  }

  // A model of one node, with all extents open.
  std::string onnx_model() const {
    constexpr const char* kDomain = "test.plugins";
    tenon_onnx::ModelProto model;
    model.set_ir_version(8);
    auto* standard = model.add_opset_import();
    standard->set_version(17);
    auto* own = model.add_opset_import();
    own->set_domain(kDomain);
    own->set_version(1);
    auto& graph = *model.mutable_graph();
    graph.set_name("case");
    auto& node = *graph.add_node();
    node.set_name("layer");
    node.set_op_type(case_.name());
    node.set_domain(kDomain);
    add_text(node, "plugin_version", case_.version());
    add_text(node, "plugin_namespace", case_.name_space());
    for (const CaseField& field : case_.fields()) add_attribute(node, field);
    for (const CaseTensor& v : case_.inputs()) {
      node.add_input("in " + v.name);
      auto& info = *graph.add_input();
      info.set_name("in " + v.name);
      auto& type = *info.mutable_type()->mutable_tensor_type();
      type.set_elem_type(onnx_type(v.type_for(t_)));
      auto& shape = *type.mutable_shape();
      for (int d = 0; d < v.dims.nbDims; ++d)
        shape.add_dim()->set_dim_param(v.name + std::to_string(d));
    }
    if (!case_.shape_inputs().empty()) {
      auto& indices = *node.add_attribute();
      indices.set_name("tensorrt_plugin_shape_input_indices");
      indices.set_type(tenon_onnx::AttributeProto::INTS);
      for (const auto& values : case_.shape_inputs()) {
        indices.add_ints(node.input_size());
        const std::string name = "shape " + std::to_string(node.input_size());
        node.add_input(name);
        auto& weight = *graph.add_initializer();
        weight.set_name(name);
        weight.set_data_type(tenon_onnx::TensorProto::INT64);
        weight.add_dims(static_cast<int64_t>(values.size()));
        for (const int64_t v : values) weight.add_int64_data(v);
      }
    }
    for (const CaseTensor& v : case_.outputs()) {
      node.add_output("out " + v.name);
      graph.add_output()->set_name("out " + v.name);
    }
    return model.SerializeAsString();
  }

  static void add_text(tenon_onnx::NodeProto& node, const std::string& name,
                       const std::string& text) {
    auto& a = *node.add_attribute();
    a.set_name(name);
    a.set_type(tenon_onnx::AttributeProto::STRING);
    a.set_s(text);
  }

  static void add_attribute(tenon_onnx::NodeProto& node, const CaseField& field) {
    using tenon_onnx::AttributeProto;
    if (field.type == PluginFieldType::kCHAR) return add_text(node, field.name, field.data);
    auto& a = *node.add_attribute();
    a.set_name(field.name);
    const auto length = static_cast<size_t>(field.length);
    if (field.type == PluginFieldType::kFLOAT32 || field.type == PluginFieldType::kFLOAT64) {
      for (size_t i = 0; i < length; ++i)
        a.add_floats(field.type == PluginFieldType::kFLOAT32
                         ? kit::load<float>(field.data.data(), static_cast<int64_t>(i))
                         : static_cast<float>(
                               kit::load<double>(field.data.data(), static_cast<int64_t>(i))));
      a.set_type(length == 1 ? AttributeProto::FLOAT : AttributeProto::FLOATS);
      if (length == 1) a.set_f(a.floats(0)), a.clear_floats();
    } else if (field.type == PluginFieldType::kFLOAT16) {
      a.set_type(AttributeProto::TENSOR);
      a.mutable_t()->set_data_type(tenon_onnx::TensorProto::FLOAT16);
      a.mutable_t()->add_dims(field.length);
      a.mutable_t()->set_raw_data(field.data);
    } else {
      std::vector<int64_t> list;
      const kit::PluginField view = field.view();
      kit::FieldReader(view, field.name).read(list);
      for (const int64_t v : list) a.add_ints(v);
      a.set_type(length == 1 ? AttributeProto::INT : AttributeProto::INTS);
      if (length == 1) a.set_i(a.ints(0)), a.clear_ints();
    }
  }

  static int onnx_type(DataType type) {
    using tenon_onnx::TensorProto;
    switch (type) {
      case DataType::kHALF:
        return TensorProto::FLOAT16;
      case DataType::kBF16:
        return TensorProto::BFLOAT16;
      case DataType::kINT8:
        return TensorProto::INT8;
      case DataType::kINT32:
        return TensorProto::INT32;
      case DataType::kINT64:
        return TensorProto::INT64;
      case DataType::kUINT8:
        return TensorProto::UINT8;
      case DataType::kBOOL:
        return TensorProto::BOOL;
      default:
        return TensorProto::FLOAT;
    }
  }

  const PluginCase& case_;
  const Entry& entry_;
  Way way_;
  DataType t_;
  bool is_empty_ = false;
  Logger logger_;
  std::vector<Output> outputs_;
};

class EngineCases : public ::testing::TestWithParam<NamedCase> {};

void check(const PluginCase& c, Way way, const char* name,
           std::string (EngineCase::*what)() = &EngineCase::check) {
  const auto found = kit::entries().find(c.key());
  ASSERT_NE(found, kit::entries().end()) << c.key() << " is not registered";
  const Entry& entry = found->second;
  if (way == Way::kV2 && entry.needs_v3) return;  // cases_test.cc: it says so
  const Registered registered(entry, way == Way::kV2                             ? entry.v2
                                     : way == Way::kV3                           ? entry.v3
                                     : entry.spec.protocol == kit::Protocol::kV2 ? entry.v2
                                                                                 : entry.v3);
  for (const DataType t : c.types())
    EXPECT_EQ((EngineCase(c, entry, way, t).*what)(), "")
        << name << ", data type " << static_cast<int>(t);
}

TEST_P(EngineCases, PassAsOnnxNode) {
  check(GetParam().test, Way::kOnnx, "ONNX");
}
TEST_P(EngineCases, PassThroughAddPluginV2) {
  check(GetParam().test, Way::kV2, "addPluginV2");
}
TEST_P(EngineCases, PassThroughAddPluginV3) {
  check(GetParam().test, Way::kV3, "addPluginV3");
}
TEST_P(EngineCases, SurviveAnEmptyBatch) {
  if (GetParam().test.inputs().empty()) return;
  check(GetParam().test, Way::kOnnx, "a range from 0", &EngineCase::check_empty);
  check(GetParam().test, Way::kV3, "0 always", &EngineCase::check_empty);
}
INSTANTIATE_TEST_SUITE_P(All, EngineCases, ::testing::ValuesIn(all_cases()),
                         [](const auto& info) { return test_name(info.param, info.index); });

}  // namespace
}  // namespace tenon::plugins::testing
