#include "model_inputs.h"

#include <gtest/gtest.h>
#include <tenon/session/npz.h>
#include <unistd.h>

#include <cstdio>

namespace tenon::load {
namespace {

using nvinfer1::DataType;
using session::Error;
using session::Shape;

ModelDescription model() {
  return {"m", "1", {{"x", "FP32", {-1, 3, -1}}, {"ids", "INT64", {-1, 4}}, {"b", "UINT8", {2}}}};
}

std::string refusal(const ModelDescription& of, const InputOptions& options) {
  try {
    make_inputs(of, options);
    return "none";
  } catch (const Error& error) {
    return error.text;
  }
}

TEST(ModelInputs, HaveTheBatchAndTheShapesThatVary) {
  InputOptions options;
  options.batch = 5;
  options.shapes["x"] = {3, 7};
  const auto inputs = make_inputs(model(), options);
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_EQ(inputs[0].array.shape, (Shape{5, 3, 7}));
  EXPECT_EQ(inputs[1].array.shape, (Shape{5, 4}));
  EXPECT_EQ(inputs[2].array.shape, (Shape{2}));
  EXPECT_EQ(inputs[1].array.bytes.size(), 5U * 4 * 8);
  for (int i = 0; i < 5 * 3 * 7; ++i) {
    EXPECT_GE(inputs[0].array.as<float>()[i], 0);
    EXPECT_LT(inputs[0].array.as<float>()[i], 1);
  }
  options.shapes["x"] = {2, 3, 7};
  EXPECT_EQ(make_inputs(model(), options)[0].array.shape, (Shape{2, 3, 7}));
}

TEST(ModelInputs, AreThoseOfTheSeed) {
  InputOptions options;
  options.shapes["x"] = {3, 7};
  const auto bytes = make_inputs(model(), options)[0].array.bytes;
  EXPECT_EQ(make_inputs(model(), options)[0].array.bytes, bytes);
  options.seed = 2;
  EXPECT_NE(make_inputs(model(), options)[0].array.bytes, bytes);
  options.data = InputData::kZero;
  EXPECT_EQ(make_inputs(model(), options)[1].array.bytes, std::vector<std::byte>(32));
}

TEST(ModelInputs, RefuseWhatDoesNotFitByName) {
  InputOptions options;
  EXPECT_NE(refusal(model(), options).find("axis 2 varies: expected --shape=x:"),
            std::string::npos);
  options.shapes["x"] = {4, 7};
  EXPECT_NE(refusal(model(), options).find("input 'x' has the shape -1x3x-1, found 1x4x7"),
            std::string::npos)
      << refusal(model(), options);
  options.shapes["x"] = {7};
  EXPECT_NE(refusal(model(), options).find("found 7"), std::string::npos);
  options.shapes = {{"y", {7}}};
  EXPECT_NE(refusal(model(), options).find("has no input 'y'"), std::string::npos);
  EXPECT_NE(refusal({"m", "1", {{"t", "FP8", {1}}}}, {}).find("input 't' is of FP8"),
            std::string::npos);
}

TEST(ModelInputs, OfAFileAreConvertedAndRepeatedForTheBatch) {
  const std::string path =
      testing::TempDir() + "load_inputs_" + std::to_string(::getpid()) + ".npz";
  session::Array item{DataType::kINT32, {4}, std::vector<std::byte>(16)};
  for (int i = 0; i < 4; ++i) item.as<int32_t>()[i] = i - 2;
  ASSERT_TRUE(session::write_npz(path, {{"ids", item}}));
  const ModelDescription ids{"m", "1", {{"ids", "INT64", {-1, 4}}}};
  InputOptions options;
  options.file = path;
  options.batch = 2;
  const auto inputs = make_inputs(ids, options);
  EXPECT_EQ(inputs[0].array.shape, (Shape{2, 4}));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(inputs[0].array.as<int64_t>()[i], i % 4 - 2);
  const ModelDescription bytes{"m", "1", {{"ids", "UINT8", {4}}}};
  EXPECT_NE(refusal(bytes, options).find("input 'ids'"), std::string::npos);
  const ModelDescription other{"m", "1", {{"x", "INT64", {4}}}};
  EXPECT_NE(refusal(other, options).find("has no array 'x'"), std::string::npos);
  std::remove(path.c_str());
}

TEST(ModelInputs, ShapesAreTextsWithCommasOrCrosses) {
  EXPECT_EQ(parse_shape("x:3,224,224"), (std::pair<std::string, Shape>("x", {3, 224, 224})));
  EXPECT_EQ(parse_shape("a:b:3x2"), (std::pair<std::string, Shape>("a:b", {3, 2})));
  for (const char* text : {"", "x", ":3", "x:", "x:3,", "x:-1", "x:3;4"})
    EXPECT_THROW(parse_shape(text), Error) << text;
}

}  // namespace
}  // namespace tenon::load
