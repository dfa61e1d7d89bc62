/// The engine's entries: its work in streams, in place, and how it fails.
#include <tenon/cudart/engine.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "cudart/testing.h"

namespace tenon::cudart {
namespace {

using testing::allocation_count;
using testing::DeviceBlock;
using testing::Gate;
using testing::PinnedBlock;
using testing::TestEvent;
using testing::TestStream;

void fail(void* error) {
  report_failure(*static_cast<cudaError_t*>(error));
}
void nothing(void*) {}
void count(void* counter) {
  ++*static_cast<int*>(counter);
}

cudaError_t kFailure = cudaErrorLaunchFailure;

TEST(Engine, EnqueueAllocatesNothingAtASteadyDepth) {
  const TestStream stream;
  const auto round = [&] {
    for (int index = 0; index < 32; ++index) EXPECT_OK(enqueue(stream, nothing, nullptr));
    EXPECT_OK(cudaStreamSynchronize(stream));
  };
  round();
  const long before = allocation_count();
  for (int index = 0; index < 100; ++index) round();
  EXPECT_EQ(allocation_count(), before);
}

TEST(Engine, FailureIsReportedByTheNextSynchronisationOnce) {
  const TestStream stream;
  EXPECT_OK(enqueue(stream, fail, &kFailure));
  EXPECT_CUDA(cudaErrorLaunchFailure, cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaErrorLaunchFailure, cudaPeekAtLastError());
  EXPECT_CUDA(cudaErrorLaunchFailure, cudaGetLastError());
  EXPECT_CUDA(cudaSuccess, cudaGetLastError());
  EXPECT_OK(cudaStreamSynchronize(stream));
}

TEST(Engine, FailureIsReportedByEverySortOfSynchronisation) {
  const TestStream stream, dependent;
  const TestEvent before, after;
  const DeviceBlock<int> device(1);
  int host = 0;
  const auto start = [&] {
    EXPECT_OK(cudaEventRecord(before, stream));
    EXPECT_OK(enqueue(stream, fail, &kFailure));
    EXPECT_OK(cudaEventRecord(after, stream));
  };
  start();
  EXPECT_OK(cudaEventSynchronize(before));
  EXPECT_CUDA(cudaErrorLaunchFailure, cudaEventSynchronize(after));
  start();
  EXPECT_CUDA(cudaErrorLaunchFailure, cudaDeviceSynchronize());
  start();
  EXPECT_CUDA(cudaErrorLaunchFailure,
              cudaMemcpy(&host, device.data, sizeof host, cudaMemcpyDeviceToHost));
  cudaDeviceSynchronize();
  start();
  EXPECT_CUDA(cudaErrorLaunchFailure,
              cudaMemcpyAsync(&host, device.data, sizeof host, cudaMemcpyDeviceToHost, stream));
  start();
  EXPECT_OK(cudaStreamWaitEvent(dependent, after, 0));
  EXPECT_CUDA(cudaErrorLaunchFailure, cudaStreamSynchronize(dependent));
  cudaDeviceSynchronize();
  EXPECT_OK(cudaDeviceSynchronize());
  cudaGetLastError();
}

TEST(Engine, FailureDoesNotReachOtherStreamsOrThreads) {
  const TestStream failing, other;
  EXPECT_OK(enqueue(failing, fail, &kFailure));
  EXPECT_OK(enqueue(other, nothing, nullptr));
  EXPECT_OK(cudaStreamSynchronize(other));
  std::thread([&] { EXPECT_CUDA(cudaErrorLaunchFailure, cudaStreamSynchronize(failing)); }).join();
  EXPECT_OK(cudaPeekAtLastError());
}

TEST(Engine, ExceptionCountsAsFailure) {
  const TestStream stream;
  const auto throwing = [](void*) { throw std::runtime_error("inside"); };
  EXPECT_OK(enqueue(stream, throwing, nullptr));
  EXPECT_CUDA(cudaErrorLaunchFailure, cudaStreamSynchronize(stream));
  cudaGetLastError();
}

struct Plugin {
  cudaStream_t stream;
  int* device;
  int result = 0;
  bool ready = false;

  /// What a plugin does with the stream it is given.
  static void run(void* self) {
    auto* plugin = static_cast<Plugin*>(self);
    const int value = 5;
    cudaEvent_t event;
    EXPECT_OK(cudaEventCreate(&event));
    EXPECT_OK(cudaMemcpyAsync(plugin->device, &value, sizeof value, cudaMemcpyHostToDevice,
                              plugin->stream));
    EXPECT_OK(cudaMemcpy(&plugin->result, plugin->device, sizeof value, cudaMemcpyDeviceToHost));
    EXPECT_OK(cudaEventRecord(event, plugin->stream));
    EXPECT_OK(cudaEventSynchronize(event));
    EXPECT_OK(cudaStreamSynchronize(plugin->stream));
    const TestStream side;
    EXPECT_OK(cudaStreamWaitEvent(side, event, 0));
    EXPECT_OK(cudaMemsetAsync(plugin->device, 0, sizeof value, side));
    EXPECT_OK(cudaEventRecord(event, side));
    EXPECT_OK(cudaStreamWaitEvent(plugin->stream, event, 0));
    int* own = nullptr;
    EXPECT_OK(cudaMalloc(&own, sizeof value));
    EXPECT_OK(cudaFree(own));
    EXPECT_OK(cudaEventDestroy(event));
    EXPECT_CUDA(cudaErrorNotPermitted, cudaDeviceSynchronize());
    plugin->ready = true;
  }
};

TEST(Engine, WorkMayUseItsOwnStream) {
  const TestStream stream;
  const DeviceBlock<int> device(1);
  Plugin plugin{stream, device.data};
  EXPECT_OK(enqueue(stream, Plugin::run, &plugin));
  // This one waits behind the plugin and must not disturb it.
  EXPECT_OK(cudaMemsetAsync(device.data, 1, 1, nullptr));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_TRUE(plugin.ready);
  EXPECT_EQ(plugin.result, 5);
  EXPECT_OK(cudaDeviceSynchronize());
  cudaGetLastError();
}

struct Tensors {
  cudaStream_t stream;
  int input[3] = {1, 2, 3}, output[3] = {};
};

// The engine's tensors are a plugin's memory of the device, wherever they lie.
void copy_and_clear(void* data) {
  Tensors& tensors = *static_cast<Tensors*>(data);
  EXPECT_OK(cudaMemcpyAsync(tensors.output, tensors.input, sizeof tensors.input,
                            cudaMemcpyDeviceToDevice, tensors.stream));
  EXPECT_OK(cudaMemsetAsync(tensors.input, 0, sizeof tensors.input, tensors.stream));
}

TEST(Engine, WorkMayTakePlainMemoryForTheDevices) {
  const TestStream stream;
  Tensors tensors = {stream};
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemsetAsync(tensors.output, 0, 4, stream));
  cudaGetLastError();
  EXPECT_OK(enqueue(stream, copy_and_clear, &tensors));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(tensors.output[2], 3);
  EXPECT_EQ(tensors.input[2], 0);
}

TEST(Engine, InPlaceRunsOnTheCallersThread) {
  const TestStream stream;
  const DeviceBlock<int> device(1);
  Plugin plugin{stream, device.data};
  std::thread::id thread;
  {
    const InPlace in_place(stream);
    Plugin::run(&plugin);
    const auto tell = [](void* id) {
      *static_cast<std::thread::id*>(id) = std::this_thread::get_id();
    };
    EXPECT_OK(enqueue(stream, tell, &thread));
    EXPECT_EQ(thread, std::this_thread::get_id());
    report_failure(cudaErrorAssert);
  }
  EXPECT_TRUE(plugin.ready);
  EXPECT_CUDA(cudaErrorAssert, cudaStreamSynchronize(stream));
  cudaGetLastError();
}

TEST(Engine, ReleaseComesOnceWhenNothingNeedsTheData) {
  const TestStream stream;
  static int runs, releases;
  runs = releases = 0;
  const auto run = [](void*) { ++runs; };
  const auto release = [](void*) { ++releases; };
  EXPECT_OK(enqueue(stream, run, nullptr, release));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(releases, 1);

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  EXPECT_FALSE(is_capturing(stream));
  EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_TRUE(is_capturing(stream));
  EXPECT_OK(enqueue(stream, run, nullptr, release));
  EXPECT_OK(cudaStreamEndCapture(stream, &graph));
  EXPECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(releases, 1);
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_EQ(releases, 2);

  // A capture that fails keeps what it took until it ends.
  EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_OK(enqueue(stream, run, nullptr, release));
  EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, enqueue(stream, run, nullptr, release));
  EXPECT_EQ(releases, 2);
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(releases, 3);
}

TEST(Engine, RefusesBadArguments) {
  const TestStream stream;
  EXPECT_CUDA(cudaErrorInvalidValue, enqueue(stream, nullptr, nullptr));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle,
              enqueue(reinterpret_cast<cudaStream_t>(0x1234560), nothing, nullptr));
  EXPECT_FALSE(is_capturing(reinterpret_cast<cudaStream_t>(0x1234560)));
  report_failure(cudaErrorAssert);
  EXPECT_OK(cudaStreamSynchronize(stream));
}

TEST(Engine, ManyContextsInManyThreads) {
  std::vector<std::thread> threads;
  for (int index = 0; index < 8; ++index) {
    threads.emplace_back([] {
      const TestStream stream(cudaStreamNonBlocking);
      int runs = 0;
      for (int round = 0; round < 500; ++round) {
        EXPECT_OK(enqueue(stream, count, &runs));
        if (round % 7 == 0) {
          EXPECT_OK(cudaStreamSynchronize(stream));
        }
      }
      EXPECT_OK(cudaStreamSynchronize(stream));
      EXPECT_EQ(runs, 500);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tenon::cudart
