#include "ops/nms.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

const Tensor kBoxes = make<float>({1, 3, 4}, {0, 0, 2, 2, 0, 0, 2, 1, 5, 5, 6, 6});
const Tensor kScores = make<float>({1, 3, 1}, {0.5f, 0.75f, 0.25f});
const Tensor kMaxBoxes = make<int32_t>({1}, {10});

TEST(Nms, AgreesWithOnnxRuntime) {
  run_cases("nms");
}

TEST(Nms, NanScoresAndEmptyBoxesDoNoHarm) {
  const float nan = NAN;
  const auto kept =
      run(Nms(), {input(make<float>({1, 4, 4}, {0, 0, 0, 0, 0, 0, 0, 0,  //
                                                nan, 0, 1, 1, 0, 0, 1, 1})),
                  input(make<float>({1, 4, 1}, {1, nan, 3, INFINITY})), input(kMaxBoxes)});
  EXPECT_THAT(kept[0].integers(), ::testing::ElementsAre(0, 0, 3, 0, 0, 2, 0, 0, 0));
  EXPECT_THAT(kept[1].integers(), ::testing::ElementsAre(3));
}

TEST(Nms, OnlySoManyBoxesAreLookedAt) {
  Nms op;
  op.top_k_box_limit = 2;  // the third box would be kept
  const auto kept =
      run(op, {input(kBoxes), input(kScores), input(kMaxBoxes), input(make<float>({1}, {0.25f}))});
  EXPECT_THAT(kept[0].integers(), ::testing::ElementsAre(0, 0, 1));
}

TEST(Nms, OverlapsMayEqualTheThresholdAndScoresMayNot) {
  const auto kept = run(Nms(), {input(kBoxes), input(kScores), input(kMaxBoxes),
                                input(make<float>({1}, {0.5f})), input(make<float>({1}, {0.25f}))});
  EXPECT_THAT(kept[0].integers(), ::testing::ElementsAre(0, 0, 1, 0, 0, 0));
}

TEST(Nms, ThresholdsAreChecked) {
  const auto message = [&](float overlap, float score) -> std::string {
    try {
      run(Nms(), {input(kBoxes), input(kScores), input(kMaxBoxes),
                  input(make<float>({1}, {overlap})), input(make<float>({1}, {score}))});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(1, -INFINITY), "");
  EXPECT_THAT(message(1.5f, 0), HasSubstr("expected a largest overlap (input 3) of 0 to 1"));
  EXPECT_THAT(message(NAN, 0), HasSubstr("largest overlap"));
  EXPECT_THAT(message(0, NAN), HasSubstr("the score threshold (input 4) is NaN"));
}

TEST(Nms, InputsThatDoNotFitAreErrors) {
  const auto error = [](const Tensor& boxes, const Tensor& scores, const Tensor& max_boxes) {
    return infer_error(Nms(), {input(boxes), input(scores), input(max_boxes)});
  };
  EXPECT_EQ(error(kBoxes, kScores, kMaxBoxes), "");
  EXPECT_THAT(error(make<float>({1, 1, 3}, {1, 2, 3}), kScores, kMaxBoxes),
              HasSubstr("expected boxes (input 0) of shape"));
  EXPECT_THAT(error(kBoxes, make<float>({1, 2, 1}, {1, 2}), kMaxBoxes),
              HasSubstr("boxes and scores of the same number of boxes, found 3 and 2"));
  EXPECT_THAT(error(kBoxes, kScores, make<int32_t>({2}, {1, 2})), HasSubstr("expected 1 elements"));
  EXPECT_THAT(error(kBoxes, kScores, make<float>({1}, {1})), HasSubstr("int32 or int64"));
}

}  // namespace
}  // namespace tenon
