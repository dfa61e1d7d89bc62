/// The end of the process, forks, and work that is pending then.
#include <sys/wait.h>
#include <tenon/cudart/engine.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "cudart/testing.h"

namespace tenon::cudart {
namespace {

using namespace std::chrono_literals;

/// Runs `body` in a new process that starts afresh, and expects a clean exit.
#define EXPECT_CLEAN_EXIT(body)                   \
  GTEST_FLAG_SET(death_test_style, "threadsafe"); \
  EXPECT_EXIT(                                    \
      {                                           \
        body;                                     \
        std::exit(0);                             \
      },                                          \
      ::testing::ExitedWithCode(0), "")

cudaStream_t busy_stream() {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  const auto sleep = [](void*) { std::this_thread::sleep_for(50ms); };
  for (int index = 0; index < 100; ++index) cudaLaunchHostFunc(stream, sleep, nullptr);
  return stream;
}

TEST(ProcessDeathTest, ExitDropsPendingWork) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_CLEAN_EXIT(busy_stream());
  EXPECT_LT(std::chrono::steady_clock::now() - start, 4s);
}

TEST(ProcessDeathTest, ExitAfterDestroyWithPendingWork) {
  EXPECT_CLEAN_EXIT(cudaStreamDestroy(busy_stream()));
}

/// Uses the runtime when the workers have stopped already.
struct Late {
  ~Late() {
    if (!stream) return;
    const cudaError_t error = cudaStreamSynchronize(stream);
    if (error != cudaErrorCudartUnloading) std::_Exit(9);
  }
  cudaStream_t stream = nullptr;
} late;

TEST(ProcessDeathTest, DestructorsThatSynchroniseDoNotHang) {
  EXPECT_CLEAN_EXIT(late.stream = busy_stream());
}

TEST(ProcessDeathTest, ExitFromAStreamFunction) {
  EXPECT_CLEAN_EXIT({
    cudaStream_t stream = nullptr;
    cudaStreamCreate(&stream);
    enqueue(stream, [](void*) { std::exit(0); }, nullptr);
    std::this_thread::sleep_for(5s);
    std::_Exit(9);
  });
}

TEST(ProcessDeathTest, ThreadsMayEndWithWorkInTheirOwnStream) {
  EXPECT_CLEAN_EXIT({
    std::thread([] {
      const auto sleep = [](void*) { std::this_thread::sleep_for(20ms); };
      cudaLaunchHostFunc(cudaStreamPerThread, sleep, nullptr);
    }).join();
    if (cudaDeviceSynchronize() != cudaSuccess) std::_Exit(9);
  });
}

// Ends as programs do. Where AddressSanitizer's allocator was locked by another thread at the time
// of the fork, its leak check would wait for that lock forever, so there the child ends without it.
[[noreturn]] void end_forked_child(int status) {
#ifdef __SANITIZE_ADDRESS__
  std::_Exit(status);
#else
  std::exit(status);
#endif
}

TEST(ProcessDeathTest, ForkedChildIsToldAndEnds) {
  EXPECT_CLEAN_EXIT({
    const cudaStream_t stream = busy_stream();
    const pid_t child = fork();
    if (child == 0) {
      void* pointer = nullptr;
      const bool told = cudaStreamSynchronize(stream) == cudaErrorInitializationError
                        && cudaMalloc(&pointer, 16) == cudaErrorInitializationError
                        && cudaGetLastError() == cudaErrorInitializationError;
      end_forked_child(told ? 3 : 4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) std::_Exit(9);
  });
}

TEST(ProcessDeathTest, ResetGivesAllBack) {
  EXPECT_CLEAN_EXIT({
    cudaStream_t stream = nullptr;
    void* pointer = nullptr;
    cudaStreamCreate(&stream);
    cudaMalloc(&pointer, 64);
    if (cudaDeviceReset() != cudaSuccess) std::_Exit(7);
    if (cudaFree(pointer) != cudaErrorInvalidValue) std::_Exit(8);
    if (cudaStreamSynchronize(stream) != cudaErrorInvalidResourceHandle) std::_Exit(9);
    if (cudaMalloc(&pointer, 64) != cudaSuccess) std::_Exit(10);
  });
}

}  // namespace
}  // namespace tenon::cudart
