// Ports of every kind: optional, repeated, of two type variables, channels last; shapes that depend
// on data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin.h>
#include <tenon/plugin/testing.h>

namespace ports_test::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

// y = x + bias, where there is one; total = the sum of y, on demand.
struct Biased {
  bool with_total = false;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{attribute("with_total", &Biased::with_total)};
  static constexpr Spec spec{.name = "Biased",
                             .inputs = {{"x", kT}, {"bias", kT, kOptional}},
                             .outputs = {{"y", kT}, {"total", kFloat, kOptional}}};

  int output_count() const { return with_total ? 2 : 1; }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = in[0];
    if (with_total) out[1] = {};
  }
  void check(std::span<const Shape> in) const {
    if (in.size() == 2 && in[1].volume() != in[0].volume())
      throw std::invalid_argument("bias must have the shape of x");
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> bias, Tensor<E> y,
           Tensor<float> total) const {
    float sum = 0;
    for (int64_t i = 0; i < x.shape.volume(); ++i) {
      const float added = bias ? static_cast<float>(bias.data[i]) : 0;
      y.data[i] = static_cast<E>(static_cast<float>(x.data[i]) + added);
      sum += static_cast<float>(y.data[i]);
    }
    if (total) total.data[0] = sum;
  }
};
TENON_PLUGIN(Biased);
TENON_PLUGIN_AS(Biased, "AlsoBiased");
TENON_PLUGIN_AS(Biased, "Biased", "2", "elsewhere");

TEST(PortsTest, OptionalPortsMayBeLeftOut) {
  for (const char* name : {"Biased", "AlsoBiased"}) {
    EXPECT_EQ(PluginCase(name).in("x", {2}, {1, 2}).out("y", {2}, {1, 2}).check(), "");
    EXPECT_EQ(PluginCase(name)
                  .attribute("with_total", 1)
                  .in("x", {2}, {1, 2})
                  .in("bias", {2}, {4, 8})
                  .out("y", {2}, {5, 10})
                  .out("total", DataType::kFLOAT, {}, {15})
                  .check(),
              "");
  }
}

TEST(PortsTest, OtherNumbersOfInputsAreRefused) {
  PluginCase none = PluginCase("Biased").out("y", {2}, {1, 2});
  EXPECT_THAT(none.check(), HasSubstr("plugin Biased version 1: takes 1 to 2 inputs, found 0"));
  PluginCase many = PluginCase("Biased")
                        .in("x", {1}, {1})
                        .in("bias", {1}, {1})
                        .in("more", {1}, {1})
                        .out("y", {1}, {1});
  EXPECT_THAT(many.check(), HasSubstr("takes 1 to 2 inputs, found 3"));
}

TEST(PortsTest, APluginHasSeveralNames) {
  EXPECT_EQ(PluginCase("Biased", "2", "elsewhere").in("x", {1}, {3}).out("y", {1}, {3}).check(),
            "");
  auto& creator =
      static_cast<nvinfer1::IPluginCreatorV3One&>(*entries().at("Biased/2/elsewhere").v3);
  EXPECT_STREQ(creator.getPluginVersion(), "2");
  EXPECT_STREQ(creator.getPluginNamespace(), "elsewhere");
  PluginCase wrong = PluginCase("AlsoBiased").in("x", {2}, {1, 2}).in("bias", {1}, {1});
  EXPECT_THAT(wrong.out("y", {2}, {1, 2}).check(), HasSubstr("plugin AlsoBiased version 1: bias"));
}

// Joins its inputs, and multiplies them.
struct Joined {
  using T = Types<float, Half>;
  static constexpr Spec spec{
      .name = "Joined",
      .inputs = {{"factor", kFloat}, {"parts", kT, kRepeated}, {"offset", kFloat}},
      .outputs = {{"y", kT}}};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    Extent sum = 0;
    for (size_t i = 1; i + 1 < in.size(); ++i) sum = sum + in[i][0];
    out[0] = {sum};
  }
  template <class E>
  void run(const Device& device, Tensor<const float> factor, Tensors<const E> parts,
           Tensor<const float> offset, Tensor<E> y) const {
    int64_t to = 0;
    for (int p = 0; p < parts.count; ++p)
      for (int64_t i = 0; i < parts[p].shape.volume(); ++i)
        y.data[to++] =
            static_cast<E>(static_cast<float>(parts[p].data[i]) * factor.data[0] + offset.data[0]);
  }
};
TENON_PLUGIN(Joined);

TEST(PortsTest, APortMayBeRepeated) {
  EXPECT_EQ(PluginCase("Joined")
                .in("factor", DataType::kFLOAT, {}, {2})
                .in("part 1", {2}, {1, 2})
                .in("part 2", {1}, {3})
                .in("part 3", {0}, {})
                .in("offset", DataType::kFLOAT, {}, {1})
                .out("y", {3}, {3, 5, 7})
                .check(),
            "");
  EXPECT_EQ(PluginCase("Joined")
                .in("factor", DataType::kFLOAT, {}, {2})
                .in("part", {1}, {1})
                .in("offset", DataType::kFLOAT, {}, {1})
                .out("y", {1}, {3})
                .check(),
            "");
}

// Elements of x, and the indices that were taken.
struct Picked {
  using T = Types<float, int8_t>;
  using U = Types<int32_t, int64_t>;
  static constexpr Spec spec{.name = "Picked",
                             .inputs = {{"x", kT}, {"indices", kU}},
                             .outputs = {{"y", kT}, {"taken", kU}}};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = out[1] = in[1];
  }
  template <class E, class I>
  void run(const Device& device, Tensor<const E> x, Tensor<const I> indices, Tensor<E> y,
           Tensor<I> taken) const {
    for (int64_t i = 0; i < indices.shape.volume(); ++i) {
      y.data[i] = x.data[indices.data[i]];
      taken.data[i] = indices.data[i];
    }
  }
};
TENON_PLUGIN(Picked);

TEST(PortsTest, ASecondTypeVariableFollowsItsInput) {
  for (const DataType type : {DataType::kINT32, DataType::kINT64})
    EXPECT_EQ(PluginCase("Picked")
                  .in("x", {3}, {5, 6, 7})
                  .in("indices", type, {2}, {2, 0})
                  .out("y", {2}, {7, 5})
                  .out("taken", type, {2}, {2, 0})
                  .check(),
              "");
  PluginCase wrong = PluginCase("Picked")
                         .in("x", {1}, {5})
                         .in("indices", DataType::kUINT8, {1}, {0})
                         .out("y", {1}, {5})
                         .out("taken", DataType::kUINT8, {1}, {0});
  EXPECT_THAT(wrong.check(), HasSubstr("refused at position 1"));
}

// The elements of x that are not 0, and how many there are.
struct Nonzero {
  using T = Types<float, int32_t>;
  static constexpr Spec spec{
      .name = "Nonzero", .inputs = {{"x", kT}}, .outputs = {{"y", kT}, {"count", kInt64}}};

  void shapes(const ShapeQuery& query, std::span<Extents> out) const {
    out[0] = {query.size_from(1, query.in[0][0] / 2, query.in[0][0])};
    out[1] = {};
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<E> y, Tensor<int64_t> count) const {
    int64_t n = 0;
    for (int64_t i = 0; i < x.shape.volume(); ++i)
      if (x.data[i] != 0) y.data[n++] = x.data[i];
    count.data[0] = n;
  }
};
TENON_PLUGIN(Nonzero);

// As many copies of x as a shape input says.
struct Repeated {
  using T = Types<float>;
  static constexpr Spec spec{.name = "Repeated",
                             .inputs = {{"x", kT}},
                             .outputs = {{"y", kT}},
                             .shape_inputs = {{"count", kAny}}};

  void shapes(const ShapeQuery& query, std::span<Extents> out) const {
    out[0] = {query.values[0][0], query.in[0][0]};
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    for (int64_t i = 0; i < y.shape.volume(); ++i) y.data[i] = x.data[i % x.shape.volume()];
  }
};
TENON_PLUGIN(Repeated);

TEST(PortsTest, ShapesMayDependOnData) {
  EXPECT_EQ(PluginCase("Nonzero")
                .in("x", {4}, {0, 3, 0, 4})
                .out("y", {2}, {3, 4})
                .out("count", DataType::kINT64, {}, {2})
                .check(),
            "");
  EXPECT_EQ(PluginCase("Repeated")
                .in("x", {2}, {1, 2})
                .shape_input({3})
                .out("y", {3, 2}, {1, 2, 1, 2, 1, 2})
                .check(),
            "");
  PluginCase missing = PluginCase("Repeated").in("x", {1}, {1}).out("y", {1, 1}, {1});
  EXPECT_THAT(missing.check(), HasSubstr("takes 1 shape input, found 0"));
}

TEST(PortsTest, Version2SaysThatItsShapesCannot) {
  auto& creator = static_cast<nvinfer1::IPluginCreator&>(*entries().at("Nonzero/1/").v2);
  EXPECT_EQ(creator.createPlugin("n", nullptr), nullptr);
  EXPECT_THAT(last_error(), HasSubstr("version 2 of the plugin protocol"));
}

// x + shift, and the shift is what it is.
struct Shifted {
  using T = Types<float, Half, Quantized>;
  static constexpr Spec spec{
      .name = "Shifted", .inputs = {{"x", kT}, {"shift", kReal}}, .outputs = {{"y", kT}}};

  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return static_cast<size_t>(in[0].volume()) * sizeof(float);
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> shift, Tensor<E> y) const {
    auto* const sums = static_cast<float*>(device.workspace);
    for (int64_t i = 0; i < x.shape.volume(); ++i)
      sums[i] = static_cast<float>(x.data[i]) + static_cast<float>(shift.data[0]);
    for (int64_t i = 0; i < x.shape.volume(); ++i) y.data[i] = static_cast<E>(sums[i]);
  }
};
TENON_PLUGIN(Shifted);

PluginCase shifted_bytes(float scale) {
  return PluginCase("Shifted")
      .in("x", DataType::kINT8, {5}, {-128, -1, 0, 3, 127})
      .scale(scale)
      .in("shift", DataType::kFLOAT, {1}, {0.125});
}

TEST(PortsTest, BytesWithScalesAreFloatsToThePlugin) {
  EXPECT_EQ(PluginCase("Shifted")
                .in("x", {2}, {1, -2})
                .in("shift", {1}, {3})
                .out("y", {2}, {4, 1})
                .check(),
            "");
  // (-32, -0.25, 0, 0.75, 31.75) + 0.125, in steps of a half: ties go to even, the ends stay.
  EXPECT_EQ(
      shifted_bytes(0.25f).out("y", DataType::kINT8, {5}, {-64, 0, 0, 2, 64}).scale(0.5f).check(),
      "");
  EXPECT_EQ(shifted_bytes(0.25f)
                .out("y", DataType::kINT8, {5}, {-128, -1, 1, 7, 127})
                .scale(0.125f)
                .check(),
            "");
}

TEST(PortsTest, BytesOfNoScaleAreRefused) {
  EXPECT_THAT(shifted_bytes(0).out("y", DataType::kINT8, {5}, {0, 0, 0, 0, 0}).check(),
              HasSubstr("input 0 is int8 and has the scale 0"));
  EXPECT_THAT(shifted_bytes(1).out("y", DataType::kINT8, {5}, {0, 0, 0, 0, 0}).scale(-1).check(),
              HasSubstr("output 0 is int8 and has the scale -1"));
}

TEST(PortsTest, RealInputsOfBytesAreFloat) {
  for (const DataType type : {DataType::kINT8, DataType::kHALF})
    EXPECT_THAT(PluginCase("Shifted")
                    .in("x", DataType::kINT8, {1}, {1})
                    .in("shift", type, {1}, {1})
                    .out("y", DataType::kINT8, {1}, {2})
                    .check(),
                HasSubstr("refused at position 1"));
  EXPECT_THAT(PluginCase("Shifted")
                  .in("x", DataType::kHALF, {1}, {1})
                  .in("shift", DataType::kFLOAT, {1}, {1})
                  .out("y", DataType::kHALF, {1}, {2})
                  .check(),
              HasSubstr("refused at position 1"));
}

// Multiplies each channel by its number, from 1.
struct Numbered {
  using T = Types<float, Half>;
  static constexpr Spec spec{.name = "Numbered",
                             .inputs = {{.name = "x", .channels_last = true}},
                             .outputs = {{.name = "y", .channels_last = true}}};

  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    const bool last = x.format == nvinfer1::TensorFormat::kHWC;
    const int64_t channels = x.shape[1], stride = last ? 1 : x.shape[2] * x.shape[3];
    for (int64_t i = 0; i < x.shape.volume(); ++i)
      y.data[i] = static_cast<E>(static_cast<float>(x.data[i])
                                 * static_cast<float>(i / stride % channels + 1));
  }
};
TENON_PLUGIN(Numbered);

TEST(PortsTest, ChannelsMayComeLast) {
  EXPECT_EQ(PluginCase("Numbered")
                .in("x", {1, 2, 1, 3}, {1, 2, 3, 4, 5, 6})
                .out("y", {1, 2, 1, 3}, {1, 2, 3, 8, 10, 12})
                .check(),
            "");
}

// Says that channels may come last, and forgets it.
struct Careless : Numbered {
  static constexpr Spec spec = renamed(Numbered::spec, "Careless");

  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    x.format = nvinfer1::TensorFormat::kLINEAR;
    Numbered::run(device, x, y);
  }
};
TENON_PLUGIN(Careless);

TEST(PortsTest, TheOrderOfMemoryIsTested) {
  EXPECT_THAT(PluginCase("Careless")
                  .in("x", {1, 2, 1, 3}, {1, 2, 3, 4, 5, 6})
                  .out("y", {1, 2, 1, 3}, {1, 2, 3, 8, 10, 12})
                  .check(),
              HasSubstr("channels last: y[2] = 6, expected 3"));
}

}  // namespace ports_test::TENON_TARGET
