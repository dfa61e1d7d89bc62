// Non-maximum suppression against the reference: the same boxes in the same order.
#include "ops/nms.h"

#include "target/outputs_testing.h"

namespace tenon {
namespace {

struct Case {
  Shape boxes, scores;
  int32_t most = 100;
  float overlap = 0.5f, least = 0.2f;
};

// Many boxes that overlap, and scores that are often equal.
std::vector<TestInput> inputs_of(const Case& c, DataType type) {
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
    return type == DataType::kFLOAT ? in : as_type(type, in);
  };
  return {floats(boxes), floats(scores), constant(DataType::kINT32, c.most),
          constant(DataType::kFLOAT, c.overlap), constant(DataType::kFLOAT, c.least)};
}

TEST(CudaNmsTest, BoxesOfAllKinds) {
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF})
    for (const Case& c :
         {Case{{2, 30, 4}, {2, 30, 3}}, Case{{1, 900, 4}, {1, 900, 2}},
          Case{{2, 300, 3, 4}, {2, 300, 3}}, Case{{1, 600, 1, 4}, {1, 600, 5}, 7},
          Case{{1, 700, 4}, {1, 700, 1}, 1000, 0.9f, 0}, Case{{1, 300, 4}, {1, 300, 2}, 0},
          Case{{1, 0, 4}, {1, 0, 2}}, Case{{1, 300, 4}, {1, 300, 2}, 5, 0.1f, 2}}) {
      SCOPED_TRACE(
          fmt::format("{} boxes {} scores {} most {}", name_of(type), c.boxes, c.scores, c.most));
      Nms op;
      expect_outputs_as_reference(op, inputs_of(c, type), "nms");
      op.format = BoundingBoxFormat::kCENTER_SIZES;
      op.indices_type = DataType::kINT64;
      op.top_k_box_limit = 270;
      expect_outputs_as_reference(op, inputs_of(c, type), "nms");
    }
}

TEST(CudaNmsTest, ClassesFirst) {
  Nms op;
  op.classes_first = true;
  expect_outputs_as_reference(op, inputs_of({{2, 290, 4}, {2, 4, 290}}, DataType::kFLOAT), "nms");
}

}  // namespace
}  // namespace tenon
