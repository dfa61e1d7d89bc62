// The 8.x names that are more than another spelling: bindings, runs with a batch, dialects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "fakes.h"

namespace nvinfer1 {
namespace {

using ::testing::ElementsAre;

// Two profiles; "image" and "size" (a shape input) in, "result" out.
class Engine : public FakeEngine {
 public:
  int32_t getNbIOTensors() const noexcept override { return 3; }
  int32_t getNbOptimizationProfiles() const noexcept override { return 2; }
  const char* getIOTensorName(int32_t index) const noexcept override { return kNames[index]; }
  TensorIOMode getTensorIOMode(const char* name) const noexcept override {
    return std::string(name) == "result" ? TensorIOMode::kOUTPUT : TensorIOMode::kINPUT;
  }
  bool isShapeInferenceIO(const char* name) const noexcept override {
    return std::string(name) == "size";
  }
  DataType getTensorDataType(const char* name) const noexcept override {
    return std::string(name) == "size" ? size_type : DataType::kFLOAT;
  }
  int32_t getTensorBytesPerComponentV2(const char*, int32_t profile) const noexcept override {
    return profile == 1 ? 2 : 4;
  }
  bool hasImplicitBatchDimension() const noexcept override { return implicit_batch; }

  static constexpr const char* kNames[] = {"image", "size", "result"};
  DataType size_type = DataType::kINT32;
  bool implicit_batch = false;
};

class Context : public FakeContext {
 public:
  const ICudaEngine& getEngine() const noexcept override { return engine; }
  int32_t getOptimizationProfile() const noexcept override { return profile; }
  bool setInputShape(const char* name, const Dims& shape) noexcept override {
    shapes[name] = shape.d[0];
    return true;
  }
  Dims getTensorShape(const char* name) const noexcept override {
    return std::string(name) == "size" ? Dims{1, {2}} : Dims{1, {7}};
  }
  bool setTensorAddress(const char* name, void* address) noexcept override {
    addresses[name] = address;
    calls.push_back(std::string("address ") + name);
    return true;
  }
  bool setInputTensorAddress(const char* name, const void* address) noexcept override {
    addresses[name] = address;
    return true;
  }
  const void* getTensorAddress(const char* name) const noexcept override {
    const auto found = addresses.find(name);
    return found == addresses.end() ? nullptr : found->second;
  }
  bool setInputConsumedEvent(cudaEvent_t event) noexcept override {
    consumed = event;
    return true;
  }
  bool enqueueV3(cudaStream_t) noexcept override {
    calls.push_back("enqueueV3");
    return true;
  }
  bool executeV2(void* const* bindings) noexcept override {
    executed = bindings;
    return true;
  }

  Engine engine;
  int32_t profile = 0;
  std::map<std::string, int64_t> shapes;
  std::map<std::string, const void*> addresses;
  std::vector<std::string> calls;
  cudaEvent_t consumed = nullptr;
  void* const* executed = nullptr;
};

TEST(Bindings, AreOnePerTensorAndProfile) {
  Engine engine;
  EXPECT_EQ(engine.getNbBindings(), 6);
  EXPECT_STREQ(engine.getBindingName(1), "size");
  EXPECT_STREQ(engine.getBindingName(5), "result");
  EXPECT_EQ(engine.getBindingName(6), nullptr);
  EXPECT_EQ(engine.getBindingName(-1), nullptr);
  EXPECT_TRUE(engine.bindingIsInput(3));
  EXPECT_FALSE(engine.bindingIsInput(2));
  EXPECT_TRUE(engine.isShapeBinding(4));
  EXPECT_EQ(engine.getBindingBytesPerComponent(2), 4);
  EXPECT_EQ(engine.getBindingBytesPerComponent(5), 2);
}

TEST(Bindings, AreFoundByNameAndProfile) {
  Engine engine;
  EXPECT_EQ(engine.getBindingIndex("result"), 2);
  EXPECT_EQ(engine.getBindingIndex("result [profile 1]"), 5);
  EXPECT_EQ(engine.getBindingIndex("result [profile 2]"), -1);
  EXPECT_EQ(engine.getBindingIndex("resul"), -1);
  EXPECT_EQ(engine.getBindingIndex("results"), -1);
  EXPECT_EQ(engine.getBindingIndex(nullptr), -1);
}

TEST(Bindings, OfOtherProfilesCannotBeSet) {
  Context context;
  context.profile = 1;
  EXPECT_FALSE(context.setBindingDimensions(0, Dims{1, {5}}));
  EXPECT_TRUE(context.setBindingDimensions(3, Dims{1, {5}}));
  EXPECT_EQ(context.shapes["image"], 5);
  EXPECT_EQ(context.getBindingDimensions(0).nbDims, -1);
  EXPECT_EQ(context.getBindingDimensions(5).d[0], 7);
}

TEST(EnqueueV2, SetsTheAddressesOfTheSelectedProfile) {
  Context context;
  context.profile = 1;
  int memory[6];
  void* bindings[] = {&memory[0], &memory[1], &memory[2], &memory[3], &memory[4], &memory[5]};
  auto* event = reinterpret_cast<cudaEvent_t>(&memory);
  EXPECT_TRUE(context.enqueueV2(bindings, nullptr, &event));
  EXPECT_EQ(context.addresses["image"], &memory[3]);
  EXPECT_EQ(context.addresses["result"], &memory[5]);
  EXPECT_EQ(context.consumed, event);
  EXPECT_THAT(context.calls,
              ElementsAre("address image", "address size", "address result", "enqueueV3"));
  EXPECT_TRUE(context.enqueueV2(bindings, nullptr, nullptr));
  EXPECT_EQ(context.consumed, nullptr);
  EXPECT_FALSE(context.enqueueV2(nullptr, nullptr, nullptr));
}

TEST(EnqueueV2, KeepsShapeValuesThatWereSet) {
  Context context;
  const int32_t size[] = {3, 4};
  int memory[6];
  void* bindings[] = {&memory[0], nullptr, &memory[2], nullptr, nullptr, nullptr};
  EXPECT_TRUE(context.setInputShapeBinding(1, size));
  EXPECT_TRUE(context.enqueueV2(bindings, nullptr, nullptr));
  EXPECT_EQ(context.addresses["size"], size);
  int32_t read[2] = {};
  EXPECT_TRUE(context.getShapeBinding(1, read));
  EXPECT_THAT(read, ElementsAre(3, 4));
}

TEST(ShapeBindings, RefuseWhatTheyCannotHold) {
  Context context;
  const int32_t size[] = {3, 4};
  EXPECT_FALSE(context.setInputShapeBinding(0, size));
  int32_t read[2] = {};
  EXPECT_FALSE(context.getShapeBinding(1, read));
  context.engine.size_type = DataType::kINT64;
  EXPECT_FALSE(context.setInputShapeBinding(1, size));
  const int64_t wide[] = {5, 6};
  context.addresses["size"] = wide;
  EXPECT_TRUE(context.getShapeBinding(1, read));
  EXPECT_THAT(read, ElementsAre(5, 6));
}

TEST(Batches, OfExplicitEnginesAreOne) {
  Context context;
  void* bindings[6] = {};
  EXPECT_TRUE(context.execute(1, bindings));
  EXPECT_EQ(context.executed, bindings);
  EXPECT_FALSE(context.execute(2, bindings));
  EXPECT_FALSE(context.enqueue(2, bindings, nullptr, nullptr));
  context.profile = 1;
  EXPECT_TRUE(context.execute(1, bindings));
  EXPECT_EQ(context.executed, bindings + 3);
}

TEST(Batches, NeedTheExtensionIfImplicit) {
  Context context;
  context.engine.implicit_batch = true;
  void* bindings[6] = {};
  EXPECT_EQ(context.engine.getMaxBatchSize(), 1);
  EXPECT_FALSE(context.execute(1, bindings));
}

class Builder : public FakeBuilder {
 public:
  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags given) noexcept override {
    flags = given;
    return nullptr;
  }
  IPluginRegistry& getPluginRegistry() noexcept override { return *registry; }

  NetworkDefinitionCreationFlags flags = 7;
  IPluginRegistry* registry = nullptr;
};

TEST(Networks, FlagsAreUntouchedIn10x) {
  Builder builder;
  IBuilder& seen_by_program = builder;
  seen_by_program.createNetworkV2(0U);
  EXPECT_EQ(builder.flags, 0U);
}

TEST(Dims32, ConvertsAndRefusesLargeValues) {
  Dims32 narrow{};
  EXPECT_TRUE(tenon::to_dims32(Dims{2, {3, -1}}, &narrow));
  EXPECT_EQ(narrow.nbDims, 2);
  EXPECT_EQ(narrow.d[1], -1);
  EXPECT_EQ(tenon::to_dims(narrow).d[0], 3);
  EXPECT_FALSE(tenon::to_dims32(Dims{1, {int64_t{1} << 40}}, &narrow));
}

}  // namespace
}  // namespace nvinfer1
