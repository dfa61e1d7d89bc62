// Plugins that have a kernel for the host alone, in engines whose memory is a device's.
#include <tenon/plugin_host.h>

#include "builder/build_plan.h"
#include "cpu/remote_target_testing.h"
#include "plugin_layers/idle_plugin_test.h"
#include "plugin_layers/plugin.h"
#include "plugin_layers/plugin_families_test.h"
#include "registry/registry.h"
#include "run/testing.h"

namespace tenon {
namespace {

using namespace testing;
using nvinfer1::DimsExprs;
using nvinfer1::DynamicPluginTensorDesc;
using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginTensorDesc;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Kernels { kCpu, kBoth };
Kernels kernels;       // what the objects below are made with
std::string calls;     // a letter for each run: h on the host, d on the device
std::vector<int> ran;  // with which tactic

void announce(void* plugin, TenonCpuKernel run) {
  tenonSetCpuKernel(plugin, run);
  if (kernels == Kernels::kCpu) tenonSetCpuOnly(plugin);
}

// The positive elements of x, and how many there are, as size tensor 1. It has two tactics.
class Positive final : public nvinfer1::IPluginV3,
                       public nvinfer1::IPluginV3OneCore,
                       public nvinfer1::IPluginV3OneBuild,
                       public nvinfer1::IPluginV3OneRuntime {
 public:
  Positive() { announce(static_cast<IPluginV3*>(this), &run); }
  Positive(const Positive& other) : IPluginV3(), tactic_(other.tactic_) {
    announce(static_cast<IPluginV3*>(this), &run);
  }
  Positive& operator=(const Positive&) = delete;
  ~Positive() override { tenonSetCpuKernel(static_cast<IPluginV3*>(this), nullptr); }

  static int32_t run(void* plugin, const PluginTensorDesc* in, const PluginTensorDesc*,
                     const void* const* inputs, void* const* outputs, void*) {
    calls += 'h';
    return static_cast<Positive*>(static_cast<IPluginV3*>(plugin))->find(in, inputs, outputs);
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t) noexcept override {
    calls += 'd';
    if (kernels == Kernels::kCpu || !RemoteTarget::memory.reaches(inputs[0])) return 1;
    return find(in, inputs, outputs);
  }
  nvinfer1::IPluginCapability* getCapabilityInterface(
      nvinfer1::PluginCapabilityType type) noexcept override {
    if (type == nvinfer1::PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == nvinfer1::PluginCapabilityType::kBUILD)
      return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  Positive* clone() noexcept override { return new Positive(*this); }
  const char* getPluginName() const noexcept override { return "Positive"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  int32_t getNbOutputs() const noexcept override { return 2; }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType* out, int32_t, const DataType*,
                             int32_t) const noexcept override {
    out[0] = DataType::kFLOAT;
    out[1] = DataType::kINT32;
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out,
                          int32_t, nvinfer1::IExprBuilder& build) noexcept override {
    out[0] = {1, {build.declareSizeTensor(1, *in[0].d[0], *in[0].d[0])}};
    out[1].nbDims = 0;
    return 0;
  }
  bool supportsFormatCombination(int32_t, const DynamicPluginTensorDesc*, int32_t,
                                 int32_t) noexcept override {
    return true;
  }
  int32_t getNbTactics() noexcept override { return 2; }
  int32_t getValidTactics(int32_t* tactics, int32_t) noexcept override {
    tactics[0] = 4;
    tactics[1] = 9;
    return 0;
  }
  int32_t setTactic(int32_t tactic) noexcept override {
    tactic_ = tactic;
    return 0;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return 0;
  }
  nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext*) noexcept override {
    return clone();
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override { return &none_; }

 private:
  int32_t find(const PluginTensorDesc* in, const void* const* inputs, void* const* outputs) const {
    ran.push_back(tactic_);
    int32_t count = 0;
    for (int64_t i = 0; i < in[0].dims.d[0]; ++i)
      if (const float v = static_cast<const float*>(inputs[0])[i]; v > 0)
        static_cast<float*>(outputs[0])[count++] = v;
    *static_cast<int32_t*>(outputs[1]) = count;
    return 0;
  }

  int32_t tactic_ = 0;
  PluginFieldCollection none_{0, nullptr};
};

class PositiveCreator final : public nvinfer1::IPluginCreatorV3One {
 public:
  nvinfer1::IPluginV3* createPlugin(const char*, const PluginFieldCollection*,
                                    nvinfer1::TensorRTPhase) noexcept override {
    return new Positive;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return "Positive"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
};

// y = 2 x, in version 2 of the protocol.
class Twice final : public IdlePlugin {
 public:
  Twice() { announce(static_cast<IPluginV2*>(this), &run); }
  Twice(const Twice& other) : IdlePlugin(other) { announce(static_cast<IPluginV2*>(this), &run); }
  Twice& operator=(const Twice&) = delete;
  ~Twice() override { tenonSetCpuKernel(static_cast<IPluginV2*>(this), nullptr); }
  static int32_t run(void*, const PluginTensorDesc* in, const PluginTensorDesc*,
                     const void* const* inputs, void* const* outputs, void*) {
    calls += 'h';
    for (int64_t i = 0; i < in[0].dims.d[0]; ++i)
      static_cast<float*>(outputs[0])[i] = 2 * static_cast<const float*>(inputs[0])[i];
    return 0;
  }
  const char* getPluginType() const noexcept override { return "Twice"; }
  Twice* clone() const noexcept override { return new Twice(*this); }
};

class TwiceCreator final : public nvinfer1::IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "Twice"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  nvinfer1::IPluginV2* createPlugin(const char*, const PluginFieldCollection*) noexcept override {
    return new Twice;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override {
    return new Twice;
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
};

class Logger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kWARNING) warnings += std::string(text) + "\n";
  }
  std::string warnings;
};

class HostPlugins : public ::testing::Test {
 protected:
  HostPlugins() {
    plugin_registry().registerCreator(positive_, "");
    plugin_registry().registerCreator(twice_, "");
    kernels = Kernels::kCpu;
    calls.clear();
    ran.clear();
  }
  ~HostPlugins() override {
    plugin_registry().deregisterCreator(positive_);
    plugin_registry().deregisterCreator(twice_);
  }

  // x of 1 to 8 elements to twice its positive elements: y = Twice(Positive(x)).
  std::vector<std::byte> build() {
    Network n;
    Value& x = n.add_input("x", DataType::kFLOAT, {-1});
    Positive positive;
    Twice twice;
    Value& found = add(n, make_plugin_v3(positive, 0), {&x}, "find");
    finish(n, add(n, make_plugin_v2(twice), {&found}, "double"), "y");
    BuildOptions options;
    options.log = Log(&logger_);
    ProfileRequest profile;
    profile.inputs["x"] = {Shape{1}, Shape{4}, Shape{8}, {}, {}, {}};
    options.profiles = {profile};
    return write_plan(build_plan(n, target_, options));
  }
  std::shared_ptr<Engine> load(const std::vector<std::byte>& bytes) {
    return std::make_shared<Engine>(read_plan(bytes, nullptr, "plan"), target_, Log());
  }
  std::vector<float> run(Context& context, const std::vector<float>& values) {
    const size_t bytes = values.size() * sizeof(float);
    const DeviceBuffer x(target_.memory, bytes), y(target_.memory, bytes);
    target_.memory.copy_in(x.data(), values.data(), bytes, nullptr);
    context.set_input_shape(0, {static_cast<int64_t>(values.size())});
    context.set_address(0, x.data());
    context.set_address(1, y.data());
    context.execute();
    std::vector<float> result(static_cast<size_t>(context.tensor_shape(1)[0]));
    target_.memory.copy_out(result.data(), y.data(), result.size() * sizeof(float), nullptr);
    return result;
  }

  PositiveCreator positive_;
  TwiceCreator twice_;
  RemoteTarget target_;
  Logger logger_;
};

TEST_F(HostPlugins, RunThereWithCopies) {
  const auto bytes = build();
  EXPECT_THAT(
      logger_.warnings,
      AllOf(HasSubstr("find (PluginV3): plugin \"Positive\" version \"1\" was built without "
                      "a kernel for CUDA: it runs on the host"),
            HasSubstr("double (PluginV2): plugin \"Twice\" version \"1\" was built")));
  EXPECT_THAT(ran, ::testing::IsSupersetOf({4, 9}));  // both tactics were timed
  ran.clear();
  const auto engine = load(bytes);
  EXPECT_EQ(engine->plan().steps[0].kernel, "plugin_on_host");
  EXPECT_THAT(engine->obstacle_to_capture(), HasSubstr("layer find (PluginV3)"));
  Context context(engine, true), other(engine, true);
  EXPECT_THAT(run(context, {1, -1, 2, 3}), ElementsAre(2, 4, 6));
  EXPECT_THAT(run(context, {-1}), ElementsAre());
  EXPECT_THAT(run(other, {1, 2, 3, 4, 5, -6, 7, 8}), ElementsAre(2, 4, 6, 8, 10, 14, 16));
  EXPECT_THAT(run(context, {0, -1, 5, 1}), ElementsAre(10, 2));
  EXPECT_EQ(ran.front(), ran.back());  // the tactic that the plan keeps
  EXPECT_TRUE(ran.front() == 4 || ran.front() == 9);
  EXPECT_EQ(calls.find('d'), std::string::npos);
}

TEST_F(HostPlugins, GoToTheDeviceIfTheyCan) {
  kernels = Kernels::kBoth;
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {3});
  Positive positive;
  finish(n, add(n, make_plugin_v3(positive, 0), {&x}, "find"), "y");
  BuildOptions options;
  options.log = Log(&logger_);
  const auto bytes = write_plan(build_plan(n, target_, options));
  EXPECT_EQ(logger_.warnings, "");
  {
    Context context(load(bytes), true);
    EXPECT_THAT(run(context, {1, -1, 2}), ElementsAre(1, 2));
    EXPECT_EQ(calls.find('h'), std::string::npos);
  }
  // The library that is there later has no kernel for the device.
  kernels = Kernels::kCpu;
  Context context(load(bytes), true);
  try {
    run(context, {1, -1, 2});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("layer find (PluginV3): plugin \"Positive\""),
                                HasSubstr("was built without a kernel for CUDA, and the plan "
                                          "expects one: build the plan again")));
  }
}

}  // namespace
}  // namespace tenon
