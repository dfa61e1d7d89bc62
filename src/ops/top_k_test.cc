#include "ops/top_k.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

// The message with which inference or the kernel fails.
std::string message_of(const Op& op, const std::vector<std::optional<Given>>& inputs) {
  try {
    run(op, inputs);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(TopK, AgreesWithNumpy) {
  run_cases("top_k");
}

TEST(TopK, TooManyAreAnErrorBeforeAndAfterTheExtentIsKnown) {
  TopK op;
  op.k = 4;
  const Given x = input(make<float>({3}, {1, 2, 3}));
  EXPECT_EQ(infer_error(op, {x}),
            "layer layer (TopK): expected k from 0 to the extent of axis 0, 3, found 4");
  const Given k{make<int64_t>({1}, {4}), Given::Kind::kInput};
  EXPECT_THAT(message_of(TopK(), {x, k}), HasSubstr("expected k from 0 to the extent of axis 0"));
  EXPECT_THAT(infer_error(TopK(), {x, input(make<int64_t>({2}, {1, 1}))}),
              HasSubstr("expected 1 elements in k (input 1), found 2"));
}

TEST(TopK, AnswersForTypesAndAxesThatCannotBe) {
  TopK op;
  EXPECT_THAT(infer_error(op, {input(make<bool>({2}, {true, false}))}), HasSubstr("found bool"));
  op.axes = 3;
  EXPECT_THAT(infer_error(op, {input(make<float>({1, 1}, {1}))}), HasSubstr("one axis"));
  op.axes = 4;
  EXPECT_THAT(infer_error(op, {input(make<float>({1, 1}, {1}))}), HasSubstr("one axis"));
}

}  // namespace
}  // namespace tenon
