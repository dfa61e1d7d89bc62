#include "ops/resize.h"

#include "ops/op_test.h"
#include "ops/support/resize_weights.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Resize, AgreesWithOnnx) {
  run_cases("resize");
}

TEST(Resize, ScalesOnSymbolicExtents) {
  Network network;
  Value& x = network.add_input("x", DataType::kFLOAT, {1, 1, -1, 4}, {"", "", "H"});
  Resize op;
  op.scales = {1, 1, 2, 0.5f};
  Node& node = network.add_node(op.clone(), {&x});
  network.infer();
  ShapeProgram program;
  const int32_t height = program.add(node.outputs[0]->dims[2]);
  const SymbolValue symbols[] = {7};
  EXPECT_EQ(program.evaluate(symbols)[static_cast<size_t>(height)], Number::of(14));
  EXPECT_EQ(text_of(node.outputs[0]->dims[3]), "2");
}

TEST(Resize, MistakesAreNamed) {
  using ::testing::HasSubstr;
  const Given x = input(make<float>({2}, {1, 2}));
  Resize op;
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("expected 1 entries in the output size"));
  op.scales = {-1};
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("expected positive scales, found -1"));
  op.scales = {1};
  op.mode = nvinfer1::InterpolationMode::kLINEAR;
  EXPECT_THAT(infer_error(op, {input(make<int32_t>({2}, {1, 2}))}),
              HasSubstr("float32, float16 or bfloat16, found int32"));
  op.input_is_scales = true;
  EXPECT_THAT(infer_error(op, {x, input(make<float>({1}, {2}))}),
              HasSubstr("be known before the network runs"));
}

// Scales that only running tells come with the size to which they lead; coordinates are theirs, not
// those of the quotient 3 / 2.
TEST(Resize, ScalesOfTheRunComeWithASize) {
  using ::testing::HasSubstr;
  Resize op;
  op.mode = nvinfer1::InterpolationMode::kLINEAR;
  op.input_is_scales = true;
  const Given x = input(make<float>({2}, {0, 8})), scales = input(make<float>({1}, {1.75f}));
  const Given size{make<int64_t>({1}, {3}), Given::Kind::kShape};
  // At 0, 1/1.75 and 2/1.75.
  const auto y = run(op, {x, scales, std::nullopt, size})[0];
  EXPECT_EQ(y.shape(), (Shape{3}));
  EXPECT_NEAR(y.numbers()[1], 8 / 1.75, 1e-6);
  EXPECT_EQ(y.numbers()[2], 8);
  EXPECT_THAT(infer_error(op, {x, input(make<float>({2}, {1, 2})), std::nullopt, size}),
              HasSubstr("expected 1 elements in the scales"));
}

// Its tables would take the memory of the machine.
TEST(Resize, RefusesHugeAxes) {
  Resize op;
  const AxisResize axis{5, 5'000'000'000, 1e9};
  EXPECT_THROW(nearest_positions(op, axis), Error);
  EXPECT_THROW(interpolation_taps(op, axis), Error);
}

// TensorRT's selector for results of one element: the first element instead of the formula's.
TEST(Resize, UpperSelectorTakesTheFirstElement) {
  Resize op;
  op.coordinates = nvinfer1::ResizeCoordinateTransformation::kHALF_PIXEL;
  op.output_size = {1};
  const Given x = input(make<float>({5}, {1, 2, 3, 4, 5}));
  EXPECT_THAT(run(op, {x})[0].numbers(), ::testing::ElementsAre(3));
  op.selector = nvinfer1::ResizeSelector::kUPPER;
  EXPECT_THAT(run(op, {x})[0].numbers(), ::testing::ElementsAre(1));
}

}  // namespace
}  // namespace tenon
