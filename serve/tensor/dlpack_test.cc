#include "tenon/serve/dlpack.h"

#include <gmock/gmock.h>

#include <vector>

#include "on_gpu.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;

// Another library's tensor, which counts how often it is given back.
struct Foreign {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  int given_back = 0;
  DLManagedTensor managed{};

  Foreign() {
    managed.dl_tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* m) {
      ++static_cast<Foreign*>(m->manager_ctx)->given_back;
    };
  }
};

TEST(Dlpack, SharesTheMemory) {
  Tensor tensor(Shape{2, 2});
  EXPECT_FALSE(to_dlpack(tensor));  // no data yet
  ASSERT_TRUE(tensor.set_to(2));
  DLManagedTensor* const managed = *to_dlpack(tensor);
  EXPECT_EQ(managed->dl_tensor.data, *tensor.cpu());
  EXPECT_EQ(managed->dl_tensor.ndim, 2);
  EXPECT_EQ(managed->dl_tensor.shape[1], 2);
  EXPECT_EQ(managed->dl_tensor.dtype.code, kDLFloat);
  EXPECT_EQ(managed->dl_tensor.device.device_type, kDLCPU);
  tensor = Tensor();  // the memory stays
  EXPECT_EQ(static_cast<float*>(managed->dl_tensor.data)[3], 2.0F);
  managed->deleter(managed);
}

TEST(Dlpack, TakesOthersMemoryAndGivesItBack) {
  Foreign foreign;
  {
    auto tensor = from_dlpack(&foreign.managed);
    ASSERT_TRUE(tensor) << tensor.error();
    EXPECT_EQ(tensor->shape(), (Shape{2, 3}));
    EXPECT_EQ(*tensor->at<float>({1, 2}), 5.0F);
    (*tensor->cpu<float>())[0] = 9;
    EXPECT_EQ(foreign.data[0], 9.0F);
    EXPECT_EQ(foreign.given_back, 0);
  }
  EXPECT_EQ(foreign.given_back, 1);
}

TEST(Dlpack, GoesThereAndBack) {
  for (const DataType type :
       {DataType::kFLOAT, DataType::kHALF, DataType::kBF16, DataType::kINT8, DataType::kINT32,
        DataType::kINT64, DataType::kUINT8, DataType::kBOOL}) {
    Tensor tensor(Shape{3}, type);
    ASSERT_TRUE(tensor.set_to(1));
    ASSERT_TRUE(tensor.to_gpu());
    Tensor again = *from_dlpack(*to_dlpack(tensor));
    EXPECT_EQ(again.type(), type);
    EXPECT_EQ(again.to_array()->bytes, tensor.to_array()->bytes);
  }
}

TEST(Dlpack, WhatCannotBeTakenStaysTheCallers) {
  Foreign foreign;
  foreign.strides[0] = 1, foreign.strides[1] = 2;
  EXPECT_THAT(from_dlpack(&foreign.managed).error(), HasSubstr("make it contiguous"));
  foreign.managed.dl_tensor.strides = nullptr;
  foreign.managed.dl_tensor.dtype = {kDLFloat, 64, 1};
  EXPECT_THAT(from_dlpack(&foreign.managed).error(), HasSubstr("of 64 bits"));
  foreign.managed.dl_tensor.dtype = {kDLFloat, 32, 1};
  foreign.managed.dl_tensor.device.device_type = kDLVulkan;
  EXPECT_THAT(from_dlpack(&foreign.managed).error(), HasSubstr("device type 7"));
  EXPECT_EQ(foreign.given_back, 0);
  EXPECT_THAT(from_dlpack(nullptr).error(), HasSubstr("no tensor"));
  Tensor low(Shape{2}, DataType::kINT4);
  ASSERT_TRUE(low.to_cpu());
  EXPECT_THAT(to_dlpack(low).error(), HasSubstr("DLPack has no type"));
}

// Without a GPU it is the host's: whoever reads it would look for it on a GPU else.
TEST(Dlpack, DeviceMemoryIsWhereItIs) {
  Tensor tensor({2});
  ASSERT_TRUE(tensor.set_to(3));
  void* const data = *tensor.gpu();
  ASSERT_TRUE(tensor.synchronize());
  const auto managed = to_dlpack(tensor);
  ASSERT_TRUE(managed) << managed.error();
  EXPECT_EQ((*managed)->dl_tensor.data, data);
  EXPECT_EQ((*managed)->dl_tensor.device.device_type, is_on_gpu(data) ? kDLCUDA : kDLCPU);
  if (!is_on_gpu(data)) {
    EXPECT_EQ(*static_cast<const float*>(data), 3);
  }
  (*managed)->deleter(*managed);
}

}  // namespace
}  // namespace tenon::serve
