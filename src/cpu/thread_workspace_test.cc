#include "cpu/thread_workspace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace tenon::cpu {
namespace {

TEST(ThreadWorkspaces, AreOfTheirOwnWhileTheyAreTaken) {
  std::vector<std::unique_ptr<ThreadWorkspace>> workspaces;
  std::set<float*> memory;
  for (int i = 0; i < 5; ++i) {
    workspaces.push_back(std::make_unique<ThreadWorkspace>());
    std::fill_n(workspaces.back()->floats(), workspace_floats(), static_cast<float>(i));
    memory.insert(workspaces.back()->floats());
  }
  EXPECT_EQ(memory.size(), 5u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(workspaces[static_cast<size_t>(i)]->floats()[0], static_cast<float>(i));
    EXPECT_EQ(workspaces[static_cast<size_t>(i)]->floats()[workspace_floats() - 1],
              static_cast<float>(i));
  }
}

TEST(ThreadWorkspaces, AThreadGetsTheOneItHadLast) {
  const auto last = [] { return ThreadWorkspace().floats(); };
  float* const first = last();
  const ThreadWorkspace ours;
  EXPECT_EQ(ours.floats(), first);
  float *theirs = nullptr, *again = nullptr;
  std::jthread([&] {
    theirs = last();
    again = last();
  }).join();
  EXPECT_NE(theirs, first);
  EXPECT_EQ(again, theirs);
}

TEST(ThreadWorkspaces, OfThreadsThatHaveEndedAreTakenAgain) {
  reserve_thread_workspaces(2);
  const auto taken = [] {
    float* memory = nullptr;
    std::jthread([&] { memory = ThreadWorkspace().floats(); }).join();
    return memory;
  };
  float* const first = taken();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(taken(), first);
}

TEST(ThreadWorkspaces, ThreadsThatTakeThemAtATimeDoNotMeet) {
  std::vector<std::jthread> threads;
  std::atomic<int> met = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const ThreadWorkspace workspace;
        workspace.floats()[0] = static_cast<float>(t);
        std::this_thread::yield();
        met += workspace.floats()[0] != static_cast<float>(t);
      }
    });
  threads.clear();
  EXPECT_EQ(met, 0);
}

}  // namespace
}  // namespace tenon::cpu
