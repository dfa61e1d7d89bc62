// Sizes, offsets and enumerator values of the public headers, checked while this file compiles.
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "NvInfer.h"
#include "NvInferPlugin.h"
#include "NvOnnxConfig.h"
#include "NvOnnxParser.h"
#include "impl/NvInferPythonPlugin.h"

#define SIZE(type, size, alignment) \
  static_assert(sizeof(type) == (size) && alignof(type) == (alignment), #type);
#define FIELD(type, field, offset, size)                                            \
  static_assert(offsetof(type, field) == (offset) && sizeof(type::field) == (size), \
                #type "." #field);
#include "layouts.inc"

#define UNDERLYING(type, integer) \
  static_assert(std::is_same_v<std::underlying_type_t<type>, integer>, #type);
#define VALUE(type, enumerator, value) \
  static_assert(static_cast<int>(type::enumerator) == (value), #type "::" #enumerator);
#include "enums.inc"

namespace nvinfer1 {
namespace {

TEST(EnumMax, CountsValuesOf10xOnly) {
  EXPECT_EQ(EnumMax<DataType>(), 12);
  EXPECT_EQ(EnumMax<LayerType>(), 57);
  EXPECT_EQ(EnumMax<BuilderFlag>(), 29);
  EXPECT_EQ(EnumMax<ILogger::Severity>(), 5);
  EXPECT_EQ(nvonnxparser::EnumMax<nvonnxparser::OnnxParserFlag>(), 5);
}

TEST(Constants, AreTensorRts) {
  EXPECT_EQ(Dims::MAX_DIMS, 8);
  EXPECT_EQ(IErrorRecorder::kMAX_DESC_LENGTH, 127U);
  EXPECT_EQ(IPluginV2DynamicExt::kFORMAT_COMBINATION_LIMIT, 100);
  EXPECT_EQ(IPluginV3OneBuild::kDEFAULT_FORMAT_COMBINATION_LIMIT, 100);
  EXPECT_EQ(TimingCacheValue::kINVALID_TACTIC_HASH, UINT64_MAX);
  EXPECT_EQ(NV_ONNX_PARSER_VERSION, 100);
}

TEST(Constants, PrivateValuesLieOutsideEnumMax) {
  EXPECT_EQ(static_cast<int>(LayerType::kFULLY_CONNECTED), 10001);
  EXPECT_EQ(static_cast<int>(BuilderFlag::kENABLE_TACTIC_HEURISTIC), 30);
  EXPECT_EQ(static_cast<int>(NetworkDefinitionCreationFlag::kEXPLICIT_PRECISION), 30);
}

}  // namespace
}  // namespace nvinfer1
