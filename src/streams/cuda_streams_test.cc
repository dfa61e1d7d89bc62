#include "streams/cuda_streams.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/cuda_stream.h"
#include "streams/host_device.h"

namespace tenon {
namespace {

// On the device of every build: the host.
class CudaStreamsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Stream*& stream : streams_) ASSERT_EQ(device_.create_auxiliary_stream(stream), nullptr);
  }
  void TearDown() override {
    for (Stream* stream : streams_) device_.destroy(stream);
  }
  // Held until `go_`.
  void hold(Stream* stream) {
    const auto wait = [](void* go) {
      while (!*static_cast<std::atomic<bool>*>(go)) std::this_thread::yield();
    };
    ASSERT_EQ(device_.enqueue(stream, wait, &go_, nullptr), nullptr);
  }
  void count(Stream* stream) {
    const auto add = [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); };
    ASSERT_EQ(device_.enqueue(stream, add, &count_, nullptr), nullptr);
  }

  const Device& device_ = host_device();
  Stream* streams_[2] = {};
  std::atomic<bool> go_ = false;
  std::atomic<int> count_ = 0;
};

TEST_F(CudaStreamsTest, AStreamWaitsForAnEventOfAnother) {
  Event* event = nullptr;
  ASSERT_EQ(device_.create_event(event), nullptr);
  hold(streams_[0]);
  EXPECT_EQ(device_.record(event, streams_[0]), nullptr);
  EXPECT_EQ(device_.wait(streams_[1], event), nullptr);
  count(streams_[1]);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(count_, 0);
  go_ = true;
  EXPECT_EQ(device_.synchronize(event), nullptr);
  EXPECT_EQ(device_.synchronize(streams_[1]), nullptr);
  EXPECT_EQ(count_, 1);
  device_.destroy(event);
}

TEST_F(CudaStreamsTest, AnAuxiliaryStreamDoesNotWaitForTheDefaultOne) {
  hold(nullptr);
  count(streams_[0]);
  EXPECT_EQ(device_.synchronize(streams_[0]), nullptr);
  EXPECT_EQ(count_, 1);
  Stream* ordered = nullptr;
  ASSERT_EQ(device_.create_stream(ordered), nullptr);
  count(ordered);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(count_, 1);
  go_ = true;
  device_.synchronize_all();
  EXPECT_EQ(count_, 2);
  device_.destroy(ordered);
}

TEST_F(CudaStreamsTest, TheTimeBetweenEventsIsThatOfTheWork) {
  Event *from = nullptr, *to = nullptr;
  ASSERT_EQ(device_.create_timing_event(from), nullptr);
  ASSERT_EQ(device_.create_timing_event(to), nullptr);
  const auto work = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  EXPECT_EQ(device_.record_time(from, streams_[0], false), nullptr);
  EXPECT_EQ(device_.enqueue(streams_[0], work, nullptr, nullptr), nullptr);
  EXPECT_EQ(device_.record_time(to, streams_[0], false), nullptr);
  EXPECT_EQ(device_.synchronize(to), nullptr);
  float ms = 0;
  EXPECT_EQ(device_.elapsed(ms, from, to), nullptr);
  EXPECT_GE(ms, 29);
  device_.destroy(from);
  device_.destroy(to);
}

TEST_F(CudaStreamsTest, AFailureIsOfTheStreamThatRanIt) {
  const auto fails = [](void*) { host_device().report_failure(); };
  EXPECT_EQ(device_.enqueue(streams_[0], fails, nullptr, nullptr), nullptr);
  EXPECT_STREQ(device_.synchronize(streams_[0]), cudaGetErrorString(cudaErrorLaunchFailure));
  EXPECT_EQ(device_.synchronize(streams_[1]), nullptr);
  EXPECT_STREQ(device_.record(nullptr, streams_[1]),
               cudaGetErrorString(cudaErrorInvalidResourceHandle));
  device_.forget_failures();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CudaStreamsTest, WorkInPlaceIsDoneByTheCaller) {
  std::thread::id worker;
  const auto work = [](void* id) {
    *static_cast<std::thread::id*>(id) = std::this_thread::get_id();
  };
  device_.run_in_place(streams_[0], [&] {
    EXPECT_EQ(device_.enqueue(streams_[0], work, &worker, nullptr), nullptr);
    EXPECT_EQ(worker, std::this_thread::get_id());
  });
  EXPECT_EQ(device_.enqueue(streams_[0], work, &worker, nullptr), nullptr);
  EXPECT_EQ(device_.synchronize(streams_[0]), nullptr);
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST_F(CudaStreamsTest, AGraphHoldsWhatItsLaunchesNeed) {
  struct Work {
    std::atomic<int> runs = 0, releases = 0;
  } work;
  const auto run = [](void* data) { ++static_cast<Work*>(data)->runs; };
  const auto release = [](void* data) { ++static_cast<Work*>(data)->releases; };
  EXPECT_FALSE(device_.is_capturing(streams_[0]));
  ASSERT_EQ(cudaStreamBeginCapture(to_cuda(streams_[0]), cudaStreamCaptureModeThreadLocal),
            cudaSuccess);
  EXPECT_TRUE(device_.is_capturing(streams_[0]));
  EXPECT_EQ(device_.enqueue(streams_[0], run, &work, release), nullptr);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launch = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(to_cuda(streams_[0]), &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&launch, graph, 0), cudaSuccess);
  EXPECT_EQ(work.runs, 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(launch, to_cuda(streams_[0])), cudaSuccess);
  EXPECT_EQ(device_.synchronize(streams_[0]), nullptr);
  EXPECT_EQ(work.runs, 3);
  EXPECT_EQ(work.releases, 0);
  EXPECT_EQ(cudaGraphExecDestroy(launch), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(work.releases, 1);
}

}  // namespace
}  // namespace tenon
