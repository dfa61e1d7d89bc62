/// Capture and graphs. What a GPU answers to misuse was seen on an H200 with CUDA 13.
#include <functional>
#include <vector>

#include "cudart/testing.h"

namespace tenon::cudart {
namespace {

using testing::DeviceBlock;
using testing::PinnedBlock;
using testing::TestEvent;
using testing::TestStream;

void count_call(void* counter) {
  ++*static_cast<int*>(counter);
}

/// Captures what `body` does with a stream and returns what `cudaStreamEndCapture` says.
cudaError_t capture(cudaStreamCaptureMode mode, const std::function<void(cudaStream_t)>& body) {
  const TestStream stream;
  EXPECT_OK(cudaStreamBeginCapture(stream, mode));
  body(stream);
  cudaGraph_t graph = nullptr;
  const cudaError_t result = cudaStreamEndCapture(stream, &graph);
  EXPECT_EQ(graph != nullptr, result == cudaSuccess);
  if (graph) {
    EXPECT_OK(cudaGraphDestroy(graph));
  }
  return result;
}

TEST(Graph, ReplaysWhatWasCaptured) {
  const TestStream stream;
  const DeviceBlock<int> device(1);
  const PinnedBlock<int> host(2);
  int calls = 0;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_OK(cudaMemcpyAsync(device.data, host.data, 4, cudaMemcpyHostToDevice, stream));
  EXPECT_OK(cudaMemcpyAsync(host.data + 1, device.data, 4, cudaMemcpyDeviceToHost, stream));
  EXPECT_OK(cudaLaunchHostFunc(stream, count_call, &calls));
  EXPECT_OK(cudaStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  EXPECT_OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 3u);
  EXPECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(calls, 0);
  for (int round = 1; round <= 3; ++round) {
    host.data[0] = round * 10;
    EXPECT_OK(cudaGraphLaunch(exec, stream));
    EXPECT_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(host.data[1], round * 10);
    EXPECT_EQ(calls, round);
  }
  // An executable may go while its launch is pending.
  testing::Gate gate;
  gate.block(stream);
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream));
  gate.open();
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(calls, 4);
}

TEST(Graph, CapturesStreamsThatJoin) {
  const TestStream origin, branch;
  const TestEvent fork, join;
  const DeviceBlock<unsigned char> device(2);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCaptureStatus status;
  EXPECT_OK(cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal));
  EXPECT_OK(cudaMemsetAsync(device.data, 1, 1, origin));
  EXPECT_OK(cudaEventRecord(fork, origin));
  EXPECT_OK(cudaStreamWaitEvent(branch, fork, 0));
  EXPECT_OK(cudaStreamIsCapturing(branch, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_OK(cudaMemcpyAsync(device.data + 1, device.data, 1, cudaMemcpyDeviceToDevice, branch));
  EXPECT_OK(cudaEventRecord(join, branch));
  EXPECT_OK(cudaStreamWaitEvent(origin, join, 0));
  EXPECT_OK(cudaMemsetAsync(device.data, 3, 1, origin));
  EXPECT_OK(cudaStreamEndCapture(origin, &graph));
  EXPECT_OK(cudaStreamIsCapturing(branch, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_OK(cudaGraphInstantiate(&exec, graph, 0));
  EXPECT_OK(cudaGraphLaunch(exec, origin));
  unsigned char result[2];
  EXPECT_OK(cudaMemcpy(result, device.data, 2, cudaMemcpyDeviceToHost));
  EXPECT_EQ(result[0], 3);
  EXPECT_EQ(result[1], 1);
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
}

TEST(Graph, CanBeNestedAndUpdated) {
  const TestStream stream;
  int first = 0, second = 0;
  const auto captured = [&](const std::function<void()>& body) {
    cudaGraph_t graph = nullptr;
    EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    body();
    EXPECT_OK(cudaStreamEndCapture(stream, &graph));
    return graph;
  };
  const cudaGraph_t one = captured([&] { cudaLaunchHostFunc(stream, count_call, &first); });
  const cudaGraph_t two = captured([&] { cudaLaunchHostFunc(stream, count_call, &second); });
  const cudaGraph_t empty = captured([] {});
  cudaGraphExec_t inner, outer;
  EXPECT_OK(cudaGraphInstantiate(&inner, one, 0));
  const cudaGraph_t nested = captured([&] {
    cudaGraphLaunch(inner, stream);
    cudaGraphLaunch(inner, stream);
  });
  EXPECT_OK(cudaGraphInstantiate(&outer, nested, 0));
  cudaGraphExecUpdateResultInfo info;
  EXPECT_OK(cudaGraphExecUpdate(inner, two, &info));
  EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
  EXPECT_CUDA(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(inner, empty, &info));
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  EXPECT_OK(cudaGraphLaunch(outer, stream));
  EXPECT_OK(cudaGraphLaunch(outer, stream));
  EXPECT_OK(cudaGraphLaunch(inner, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(first, 4);
  EXPECT_EQ(second, 1);
  for (const cudaGraph_t graph : {one, two, empty, nested}) EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaGraphExecDestroy(inner));
  EXPECT_OK(cudaGraphExecDestroy(outer));
}

TEST(Graph, CallsThatACaptureForbidsSpoilIt) {
  const TestStream other;
  const TestEvent event;
  const DeviceBlock<char> device(64);
  char page[64] = {};
  void* pointer = nullptr;
  EXPECT_OK(cudaEventRecord(event, other));
  EXPECT_OK(cudaEventSynchronize(event));
  struct {
    cudaStreamCaptureMode mode;
    std::function<cudaError_t(cudaStream_t)> call;
    cudaError_t expected;
  } const cases[] = {
      {cudaStreamCaptureModeGlobal, [&](auto) { return cudaMalloc(&pointer, 64); },
       cudaErrorStreamCaptureUnsupported},
      {cudaStreamCaptureModeThreadLocal, [&](auto) { return cudaMalloc(&pointer, 64); },
       cudaErrorStreamCaptureUnsupported},
      {cudaStreamCaptureModeGlobal, [&](auto) { return cudaMallocHost(&pointer, 64); },
       cudaErrorStreamCaptureUnsupported},
      {cudaStreamCaptureModeGlobal, [&](auto) { return cudaFree(device.data); },
       cudaErrorStreamCaptureUnsupported},
      {cudaStreamCaptureModeRelaxed, [](cudaStream_t s) { return cudaStreamSynchronize(s); },
       cudaErrorStreamCaptureUnsupported},
      {cudaStreamCaptureModeRelaxed, [](cudaStream_t s) { return cudaStreamQuery(s); },
       cudaErrorStreamCaptureUnsupported},
      {cudaStreamCaptureModeGlobal, [&](auto) { return cudaStreamSynchronize(other); },
       cudaErrorStreamCaptureUnsupported},
      {cudaStreamCaptureModeRelaxed, [](auto) { return cudaDeviceSynchronize(); },
       cudaErrorStreamCaptureUnsupported},
      {cudaStreamCaptureModeRelaxed,
       [&](auto) { return cudaMemcpy(device.data, page, 64, cudaMemcpyHostToDevice); },
       cudaErrorStreamCaptureImplicit},
      {cudaStreamCaptureModeRelaxed,
       [&](auto) { return cudaMemsetAsync(device.data, 0, 64, nullptr); },
       cudaErrorStreamCaptureImplicit},
      {cudaStreamCaptureModeGlobal, [&](auto) { return cudaEventQuery(event); },
       cudaErrorStreamCaptureUnsupported},
      {cudaStreamCaptureModeGlobal,
       [&](cudaStream_t s) { return cudaStreamWaitEvent(s, event, 0); },
       cudaErrorStreamCaptureIsolation},
  };
  for (const auto& test : cases) {
    const cudaError_t end = capture(test.mode, [&](cudaStream_t stream) {
      EXPECT_CUDA(test.expected, test.call(stream)) << (&test - cases);
      EXPECT_CUDA(cudaErrorStreamCaptureInvalidated,
                  cudaLaunchHostFunc(stream, count_call, nullptr));
    });
    EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, end) << (&test - cases);
  }
}

TEST(Graph, CallsThatACaptureAllowsLeaveItAlone) {
  const TestStream other;
  const DeviceBlock<char> device(64);
  char page[64] = {};
  void* pointer = nullptr;
  EXPECT_OK(capture(cudaStreamCaptureModeRelaxed, [&](cudaStream_t stream) {
    EXPECT_OK(cudaMalloc(&pointer, 64));
    EXPECT_OK(cudaMemsetAsync(device.data, 0, 64, cudaStreamPerThread));
    EXPECT_OK(cudaMemcpyAsync(device.data, page, 64, cudaMemcpyHostToDevice, stream));
  }));
  EXPECT_OK(cudaFree(pointer));
  EXPECT_OK(capture(cudaStreamCaptureModeGlobal, [&](cudaStream_t stream) {
    const TestStream made;
    const TestEvent event;
    cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
    EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&relaxed));
    EXPECT_OK(cudaMalloc(&pointer, 64));
    EXPECT_OK(cudaThreadExchangeStreamCaptureMode(&relaxed));
    EXPECT_OK(cudaMemcpyAsync(page, device.data, 64, cudaMemcpyDeviceToHost, stream));
    EXPECT_OK(cudaLaunchHostFunc(other, count_call, &page));
  }));
  EXPECT_OK(cudaFree(pointer));
  EXPECT_OK(cudaStreamSynchronize(other));
}

TEST(Graph, RefusesCapturesThatDoNotAddUp) {
  const TestStream branch;
  const TestEvent event;
  const DeviceBlock<char> device(64);
  cudaGraph_t graph = nullptr;
  EXPECT_CUDA(cudaErrorStreamCaptureUnsupported,
              cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaStreamBeginCapture(branch, static_cast<cudaStreamCaptureMode>(9)));
  EXPECT_CUDA(cudaErrorIllegalState, cudaStreamEndCapture(branch, &graph));
  EXPECT_CUDA(cudaErrorStreamCaptureUnjoined,
              capture(cudaStreamCaptureModeGlobal, [&](cudaStream_t stream) {
                EXPECT_OK(cudaEventRecord(event, stream));
                EXPECT_OK(cudaStreamWaitEvent(branch, event, 0));
                EXPECT_OK(cudaMemsetAsync(device.data, 0, 64, branch));
              }));
  EXPECT_CUDA(cudaErrorStreamCaptureUnjoined,
              capture(cudaStreamCaptureModeGlobal, [&](cudaStream_t stream) {
                const TestStream gone;
                EXPECT_OK(cudaEventRecord(event, stream));
                EXPECT_OK(cudaStreamWaitEvent(gone, event, 0));
                EXPECT_OK(cudaMemsetAsync(device.data, 0, 64, gone));
              }));
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated,
              capture(cudaStreamCaptureModeGlobal, [&](cudaStream_t stream) {
                EXPECT_CUDA(cudaErrorIllegalState,
                            cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
                EXPECT_OK(cudaEventRecord(event, stream));
                EXPECT_OK(cudaStreamWaitEvent(branch, event, 0));
                EXPECT_CUDA(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(branch, &graph));
              }));
  // The event belongs to a capture that is over.
  EXPECT_CUDA(cudaErrorInvalidValue, cudaEventQuery(event));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamWaitEvent(branch, event, 0));
  EXPECT_OK(cudaEventRecord(event, branch));
  EXPECT_OK(cudaEventSynchronize(event));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGraphDestroy(nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGraphExecDestroy(nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGraphInstantiate(nullptr, nullptr, 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGraphLaunch(nullptr, branch));
}

TEST(Graph, DestroyingACapturedStreamDropsTheCapture) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace tenon::cudart
