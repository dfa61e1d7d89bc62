// Non-maximum suppression against the reference: the same boxes in the same order.
#include "ops/nms.h"

#include "backend/testing.h"

namespace tenon {
namespace {

struct NmsCase {
  Shape boxes, scores;
  int32_t max_selected = 100;
  float overlap = 0.5f, min_score = 0.2f;
};

// Many boxes that overlap, and scores that are often equal.
std::vector<TestInput> inputs_of(const NmsCase& c, DataType type) {
  Tensor boxes = random_tensor(c.boxes, 3, 0, 40), scores = random_tensor(c.scores, 4, 0, 1);
  float* b = boxes.mutable_data<float>();
  for (int64_t i = 0; i < boxes.count(); ++i)
    if (i % 4 >= 2) b[i] = b[i - 2] + b[i] / 4 - 2;  // mostly behind the first corner
  for (int64_t i = 0; i < scores.count(); ++i)
    scores.mutable_data<float>()[i] =
        i % 19 == 0 ? NAN : std::round(scores.data<float>()[i] * 64) / 64;
  const auto constant = [](DataType t, auto value) {
    return TestInput{Tensor::of<decltype(value)>(t, {1}, std::vector{value}), true,
                     Layout::kLinear};
  };
  const auto floats = [&](const Tensor& t) {
    const TestInput in{t, false, Layout::kLinear};
    return as_type(type, in);
  };
  return {floats(boxes), floats(scores), constant(DataType::kINT32, c.max_selected),
          constant(DataType::kFLOAT, c.overlap), constant(DataType::kFLOAT, c.min_score)};
}

TEST(NmsTest, BoxesOfAllKinds) {
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF})
    for (const NmsCase& c :
         {NmsCase{{2, 30, 4}, {2, 30, 3}}, NmsCase{{1, 900, 4}, {1, 900, 2}},
          NmsCase{{2, 300, 3, 4}, {2, 300, 3}}, NmsCase{{1, 600, 1, 4}, {1, 600, 5}, 7},
          NmsCase{{1, 700, 4}, {1, 700, 1}, 1000, 0.9f, 0}, NmsCase{{1, 300, 4}, {1, 300, 2}, 0},
          NmsCase{{1, 0, 4}, {1, 0, 2}}, NmsCase{{1, 300, 4}, {1, 300, 2}, 5, 0.1f, 2}}) {
      SCOPED_TRACE(fmt::format("{} boxes {} scores {} max_selected {}", name_of(type), c.boxes,
                               c.scores, c.max_selected));
      Nms op;
      expect_as_reference(op, inputs_of(c, type));
      op.format = BoundingBoxFormat::kCENTER_SIZES;
      op.indices_type = DataType::kINT64;
      op.top_k_box_limit = 270;
      expect_as_reference(op, inputs_of(c, type));
    }
}

TEST(NmsTest, ClassesFirst) {
  Nms op;
  op.classes_first = true;
  expect_as_reference(op, inputs_of({{2, 290, 4}, {2, 4, 290}}, DataType::kFLOAT));
}

TEST(NmsTest, KeepsWhatTheReferenceKeeps) {
  for (const bool classes_first : {false, true})
    for (const int64_t box_classes : {0, 1, 20})
      for (const int64_t count : {0, 1, 500})
        for (const float overlap : {0.f, 0.3f, 0.5f}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", classes_first, box_classes, count, overlap));
          const Shape boxes =
              box_classes == 0 ? Shape{2, count, 4} : Shape{2, count, box_classes, 4};
          const Shape scores = classes_first ? Shape{2, 20, count} : Shape{2, count, 20};
          Nms op;
          op.classes_first = classes_first;
          op.format =
              overlap > 0.4f ? BoundingBoxFormat::kCENTER_SIZES : BoundingBoxFormat::kCORNER_PAIRS;
          op.indices_type = overlap > 0 ? DataType::kINT64 : DataType::kINT32;
          expect_as_reference(op, inputs_of({boxes, scores, 60, overlap, 0.1f}, DataType::kFLOAT),
                              "nms");
        }
}

// The number of boxes, which is that of the last output.
double kept(const Nms& op, const NmsCase& c) {
  LayerTest test(op, inputs_of(c, DataType::kFLOAT));
  EXPECT_EQ(test.offer("nms"), "");
  return test.run_all().back().numbers()[0];
}

TEST(NmsTest, OnlySoManyBoxesAreLookedAtOrKept) {
  NmsCase c{{1, 3000, 4}, {1, 3000, 1}, 3000, 0.6f, -1};
  Nms op;
  const double all = kept(op, c);
  EXPECT_GT(all, 700);
  op.top_k_box_limit = 900;
  expect_as_reference(op, inputs_of(c, DataType::kFLOAT), "nms");
  EXPECT_LT(kept(op, c), all);
  c.max_selected = 70;
  EXPECT_EQ(kept(op, c), 70);
  expect_as_reference(op, inputs_of(c, DataType::kFLOAT), "nms");
  c.max_selected = 0;
  EXPECT_EQ(kept(op, c), 0);
}

}  // namespace
}  // namespace tenon
