#include <cmath>

#include "backend/testing.h"
#include "ops/pooling.h"

namespace tenon::cpu {
namespace {

using nvinfer1::PaddingMode;

// Every seventh element is a NaN, and long runs are -infinity.
TestInput with_nans(const Shape& shape, Layout layout) {
  TestInput in = data(shape, 1, layout);
  float* values = in.tensor->mutable_data<float>();
  for (int64_t i = 0; i < in.tensor->count(); ++i) {
    if (i % 7 == 3) values[i] = NAN;
    if (i / 40 % 3 == 1) values[i] = -INFINITY;
  }
  return in;
}

struct MaximumPoolingCase {
  Shape window, stride, dilation, pre, post, data;
};

const MaximumPoolingCase kMaximumPoolingCases[] = {
    {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {2, 20, 9, 12}},
    {{3, 2}, {2, 2}, {1, 1}, {1, 0}, {1, 1}, {2, 16, 9, 12}},
    {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 35, 8, 40}},
    {{5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {1, 3, 7, 33}},
    {{2, 3}, {1, 2}, {3, 2}, {1, 2}, {2, 1}, {2, 17, 9, 11}},
    {{1, 1}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 8, 7, 7}},
    {{4, 4}, {4, 4}, {1, 1}, {3, 3}, {3, 3}, {1, 5, 3, 2}},  // windows within the padding
    {{2, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, {1, 18, 4, 7, 8}},
    {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 8, 9, 9}},
};

TEST(MaximumPoolingTest, EqualsReferenceAlsoForNaNsAndInfinities) {
  for (const MaximumPoolingCase& c : kMaximumPoolingCases)
    for (const Layout layout :
         {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8, Layout::kBlocked16})
      for (const auto mode : {PaddingMode::kEXPLICIT_ROUND_DOWN, PaddingMode::kEXPLICIT_ROUND_UP,
                              PaddingMode::kSAME_UPPER, PaddingMode::kSAME_LOWER}) {
        SCOPED_TRACE(fmt::format("{} {} {}", c.data, name_of(layout), static_cast<int>(mode)));
        Pooling op;
        op.window = c.window;
        op.stride = c.stride;
        op.dilation = c.dilation;
        op.pre_padding = c.pre;
        op.post_padding = c.post;
        op.padding_mode = mode;
        LayerTest test(op, {with_nans(c.data, layout)});
        ASSERT_EQ(test.offer("maximum_pooling"), "");
        expect_close(test.run(), test.reference());
        Shape other = c.data;
        other[0] = 1;
        other[other.rank() - 1] += 3;
        test.set_inputs({with_nans(other, Layout::kLinear)});
        expect_close(test.run(), test.reference());
      }
}

TEST(MaximumPoolingTest, LeavesOthersToOthers) {
  Pooling op;
  op.window = op.stride = {2, 2};
  op.pre_padding = op.post_padding = {0, 0};
  op.indices = PoolingIndices::kRowsFirst;
  EXPECT_NE(LayerTest(op, {data({1, 3, 8, 9})}).offer("maximum_pooling"), "");
  op.indices = PoolingIndices::kNone;
  op.type = nvinfer1::PoolingType::kAVERAGE;
  EXPECT_NE(LayerTest(op, {data({1, 3, 8, 9})}).offer("maximum_pooling"), "");
}

}  // namespace
}  // namespace tenon::cpu
