#include "ops/scatter.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Scatter, AgreesWithOnnx) {
  run_cases("scatter");
}

TEST(Scatter, IndicesOutsideAreErrorsThatNameThem) {
  const Given x = input(make<float>({3}, {1, 2, 3}));
  const auto message = [&](nvinfer1::ScatterMode mode, const Shape& shape, int64_t index) {
    Scatter op;
    op.mode = mode;
    try {
      run(op, {x, input(make<int64_t>(shape, {index})), input(make<float>({1}, {7}))});
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  for (const auto& [mode, shape] : {std::pair{nvinfer1::ScatterMode::kELEMENT, Shape{1}},
                                    {nvinfer1::ScatterMode::kND, Shape{1, 1}}}) {
    EXPECT_EQ(message(mode, shape, 2), "");
    EXPECT_EQ(message(mode, shape, 3), "layer layer (Scatter): index 3 is outside [-3, 3)");
    EXPECT_EQ(message(mode, shape, -4), "layer layer (Scatter): index -4 is outside [-3, 3)");
  }
}

TEST(Scatter, ShapesThatDoNotFitAreErrors) {
  Scatter op;
  const Given x = input(make<float>({2, 2}, {1, 2, 3, 4}));
  const Given index = input(make<int32_t>({1, 1}, {0}));
  EXPECT_THAT(infer_error(op, {x, index, input(make<float>({1, 2}, {1, 2}))}),
              HasSubstr("expected extent 1 along axis 1 of the updates, found 2"));
  EXPECT_THAT(infer_error(op, {x, input(make<int32_t>({1, 3}, {0, 0, 0})),
                               input(make<float>({1, 3}, {1, 2, 3}))}),
              HasSubstr("axis 1: expected at most 2 indices, found 3"));
  op.mode = nvinfer1::ScatterMode::kND;
  EXPECT_THAT(infer_error(op, {x, index, input(make<float>({1}, {1}))}),
              HasSubstr("expected updates of shape 1x2, found 1"));
  EXPECT_THAT(
      infer_error(op, {x, input(make<int32_t>({1, 3}, {0, 0, 0})), input(make<float>({1}, {1}))}),
      HasSubstr("expected a last extent of the indices of 0 to 2, found 3"));
  EXPECT_THAT(infer_error(op, {x, index, input(make<int32_t>({1, 2}, {1, 2}))}),
              HasSubstr("expected the updates (input 2) of the type of the data"));
}

}  // namespace
}  // namespace tenon
