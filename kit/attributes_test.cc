// Attributes of every type, from fields of every type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin.h>
#include <tenon/plugin/testing.h>

#include <numeric>

namespace attributes_test::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using nvinfer1::PluginFieldType;
using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

// y = all attributes as numbers, a list as its sum.
struct Values {
  int8_t tiny = 1;
  int16_t small = 2;
  double wide = 3;
  Half half = Half{4};
  BFloat16 brain = BFloat16{5};
  nvinfer1::Dims dims = {1, {6}};
  std::vector<int64_t> longs = {7};
  std::vector<double> doubles = {8};
  std::vector<float> weights = {9};
  int32_t top_k = 10;
  float ratio = 11;

  int64_t extents = 0;

  using T = Types<float>;
  static constexpr auto attributes = std::tuple{
      attribute("tiny", &Values::tiny),
      attribute("small", &Values::small),
      attribute("wide", &Values::wide),
      attribute("half", &Values::half),
      attribute("brain", &Values::brain),
      attribute("dims", &Values::dims),
      attribute("longs", &Values::longs),
      attribute("doubles", &Values::doubles),
      attribute("weights", &Values::weights).says("A weight for each channel."),
      attribute("top_k", &Values::top_k).alias("topk").alias("topK"),
      attribute("ratio", &Values::ratio).length_in_bytes(),
  };
  static constexpr Spec spec{.name = "Values", .inputs = {{"x", kT}}, .outputs = {{"y", kT}}};

  void prepare() {
    if (tiny < 0) throw std::invalid_argument("tiny must not be negative");
    extents = std::accumulate(dims.d, dims.d + dims.nbDims, int64_t{0});
  }
  void shapes(std::span<const Extents>, std::span<Extents> out) const { out[0] = {11}; }
  template <class E> void run(const Device&, Tensor<const E>, Tensor<E> y) const {
    const auto sum = [](const auto& list) {
      double total = 0;
      for (const auto v : list) total += static_cast<double>(v);
      return total;
    };
    const double values[] = {static_cast<double>(tiny),
                             static_cast<double>(small),
                             wide,
                             static_cast<double>(half),
                             static_cast<double>(brain),
                             static_cast<double>(extents),
                             sum(longs),
                             sum(doubles),
                             sum(weights),
                             static_cast<double>(top_k),
                             ratio};
    for (int i = 0; i < 11; ++i) y.data[i] = static_cast<E>(values[i]);
  }
};
TENON_PLUGIN(Values);

std::string check(PluginCase c, std::vector<double> expected) {
  return c.in("x", {1}, {0}).out("y", {11}, std::move(expected)).check();
}
template <class E>
PluginCase with(const char* name, PluginFieldType type, const std::vector<E>& values,
                size_t length) {
  PluginCase c("Values");
  return c.field(name, type, values.data(), values.size()).length(length);
}
template <class E>
PluginCase with(const char* name, PluginFieldType type, const std::vector<E>& values) {
  return with(name, type, values, values.size());
}
std::vector<double> defaults_but(size_t at, double value) {
  std::vector<double> list(11);
  std::iota(list.begin(), list.end(), 1);
  list[at] = value;
  return list;
}

TEST(AttributesTest, MembersOfEveryTypeKeepTheirDefaults) {
  EXPECT_EQ(check(PluginCase("Values"), defaults_but(0, 1)), "");
}

TEST(AttributesTest, MembersOfEveryTypeTakeTheirField) {
  using Type = PluginFieldType;
  EXPECT_EQ(check(with<int8_t>("tiny", Type::kINT8, {100}), defaults_but(0, 100)), "");
  EXPECT_EQ(check(with<int16_t>("small", Type::kINT16, {300}), defaults_but(1, 300)), "");
  EXPECT_EQ(check(with<double>("wide", Type::kFLOAT64, {0.5}), defaults_but(2, 0.5)), "");
  EXPECT_EQ(check(with<Half>("half", Type::kFLOAT16, {Half{0.5}}), defaults_but(3, 0.5)), "");
  EXPECT_EQ(check(with<BFloat16>("brain", Type::kBF16, {BFloat16{0.5}}), defaults_but(4, 0.5)), "");
  EXPECT_EQ(check(with<nvinfer1::Dims>("dims", Type::kDIMS, {{2, {20, 30}}}), defaults_but(5, 50)),
            "");
  EXPECT_EQ(check(with<int64_t>("longs", Type::kINT64, {1, 2}), defaults_but(6, 3)), "");
  EXPECT_EQ(check(with<double>("doubles", Type::kFLOAT64, {1, 2}), defaults_but(7, 3)), "");
}

TEST(AttributesTest, WeightsComeInAnyFloatingType) {
  using Type = PluginFieldType;
  const auto expected = defaults_but(8, 0.75);
  EXPECT_EQ(check(with<float>("weights", Type::kFLOAT32, {0.5f, 0.25f}), expected), "");
  EXPECT_EQ(check(with<double>("weights", Type::kFLOAT64, {0.5, 0.25}), expected), "");
  EXPECT_EQ(check(with<Half>("weights", Type::kFLOAT16, {Half{0.5}, Half{0.25}}), expected), "");
  EXPECT_EQ(check(with<BFloat16>("weights", Type::kBF16, {BFloat16{0.75}}), expected), "");
  EXPECT_EQ(check(with<float>("weights", Type::kFLOAT32, {}), defaults_but(8, 0)), "");
}

TEST(AttributesTest, DimensionsAndListsOfIntegersAreTheSame) {
  EXPECT_EQ(check(with<int32_t>("dims", PluginFieldType::kINT32, {1, 2, 3}), defaults_but(5, 6)),
            "");
  EXPECT_EQ(check(with<nvinfer1::Dims>("longs", PluginFieldType::kDIMS, {{2, {4, 5}}}),
                  defaults_but(6, 9)),
            "");
  EXPECT_THAT(
      check(with<int32_t>("dims", PluginFieldType::kINT32, {1, 2, 3, 4, 5, 6, 7, 8, 9}), {}),
      HasSubstr("attribute dims has 9 dimensions; expected at most 8"));
}

TEST(AttributesTest, AnAttributeHasSeveralSpellings) {
  for (const char* name : {"top_k", "topk", "topK"})
    EXPECT_EQ(check(PluginCase("Values").attribute(name, 77), defaults_but(9, 77)), "") << name;
  EXPECT_EQ(
      check(PluginCase("Values").attribute("topK", 1).attribute("top_k", 2), defaults_but(9, 2)),
      "");
  EXPECT_THAT(check(PluginCase("Values").attribute("topk", "many"), {}),
              HasSubstr("attribute top_k has type string; expected an integer"));
  auto& creator = static_cast<nvinfer1::IPluginCreatorV3One&>(*entries().at("Values/1/").v3);
  EXPECT_EQ(creator.getFieldNames()->nbFields, 13);  // parsers look for what is declared
}

TEST(AttributesTest, ALengthInBytesIsTakenWhereAllowed) {
  EXPECT_EQ(
      check(with<float>("ratio", PluginFieldType::kFLOAT32, {0.5f}, 4), defaults_but(10, 0.5)), "");
  EXPECT_THAT(check(with<int32_t>("top_k", PluginFieldType::kINT32, {5}, 4), {}),
              HasSubstr("attribute top_k takes one value, found 4"));
}

TEST(AttributesTest, TextsSayMeaningAndDefault) {
  const std::vector<std::string>& texts = entries().at("Values/1/").field_texts;
  ASSERT_EQ(texts.size(), 13u);
  EXPECT_EQ(texts[0], "Default 1.");
  EXPECT_EQ(texts[5], "Default [6].");
  EXPECT_EQ(texts[8], "A weight for each channel. Default [9].");
  EXPECT_EQ(texts[10], "The same as `top_k`.");
}

TEST(AttributesTest, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(check(PluginCase("Values").attribute("tiny", 128), {}),
              HasSubstr("attribute tiny is 128, which does not fit"));
  EXPECT_THAT(check(PluginCase("Values").attribute("half", 1e6f), {}),
              HasSubstr("attribute half is 1000000"));
  EXPECT_THAT(check(with<int8_t>("wide", PluginFieldType::kFP8, {1}), {}),
              HasSubstr("attribute wide has type float8; expected a number"));
  EXPECT_THAT(check(PluginCase("Values").attribute("tiny", -1), {}),
              HasSubstr("plugin Values version 1: tiny must not be negative"));
}

}  // namespace attributes_test::TENON_TARGET
