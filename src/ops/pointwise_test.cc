#include "ops/pointwise.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

// max(0, (x0 + x1) * 0.5)
Pointwise blend() {
  Pointwise op;
  op.program.inputs = 2;
  op.program.constants = {0.5f};
  using Family = PointwiseStep::Family;
  op.program.steps = {{Family::kElementWise, 0, 0, 1, 0, 0},
                      {Family::kElementWise, 1, 3, 2, 0, 0},
                      {Family::kActivation, 0, 4, -1, 0, 0}};
  return op;
}

TEST(Pointwise, RunsItsProgramWithBroadcasting) {
  const auto out = run(
      blend(), {input(make<float>({2, 2}, {1, -2, 3, -8})), input(make<float>({1, 2}, {4, 5}))})[0];
  EXPECT_THAT(out.numbers(), ::testing::ElementsAre(2.5, 1.5, 3.5, 0));
}

TEST(Pointwise, MistakesAreNamed) {
  using ::testing::HasSubstr;
  const Given x = input(make<float>({1}, {1}));
  Pointwise op = blend();
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("input 1 is missing"));
  op.program.steps[0].b = 3;
  EXPECT_THAT(infer_error(op, {x, x}),
              HasSubstr("step 0 of the pointwise program reads register 3; expected 0 to 2"));
  op = blend();
  op.program.steps[1].function = 99;
  EXPECT_THAT(infer_error(op, {x, x}), HasSubstr("step 1 of the pointwise program has an unknown"));
  EXPECT_THAT(infer_error(Pointwise(), {x}), HasSubstr("no steps"));
}

TEST(Pointwise, IsSavedAndLoaded) {
  const Pointwise from = blend();
  Pointwise to;
  set_fields(to, fields_of(from));
  EXPECT_EQ(to.program, from.program);
  EXPECT_EQ(to.program.str(), "t0 = sum(x0, x1); t1 = prod(t0, 0.5); t2 = relu(t1)");
}

TEST(Pointwise, DamagedProgramsAreErrors) {
  FieldList fields = fields_of(blend());
  for (auto& [name, value] : fields)
    if (name == "a") value = std::vector<int64_t>{0};
  Pointwise to;
  EXPECT_THROW(set_fields(to, fields), Error);
}

}  // namespace
}  // namespace tenon
