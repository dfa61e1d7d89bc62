// Plugins that read and write tensors in formats other than kLINEAR, inside of networks.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <string>

#include "api/format_testing.h"
#include "api/testing.h"
#include "base/half.h"
#include "plugin_layers/plugin_families_test.h"
#include "plugin_layers/plugin_memory_test.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::AllOf;
using ::testing::HasSubstr;

// What the plugins below take, and nothing else.
struct Wish {
  TensorFormat in = TensorFormat::kLINEAR, out = TensorFormat::kLINEAR;
};
Wish wish;

bool is_wanted(int32_t position, const PluginTensorDesc& desc) {
  return desc.format == (position == 0 ? wish.in : wish.out);
}

const FormatCase& case_of(TensorFormat format) {
  return *std::ranges::find(kFormatCases, format, &FormatCase::format);
}

// y = x * (channel + 1), by where the descriptions say that elements lie. What pads the channels of
// y is `garbage`.
template <class T>
void weigh(const PluginTensorDesc& in, const PluginTensorDesc& out, const void* x, void* y,
           T garbage, cudaStream_t stream) {
  const FormatCase &from = case_of(in.format), &to = case_of(out.format);
  const bool has_depth = from.has_depth || to.has_depth;
  const int first = in.dims.nbDims - (has_depth ? 4 : 3);  // of the axes of channels and positions
  const auto volume = [&](int begin, int end) {
    return std::accumulate(in.dims.d + begin, in.dims.d + end, int64_t{1}, std::multiplies<>());
  };
  const int64_t images = volume(0, first), channels = in.dims.d[first];
  const int64_t positions = volume(first + 1, in.dims.nbDims);
  const auto elements = [&](const FormatCase& format) {
    return static_cast<size_t>(images * format.padded_channels(channels) * positions);
  };
  const auto read = on_host<T>(x, elements(from), stream);
  std::vector<T> written(elements(to), garbage);
  for (int64_t i = 0; i < images; ++i)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < positions; ++p)
        written[to.at(i, c, p, channels, positions)] =
            static_cast<T>(static_cast<float>(read[from.at(i, c, p, channels, positions)])
                           * static_cast<float>(c + 1));
  to_device(y, written, stream);
}

int32_t weigh(const PluginTensorDesc& in, const PluginTensorDesc& out, const void* x, void* y,
              cudaStream_t stream) {
  if (in.type == DataType::kFLOAT)
    weigh<float>(in, out, x, y, std::nanf(""), stream);
  else if (in.type == DataType::kHALF)
    weigh<Half>(in, out, x, y, Half(std::nanf("")), stream);
  else
    weigh<int8_t>(in, out, x, y, int8_t{77}, stream);
  return 0;
}

class WeighV2 final : public IPluginV2DynamicExt {
 public:
  const char* getPluginType() const noexcept override { return "Weigh"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return 0; }
  void serialize(void*) const noexcept override {}
  void destroy() noexcept override { delete this; }
  WeighV2* clone() const noexcept override { return new WeighV2; }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
  DataType getOutputDataType(int32_t, const DataType* in, int32_t) const noexcept override {
    return in[0];
  }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* in, int32_t,
                                IExprBuilder&) noexcept override {
    return in[0];
  }
  bool supportsFormatCombination(int32_t position, const PluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    return is_wanted(position, all[position]) && is_wanted(0, all[0]);
  }
  void configurePlugin(const DynamicPluginTensorDesc* in, int32_t,
                       const DynamicPluginTensorDesc* out, int32_t) noexcept override {
    EXPECT_TRUE(is_wanted(0, in[0].desc) && is_wanted(1, out[0].desc));
  }
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    return weigh(in[0], out[0], inputs[0], outputs[0], stream);
  }
};

class WeighV3 final : public IPluginV3,
                      public IPluginV3OneCore,
                      public IPluginV3OneBuild,
                      public IPluginV3OneRuntime {
 public:
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  WeighV3* clone() noexcept override { return new WeighV3; }
  const char* getPluginName() const noexcept override { return "Weigh"; }
  const char* getPluginVersion() const noexcept override { return "3"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t,
                          const DynamicPluginTensorDesc* out, int32_t) noexcept override {
    return is_wanted(0, in[0].desc) && is_wanted(1, out[0].desc) ? 0 : 1;
  }
  int32_t getOutputDataTypes(DataType* out, int32_t, const DataType* in,
                             int32_t) const noexcept override {
    out[0] = in[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out,
                          int32_t, IExprBuilder&) noexcept override {
    out[0] = in[0];
    return 0;
  }
  bool supportsFormatCombination(int32_t position, const DynamicPluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    return is_wanted(position, all[position].desc) && is_wanted(0, all[0].desc);
  }
  int32_t onShapeChange(const PluginTensorDesc* in, int32_t, const PluginTensorDesc* out,
                        int32_t) noexcept override {
    return is_wanted(0, in[0]) && is_wanted(1, out[0]) ? 0 : 1;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    return weigh(in[0], out[0], inputs[0], outputs[0], stream);
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override { return &none_; }

 private:
  PluginFieldCollection none_{0, nullptr};
};

class CreatorV2 final : public IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "Weigh"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  IPluginV2* createPlugin(const char*, const PluginFieldCollection*) noexcept override {
    return new WeighV2;
  }
  IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override {
    return new WeighV2;
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
};

class CreatorV3 final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const char*, const PluginFieldCollection*,
                          TensorRTPhase) noexcept override {
    return new WeighV3;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return "Weigh"; }
  const char* getPluginVersion() const noexcept override { return "3"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
};

enum class Version : uint8_t { k2, k3 };

constexpr int64_t kImages = 2, kChannels = 5, kPositions = 12;

nvinfer1::Dims shape_for(bool has_depth, int64_t images) {
  nvinfer1::Dims shape =
      has_depth ? dims({images, kChannels, 3, 2, 2}) : dims({images, kChannels, 3, 4});
  if (images > 0) return shape;
  std::copy(shape.d + 1, shape.d + shape.nbDims, shape.d);
  --shape.nbDims;
  return shape;
}

// Small whole numbers, exact in every type.
Floats numbers(int64_t images) {
  Floats x(static_cast<size_t>(std::max<int64_t>(images, 1) * kChannels * kPositions));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 23) - 11;
  return x;
}

// Times the channel's number, `rounds` times.
Floats weighed(Floats x, int rounds = 1) {
  for (size_t i = 0; i < x.size(); ++i)
    x[i] *= static_cast<float>(
        std::pow(i / static_cast<size_t>(kPositions) % static_cast<size_t>(kChannels) + 1, rounds));
  return x;
}

class PluginFormats : public ::testing::TestWithParam<Version> {
 protected:
  PluginFormats() {
    getPluginRegistry()->registerCreator(creator_2_, "");
    getPluginRegistry()->registerCreator(creator_3_, "");
  }
  ~PluginFormats() override {
    wish = {};
    getPluginRegistry()->deregisterCreator(creator_2_);
    getPluginRegistry()->deregisterCreator(creator_3_);
  }

  static ITensor& weigh(Session& s, ITensor& tensor) {
    ITensor* x = &tensor;
    WeighV2 v2;
    WeighV3 v3;
    ILayer* layer = GetParam() == Version::k2
                        ? static_cast<ILayer*>(s.network->addPluginV2(&x, 1, v2))
                        : s.network->addPluginV3(&x, 1, nullptr, 0, v3);
    return *layer->getOutput(0);
  }
  static ITensor& in_type(Session& s, ITensor& x, DataType type) {
    if (type == DataType::kINT8)
      return *s.network->addQuantize(x, constant(s, {}, {1}), type)->getOutput(0);
    return type == DataType::kFLOAT ? x : *s.network->addCast(x, type)->getOutput(0);
  }
  static ITensor& in_float(Session& s, ITensor& x) {
    if (x.getType() == DataType::kINT8)
      return *s.network->addDequantize(x, constant(s, {}, {1}), DataType::kFLOAT)->getOutput(0);
    return x.getType() == DataType::kFLOAT ? x
                                           : *s.network->addCast(x, DataType::kFLOAT)->getOutput(0);
  }
  static std::string refusal(Session& s, ITensor& y) {
    s.network->markOutput(y);
    EXPECT_EQ(s.build(), nullptr);
    return s.logger.take_errors();
  }

 private:
  CreatorV2 creator_2_;
  CreatorV3 creator_3_;
};

INSTANTIATE_TEST_SUITE_P(, PluginFormats, ::testing::Values(Version::k2, Version::k3),
                         [](const auto& version) {
                           return version.param == Version::k2 ? "DynamicExt" : "V3";
                         });

// The format is that of the input, of the output, or of both.
TEST_P(PluginFormats, EachIsGivenForEachType) {
  for (const FormatCase& format : kFormatCases)
    for (const Wish& wanted :
         {Wish{format.format, format.format}, Wish{format.format, TensorFormat::kLINEAR},
          Wish{TensorFormat::kLINEAR, format.format}})
      for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kINT8})
        for (const int64_t images : {int64_t{0}, kImages}) {
          SCOPED_TRACE(std::to_string(static_cast<int>(wanted.in)) + " to "
                       + std::to_string(static_cast<int>(wanted.out)) + " of type "
                       + std::to_string(static_cast<int>(type)) + ", images "
                       + std::to_string(images));
          wish = wanted;
          Session s;
          ITensor& x =
              *s.network->addInput("x", DataType::kFLOAT, shape_for(format.has_depth, images));
          ITensor& y = in_float(s, weigh(s, in_type(s, x, type)));
          const Floats in = numbers(images);
          EXPECT_EQ(run_floats(s, y, {in}, in.size()), weighed(in));
        }
}

// Each plugin has other formats, since they are asked when the plan is built, one after the other.
TEST_P(PluginFormats, WhatPadsChannelsIsNotReadByLayers) {
  for (const FormatCase& format : kFormatCases) {
    if (format.has_depth) continue;
    SCOPED_TRACE(static_cast<int>(format.format));
    wish = {format.format, format.format};
    Session s;
    ITensor& x = s.input("x", {kImages, kChannels, 3, 4});
    ITensor& relu = *s.network->addActivation(x, ActivationType::kRELU)->getOutput(0);
    const Floats ones(kChannels, 1.0f);
    ITensor& y =
        *s.network->addConvolutionNd(weigh(s, weigh(s, relu)), 1, Dims2(1, 1), weights(ones), kNone)
             ->getOutput(0);
    const Floats in = numbers(kImages);
    Floats positive = in, expected(kImages * kPositions);
    for (float& v : positive) v = std::max(v, 0.0f);
    const Floats terms = weighed(positive, 2);
    for (size_t i = 0; i < terms.size(); ++i)
      expected[i / (kChannels * kPositions) * kPositions + i % kPositions] += terms[i];
    EXPECT_EQ(run_floats(s, y, {in}, expected.size()), expected);
  }
}

// Neither between plugins nor at the border is anything moved.
TEST_P(PluginFormats, NothingIsMovedWhereTheFormatsAreTheSame) {
  for (const FormatCase& format : kFormatCases) {
    if (format.has_depth) continue;
    SCOPED_TRACE(static_cast<int>(format.format));
    wish = {format.format, format.format};
    Session s;
    ITensor& x = s.input("x", {kImages, kChannels, 3, 4});
    ITensor& y = weigh(s, weigh(s, x));
    y.setName("y");
    s.network->markOutput(y);
    x.setAllowedFormats(only(format.format));
    y.setAllowedFormats(only(format.format));
    const auto engine = s.engine();
    ASSERT_NE(engine, nullptr) << s.logger.take_errors();
    EXPECT_EQ(engine->getTensorFormat("y"), format.format);
    EXPECT_EQ(engine->getNbLayers(), 2);
    auto in = packed(numbers(kImages), kImages, kChannels, kPositions, format, std::nanf(""));
    Floats out(in.size());
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    void* bindings[] = {in.data(), out.data()};
    ASSERT_TRUE(context->executeV2(bindings)) << s.logger.take_errors();
    const Floats expected = weighed(numbers(kImages), 2);
    size_t next = 0;
    for (int64_t i = 0; i < kImages; ++i)
      for (int64_t c = 0; c < kChannels; ++c)
        for (int64_t p = 0; p < kPositions; ++p)
          ASSERT_EQ(out[format.at(i, c, p, kChannels, kPositions)], expected[next++]);
  }
}

// The input has images, and the plugin takes tensors of channels first.
TEST_P(PluginFormats, ShapesMayVary) {
  wish = {TensorFormat::kCHW4, TensorFormat::kHWC8};
  Session s;
  ITensor& x = s.input("x", {-1, -1, 3, -1});
  auto* profile = s.builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, dims({1, 1, 3, 1}));
  profile->setDimensions("x", OptProfileSelector::kOPT, dims({2, 8, 3, 4}));
  profile->setDimensions("x", OptProfileSelector::kMAX, dims({4, 40, 3, 8}));
  s.config->addOptimizationProfile(profile);
  ITensor& y = *s.network->addUnary(weigh(s, x), UnaryOperation::kNEG)->getOutput(0);
  y.setName("y");
  s.network->markOutput(y);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  for (const int64_t images : {2, 1}) {
    Floats in = numbers(images), expected = weighed(in), out(in.size());
    for (float& v : expected) v = -v;
    ASSERT_TRUE(context->setInputShape("x", dims({images, kChannels, 3, 4})));
    context->setTensorAddress("x", in.data());
    context->setTensorAddress("y", out.data());
    ASSERT_TRUE(context->enqueueV3(nullptr)) << s.logger.take_errors();
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(out, expected);
  }
}

TEST_P(PluginFormats, ThoseThatThereAreNotAreRefusedByName) {
  Session s;
  wish = {TensorFormat::kLINEAR, TensorFormat::kDLA_HWC4};
  EXPECT_THAT(refusal(s, weigh(s, s.input("x", {1, 4, 2, 2}))),
              AllOf(HasSubstr("plugin \"Weigh\" version"),
                    HasSubstr("wants output 0 of float32 in the format kDLA_HWC4: kDLA_HWC4 is a "
                              "format of DLA, which is no target")));
  Session vectors;
  wish = {TensorFormat::kCHW4, TensorFormat::kDLA_HWC4};
  EXPECT_THAT(refusal(vectors, weigh(vectors, vectors.input("x", {1, 4, 2, 2}))),
              HasSubstr("wants output 0 of float32 in the format kDLA_HWC4"));
  Session flat;
  wish = {TensorFormat::kHWC8, TensorFormat::kHWC8};
  EXPECT_THAT(refusal(flat, weigh(flat, flat.input("x", {8, 2}))),
              HasSubstr("wants input 0 of float32 in the format kHWC8: kHWC8 is for tensors of "
                        "rank 3 or 4, found rank 2"));
  Session none;
  wish = {static_cast<TensorFormat>(99), TensorFormat::kLINEAR};
  EXPECT_THAT(refusal(none, weigh(none, none.input("x", {1, 4, 2, 2}))),
              HasSubstr("refuses linear float32 for input 0, and the formats kCHW2, kHWC8, kCHW4, "
                        "kCHW16, kCHW32, kDHWC8, kCDHW32, kHWC, kHWC16, kDHWC (inputs: float32; "
                        "outputs: float32)"));
}

// The older family has one format for all of its floats. There are four channels, so that the
// elements are the same whatever the plugin makes of them.
class VectorsOfFour final : public ScaledTyped<IPluginV2Ext> {
 public:
  using ScaledTyped::ScaledTyped;
  bool supportsFormat(DataType type, PluginFormat format) const noexcept override {
    return type == DataType::kFLOAT && format == PluginFormat::kCHW4;
  }
  void configurePlugin(const nvinfer1::Dims* in, int32_t, const nvinfer1::Dims* out, int32_t,
                       const DataType* in_types, const DataType*, const bool*, const bool*,
                       PluginFormat format, int32_t batch) noexcept override {
    configured(format == PluginFormat::kCHW4 ? "in fours" : "wrongly", in[0], out[0], in_types[0],
               batch);
  }
  VectorsOfFour* clone() const noexcept override { return new VectorsOfFour(*this); }
};

TEST(PluginFormatsOfExt, AreOneForAllFloats) {
  ScaledCreator<VectorsOfFour> creator;
  getPluginRegistry()->registerCreator(creator, "");
  plugin_calls.clear();
  Session s;
  ITensor* x = &s.input("x", {1, 4, 1, 2});
  VectorsOfFour plugin({3, -1});
  ITensor& y = *s.network->addPluginV2(&x, 1, plugin)->getOutput(0);
  EXPECT_EQ(run_floats(s, y, {{1, 2, 3, 4, 5, 6, 7, 8}}, 8), (Floats{3, 6, 9, 12, 15, 18, 21, 24}));
  EXPECT_THAT(plugin_calls,
              ::testing::Contains("configure in fours 1x4x1x2 to 1x4x1x2 float batch 1"));
  getPluginRegistry()->deregisterCreator(creator);
}

}  // namespace
}  // namespace tenon::testing
