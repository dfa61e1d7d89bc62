#include "base/memory_cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/tensor.h"

namespace tenon {
namespace {

constexpr size_t kBytes = size_t{1} << 20;

TEST(MemoryCache, TakesMemoryAgainThatNobodyUses) {
  MemoryCache cache;
  const std::byte* const first = cache.take(kBytes).get();
  EXPECT_EQ(cache.unused_bytes(), kBytes);
  const auto again = cache.take(kBytes);
  EXPECT_EQ(again.get(), first);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(cache.unused_bytes(), 0u);
  EXPECT_NE(cache.take(kBytes).get(), first) << "it is in use";
  EXPECT_EQ(cache.take(kBytes + 1).use_count(), 1) << "of another size";
  EXPECT_EQ(cache.unused_bytes(), 2 * kBytes + 1);
}

TEST(MemoryCache, MemoryInUseOutlivesIt) {
  std::shared_ptr<std::byte> kept;
  {
    MemoryCache cache;
    kept = cache.take(kBytes);
  }
  std::fill_n(kept.get(), kBytes, std::byte{7});
  EXPECT_EQ(kept.get()[kBytes - 1], std::byte{7});
}

TEST(MemoryCache, ServesLargeTensorsOfItsThreadInItsScope) {
  MemoryCache cache;
  const Shape shape{static_cast<int64_t>(kBytes)};
  const void* first = nullptr;
  {
    const MemoryCache::Scope scope(cache);
    EXPECT_EQ(MemoryCache::current(), &cache);
    {
      const Tensor tensor(DataType::kINT8, shape);
      first = tensor.data();
      const Tensor small(DataType::kINT8, {1});
    }
    EXPECT_EQ(cache.unused_bytes(), kBytes) << "small pieces are not worth it";
    EXPECT_EQ(Tensor(DataType::kINT8, shape).data(), first);
    std::thread([&] {
      const Tensor other(DataType::kINT8, shape);
      EXPECT_NE(other.data(), first);
    }).join();
  }
  EXPECT_EQ(MemoryCache::current(), nullptr);
  const Tensor outside(DataType::kINT8, shape);
  EXPECT_NE(outside.data(), first);
  EXPECT_EQ(cache.unused_bytes(), kBytes);
}

TEST(MemoryCache, IsUsedByThreads) {
  MemoryCache cache;
  const auto work = [&](std::byte mark) {
    for (int i = 0; i < 200; ++i) {
      const auto memory = cache.take(kBytes / 64);
      std::fill_n(memory.get(), kBytes / 64, mark);
      for (size_t k = 0; k < kBytes / 64; k += 512) ASSERT_EQ(memory.get()[k], mark);
    }
  };
  std::thread one([&] { work(std::byte{1}); }), two([&] { work(std::byte{2}); });
  one.join(), two.join();
  EXPECT_LE(cache.unused_bytes(), kBytes / 32);
}

}  // namespace
}  // namespace tenon
