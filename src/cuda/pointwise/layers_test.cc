// The sources of all element functions compile. Needs no GPU.
#include "cuda/pointwise/layers.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "common/suites/float_types_testing.h"
#include "cuda/nvrtc/compiler.h"
#include "ops/activation.h"
#include "ops/bit_cast.h"
#include "ops/bitwise.h"
#include "ops/cast.h"
#include "ops/dequantize.h"
#include "ops/elementwise.h"
#include "ops/identity.h"
#include "ops/parametric_relu.h"
#include "ops/pointwise.h"
#include "ops/quantize.h"
#include "ops/scale.h"
#include "ops/select.h"
#include "ops/unary.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;
using Family = PointwiseStep::Family;

constexpr DataType kLayerAll[] = {DataType::kFLOAT, DataType::kHALF,  DataType::kBF16,
                                  DataType::kINT8,  DataType::kUINT8, DataType::kINT32,
                                  DataType::kINT64, DataType::kBOOL,  DataType::kFP8,
                                  DataType::kE8M0,  DataType::kINT4,  DataType::kFP4};
constexpr DataType kIntegers[] = {DataType::kINT8, DataType::kUINT8, DataType::kINT32,
                                  DataType::kINT64};

void expect_compiles(ElementOffer (*layer)(const KernelRequest&), const Op& op,
                     const std::vector<DataType>& inputs, DataType output) {
  std::vector<TensorSpec> specs;
  for (const DataType type : inputs) specs.push_back({type, Layout::kLinear, {2, 3}});
  const TensorSpec out{output, Layout::kLinear, {2, 3}};
  const std::vector<const Tensor*> constants(inputs.size(), nullptr);
  const ElementOffer offer = layer({op, specs, {&out, 1}, constants});
  ASSERT_TRUE(std::holds_alternative<ElementLayer>(offer)) << std::get<std::string>(offer);
  try {
    const auto code = compile_cuda(element_source(std::get<ElementLayer>(offer).function), "sm_90");
    EXPECT_GT(code.size(), 1000u);
  } catch (const Error& e) {
    FAIL() << e.what();
  }
}

// All functions of a family, one after the other.
PointwiseProgram every_function() {
  PointwiseProgram program;
  program.inputs = 2;
  program.constants = {2, 0.3f};
  const auto add = [&](Family family, int32_t function, int32_t b) {
    const size_t step = program.steps.size();
    program.steps.push_back(
        {family, function, step == 0 ? 0 : program.step_register(step - 1), b, 0.3f, 1.5f});
  };
  for (int32_t i = 0; i < 25; ++i) add(Family::kUnary, i, -1);
  for (int32_t i = 0; i < 14; ++i) add(Family::kActivation, i, -1);
  for (int32_t i = 0; i < 14; ++i) add(Family::kElementWise, i, 1 + i % 3);
  return program;
}

TEST(ElementSourceTest, ProgramsOfEveryFunction) {
  Pointwise op;
  op.program = every_function();
  for (const DataType type : kFloatTypes) expect_compiles(program_layer, op, {type, type}, type);
}

TEST(ElementSourceTest, LayersOfFloats) {
  for (const DataType type : kFloatTypes) {
    SCOPED_TRACE(name_of(type));
    expect_compiles(program_layer, Scale(), {type, type, type, type}, type);
    expect_compiles(program_layer, ParametricRelu(), {type, type}, type);
    ElementWise compare;
    compare.operation = ElementWiseOperation::kLESS;
    expect_compiles(program_layer, compare, {type, type}, DataType::kBOOL);
    Unary is_nan;
    is_nan.operation = UnaryOperation::kISNAN;
    expect_compiles(program_layer, is_nan, {type}, DataType::kBOOL);
  }
}

TEST(ElementSourceTest, LayersOfIntegers) {
  for (const DataType type : kIntegers) {
    SCOPED_TRACE(name_of(type));
    for (int i = 0; i < 14; ++i) {
      if (i >= 8 && i <= 10) continue;  // for booleans
      ElementWise op;
      op.operation = static_cast<ElementWiseOperation>(i);
      expect_compiles(integer_layer, op, {type, type}, i > 10 ? DataType::kBOOL : type);
    }
    for (const auto operation :
         {UnaryOperation::kABS, UnaryOperation::kNEG, UnaryOperation::kSIGN}) {
      Unary op;
      op.operation = operation;
      expect_compiles(integer_layer, op, {type}, type);
    }
    for (int i = 0; i < 5; ++i) {
      Bitwise op;
      op.operation = static_cast<BitwiseOperation>(i);
      expect_compiles(integer_layer, op, {type, type}, type);
    }
    for (const auto function : {ActivationType::kRELU, ActivationType::kCLIP}) {
      Activation op;
      op.type = function;
      expect_compiles(integer_layer, op, {type}, type);
    }
  }
}

TEST(ElementSourceTest, LayersOfBooleans) {
  constexpr DataType kBool = DataType::kBOOL;
  for (const auto operation : {ElementWiseOperation::kAND, ElementWiseOperation::kOR,
                               ElementWiseOperation::kXOR, ElementWiseOperation::kEQUAL}) {
    ElementWise op;
    op.operation = operation;
    expect_compiles(integer_layer, op, {kBool, kBool}, kBool);
  }
  Unary negation;
  negation.operation = UnaryOperation::kNOT;
  expect_compiles(integer_layer, negation, {kBool}, kBool);
}

TEST(ElementSourceTest, CastsBetweenAllTypes) {
  for (const DataType from : kLayerAll)
    for (const DataType to : kLayerAll) {
      SCOPED_TRACE(fmt::format("{} to {}", name_of(from), name_of(to)));
      Cast op;
      op.to = to;
      expect_compiles(move_layer, op, {from}, to);
    }
}

TEST(ElementSourceTest, MovesOfAllTypes) {
  for (const DataType type : kLayerAll) {
    SCOPED_TRACE(name_of(type));
    expect_compiles(move_layer, Identity(), {type}, type);
    expect_compiles(move_layer, Select(), {DataType::kBOOL, type, type}, type);
  }
  expect_compiles(move_layer, BitCast(), {DataType::kFLOAT}, DataType::kINT32);
}

TEST(ElementSourceTest, QuantizationOfAllTypes) {
  for (const DataType quantized :
       {DataType::kINT8, DataType::kUINT8, DataType::kINT4, DataType::kFP8, DataType::kFP4})
    for (const DataType wide : kFloatTypes) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(quantized), name_of(wide)));
      Quantize quantize;
      quantize.to = quantized;
      expect_compiles(quantize_layer, quantize, {wide, wide}, quantized);
      Dequantize dequantize;
      dequantize.to = wide;
      expect_compiles(quantize_layer, dequantize, {quantized, DataType::kFLOAT, quantized}, wide);
      if (is_integer(quantized))
        expect_compiles(quantize_layer, quantize, {wide, wide, quantized}, quantized);
    }
  Dequantize sums;
  expect_compiles(quantize_layer, sums, {DataType::kINT32, DataType::kFLOAT, DataType::kINT32},
                  DataType::kFLOAT);
}

TEST(ElementSourceTest, VectorsFitSixteenBytesOfTheSmallestType) {
  const auto width = [](const char* result, const char* operand) {
    return vector_width({{{0, operand}}, result, "", "x0"});
  };
  EXPECT_EQ(width("Half", "Half"), 8);
  EXPECT_EQ(width("Float", "Float"), 4);
  EXPECT_EQ(width("Half", "Float"), 8);
  EXPECT_EQ(width("Bool", "Float"), 8);
  EXPECT_EQ(width("Bool", "Int64"), 4);
  EXPECT_EQ(width("UInt8", "UInt8"), 16);
}

}  // namespace
}  // namespace tenon::cuda
