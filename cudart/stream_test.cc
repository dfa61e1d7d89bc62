/// Streams: order, asynchrony, the default streams, misuse.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cudart/testing.h"

namespace tenon::cudart {
namespace {

using testing::DeviceBlock;
using testing::Gate;
using testing::PinnedBlock;
using testing::TestEvent;
using testing::TestStream;

struct Append {
  std::vector<int>* list;
  int value;
  static void run(void* self) {
    auto* append = static_cast<Append*>(self);
    append->list->push_back(append->value);
  }
};

void nothing(void*) {}

TEST(Stream, RunsInOrderOfSubmission) {
  const TestStream stream;
  std::vector<int> list;
  std::vector<Append> appends;
  for (int value = 0; value < 10000; ++value) appends.push_back({&list, value});
  for (Append& append : appends) EXPECT_OK(cudaLaunchHostFunc(stream, Append::run, &append));
  EXPECT_OK(cudaStreamSynchronize(stream));
  ASSERT_EQ(list.size(), appends.size());
  for (int value = 0; value < 10000; ++value) ASSERT_EQ(list[value], value);
}

TEST(Stream, SubmissionDoesNotWaitSoThatMissingSynchronisationShows) {
  const TestStream stream;
  const DeviceBlock<int> device(1);
  const PinnedBlock<int> host(2);
  host.data[0] = 42;
  host.data[1] = 0;
  Gate gate;
  gate.block(stream);
  EXPECT_OK(
      cudaMemcpyAsync(device.data, &host.data[0], sizeof(int), cudaMemcpyHostToDevice, stream));
  EXPECT_OK(
      cudaMemcpyAsync(&host.data[1], device.data, sizeof(int), cudaMemcpyDeviceToHost, stream));
  cudaGetLastError();
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(stream));
  EXPECT_CUDA(cudaSuccess, cudaPeekAtLastError());
  EXPECT_EQ(host.data[1], 0);
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(host.data[1], 42);
  EXPECT_OK(cudaStreamQuery(stream));
}

TEST(Stream, StreamsDoNotWaitForEachOther) {
  const TestStream blocked, other;
  Gate gate;
  gate.block(blocked);
  EXPECT_OK(cudaLaunchHostFunc(other, nothing, nullptr));
  EXPECT_OK(cudaStreamSynchronize(other));
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(blocked));
}

TEST(Stream, WaitsForAnEventOfAnother) {
  const TestStream producer, consumer;
  const TestEvent event(cudaEventDisableTiming);
  Gate gate;
  gate.block(producer);
  EXPECT_OK(cudaEventRecord(event, producer));
  EXPECT_OK(cudaStreamWaitEvent(consumer, event, 0));
  // What the event is used for next does not change what was waited for.
  EXPECT_OK(cudaEventRecord(event, consumer));
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(consumer));
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(consumer));
  EXPECT_OK(cudaStreamQuery(producer));
}

TEST(Stream, LegacyDefaultStreamOrdersItselfWithBlockingStreamsOnly) {
  const TestStream blocking, later;
  const TestStream free(cudaStreamNonBlocking);
  Gate gate;
  gate.block(blocking);
  EXPECT_OK(cudaLaunchHostFunc(cudaStreamLegacy, nothing, nullptr));
  EXPECT_OK(cudaLaunchHostFunc(later, nothing, nullptr));
  EXPECT_OK(cudaLaunchHostFunc(free, nothing, nullptr));
  EXPECT_OK(cudaStreamSynchronize(free));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(nullptr));
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(later));
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(later));
  EXPECT_OK(cudaStreamQuery(nullptr));
}

TEST(Stream, SynchronousCopyWaitsForBlockingStreams) {
  const TestStream stream;
  const DeviceBlock<int> device(1);
  std::atomic<bool> ran{false};
  Gate gate;
  gate.block(stream);
  const auto set = [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); };
  EXPECT_OK(cudaLaunchHostFunc(stream, set, &ran));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  int value = 0;
  EXPECT_OK(cudaMemset(device.data, 0, sizeof(int)));
  EXPECT_OK(cudaMemcpy(&value, device.data, sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT_TRUE(ran.load());
  opener.join();
}

TEST(Stream, PerThreadDefaultStreamIsTheThreadsOwn) {
  Gate gate;
  gate.block(cudaStreamPerThread);
  std::thread([] {
    EXPECT_OK(cudaLaunchHostFunc(cudaStreamPerThread, nothing, nullptr));
    EXPECT_OK(cudaStreamSynchronize(cudaStreamPerThread));
  }).join();
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(cudaStreamPerThread));
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(cudaStreamPerThread));
}

TEST(Stream, HostFunctionsMustNotCallTheRuntime) {
  const TestStream stream;
  cudaError_t seen = cudaSuccess;
  const auto call = [](void* result) {
    void* pointer = nullptr;
    *static_cast<cudaError_t*>(result) = cudaMalloc(&pointer, 16);
  };
  EXPECT_OK(cudaLaunchHostFunc(stream, call, &seen));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaErrorNotPermitted, seen);
}

TEST(Stream, CallbackGetsStreamAndStatus) {
  const TestStream stream;
  struct Seen {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
  } seen;
  const auto callback = [](cudaStream_t from, cudaError_t status, void* data) {
    *static_cast<Seen*>(data) = {from, status};
  };
  EXPECT_OK(cudaStreamAddCallback(stream, callback, &seen, 0));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(seen.stream, stream.handle);
  EXPECT_CUDA(cudaSuccess, seen.status);
}

TEST(Stream, DestroyLetsPendingWorkFinish) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  std::atomic<int> ran{0};
  Gate gate;
  gate.block(stream);
  const auto count = [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); };
  for (int index = 0; index < 10; ++index) EXPECT_OK(cudaLaunchHostFunc(stream, count, &ran));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
  gate.open();
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(ran.load(), 10);
}

TEST(Stream, SubmitterWaitsWhenTooMuchIsPending) {
  const TestStream stream;
  Gate gate;
  gate.block(stream);
  std::atomic<int> submitted{0};
  std::thread submitter([&] {
    for (int index = 0; index < 5000; ++index, ++submitted) {
      EXPECT_OK(cudaLaunchHostFunc(stream, nothing, nullptr));
    }
  });
  while (submitted.load() < 4000) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(submitted.load(), 5000);
  gate.open();
  submitter.join();
  EXPECT_OK(cudaStreamSynchronize(stream));
}

TEST(Stream, ManyThreadsAndStreamsAtOnce) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 100;
  const auto work = [](int seed) {
    for (int round = 0; round < kRounds; ++round) {
      const TestStream first, second;
      const TestEvent event;
      const PinnedBlock<int> host(2);
      int* device = nullptr;
      host.data[0] = seed + round;
      EXPECT_OK(cudaMallocAsync(reinterpret_cast<void**>(&device), sizeof(int), first));
      EXPECT_OK(cudaMemcpyAsync(device, host.data, sizeof(int), cudaMemcpyDefault, first));
      EXPECT_OK(cudaEventRecord(event, first));
      EXPECT_OK(cudaStreamWaitEvent(second, event, 0));
      EXPECT_OK(cudaMemcpyAsync(host.data + 1, device, sizeof(int), cudaMemcpyDefault, second));
      EXPECT_OK(cudaEventRecord(event, second));
      EXPECT_OK(cudaStreamWaitEvent(cudaStreamPerThread, event, 0));
      EXPECT_OK(cudaMemsetAsync(device, 0, 1, cudaStreamPerThread));
      EXPECT_OK(cudaEventSynchronize(event));
      EXPECT_EQ(host.data[1], seed + round);
      EXPECT_OK(cudaFreeAsync(device, cudaStreamPerThread));
      if (round % 25 == 0) {
        EXPECT_OK(cudaLaunchHostFunc(nullptr, nothing, nullptr));
      }
    }
  };
  std::vector<std::thread> threads;
  for (int index = 0; index < kThreads; ++index) threads.emplace_back(work, index * 1000);
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST(Stream, RefusesBadArguments) {
  cudaStream_t stream = nullptr;
  int number = 0;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamCreate(nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 77));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(nullptr));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamLegacy));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamPerThread));
  const TestStream good;
  const TestEvent event;
  const auto made_up = reinterpret_cast<cudaStream_t>(&number);
  const auto of_event = reinterpret_cast<cudaStream_t>(event.handle);
  for (const cudaStream_t bad : {made_up, of_event}) {
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(bad));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamQuery(bad));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(bad));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaLaunchHostFunc(bad, nothing, nullptr));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventRecord(event, bad));
  }
  EXPECT_CUDA(cudaErrorInvalidValue, cudaLaunchHostFunc(good, nullptr, nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamAddCallback(good, nullptr, nullptr, 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamWaitEvent(good, event, 9));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamWaitEvent(good, nullptr, 0));
  EXPECT_OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -100));
  EXPECT_OK(cudaStreamGetPriority(stream, &number));
  EXPECT_EQ(number, -5);
  EXPECT_OK(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace tenon::cudart
