#include "tenon/serve/classification.h"

#include <gmock/gmock.h>

#include <cmath>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Classification, IsTheSoftmax) {
  Golden logits("classification.logits"), best("classification.best");
  const auto classes = decode_classes(logits.view());
  ASSERT_TRUE(classes) << classes.error();
  ASSERT_THAT(*classes, SizeIs(5));
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(static_cast<float>((*classes)[static_cast<size_t>(i)].class_label), best.at(i, 0));
    EXPECT_NEAR((*classes)[static_cast<size_t>(i)].score, best.at(i, 1), 1e-6F);
  }
}

TEST(Classification, OfEqualScoresTheLowerClassComesFirst) {
  const std::vector<float> scores = {0.2F, 0.3F, NAN, 0.3F, 0.1F};
  const auto classes = decode_classes(view_of(scores, {5, 1, 1}), 10, false);
  ASSERT_TRUE(classes) << classes.error();
  ASSERT_THAT(*classes, SizeIs(4));
  EXPECT_EQ((*classes)[0].class_label, 1);
  EXPECT_EQ((*classes)[1].class_label, 3);
  EXPECT_EQ((*classes)[1].score, 0.3F);
  EXPECT_EQ((*classes)[3].class_label, 4);
}

TEST(Classification, InfiniteLogitsShareAllThereIs) {
  const std::vector<float> logits = {INFINITY, 5, INFINITY, -INFINITY, NAN};
  const auto classes = decode_classes(view_of(logits, {5}));
  ASSERT_TRUE(classes) << classes.error();
  ASSERT_THAT(*classes, SizeIs(4));
  EXPECT_EQ((*classes)[0].score, 0.5F);
  EXPECT_EQ((*classes)[1].score, 0.5F);
  EXPECT_EQ((*classes)[2].score, 0);
  const std::vector<float> none(3, NAN);
  EXPECT_THAT(*decode_classes(view_of(none, {3})), SizeIs(0));
}

TEST(Classification, IsRefusedWhereItDoesNotFit) {
  const std::vector<float> scores(6);
  EXPECT_EQ(decode_classes(view_of(scores, {2, 3})).error(),
            "classification: expected scores of shape (classes) or (classes, 1, 1), found float32 "
            "2x3");
  EXPECT_FALSE(decode_classes(view_of({}, {0})));
  EXPECT_THAT(decode_classes(view_of(scores, {6}), 0).error(), HasSubstr("found 0"));
}

}  // namespace
}  // namespace tenon::serve
