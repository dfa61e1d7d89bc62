#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tenon {
namespace {

struct Parallel : ::testing::TestWithParam<int> {
  void SetUp() override { set_thread_count(GetParam()); }
  void TearDown() override { set_thread_count(0); }
};

TEST_P(Parallel, EveryIndexIsVisitedOnce) {
  EXPECT_EQ(thread_count(), GetParam());
  std::vector<std::atomic<int>> visits(10007);
  parallel_for(10007, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  for (const auto& v : visits) ASSERT_EQ(v, 1);
}

TEST_P(Parallel, LoopsNest) {
  std::atomic<int64_t> sum = 0;
  parallel_for(50, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      parallel_for(100, 1, [&](int64_t b, int64_t e) { sum += e - b; });
  });
  EXPECT_EQ(sum, 5000);
}

TEST_P(Parallel, ExceptionsReachTheCaller) {
  const auto loop = [] {
    parallel_for(1000, 1, [](int64_t begin, int64_t end) {
      if (begin <= 500 && 500 < end) throw std::runtime_error("stop");
    });
  };
  EXPECT_THROW(loop(), std::runtime_error);
}

TEST_P(Parallel, NothingToDo) {
  parallel_for(0, 1, [](int64_t, int64_t) { FAIL(); });
}

// What all chunks wrote in the round before is there.
TEST_P(Parallel, RoundsFollowEachOther) {
  for (const int64_t chunks : {int64_t{1}, int64_t{3}, kMaxChunks}) {
    std::vector<int64_t> written[2];
    for (auto& list : written) list.resize(static_cast<size_t>(chunks), 0);
    std::atomic<int64_t> wrong = 0;
    parallel_rounds(500, chunks, [&](int64_t round, int64_t chunk) {
      for (const int64_t last : written[round % 2]) wrong += int64_t{last != round};
      written[(round + 1) % 2][static_cast<size_t>(chunk)] = round + 1;
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(written[0], std::vector<int64_t>(static_cast<size_t>(chunks), 500));
  }
  parallel_rounds(3, 0, [](int64_t, int64_t) { FAIL(); });
  EXPECT_ANY_THROW(parallel_rounds(1, kMaxChunks + 1, [](int64_t, int64_t) {}));
}

INSTANTIATE_TEST_SUITE_P(Threads, Parallel, ::testing::Values(1, 2, 4));

TEST(ThreadCount, HasALimit) {
  set_thread_count(1'000'000'000);
  EXPECT_EQ(thread_count(), 1024);
  set_thread_count(0);
}

TEST(ThreadCount, MayChangeWhileLoopsRun) {
  std::atomic<bool> over = false;
  std::thread changer([&] {
    for (int i = 0; i < 20000; ++i) set_thread_count(1 + i % 4);
    over = true;
  });
  while (!over) {
    std::atomic<int64_t> sum = 0;
    in_arena([&] {
      parallel_for(1000, 10, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) sum += i;
      });
    });
    ASSERT_EQ(sum, 499500);
  }
  changer.join();
  set_thread_count(0);
}

}  // namespace
}  // namespace tenon
