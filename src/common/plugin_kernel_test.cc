#include "common/plugin_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin_host.h>

#include "base/error.h"
#include "plugin_layers/plugin.h"

namespace tenon {
namespace {

using nvinfer1::DimsExprs;
using nvinfer1::DynamicPluginTensorDesc;
using nvinfer1::PluginTensorDesc;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Adds 1 by its CPU kernel, and fails on any other way. Takes fp32 only.
class AddOne final : public nvinfer1::IPluginV3,
                     public nvinfer1::IPluginV3OneCore,
                     public nvinfer1::IPluginV3OneBuild,
                     public nvinfer1::IPluginV3OneRuntime {
 public:
  AddOne() { tenonSetCpuKernel(static_cast<IPluginV3*>(this), &run); }
  ~AddOne() override { tenonSetCpuKernel(static_cast<IPluginV3*>(this), nullptr); }

  static int32_t run(void*, const PluginTensorDesc* in, const PluginTensorDesc*,
                     const void* const* inputs, void* const* outputs, void* workspace) {
    if (workspace == nullptr || in[0].dims.d[0] == 13) {
      tenonReportPluginError("thirteen brings bad luck");
      return 3;
    }
    for (int64_t i = 0; i < in[0].dims.d[0]; ++i)
      static_cast<float*>(outputs[0])[i] = static_cast<const float*>(inputs[0])[i] + 1;
    return 0;
  }
  nvinfer1::IPluginCapability* getCapabilityInterface(
      nvinfer1::PluginCapabilityType type) noexcept override {
    if (type == nvinfer1::PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == nvinfer1::PluginCapabilityType::kBUILD)
      return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  AddOne* clone() noexcept override { return new AddOne; }
  const char* getPluginName() const noexcept override { return "AddOne"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getOutputDataTypes(DataType*, int32_t, const DataType*, int32_t) const noexcept override {
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs*, int32_t, const DimsExprs*, int32_t, DimsExprs*, int32_t,
                          nvinfer1::IExprBuilder&) noexcept override {
    return 0;
  }
  bool supportsFormatCombination(int32_t position, const DynamicPluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    return all[position].desc.type == DataType::kFLOAT
           && all[position].desc.format == nvinfer1::TensorFormat::kLINEAR;
  }
  size_t getWorkspaceSize(const DynamicPluginTensorDesc* in, int32_t,
                          const DynamicPluginTensorDesc*, int32_t) const noexcept override {
    if (in[0].max.d[0] == 14) {
      tenonReportPluginError("fourteen is too much");
      return SIZE_MAX;
    }
    return static_cast<size_t>(in[0].max.d[0]) * 8;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*,
                  void* const*, void*, cudaStream_t) noexcept override {
    return 1;
  }
  nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext*) noexcept override {
    return clone();
  }
  const nvinfer1::PluginFieldCollection* getFieldsToSerialize() noexcept override {
    return nullptr;
  }
};

class PluginKernelTest : public ::testing::Test {
 protected:
  PluginKernelTest() {
    AddOne plugin;
    op_ = make_plugin_v3(plugin, 0);
  }
  Offer offer(DataType type) {
    const TensorSpec specs[] = {{type, Layout::kLinear, Shape{2}}};
    const Tensor* constants[] = {nullptr};
    return offer_plugin({*op_, specs, specs, constants});
  }
  Offer load(const StoredKernel& stored) {
    const TensorSpec specs[] = {{DataType::kFLOAT, Layout::kLinear, Shape{2}}};
    const Tensor* constants[] = {nullptr};
    return load_plugin({*op_, specs, specs, constants}, stored);
  }
  std::vector<float> run(const Kernel& kernel, std::vector<float> x) {
    const TensorSpec specs[] = {
        {DataType::kFLOAT, Layout::kLinear, Shape{static_cast<int64_t>(x.size())}}};
    const auto execution = kernel.prepare(specs, specs);
    EXPECT_EQ(execution->scratch_bytes(), std::max<size_t>(x.size(), 2) * 8);
    std::vector<float> y(x.size());
    std::vector<double> scratch(execution->scratch_bytes() / sizeof(double));
    const void* inputs[] = {x.data()};
    void* outputs[] = {y.data()};
    execution->run({inputs, outputs, scratch.data(), nullptr});
    return y;
  }
  std::unique_ptr<Op> op_;
};

TEST_F(PluginKernelTest, RunsThePluginsCpuKernel) {
  Offer answer = offer(DataType::kFLOAT);
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Kernel>>(answer)) << std::get<1>(answer);
  const Kernel& kernel = *std::get<0>(answer);
  EXPECT_EQ(kernel.name, "plugin");
  EXPECT_THAT(run(kernel, {1, 2, 3}), ElementsAre(2, 3, 4));

  const StoredKernel stored = kernel.store();
  Offer loaded = load(stored);
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Kernel>>(loaded)) << std::get<1>(loaded);
  EXPECT_THAT(run(*std::get<0>(loaded), {5}), ElementsAre(6));
}

TEST_F(PluginKernelTest, SaysWhatThePluginRefused) {
  Offer answer = offer(DataType::kHALF);
  ASSERT_TRUE(std::holds_alternative<std::string>(answer));
  EXPECT_THAT(std::get<std::string>(answer),
              HasSubstr("plugin \"AddOne\" version \"1\" refuses linear float16 for input 0"));
}

TEST_F(PluginKernelTest, RefusesAWorkspaceThatNobodyHas) {
  Offer answer = offer(DataType::kFLOAT);
  try {
    run(*std::get<0>(answer), std::vector<float>(14));
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "plugin \"AddOne\" version \"1\": getWorkspaceSize() asks for 18446744073709551615 "
        "bytes: fourteen is too much");
  }
}

TEST_F(PluginKernelTest, PassesOnThePluginsReason) {
  Offer answer = offer(DataType::kFLOAT);
  try {
    run(*std::get<0>(answer), std::vector<float>(13));
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "plugin \"AddOne\" version \"1\": its CPU kernel failed with 3: thirteen brings "
                 "bad luck");
  }
}

TEST_F(PluginKernelTest, DamagedStateIsRefused) {
  const StoredKernel stored{{{"workspace", int64_t{-1}}}, {}};
  EXPECT_TRUE(std::holds_alternative<std::string>(load(stored)));
}

}  // namespace
}  // namespace tenon
