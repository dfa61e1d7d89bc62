#include "plugin_layers/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin_host.h>

#include <cstring>
#include <functional>

#include "network/network.h"
#include "plugin_layers/plugin_fields.h"
#include "registry/registry.h"

namespace tenon {
namespace {

using nvinfer1::DimensionOperation;
using nvinfer1::DimsExprs;
using nvinfer1::DynamicPluginTensorDesc;
using nvinfer1::IExprBuilder;
using nvinfer1::PluginTensorDesc;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> calls;  // the life cycle of the plugins below

// How a plugin below misbehaves.
struct Faults {
  int32_t outputs = 1, version = 0, initialize = 0, enqueue = 0, rank = 2, status = 0;
  int32_t aliased_input = -1;
  bool null_clone = false, null_expression = false, size_tensor = false, divides_by_zero = false;
  DataType type = DataType::kFLOAT;
};

// Version 2: output = input * factor, with rows doubled; the factor is its blob.
class TimesV2 : public nvinfer1::IPluginV2DynamicExt {
 public:
  explicit TimesV2(float factor, Faults faults = {}) : factor_(factor), faults_(faults) {}
  int32_t getTensorRTVersion() const noexcept override {
    return faults_.version != 0 ? faults_.version : IPluginV2DynamicExt::getTensorRTVersion();
  }
  const char* getPluginType() const noexcept override { return "Times"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return faults_.outputs; }
  int32_t initialize() noexcept override {
    calls.push_back("initialize");
    return faults_.initialize;
  }
  void terminate() noexcept override { calls.push_back("terminate"); }
  size_t getSerializationSize() const noexcept override { return sizeof(factor_); }
  void serialize(void* to) const noexcept override { std::memcpy(to, &factor_, sizeof(factor_)); }
  void destroy() noexcept override {
    calls.push_back("destroy");
    delete this;
  }
  TimesV2* clone() const noexcept override {
    calls.push_back("clone");
    return faults_.null_clone ? nullptr : new TimesV2(factor_, faults_);
  }
  void setPluginNamespace(const char* n) noexcept override { name_space_ = n; }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }
  DataType getOutputDataType(int32_t, const DataType*, int32_t) const noexcept override {
    return faults_.type;
  }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* in, int32_t,
                                IExprBuilder& build) noexcept override {
    DimsExprs out = in[0];
    out.nbDims = faults_.rank;
    if (faults_.rank < 0) tenonReportPluginError("no rank today");
    const auto divisor = build.constant(faults_.divides_by_zero ? 0 : 1);
    out.d[0] = build.operation(DimensionOperation::kFLOOR_DIV, *in[0].d[0], *divisor);
    out.d[1] = build.operation(DimensionOperation::kPROD, *in[0].d[1], *build.constant(2));
    if (faults_.null_expression) out.d[1] = nullptr;
    if (faults_.size_tensor) out.d[1] = build.declareSizeTensor(1, *out.d[0], *out.d[0]);
    return out;
  }
  bool supportsFormatCombination(int32_t position, const PluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    return all[position].type == DataType::kFLOAT;
  }
  void configurePlugin(const DynamicPluginTensorDesc* in, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {
    calls.push_back("configure " + Shape(in[0].desc.dims).str());
  }
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    calls.push_back("workspace");
    return sizeof(float);
  }
  void attachToContext(cudnnContext*, cublasContext*,
                       nvinfer1::IGpuAllocator* allocator) noexcept override {
    calls.push_back(allocator != nullptr ? "attach" : "attach without allocator");
  }
  void detachFromContext() noexcept override { calls.push_back("detach"); }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t) noexcept override {
    calls.push_back("enqueue");
    *static_cast<float*>(workspace) = factor_;
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* y = static_cast<float*>(outputs[0]);
    for (int64_t i = 0; i < Shape(out[0].dims).volume(); ++i)
      y[i] = x[i % Shape(in[0].dims).volume()] * *static_cast<float*>(workspace);
    return faults_.enqueue;
  }

 private:
  float factor_;
  Faults faults_;
  std::string name_space_;
};

class TimesV2Creator final : public nvinfer1::IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "Times"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  nvinfer1::IPluginV2* createPlugin(const char*,
                                    const nvinfer1::PluginFieldCollection*) noexcept override {
    return nullptr;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void* data,
                                         size_t size) noexcept override {
    float factor = 0;
    if (size != sizeof(factor)) return nullptr;
    std::memcpy(&factor, data, size);
    return new TimesV2(factor);
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
};

// Version 3: fills the shape that its shape input says with the sum of the input, times factor.
class FillV3 final : public nvinfer1::IPluginV3,
                     public nvinfer1::IPluginV3OneCore,
                     public nvinfer1::IPluginV3OneBuildV2,
                     public nvinfer1::IPluginV3OneRuntime {
 public:
  explicit FillV3(std::vector<int64_t> factors, Faults faults = {})
      : factors_(std::move(factors)), faults_(faults) {}
  nvinfer1::IPluginCapability* getCapabilityInterface(
      nvinfer1::PluginCapabilityType type) noexcept override {
    if (type == nvinfer1::PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == nvinfer1::PluginCapabilityType::kBUILD)
      return static_cast<nvinfer1::IPluginV3OneBuildV2*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  FillV3* clone() noexcept override { return new FillV3(factors_, faults_); }
  const char* getPluginName() const noexcept override { return "Fill"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const char* getPluginNamespace() const noexcept override { return "mine"; }
  int32_t getNbOutputs() const noexcept override { return faults_.outputs; }
  int32_t getAliasedInput(int32_t) noexcept override { return faults_.aliased_input; }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    calls.push_back("configure");
    return 0;
  }
  int32_t getOutputDataTypes(DataType* out, int32_t, const DataType* in,
                             int32_t) const noexcept override {
    out[0] = in[0];
    return faults_.status;
  }
  int32_t getOutputShapes(const DimsExprs*, int32_t, const DimsExprs* shapes, int32_t count,
                          DimsExprs* out, int32_t, IExprBuilder&) noexcept override {
    if (count != 1) return 7;
    out[0] = shapes[0];
    return 0;
  }
  bool supportsFormatCombination(int32_t, const DynamicPluginTensorDesc*, int32_t,
                                 int32_t) noexcept override {
    return true;
  }
  int32_t getNbTactics() noexcept override { return 2; }
  int32_t getValidTactics(int32_t* tactics, int32_t) noexcept override {
    tactics[0] = 41;
    tactics[1] = 42;
    return 0;
  }
  int32_t setTactic(int32_t tactic) noexcept override {
    calls.push_back("tactic " + std::to_string(tactic));
    return 0;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t count, const PluginTensorDesc*,
                        int32_t) noexcept override {
    calls.push_back("shapes of " + std::to_string(count));
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t) noexcept override {
    calls.push_back("enqueue");
    float sum = 0;
    for (int64_t i = 0; i < Shape(in[0].dims).volume(); ++i)
      sum += static_cast<const float*>(inputs[0])[i];
    for (int64_t i = 0; i < Shape(out[0].dims).volume(); ++i)
      static_cast<float*>(outputs[0])[i] = sum * static_cast<float>(factors_[i % factors_.size()]);
    return faults_.enqueue;
  }
  nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext* c) noexcept override {
    calls.push_back(c != nullptr ? "attach" : "attach to nothing");
    return clone();
  }
  const nvinfer1::PluginFieldCollection* getFieldsToSerialize() noexcept override {
    field_ = {"factors", factors_.data(), nvinfer1::PluginFieldType::kINT64,
              static_cast<int32_t>(factors_.size())};
    collection_ = {1, &field_};
    return &collection_;
  }

 private:
  std::vector<int64_t> factors_;
  Faults faults_;
  nvinfer1::PluginField field_;
  nvinfer1::PluginFieldCollection collection_{};
};

class FillV3Creator final : public nvinfer1::IPluginCreatorV3One {
 public:
  nvinfer1::IPluginV3* createPlugin(const char*, const nvinfer1::PluginFieldCollection* fields,
                                    nvinfer1::TensorRTPhase phase) noexcept override {
    if (phase != nvinfer1::TensorRTPhase::kRUNTIME || fields->nbFields != 1) return nullptr;
    const auto* data = static_cast<const int64_t*>(fields->fields[0].data);
    return new FillV3({data, data + fields->fields[0].length});
  }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return "Fill"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const char* getPluginNamespace() const noexcept override { return "mine"; }
};

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

TEST(PluginFieldsTest, DamagedBytesAreAnError) {
  const int64_t numbers[] = {1, 2};
  const nvinfer1::PluginField field("numbers", numbers, nvinfer1::PluginFieldType::kINT64, 2);
  const nvinfer1::PluginFieldCollection all{1, &field};
  const std::string bytes = flatten_fields(&all);
  const StoredFields back(bytes);
  ASSERT_EQ(back.collection().nbFields, 1);
  EXPECT_STREQ(back.collection().fields[0].name, "numbers");
  EXPECT_EQ(static_cast<const int64_t*>(back.collection().fields[0].data)[1], 2);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(StoredFields(bytes.substr(0, length)), Error) << length;
  for (size_t i = 0; i < bytes.size(); ++i) {  // any byte: an error or other values, never a crash
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x80);
    try {
      const StoredFields survivor(damaged);
    } catch (const Error&) {}
  }
  EXPECT_THROW(StoredFields(bytes + "x"), Error);
  const nvinfer1::PluginField bad("bad", nullptr, nvinfer1::PluginFieldType::kINT32, 3);
  const nvinfer1::PluginFieldCollection bad_list{1, &bad};
  EXPECT_THROW(flatten_fields(&bad_list), Error);
}

}  // namespace
}  // namespace tenon
