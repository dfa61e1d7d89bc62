#include "tenon/serve/tensor_allocator.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace tenon::serve {
namespace {

using std::chrono::milliseconds;

TEST(TensorAllocator, GivesEachMemoryToOneUserAtATime) {
  TensorAllocator allocator(2);
  auto a = allocator.query({1, 3}, DataType::kFLOAT), b = allocator.query({7}, DataType::kUINT8);
  ASSERT_TRUE(a) << a.error();
  ASSERT_TRUE(b) << b.error();
  EXPECT_EQ(allocator.num_available(), 0);
  EXPECT_EQ(allocator.query(milliseconds(1)).error(),
            "all 2 tensors are in use, and none came back within 1 ms");
  void* const memory = *a->cpu();
  { const Tensor gone = *std::move(a); }
  EXPECT_EQ(allocator.num_available(), 1);
  auto c = allocator.query({3}, DataType::kFLOAT);
  EXPECT_EQ(*c->cpu(), memory);
}

TEST(TensorAllocator, AnotherThreadGetsWhatComesBack) {
  TensorAllocator allocator(1);
  std::optional<std::shared_ptr<MixMemory>> held = *allocator.query();
  std::thread other([&] { EXPECT_TRUE(allocator.query()); });
  std::this_thread::sleep_for(milliseconds(5));
  held.reset();
  other.join();
}

TEST(TensorAllocator, WhoeverWaitsWhenItGoesGetsAnError) {
  auto allocator = std::make_unique<TensorAllocator>(1);
  const auto held = *allocator->query();
  std::promise<std::string> error;
  std::thread other([&, waits = allocator.get()] { error.set_value(waits->query().error()); });
  auto said = error.get_future();
  EXPECT_EQ(said.wait_for(milliseconds(50)), std::future_status::timeout);
  allocator.reset();
  EXPECT_EQ(said.get(), "the tensor allocator is gone");
  other.join();
}

TEST(TensorAllocator, MemoryMayOutliveIt) {
  std::shared_ptr<MixMemory> memory;
  {
    TensorAllocator allocator(1);
    memory = *allocator.query();
  }
  EXPECT_TRUE(memory->cpu(16));
}

}  // namespace
}  // namespace tenon::serve
