// Two GPUs: each engine works on the device that was current when it was made, whichever is current
// when others run.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "npz.h"
#include "tenon_source_dir.h"
#include "test/cuda/keeping.h"
#include "test/support/device_array.h"
#include "test/support/engine.h"
#include "test/support/run.h"

namespace tenon::testing {
namespace {

const std::string kModel = TENON_SOURCE_DIR "/test/golden/mini_resnet/";

// A model on one device: built, loaded and run there.
class OnDevice {
 public:
  explicit OnDevice(int device) : device_(device) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    for (auto& [name, array] : tool::read_npz(kModel + "case_1x3x64x64.npz"))
      (name.starts_with("in:") ? inputs_ : expected_)[name.substr(name.find(':') + 1)] = array;
    InputShapes shapes;
    for (const auto& [name, array] : inputs_) shapes[name] = {*session::to_dims(array.shape)};
    plan_ = build_plan(logger_, kModel + "model.onnx", shapes);
    runtime_.reset(nvinfer1::createInferRuntime(logger_));
    if (plan_) engine_.reset(runtime_->deserializeCudaEngine(plan_->data(), plan_->size()));
    EXPECT_NE(engine_, nullptr);
  }
  void run() {
    ASSERT_NE(engine_, nullptr);
    ASSERT_EQ(cudaSetDevice(device_), cudaSuccess);
    const session::Arrays outputs = run_engine(*engine_, inputs_, Way::kEnqueueV3);
    for (const auto& [name, array] : expected_) {
      const auto found = *session::numbers(outputs.at(name)), wanted = *session::numbers(array);
      ASSERT_EQ(found.size(), wanted.size());
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], wanted[i], 1e-5 + 1e-3 * std::abs(wanted[i])) << name << " " << i;
    }
  }
  // What a run says of memory of the current device, for all inputs and outputs.
  std::string said_of_current_memory() {
    const std::unique_ptr<nvinfer1::IExecutionContext> context(engine_->createExecutionContext());
    std::vector<std::unique_ptr<DeviceArray>> memory;
    for (const session::Arrays* arrays : {&inputs_, &expected_})
      for (const auto& [name, array] : *arrays) {
        memory.push_back(std::make_unique<DeviceArray>(array.bytes.size()));
        EXPECT_TRUE(context->setTensorAddress(name.c_str(), memory.back()->data()));
      }
    for (const auto& [name, array] : inputs_)
      EXPECT_TRUE(context->setInputShape(name.c_str(), *session::to_dims(array.shape)));
    EXPECT_FALSE(context->enqueueV3(nullptr));
    return logger_.take();
  }

 private:
  int device_;
  Keeping logger_;
  session::Arrays inputs_, expected_;
  std::unique_ptr<nvinfer1::IHostMemory> plan_;
  std::unique_ptr<nvinfer1::IRuntime> runtime_;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
};

TEST(Devices, ThereAreTwo) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_GE(count, 2);
}

TEST(Devices, EnginesRunOneAfterTheOther) {
  OnDevice first(0), second(1);
  for (int i = 0; i < 2; ++i) {
    first.run();
    second.run();
  }
}

TEST(Devices, EnginesRunInThreadsOfTheirOwn) {
  std::thread first([] { OnDevice(0).run(); }), second([] { OnDevice(1).run(); });
  first.join();
  second.join();
}

// Memory that a run takes is on the engine's device.
TEST(Devices, NothingIsTakenFromTheOtherDevice) {
  const auto free_bytes = [](int device) {
    size_t free = 0, total = 0;
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  };
  OnDevice second(1);
  second.run();  // libraries have what they keep
  const size_t before = free_bytes(0);
  OnDevice third(1);
  third.run();
  EXPECT_EQ(free_bytes(0), before);
}

// What a kernel cannot reach would take the process's other work with it.
TEST(Devices, MemoryOfTheOtherDeviceIsAnErrorOfThatRunAlone) {
  OnDevice second(1);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_THAT(second.said_of_current_memory(),
              ::testing::HasSubstr("is memory of the host, or of another device"));
  second.run();
}

}  // namespace
}  // namespace tenon::testing
