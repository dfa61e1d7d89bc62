/// Events: times, states, misuse.
#include <chrono>
#include <thread>

#include "cudart/testing.h"

namespace tenon::cudart {
namespace {

using testing::Gate;
using testing::TestEvent;
using testing::TestStream;

TEST(Event, ElapsedTimeIsThatOfTheWorkInBetween) {
  const TestStream stream;
  const TestEvent start, end;
  const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  EXPECT_OK(cudaEventRecord(start, stream));
  EXPECT_OK(cudaLaunchHostFunc(stream, sleep, nullptr));
  EXPECT_OK(cudaEventRecord(end, stream));
  EXPECT_OK(cudaEventSynchronize(end));
  float forward = 0, backward = 0;
  EXPECT_OK(cudaEventElapsedTime(&forward, start, end));
  EXPECT_OK(cudaEventElapsedTime(&backward, end, start));
  EXPECT_GE(forward, 29.0f);
  EXPECT_FLOAT_EQ(backward, -forward);
}

TEST(Event, IsReadyOnlyWhenTheStreamGotThere) {
  const TestStream stream;
  const TestEvent event, other;
  float ms = 0;
  cudaGetLastError();
  EXPECT_OK(cudaEventQuery(event));
  EXPECT_OK(cudaEventSynchronize(event));
  EXPECT_OK(cudaEventRecord(other, stream));
  Gate gate;
  gate.block(stream);
  EXPECT_OK(cudaEventRecord(event, stream));
  EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(event));
  EXPECT_CUDA(cudaErrorNotReady, cudaEventElapsedTime(&ms, other, event));
  EXPECT_CUDA(cudaSuccess, cudaGetLastError());
  gate.open();
  EXPECT_OK(cudaEventSynchronize(event));
  EXPECT_OK(cudaEventQuery(event));
}

TEST(Event, OnTheDefaultStreamComesAfterBlockingStreams) {
  const TestStream stream;
  const TestEvent event;
  Gate gate;
  gate.block(stream);
  EXPECT_OK(cudaEventRecord(event, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(event));
  gate.open();
  EXPECT_OK(cudaEventSynchronize(event));
}

TEST(Event, MayBeDestroyedBeforeItHappens) {
  const TestStream stream;
  Gate gate;
  gate.block(stream);
  cudaEvent_t event;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_OK(cudaEventRecord(event, stream));
  EXPECT_OK(cudaEventDestroy(event));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventQuery(event));
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(stream));
}

TEST(Event, OutlivesItsStream) {
  const TestEvent event;
  Gate gate;
  {
    const TestStream stream;
    gate.block(stream);
    EXPECT_OK(cudaEventRecord(event, stream));
  }
  EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(event));
  gate.open();
  EXPECT_OK(cudaEventSynchronize(event));
}

TEST(Event, RefusesBadArguments) {
  const TestStream stream;
  const TestEvent timed, never, untimed(cudaEventDisableTiming);
  cudaEvent_t made = nullptr;
  float ms = 0;
  EXPECT_OK(cudaEventRecord(timed, stream));
  EXPECT_OK(cudaEventRecord(untimed, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventCreate(static_cast<cudaEvent_t*>(nullptr)));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventCreateWithFlags(&made, 0xff));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventCreateWithFlags(&made, cudaEventInterprocess));
  EXPECT_CUDA(cudaErrorNotSupported,
              cudaEventCreateWithFlags(&made, cudaEventInterprocess | cudaEventDisableTiming));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventElapsedTime(nullptr, timed, timed));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, timed, never));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, timed, untimed));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, nullptr, timed));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventRecord(nullptr, stream));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventSynchronize(nullptr));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventQuery(nullptr));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventDestroy(nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventRecordWithFlags(timed, stream, 8));
}

}  // namespace
}  // namespace tenon::cudart
