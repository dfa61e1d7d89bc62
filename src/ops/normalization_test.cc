#include "ops/normalization.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Normalization, AgreesWithNumpy) {
  run_cases("normalization");
}

TEST(Normalization, LargeMeansLoseNothing) {
  Normalization op;
  op.axes = 1;
  op.epsilon = 0;
  const auto y = run(op, {input(make<float>({4}, {4096, 4097, 4096, 4097}))});
  EXPECT_THAT(y[0].numbers(), ::testing::ElementsAre(-1, 1, -1, 1));
}

TEST(Normalization, AddsFirstAndGivesBytes) {
  Normalization op;
  op.axes = 1;
  op.epsilon = 0;
  op.adds = true;
  op.copy = {true, 0.5f, 10, DataType::kUINT8, {0, 11}};
  const auto y = run(op, {input(make<float>({4}, {0, 1, 0, 1})), std::nullopt, std::nullopt,
                          input(make<float>({4}, {6, 7, 6, 7}))});
  EXPECT_THAT(y[0].numbers(), ::testing::ElementsAre(-1, 1, -1, 1));
  EXPECT_THAT(y[1].numbers(), ::testing::ElementsAre(8, 11, 8, 11));
}

TEST(Normalization, RefusesAddendsAndBytesThatDoNotFit) {
  const Tensor x = make<float>({4}, {1, 2, 3, 4});
  Normalization op;
  op.axes = 1;
  op.adds = true;
  EXPECT_THAT(infer_error(op, {input(x), std::nullopt, std::nullopt, input(make<float>({1}, {1}))}),
              HasSubstr("expected an addend of the data's type and shape 4"));
  op.adds = false;
  op.copy = {true, 0, 0, DataType::kINT8, {}};
  EXPECT_THAT(infer_error(op, {input(x)}), HasSubstr("above 0, found int8 and 0"));
  op.copy.scale = 1;
  op.gives_statistics = true;
  EXPECT_THAT(infer_error(op, {input(x)}), HasSubstr("statistics beside"));
}

TEST(Normalization, WhatCannotBeIsAnError) {
  const Tensor x = make<float>({1, 4, 1}, {1, 2, 3, 4});
  const auto error = [&](uint32_t axes, int64_t groups, const Tensor& scale) {
    Normalization op;
    op.axes = axes;
    op.groups = groups;
    return infer_error(op, {input(x), input(scale)});
  };
  const Tensor one = make<float>({1, 1, 1}, {1});
  EXPECT_EQ(error(4, 2, one), "");
  EXPECT_THAT(error(8, 1, one), HasSubstr("name one that data of shape 1x4x1 does not have"));
  EXPECT_THAT(error(4, 3, one), HasSubstr("4 channels cannot be split into 3 groups"));
  EXPECT_THAT(error(4, 0, one), HasSubstr("0 groups"));
  EXPECT_THAT(error(5, 2, one), HasSubstr("not normalised over axis 0"));
  EXPECT_THAT(error(4, 1, make<float>({1}, {1})), HasSubstr("of 3 dimensions, found 1"));
  EXPECT_THAT(error(4, 1, make<float>({1, 2, 1}, {1, 1})), HasSubstr("does not broadcast"));
  EXPECT_EQ(error(4, 2, make<float>({1, 2, 1}, {1, 1})), "");
}

}  // namespace
}  // namespace tenon
