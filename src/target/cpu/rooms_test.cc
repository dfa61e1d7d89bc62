#include "target/cpu/rooms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace tenon::cpu {
namespace {

TEST(Rooms, AreOfTheirOwnWhileTheyAreTaken) {
  std::vector<std::unique_ptr<Room>> rooms;
  std::set<float*> memory;
  for (int i = 0; i < 5; ++i) {
    rooms.push_back(std::make_unique<Room>());
    std::fill_n(rooms.back()->floats(), kCacheFloats, static_cast<float>(i));
    memory.insert(rooms.back()->floats());
  }
  EXPECT_EQ(memory.size(), 5u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(rooms[static_cast<size_t>(i)]->floats()[0], static_cast<float>(i));
    EXPECT_EQ(rooms[static_cast<size_t>(i)]->floats()[kCacheFloats - 1], static_cast<float>(i));
  }
}

TEST(Rooms, AThreadGetsTheOneItHadLast) {
  const auto last = [] { return Room().floats(); };
  float* const first = last();
  const Room ours;
  EXPECT_EQ(ours.floats(), first);
  float *theirs = nullptr, *again = nullptr;
  std::jthread([&] {
    theirs = last();
    again = last();
  }).join();
  EXPECT_NE(theirs, first);
  EXPECT_EQ(again, theirs);
}

TEST(Rooms, OfThreadsThatHaveEndedAreTakenAgain) {
  reserve_rooms(2);
  const auto taken = [] {
    float* memory = nullptr;
    std::jthread([&] { memory = Room().floats(); }).join();
    return memory;
  };
  float* const first = taken();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(taken(), first);
}

TEST(Rooms, ThreadsThatTakeThemAtATimeDoNotMeet) {
  std::vector<std::jthread> threads;
  std::atomic<int> met = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const Room room;
        room.floats()[0] = static_cast<float>(t);
        std::this_thread::yield();
        met += room.floats()[0] != static_cast<float>(t);
      }
    });
  threads.clear();
  EXPECT_EQ(met, 0);
}

}  // namespace
}  // namespace tenon::cpu
