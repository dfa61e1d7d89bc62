#include "tenon/serve/tensor.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace tenon::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

Tensor counted(const Shape& shape) {
  Tensor tensor(shape);
  float* const data = *tensor.cpu<float>();
  std::iota(data, data + tensor.numel(), 0.0F);
  return tensor;
}

std::vector<float> values(Tensor& tensor) {
  const float* const data = *tensor.cpu<float>();
  return {data, data + tensor.numel()};
}

TEST(Tensor, KnowsWhereElementsAre) {
  const Tensor tensor({2, 3, 4, 5}, DataType::kHALF);
  EXPECT_EQ(tensor.ndims(), 4);
  EXPECT_EQ(tensor.numel(), 120);
  EXPECT_EQ(tensor.bytes(), 240u);
  EXPECT_EQ(tensor.bytes(1), 120u);
  EXPECT_EQ(tensor.count(2), 20);
  EXPECT_EQ(tensor.batch(), 2);
  EXPECT_EQ(tensor.width(), 5);
  EXPECT_EQ(tensor.size(4), 0);
  EXPECT_THAT(tensor.strides(), ElementsAre(120, 40, 10, 2));
  EXPECT_EQ(*tensor.offset({1, 2, 3, 4}), 119);
  EXPECT_EQ(*tensor.offset({1}), 60);
  EXPECT_THAT(tensor.offset({0, 3}).error(),
              HasSubstr("index 3 of axis 1 is outside a tensor of shape 2x3x4x5"));
  EXPECT_THAT(tensor.offset({0, 0, 0, 0, 0}).error(), HasSubstr("5 indices"));
  EXPECT_EQ(tensor.descriptor(), "float16 2x3x4x5 without data");
  EXPECT_EQ(Tensor(Shape{3}, DataType::kINT4).bytes(), 2u);
}

// Data is copied when it is asked for on the other side.
TEST(Tensor, FollowsTheNewestData) {
  Tensor tensor = counted({2, 3});
  EXPECT_EQ(tensor.head(), DataHead::kHost);
  void* const on_device = *tensor.gpu();
  EXPECT_EQ(tensor.head(), DataHead::kDevice);
  const std::vector<float> other = {5, 4, 3, 2, 1, 0};
  ASSERT_EQ(cudaMemcpy(on_device, other.data(), tensor.bytes(), cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_THAT(values(tensor), ElementsAreArray(other));
  EXPECT_EQ(*tensor.at<float>({1, 2}), 0.0F);
  ASSERT_TRUE(tensor.to_gpu());
  ASSERT_TRUE(tensor.to_cpu(false));  // what the host had is the newest now
  EXPECT_EQ(tensor.head(), DataHead::kHost);
}

TEST(Tensor, ResizingKeepsWhatFits) {
  Tensor tensor = counted({2, 3});
  const void* const before = *tensor.cpu();
  ASSERT_TRUE(tensor.resize({-1, 2}));
  EXPECT_EQ(tensor.shape_string(), "2x2");
  EXPECT_EQ(tensor.head(), DataHead::kHost);
  EXPECT_EQ(*tensor.cpu(), before);
  ASSERT_TRUE(tensor.resize_single_dim(0, 30));
  EXPECT_EQ(tensor.head(), DataHead::kInit);
  EXPECT_THAT(values(tensor), ElementsAreArray(std::vector<float>(60, 0)));
  EXPECT_THAT(tensor.resize({-1}).error(), HasSubstr("keeps the one of before"));
  EXPECT_THAT(tensor.resize({2, -5}).error(), HasSubstr("negative"));
  EXPECT_THAT(tensor.resize({1LL << 40, 1LL << 40}).error(), HasSubstr("too many elements"));
  EXPECT_EQ(tensor.shape_string(), "30x2");
}

TEST(Tensor, OfTheWrongTypeIsAnError) {
  Tensor tensor = counted({2});
  EXPECT_THAT(tensor.cpu<int32_t>().error(),
              HasSubstr("the tensor is of float32, and int32 is asked for"));
  EXPECT_THAT(tensor.at<float>({2}).error(), HasSubstr("index 2"));
}

TEST(Tensor, MemoryOfOthersIsUsedAsItIs) {
  float data[4] = {1, 2, 3, 4};
  Tensor tensor(Shape{2, 2}, DataType::kFLOAT,
                std::make_shared<MixMemory>(data, sizeof data, nullptr, 0), DataHead::kHost);
  EXPECT_THAT(values(tensor), ElementsAre(1, 2, 3, 4));
  (*tensor.cpu<float>())[3] = 9;
  EXPECT_EQ(data[3], 9);
  ASSERT_TRUE(tensor.resize({3, 2}));
  EXPECT_THAT(tensor.cpu().error(), HasSubstr("that the caller gave has 16 bytes, and 24"));
}

TEST(Tensor, CopiesIntoParts) {
  Tensor tensor = counted({2, 3});
  const float some[] = {7, 8};
  ASSERT_TRUE(tensor.copy_from_cpu(4, some, 2));
  EXPECT_THAT(values(tensor), ElementsAre(0, 1, 2, 3, 7, 8));
  EXPECT_THAT(tensor.copy_from_cpu(5, some, 2).error(),
              HasSubstr("2 elements from 5 on do not fit a tensor of shape 2x3"));
  EXPECT_FALSE(tensor.copy_from_cpu(-1, some, 1));
  EXPECT_FALSE(tensor.copy_from_cpu(0, some, INT64_MAX));
  Tensor other = counted({3});
  ASSERT_TRUE(tensor.copy_from_gpu(0, *other.gpu(), 3, other.device()));
  EXPECT_THAT(values(tensor), ElementsAre(0, 1, 2, 3, 7, 8));
}

TEST(Tensor, ConvertsItsElements) {
  Tensor tensor(Shape{3});
  ASSERT_TRUE(tensor.set_to(1.5));
  ASSERT_TRUE(tensor.to_half());
  EXPECT_EQ(tensor.type(), DataType::kHALF);
  EXPECT_EQ(static_cast<float>(*tensor.at<_Float16>({2})), 1.5F);
  ASSERT_TRUE(tensor.to_float());
  EXPECT_THAT(values(tensor), ElementsAre(1.5F, 1.5F, 1.5F));
  EXPECT_FALSE(tensor.convert_to(DataType::kINT32));  // 1.5 is no integer
  EXPECT_EQ(tensor.type(), DataType::kFLOAT);
  Tensor bytes(Shape{2}, DataType::kUINT8);
  EXPECT_FALSE(bytes.set_to(256));
  ASSERT_TRUE(bytes.set_to(255));
  EXPECT_EQ(*bytes.at<uint8_t>({1}), 255);
  Tensor wide(Shape{1}, DataType::kINT64);
  ASSERT_TRUE(wide.set_to(123456789012.0));
  EXPECT_EQ(*wide.at<int64_t>({0}), 123456789012);
  EXPECT_FALSE(wide.set_to(0.1));
}

TEST(Tensor, NumbersAreRoundedToItsTypeAndNotCutOff) {
  Tensor tensor(Shape{1});
  ASSERT_TRUE(tensor.set_to(0.1));
  EXPECT_EQ(*tensor.at<float>({0}), 0.1F);
  ASSERT_TRUE(tensor.set_to(-1e30));
  EXPECT_EQ(*tensor.at<float>({0}), -1e30F);
  EXPECT_EQ(tensor.set_to(1e300).error(), "the number is too large for a tensor of float32");
  ASSERT_TRUE(tensor.set_to(std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(std::isinf(*tensor.at<float>({0})));
  Tensor half(Shape{1}, DataType::kHALF);
  ASSERT_TRUE(half.set_to(0.1));
  EXPECT_EQ(*half.at<_Float16>({0}), static_cast<_Float16>(0.1F));
}

TEST(Tensor, ItemsShareTheMemory) {
  Tensor tensor = counted({2, 3});
  {
    Tensor item = *tensor.item(1);
    EXPECT_EQ(item.shape_string(), "3");
    EXPECT_THAT(values(item), ElementsAre(3, 4, 5));
    (*item.cpu<float>())[0] = 10;
  }
  EXPECT_EQ(*tensor.at<float>({1, 0}), 10.0F);
  EXPECT_FALSE(tensor.item(2));
  Tensor rows = *counted({4, 2}).items(1, 2);
  EXPECT_EQ(rows.shape_string(), "2x2");
  EXPECT_THAT(values(rows), ElementsAre(2, 3, 4, 5));
  EXPECT_FALSE(tensor.items(1, 2));
  EXPECT_FALSE(tensor.items(-1, 1));
  EXPECT_FALSE(Tensor(Shape{2}).item(0));
}

TEST(Tensor, CopiesAndMoves) {
  Tensor tensor = counted({2, 2});
  Tensor copy = *tensor.clone();
  (*copy.cpu<float>())[0] = 5;
  EXPECT_THAT(values(tensor), ElementsAre(0, 1, 2, 3));
  ASSERT_TRUE(copy.to_gpu());
  Tensor of_device = *copy.clone();
  EXPECT_EQ(of_device.head(), DataHead::kDevice);
  EXPECT_THAT(values(of_device), ElementsAre(5, 1, 2, 3));
  Tensor moved = std::move(tensor);
  EXPECT_THAT(values(moved), ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(tensor.empty());  // NOLINT: what is left of it is of use
  ASSERT_TRUE(tensor.resize({1}));
  EXPECT_THAT(values(tensor), ElementsAre(0));
  EXPECT_THAT(values(moved), ElementsAre(0, 1, 2, 3));
  const Array array = *moved.to_array();
  EXPECT_THAT(values(*std::make_unique<Tensor>(*Tensor::from(array))), ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace tenon::serve
