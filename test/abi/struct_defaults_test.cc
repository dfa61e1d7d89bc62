// Structs have the defaults that TensorRT's headers give them: programs rely on them.
#include <NvInfer.h>
#include <NvInferPluginUtils.h>
#include <gtest/gtest.h>

namespace {

TEST(StructDefaults, AreThoseOfTensorRT) {
  const nvinfer1::PluginFieldCollection fields;
  EXPECT_EQ(fields.nbFields, 0);
  EXPECT_EQ(fields.fields, nullptr);
  const nvinfer1::PluginField field;
  EXPECT_EQ(field.name, nullptr);
  EXPECT_EQ(field.data, nullptr);
  EXPECT_EQ(field.type, nvinfer1::PluginFieldType::kUNKNOWN);
  EXPECT_EQ(field.length, 0);
  EXPECT_TRUE(nvinfer1::plugin::DetectionOutputParameters{}.isBatchAgnostic);
}

}  // namespace
