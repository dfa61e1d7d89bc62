#include "ops/grid_sample.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(GridSample, AgreesWithOnnxRuntime) {
  run_cases("grid_sample");
}

TEST(GridSample, AnyCoordinateIsSafe) {
  const Given x = input(make<float>({1, 1, 2, 2}, {1, 2, 3, INFINITY}));
  const Given grid = input(make<float>({1, 1, 4, 2}, {NAN, 0, INFINITY, -INFINITY, 1e30f, 1e30f,  //
                                                      -0.5f, -0.5f}));
  for (const auto mode :
       {nvinfer1::InterpolationMode::kNEAREST, nvinfer1::InterpolationMode::kLINEAR}) {
    GridSample op;
    op.mode = mode;
    EXPECT_THAT(run(op, {x, grid})[0].numbers(), ElementsAre(0, 0, 0, 1));
    op.outside = nvinfer1::SampleMode::kREFLECT;
    EXPECT_EQ(run(op, {x, grid})[0].numbers()[3], 1);
    op.outside = nvinfer1::SampleMode::kCLAMP;
    EXPECT_EQ(run(op, {x, grid})[0].numbers()[1], 2);
  }
}

TEST(GridSample, EmptyTensorsGiveZerosOrNothing) {
  const Given grid = input(make<float>({1, 1, 1, 2}, {0, 0}));
  EXPECT_THAT(run(GridSample(), {input(make<float>({1, 1, 0, 2}, {})), grid})[0].numbers(),
              ElementsAre(0));
  EXPECT_EQ(run(GridSample(), {input(make<float>({1, 0, 2, 2}, {})), grid})[0].count(), 0);
}

TEST(GridSample, ShapesThatDoNotFitAreErrors) {
  const Given x = input(make<float>({1, 1, 1, 1}, {1}));
  const auto error = [&](const Tensor& grid) {
    return infer_error(GridSample(), {x, input(grid)});
  };
  EXPECT_EQ(error(make<float>({1, 1, 1, 2}, {0, 0})), "");
  EXPECT_THAT(error(make<float>({1, 1, 1, 3}, {0, 0, 0})), HasSubstr("expected 2 coordinates"));
  EXPECT_THAT(error(make<float>({1, 1, 2}, {0, 0})), HasSubstr("expected a grid of 4 dimensions"));
  EXPECT_THAT(error(make<float>({2, 1, 1, 2}, {0, 0, 0, 0})), HasSubstr("the same batch size"));
}

}  // namespace
}  // namespace tenon
