/// Which runtime serves the process, and that calls reach it as they were made. A decision is for
/// good, so each test has a process of its own; NVIDIA's library is a stand-in.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <tenon/cudart/engine.h>

#include <cstdio>
#include <cstdlib>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "cudart/testing.h"
#include "tenon_cudart_libraries.h"

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*);
void __cudaUnregisterFatBinary(void**);
cudaError_t cudaMallocArray();  // the stand-in lacks it
}

namespace tenon::cudart {
namespace {

/// Runs `body` in a process of its own, in which no CUDA function was called; its expectations
/// count.
void in_a_process(void (*body)(), const char* standard_error = "") {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [body] {
    body();
    std::fflush(stdout);
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), standard_error);
}

void use(const char* path, const char* devices = "1") {
  unsetenv("TENON_TARGET");
  setenv("TENON_CUDART", path, 1);
  setenv("STAND_IN_DEVICES", devices, 1);
}

/// A function of the stand-in that is for tests.
template <class Function> Function* stand_in(const char* name) {
  void* handle = dlopen(STAND_IN, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  return reinterpret_cast<Function*>(dlsym(handle, name));
}

std::string calls() {
  return stand_in<const char*()>("stand_in_calls")();
}

void* number(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);
}

bool host_memory_works() {
  void* pointer = nullptr;
  EXPECT_OK(cudaMalloc(&pointer, 16));
  EXPECT_OK(cudaMemset(pointer, 7, 16));
  EXPECT_OK(cudaDeviceSynchronize());
  return static_cast<char*>(pointer)[15] == 7;
}

TEST(ForwardDeathTest, CallsReachNvidiasLibraryWithTheirArguments) {
  in_a_process([] {
    use(STAND_IN);
    void* pointer = nullptr;
    EXPECT_OK(cudaMalloc(&pointer, 123));  // decides
    EXPECT_EQ(pointer, number(0x1000));
    const auto stream = static_cast<cudaStream_t>(number(8));
    const cudaError_t error =
        cudaMemcpy2DAsync(number(1), 2, number(3), 4, 5, 6, cudaMemcpyHostToDevice, stream);
    EXPECT_EQ(error, cudaErrorInvalidPitchValue);
    EXPECT_OK(cudaLaunchKernel(number(1), dim3(2, 3, 4), dim3(5, 6, 7), nullptr, 8, stream));
    EXPECT_EQ(calls(),
              "cudaMalloc 123\n"
              "cudaMemcpy2DAsync 0x1 2 0x3 4 5 6 1 0x8\n"
              "cudaLaunchKernel 0x1 2 3 4 5 6 7 0 8 0x8\n");
    EXPECT_TRUE(on_gpu());
    EXPECT_STREQ(why_not_on_gpu(), "");
  });
}

TEST(ForwardDeathTest, ArgumentsOfTheDecidingCallSurviveIt) {
  in_a_process([] {
    use(STAND_IN);
    cudaLaunchKernel(number(1), dim3(2, 3, 4), dim3(5, 6, 7), nullptr, 8, nullptr);
    EXPECT_EQ(calls(), "cudaLaunchKernel 0x1 2 3 4 5 6 7 0 8 0\n");
  });
  in_a_process([] {
    use(STAND_IN, "0");
    EXPECT_TRUE(host_memory_works());
  });
}

TEST(ForwardDeathTest, ManyFirstCallsDecideOnce) {
  in_a_process([] {
    use(STAND_IN);
    std::latch start(8);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        void* pointer = nullptr;
        EXPECT_OK(cudaMalloc(&pointer, 1));
        EXPECT_EQ(pointer, number(0x1000));
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(ForwardDeathTest, ALibraryThatIsLoadedByThatNameIsFound) {
  in_a_process([] {
    use("");
    EXPECT_FALSE(calls().size());  // loads it
    EXPECT_TRUE(on_gpu()) << why_not_on_gpu();
  });
}

TEST(ForwardDeathTest, WithoutAGpuMemoryIsTheHosts) {
  in_a_process([] {
    use(STAND_IN, "0");
    EXPECT_TRUE(host_memory_works());
    EXPECT_FALSE(on_gpu());
    EXPECT_STREQ(why_not_on_gpu(), "NVIDIA's CUDA runtime sees no GPU");
    EXPECT_EQ(calls(), "");
  });
  in_a_process([] {
    use(STAND_IN, "-35");
    EXPECT_TRUE(host_memory_works());
    EXPECT_STREQ(why_not_on_gpu(), "no NVIDIA driver is installed");
  });
  in_a_process([] {
    use(STAND_IN, "-35");
    setenv("STAND_IN_DRIVER", "12040", 1);
    EXPECT_TRUE(host_memory_works());
    EXPECT_STREQ(why_not_on_gpu(), "the driver is too old (the driver is one for CUDA 12.4)");
  });
  in_a_process([] {
    use(STAND_IN, "-100");
    EXPECT_TRUE(host_memory_works());
    EXPECT_STREQ(why_not_on_gpu(), "NVIDIA's CUDA runtime says: another error");
  });
}

TEST(ForwardDeathTest, TheEnvironmentMayKeepItOffTheGpu) {
  in_a_process([] {
    use(STAND_IN);
    setenv("TENON_TARGET", "cpu", 1);
    EXPECT_TRUE(host_memory_works());
    EXPECT_STREQ(why_not_on_gpu(), "TENON_TARGET is cpu");
  });
}

TEST(ForwardDeathTest, WhatIsNoRuntimeOfNvidiaIsNotUsed) {
  in_a_process([] {
    use("/does/not/exist.so");
    EXPECT_TRUE(host_memory_works());
    EXPECT_THAT(why_not_on_gpu(), ::testing::HasSubstr("/does/not/exist.so"));
  });
  in_a_process([] {
    use(OURS_BY_NVIDIAS_NAME);
    EXPECT_TRUE(host_memory_works());
    EXPECT_THAT(why_not_on_gpu(), ::testing::HasSubstr("is Tenon's own"));
  });
  in_a_process([] {
    use(OURS);
    EXPECT_TRUE(host_memory_works());
    EXPECT_THAT(why_not_on_gpu(), ::testing::HasSubstr("is Tenon's own"));
  });
}

TEST(ForwardDeathTest, AFunctionThatNvidiasLibraryLacksIsRefusedByName) {
  in_a_process(
      [] {
        use(STAND_IN);
        EXPECT_EQ(cudaMallocArray(), cudaErrorNotSupported);
      },
      "cudaMallocArray is not in the NVIDIA runtime");
}

/// What a library with a kernel does while it is loaded.
void** load_kernel() {
  void** module = __cudaRegisterFatBinary(number(0x10));
  __cudaRegisterFunction(module, reinterpret_cast<const char*>(0x20), nullptr, "a_kernel", -1,
                         nullptr, nullptr, nullptr, nullptr, static_cast<int*>(number(0x30)));
  return module;
}

TEST(ForwardDeathTest, DeviceCodeIsKnownInBothWorlds) {
  in_a_process([] {
    use(STAND_IN);
    __cudaUnregisterFatBinary(load_kernel());
    EXPECT_EQ(calls(),
              "__cudaRegisterFatBinary 0x10\n"
              "__cudaRegisterFunction 0x2000 0x20 a_kernel -1 0x30\n"
              "__cudaUnregisterFatBinary 0x2000\n");
  });
  in_a_process(
      [] {
        use(STAND_IN, "0");
        load_kernel();
        EXPECT_CUDA(cudaErrorNoKernelImageForDevice,
                    cudaLaunchKernel(number(0x20), dim3(1), dim3(1), nullptr, 0, nullptr));
        EXPECT_STREQ(refused_kernel(), "a_kernel");
      },
      "a_kernel was not launched");
}

struct Counts {
  int runs = 0;
  int releases = 0;
  static void run(void* self) { ++static_cast<Counts*>(self)->runs; }
  static void release(void* self) { ++static_cast<Counts*>(self)->releases; }
};

TEST(ForwardDeathTest, TheEnginesWorkIsAHostFunctionOfTheStream) {
  in_a_process([] {
    use(STAND_IN);
    Counts counts;
    EXPECT_FALSE(is_capturing(nullptr));
    EXPECT_OK(enqueue(nullptr, Counts::run, &counts, Counts::release));
    EXPECT_EQ(counts.runs, 1);
    EXPECT_EQ(counts.releases, 1);
    const InPlace nothing_happens(nullptr);
    EXPECT_OK(enqueue(nullptr, Counts::run, &counts));
    EXPECT_EQ(counts.runs, 2);
    EXPECT_EQ(counts.releases, 1);
    EXPECT_EQ(enqueue(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
  });
}

TEST(ForwardDeathTest, ACapturedCallIsReleasedWithItsGraph) {
  in_a_process([] {
    use(STAND_IN);
    Counts counts;
    EXPECT_TRUE(on_gpu());
    stand_in<void(cudaGraph_t)>("stand_in_capture")(static_cast<cudaGraph_t>(number(0x40)));
    EXPECT_TRUE(is_capturing(nullptr));
    EXPECT_OK(enqueue(nullptr, Counts::run, &counts, Counts::release));
    EXPECT_EQ(counts.runs, 0);
    for (int i = 0; i < 2; ++i) stand_in<void()>("stand_in_launch_graph")();
    EXPECT_EQ(counts.runs, 2);
    EXPECT_EQ(counts.releases, 0);
    EXPECT_EQ(calls(), "cudaUserObjectCreate 1 1\ncudaGraphRetainUserObject 0x40 1 1\n");
    stand_in<void()>("stand_in_destroy_graph")();
    EXPECT_EQ(counts.releases, 1);
  });
}

}  // namespace
}  // namespace tenon::cudart
