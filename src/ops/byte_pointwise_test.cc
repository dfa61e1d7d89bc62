#include "ops/byte_pointwise.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// (x0 - 3) * 0.5 + x1
BytePointwise shifted() {
  BytePointwise op;
  op.program.inputs = 2;
  op.program.constants = {3, 0.5f};
  using Family = PointwiseStep::Family;
  constexpr auto step = [](nvinfer1::ElementWiseOperation operation, int32_t a, int32_t b) {
    return PointwiseStep{Family::kElementWise, static_cast<int32_t>(operation), a, b};
  };
  using Operation = nvinfer1::ElementWiseOperation;
  op.program.steps = {step(Operation::kSUB, 0, 2), step(Operation::kPROD, 4, 3),
                      step(Operation::kSUM, 5, 1)};
  return op;
}

// Expected values by ONNX's formulas of DequantizeLinear, Add and QuantizeLinear.
TEST(BytePointwise, RunsItsProgramOnTheNumbersOfBytes) {
  const Given bytes = input(make<int8_t>({2, 2}, {-128, 3, 4, 127}));
  const Given row = input(make<float>({1, 2}, {0, 0.25f}));
  BytePointwise op = shifted();
  EXPECT_THAT(run(op, {bytes, row})[0].numbers(), ElementsAre(-65.5, 0.25, 0.5, 62.25));
  op.bytes = {true, 0.5f, 100, DataType::kUINT8};
  const Tensor out = run(op, {bytes, row})[0];
  EXPECT_EQ(out.type(), DataType::kUINT8);
  EXPECT_THAT(out.numbers(), ElementsAre(0, 100, 101, 224));  // ties to even, saturated
  const Given unsigned_bytes = input(make<uint8_t>({1, 2}, {255, 0}));
  EXPECT_THAT(run(op, {unsigned_bytes, row})[0].numbers(), ElementsAre(255, 98));
}

TEST(BytePointwise, MistakesAreNamed) {
  const Given bytes = input(make<int8_t>({2}, {1, 2}));
  BytePointwise op = shifted();
  EXPECT_THAT(infer_error(op, {bytes}), HasSubstr("input 1 is missing"));
  EXPECT_THAT(infer_error(op, {bytes, input(make<int32_t>({2}, {1, 2}))}),
              HasSubstr("input 1 is int32; expected int8, uint8 or float32"));
  op.bytes = {true, 0, 0, DataType::kINT8};
  EXPECT_THAT(infer_error(op, {bytes, bytes}), HasSubstr("above 0, found int8 and 0"));
  op.bytes = {true, 1, 0, DataType::kFP8};
  EXPECT_THAT(infer_error(op, {bytes, bytes}), HasSubstr("int8 or uint8, found float8"));
  EXPECT_THAT(infer_error(BytePointwise(), {bytes}), HasSubstr("no steps"));
}

TEST(BytePointwise, IsSavedAndLoaded) {
  BytePointwise from = shifted(), to;
  from.bytes = {true, 0.25f, -7, DataType::kINT8, {-7, 100}};
  set_fields(to, fields_of(from));
  EXPECT_EQ(to.program, from.program);
  EXPECT_EQ(fields_of(to), fields_of(from));
}

}  // namespace
}  // namespace tenon
