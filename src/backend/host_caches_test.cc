#include "backend/host_caches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "base/parallel.h"

namespace tenon {
namespace {

// Which caches hold what cannot be asked for; what is asked is that nothing else changes.
TEST(HostCaches, NoByteChanges) {
  for (int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (const auto& [images, planes, bytes] : {std::array<int64_t, 3>{1, 3, 1000},
                                                {2, 1, 64},
                                                {5, 2, 63},
                                                {1, 1, 1},
                                                {0, 4, 10},
                                                {3, 2, 0}}) {
      std::vector<uint8_t> data(static_cast<size_t>(images * planes * bytes));
      std::iota(data.begin(), data.end(), uint8_t{1});
      const std::vector<uint8_t> before = data;
      Tensor cold(DataType::kFLOAT, {100});
      std::fill_n(cold.mutable_data<float>(), 100, 2.f);
      const WrittenRows rows{data.data(), images, planes, static_cast<size_t>(bytes)};
      bring_caches_into({{&cold, 1}, {&rows, 1}});
      EXPECT_EQ(data, before);
      EXPECT_EQ(std::count(cold.data<float>(), cold.data<float>() + 100, 2.f), 100);
    }
  }
  set_thread_count(0);
}

TEST(HostCaches, NothingIsAState) {
  bring_caches_into({});
}

}  // namespace
}  // namespace tenon
