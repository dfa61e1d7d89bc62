#include "tenon/serve/view.h"

#include <gmock/gmock.h>

#include <numeric>

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;

TEST(View, SaysWhatItIs) {
  const std::vector<_Float16> elements(6);
  const auto view = View::of(std::span(elements), {2, 3});
  ASSERT_TRUE(view) << view.error();
  EXPECT_EQ(view->text(), "float16 2x3");
  EXPECT_EQ(view->rank(), 2);
  EXPECT_EQ(view->size(1), 3);
  EXPECT_EQ(view->size(2), 0);
  EXPECT_EQ(view->size(-1), 0);
  EXPECT_EQ(view->count(), 6);
  EXPECT_EQ(view->data(), elements.data());
}

TEST(View, RefusesOtherNumbersOfElements) {
  const std::vector<float> elements(6);
  EXPECT_EQ(View::of(std::span(elements), {2, 4}).error(),
            "a view of shape 2x4: expected 8 elements, found 6");
  EXPECT_THAT(View::of(std::span(elements), {-2, -3}).error(), HasSubstr("no such extent"));
  EXPECT_THAT(View::of(std::span(elements), {int64_t{1} << 62, 8}).error(),
              HasSubstr("too many elements"));
}

// Also of a tensor whose newest data is on the device.
TEST(View, IsAnItemOfATensor) {
  Tensor tensor(Shape{2, 3, 4});
  float* const data = *tensor.cpu<float>();
  std::iota(data, data + 24, 0.0F);
  ASSERT_TRUE(tensor.to_gpu());
  const auto view = View::of_item(tensor, 1);
  ASSERT_TRUE(view) << view.error();
  EXPECT_EQ(view->shape(), (Shape{3, 4}));
  EXPECT_EQ(static_cast<const float*>(view->data())[0], 12.0F);
}

TEST(View, RefusesOtherTensors) {
  Tensor integers(Shape{2, 3}, DataType::kINT32);
  ASSERT_TRUE(integers.cpu());
  EXPECT_THAT(View::of_item(integers, 0).error(),
              HasSubstr("expected a tensor of float32 or float16, found int32 2x3"));
  Tensor empty(Shape{2, 3});
  EXPECT_THAT(View::of_item(empty, 0).error(), HasSubstr("no data"));
  ASSERT_TRUE(empty.cpu());
  EXPECT_THAT(View::of_item(empty, 2).error(), HasSubstr("item 2 of float32 2x3"));
  EXPECT_THAT(View::of_item(empty, -1).error(), HasSubstr("item -1"));
}

}  // namespace
}  // namespace tenon::serve
