#include "ops/softmax.h"

#include "common/suites/float_types_testing.h"
#include "ops/ragged_softmax.h"

namespace tenon {
namespace {

void check_softmax(const Shape& shape, int axis, DataType type, Layout layout = Layout::kLinear) {
  SCOPED_TRACE(fmt::format("{} {} along {} {}", name_of(type), shape, axis, name_of(layout)));
  Softmax op;
  op.axes = 1u << axis;
  TestInput in{random_tensor(shape, 1, -8, 8), false, layout};
  expect_as_reference(op, in_type(type, {in}), tolerance_of(type));
}

TEST(SoftmaxTest, EqualsReference) {
  for (const DataType type : kFloatTypes) {
    for (int64_t length : {1, 7, 8, 32, 197, 256, 1000, 2048, 2049, 5000})
      check_softmax({3, length}, 1, type);
    check_softmax({5, 7, 3, 11}, 1, type);
    check_softmax({2, 300, 65}, 1, type);
    check_softmax({4, 6, 1}, 0, type);
    check_softmax({0, 5}, 1, type);
    check_softmax({2, 5, 3, 4}, 1, type, Layout::kChannelsLast);
    check_softmax({2, 5, 3, 4}, 2, type, Layout::kChannelsLast);
    check_softmax({2, 5, 3, 4}, 0, type, Layout::kChannelsLast);
  }
}

// Masked scores are -infinity, also those that come first; NaN only where nothing else is left.
TEST(SoftmaxTest, Infinities) {
  for (int64_t length : {40, 3000})
    for (const bool last : {true, false}) {
      Tensor x = random_tensor({3, length}, 1);
      for (int64_t i = 0; i < length; ++i) {
        if (i < length - 3) x.mutable_data<float>()[i] = -INFINITY;
        x.mutable_data<float>()[length + i] = -INFINITY;
      }
      if (!last) x = x.reshaped({3, length, 1});
      Softmax op;
      op.axes = 2;
      expect_as_reference(op, {{x, false, Layout::kLinear}}, 1e-5);
    }
  // Along an axis with others behind it.
  Tensor x = random_tensor({2, 50, 4}, 1);
  for (int64_t i = 0; i < 200; ++i)
    if (i % 4 == 1 || i < 160) x.mutable_data<float>()[i] = -INFINITY;
  Softmax op;
  op.axes = 2;
  expect_as_reference(op, {{x, false, Layout::kLinear}}, 1e-5);
}

// A NaN makes NaNs of all of its row, and of no other.
TEST(SoftmaxTest, Nans) {
  for (const Shape& shape : {Shape{3, 7}, Shape{5, 40}, Shape{3, 3000}, Shape{2, 30, 3}}) {
    Tensor x = random_tensor(shape, 1);
    x.mutable_data<float>()[shape.volume() / 2] = NAN;
    Softmax op;
    op.axes = 2;
    expect_as_reference(op, {{x, false, Layout::kLinear}}, 1e-5);
  }
}

TEST(RaggedSoftmaxTest, EqualsReference) {
  for (const DataType type : kFloatTypes) {
    const RaggedSoftmax op;
    for (int64_t length : {5, 96, 3001}) {
      const TestInput lengths =
          integers<int32_t>(DataType::kINT32, {2, 2, 1},
                            {0, 1, static_cast<int32_t>(length), static_cast<int32_t>(length / 2)});
      expect_as_reference(op, in_type(type, {data({2, 2, length}), lengths}), tolerance_of(type));
    }
  }
}

}  // namespace
}  // namespace tenon
