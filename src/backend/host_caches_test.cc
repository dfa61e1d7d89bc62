#include "backend/host_caches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
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

// Writes what a system says of one cache.
void write_cache(const std::filesystem::path& folder, int index, const char* level,
                 const char* type, const char* size, const char* sharers) {
  const auto cache = folder / ("index" + std::to_string(index));
  std::filesystem::create_directories(cache);
  for (const auto& [name, value] :
       {std::pair("level", level), {"type", type}, {"size", size}, {"shared_cpu_list", sharers}})
    std::ofstream(cache / name) << value << '\n';
}

TEST(HostCaches, AreWhatTheSystemSays) {
  const std::filesystem::path folder = ::testing::TempDir() + "/caches";
  std::filesystem::remove_all(folder);
  EXPECT_EQ(read_host_caches(folder), HostCaches());
  // Two threads a core, and four cores that share a second level.
  write_cache(folder, 0, "1", "Data", "48K", "0,8");
  write_cache(folder, 1, "1", "Instruction", "64K", "0,8");
  write_cache(folder, 2, "2", "Unified", "2048K", "0-3,8-11");
  write_cache(folder, 3, "3", "Unified", "32768K", "0-15");
  const HostCaches expected{size_t{48} << 10, size_t{512} << 10, size_t{32} << 20};
  EXPECT_EQ(read_host_caches(folder), expected);
  std::filesystem::remove_all(folder);
}

TEST(HostCaches, NothingIsAState) {
  bring_caches_into({});
}

}  // namespace
}  // namespace tenon
