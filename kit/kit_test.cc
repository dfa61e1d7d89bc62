// The kit on a plugin that has one of everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin.h>
#include <tenon/plugin/testing.h>

namespace kit_test::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

enum class Mode { kSum = 0, kProduct = 1 };

// values = each element of x, repeated, combined with `by`; counts = how many elements there are.
struct Everything {
  int32_t repeats = 1;
  int64_t offset = 0;
  float by = 2;
  bool negate = false;
  std::string comment = "none";
  std::vector<int32_t> list = {1, 2};
  std::vector<float> gains = {1};
  Mode mode = Mode::kProduct;
  int32_t needed = 0;

  using T = Types<float, Half, int32_t>;
  static constexpr auto attributes = std::tuple{
      attribute("repeats", &Everything::repeats),
      attribute("offset", &Everything::offset),
      attribute("by", &Everything::by),
      attribute("negate", &Everything::negate),
      attribute("comment", &Everything::comment),
      attribute("list", &Everything::list),
      attribute("gains", &Everything::gains),
      attribute("mode", &Everything::mode, {{"sum", Mode::kSum}, {"product", Mode::kProduct}}),
      attribute("needed", &Everything::needed).required(),
  };
  static constexpr Spec spec{.name = "Everything",
                             .version = "3",
                             .name_space = "kit",
                             .inputs = {{"x", kT}, {"like", kAny}},
                             .outputs = {{"values", kT}, {"counts", kInt64}}};

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = {in[0][0] * repeats, max(in[1][0], 0) - in[1][0] + ceil_div(in[0][1] * 3, 3)};
    out[1] = {1};
  }
  void check(std::span<const Shape> in) const {
    if (in[0].rank() != 2) throw std::invalid_argument("x must have 2 dimensions");
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return static_cast<size_t>(in[0].volume()) * sizeof(float);
  }

  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const void>, Tensor<E> values,
           Tensor<int64_t> counts) const {
    auto* scratch = static_cast<float*>(device.workspace);
    const int64_t n = x.shape.volume();
    device.parallel_for(n, [&](int64_t i) {
      const float v = static_cast<float>(x.data[i]);
      const float combined = mode == Mode::kSum ? v + by : v * by;
      scratch[i] = (negate ? -combined : combined) * gains.at(0) + static_cast<float>(offset);
    });
    for (int64_t i = 0; i < n * repeats; ++i) values.data[i] = static_cast<E>(scratch[i % n]);
    counts.data[0] = n + static_cast<int64_t>(comment.size()) + list.back();
  }
};
TENON_PLUGIN(Everything);

// Throws where it is told to.
struct Thrower {
  std::string where;

  using T = Types<float>;
  static constexpr auto attributes = std::tuple{attribute("where", &Thrower::where)};
  static constexpr Spec spec{.name = "Thrower", .inputs = {{"x", kT}}, .outputs = {{"y", kT}}};

  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    if (where == "workspace") throw std::runtime_error("no such size");
    return 0;
  }
  template <class E> void run(const Device& device, Tensor<const E>, Tensor<E>) const {
    device.parallel_for(1, [](int64_t) { throw 42; });
  }
};
TENON_PLUGIN(Thrower);

PluginCase everything() {
  return PluginCase("Everything", "3", "kit");
}
PluginCase& with_tensors(PluginCase& c, double y0, double y1, double count) {
  return c.in("x", {1, 2}, {1, 2})
      .in("like", nvinfer1::DataType::kINT8, {5}, {0, 0, 0, 0, 0})
      .out("values", {1, 2}, {y0, y1})
      .out("counts", nvinfer1::DataType::kINT64, {1}, {count});
}

TEST(KitTest, DefaultsHold) {
  PluginCase c = everything().attribute("needed", 1);
  EXPECT_EQ(with_tensors(c, 2, 4, 2 + 4 + 2).check(), "");
}

TEST(KitTest, EveryAttributeArrives) {
  PluginCase c = everything()
                     .attribute("repeats", 2)
                     .attribute("offset", int64_t{100})
                     .attribute("by", 3.f)
                     .attribute("negate", 1)
                     .attribute("comment", "abc")
                     .attribute("list", std::vector<int32_t>{7, 8, 9})
                     .attribute("gains", std::vector<float>{10})
                     .attribute("mode", "sum")
                     .attribute("needed", 1)
                     .in("x", {1, 2}, {1, 2})
                     .in("like", nvinfer1::DataType::kFLOAT, {1}, {0})
                     .out("values", {2, 2}, {60, 50, 60, 50})
                     .out("counts", nvinfer1::DataType::kINT64, {1}, {2 + 3 + 9});
  EXPECT_EQ(c.check(), "");
}

TEST(KitTest, OtherNumberTypesAreTakenWhenTheyFit) {
  PluginCase c = everything()
                     .attribute("repeats", int64_t{1})
                     .attribute("by", 3)  // an integer for a float
                     .attribute("mode", 1)
                     .attribute("needed", 1);
  EXPECT_EQ(with_tensors(c, 3, 6, 8).check(), "");
}

std::string error_with(const std::function<void(PluginCase&)>& change) {
  PluginCase c = everything();
  change(c);
  return c.check();
}

TEST(KitTest, WhatDoesNotFitIsRefusedByName) {
  const auto needed = [](PluginCase& c) -> PluginCase& { return c.attribute("needed", 1); };
  EXPECT_THAT(error_with([](PluginCase&) {}),
              HasSubstr("plugin Everything version 3: attribute needed is required"));
  EXPECT_THAT(error_with([&](PluginCase& c) { needed(c).attribute("repeats", int64_t{1} << 40); }),
              HasSubstr("attribute repeats is 1099511627776, which does not fit"));
  EXPECT_THAT(error_with([&](PluginCase& c) { needed(c).attribute("repeats", 1.5f); }),
              HasSubstr("attribute repeats has type float32; expected an integer"));
  EXPECT_THAT(error_with([&](PluginCase& c) { needed(c).attribute("repeats", "two"); }),
              HasSubstr("attribute repeats has type string; expected an integer"));
  EXPECT_THAT(error_with([&](PluginCase& c) { needed(c).attribute("negate", 2); }),
              HasSubstr("attribute negate is 2; expected 0 or 1"));
  EXPECT_THAT(error_with([&](PluginCase& c) { needed(c).attribute("comment", 2); }),
              HasSubstr("attribute comment has type int32; expected a string"));
  EXPECT_THAT(error_with([&](PluginCase& c) { needed(c).attribute("mode", "maximum"); }),
              HasSubstr("mode is \"maximum\"; expected one of sum (0), product (1)"));
  EXPECT_THAT(error_with([&](PluginCase& c) {
                needed(c).attribute("repeats", std::vector<int32_t>{1, 2});
              }),
              HasSubstr("attribute repeats takes one value, found 2"));
}

TEST(KitTest, UndeclaredAttributesAreTheReadersAffair) {
  PluginCase c = everything().attribute("needed", 1).attribute("unheard_of", 1);
  EXPECT_EQ(with_tensors(c, 2, 4, 8).check(), "");
}

TEST(KitTest, ExceptionsBecomeErrorsThatNameThePlugin) {
  PluginCase c = everything().attribute("needed", 1).attribute("gains", std::vector<float>{});
  EXPECT_THAT(with_tensors(c, 2, 4, 8).check(), HasSubstr("run: plugin Everything version 3: "));
}

TEST(KitTest, AnythingThatIsThrownIsAnError) {
  const auto error = [](const char* where) {
    return PluginCase("Thrower")
        .attribute("where", where)
        .in("x", {1}, {1})
        .out("y", {1}, {1})
        .check();
  };
  EXPECT_THAT(error("run"), HasSubstr("plugin Thrower version 1: it threw something that is no"));
  EXPECT_THAT(error("workspace"), HasSubstr("workspace: plugin Thrower version 1: no such size"));
}

TEST(KitTest, RefusesTypesOutsideItsList) {
  PluginCase c = everything()
                     .attribute("needed", 1)
                     .in("x", nvinfer1::DataType::kINT8, {1, 2}, {1, 2})
                     .in("like", nvinfer1::DataType::kFLOAT, {1}, {0})
                     .out("values", nvinfer1::DataType::kINT8, {1, 2}, {1, 2})
                     .out("counts", nvinfer1::DataType::kINT64, {1}, {2});
  EXPECT_EQ(c.check(), "type 2 refused at position 0");
}

TEST(KitTest, NoticesWrongResultsAndShapes) {
  PluginCase wrong = everything().attribute("needed", 1);
  EXPECT_THAT(with_tensors(wrong, 2, 5, 8).check(), HasSubstr("values[1] = 4, expected 5"));
  PluginCase shape = everything().attribute("needed", 1).attribute("repeats", 3);
  EXPECT_THAT(with_tensors(shape, 2, 4, 8).check(), HasSubstr("values has another shape"));
}

TEST(KitTest, TextsSayPortsAndChoices) {
  const Entry& entry = entries().at("Everything/3/kit");
  EXPECT_EQ(ports_text(entry),
            "Inputs: `x` T; `like` any type. Outputs: `values` T; `counts` int64. "
            "T is one of float32, float16, int32.");
  EXPECT_EQ(entry.field_texts.at(7), "One of sum (0), product (1). Default product.");
  EXPECT_EQ(entry.field_texts.at(8), "Required.");
}

TEST(KitTest, RegistersUnderNameVersionAndNamespace) {
  const Entry& entry = entries().at("Everything/3/kit");
  auto& creator = *static_cast<nvinfer1::IPluginCreatorV3One*>(entry.v3);
  EXPECT_STREQ(creator.getPluginNamespace(), "kit");
  const PluginFieldCollection* fields = creator.getFieldNames();
  ASSERT_EQ(fields->nbFields, 9);
  EXPECT_STREQ(fields->fields[5].name, "list");
  EXPECT_EQ(fields->fields[5].type, PluginFieldType::kINT32);
}

}  // namespace kit_test::TENON_TARGET
