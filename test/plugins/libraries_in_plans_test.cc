// Plans that carry the library of their plugin along (IBuilderConfig::setPluginsToSerialize).
#include <NvInfer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace {

using namespace nvinfer1;  // NOLINT: a client of TensorRT
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TempfileControlFlags kInMemory =
    1u << static_cast<int>(TempfileControlFlag::kALLOW_IN_MEMORY_FILES);
constexpr TempfileControlFlags kTemporary =
    1u << static_cast<int>(TempfileControlFlag::kALLOW_TEMPORARY_FILES);

class Errors final : public ILogger {
 public:
  std::string take() { return std::exchange(text_, ""); }

 private:
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) text_ += std::string(text) + "\n";
  }
  std::string text_;
};

class LibrariesInPlans : public ::testing::Test {
 protected:
  // y = 2 * x by a plugin of test/cli/broken_plugins.cc, which is none of the process afterwards.
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    build(TENON_BROKEN_PLUGINS);
    ASSERT_NE(plan_, nullptr) << errors_.take();
    ASSERT_EQ(registered(), nullptr);
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    std::filesystem::remove_all(folder_);
    EXPECT_EQ(registered(), nullptr) << "engines unload what they loaded";
  }
  static IPluginCreator* registered() {
    return getPluginRegistry()->getPluginCreator("SoundV2Ext", "1");
  }
  void build(const char* library) {
    IPluginRegistry::PluginLibraryHandle handle =
        getPluginRegistry()->loadLibrary(TENON_BROKEN_PLUGINS);
    ASSERT_NE(registered(), nullptr);
    {
      const std::unique_ptr<IBuilder> builder(createInferBuilder(errors_));
      const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
      const PluginFieldCollection none{0, nullptr};
      IPluginV2* const plugin = registered()->createPlugin("scale", &none);
      ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{1, {3}});
      ITensor* const y = network->addPluginV2(&x, 1, *plugin)->getOutput(0);
      plugin->destroy();
      y->setName("y");
      network->markOutput(*y);
      const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
      config->setPluginsToSerialize(&library, 1);
      plan_.reset(builder->buildSerializedNetwork(*network, *config));
    }
    getPluginRegistry()->deregisterLibrary(handle);
  }
  std::unique_ptr<ICudaEngine> load() {
    return std::unique_ptr<ICudaEngine>(
        runtime_->deserializeCudaEngine(plan_->data(), plan_->size()));
  }
  static std::vector<float> run(ICudaEngine& engine) {
    const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
    std::vector<float> x{1, 2, 3}, y(3);
    void* bindings[] = {x.data(), y.data()};
    EXPECT_TRUE(context->executeV2(bindings));
    return y;
  }

  Errors errors_;
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / "tenon_libraries_in_plans";
  std::unique_ptr<IRuntime> runtime_{createInferRuntime(errors_)};
  std::unique_ptr<IHostMemory> plan_;
};

TEST_F(LibrariesInPlans, AreRefusedUnlessTheRuntimeAllowsThem) {
  EXPECT_FALSE(runtime_->getEngineHostCodeAllowed());
  EXPECT_EQ(load(), nullptr);
  EXPECT_THAT(errors_.take(),
              AllOf(HasSubstr(std::filesystem::path(TENON_BROKEN_PLUGINS).filename().string()),
                    HasSubstr("call IRuntime::setEngineHostCodeAllowed(true)")));
  EXPECT_EQ(registered(), nullptr);
}

TEST_F(LibrariesInPlans, AreLoadedByFilesThatTheRuntimeAllows) {
  runtime_->setEngineHostCodeAllowed(true);
  runtime_->setTemporaryDirectory(folder_.c_str());
  for (const TempfileControlFlags files : {kInMemory, kTemporary, kInMemory | kTemporary}) {
    runtime_->setTempfileControlFlags(files);
    auto engine = load();
    ASSERT_NE(engine, nullptr) << errors_.take();
    EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "while it is loaded";
    EXPECT_THAT(run(*engine), ElementsAre(2, 4, 6));
    engine.reset();
    EXPECT_EQ(registered(), nullptr);
  }
  runtime_->setTempfileControlFlags(0);
  EXPECT_EQ(load(), nullptr);
  EXPECT_THAT(errors_.take(), HasSubstr("IRuntime::setTempfileControlFlags allows none"));
  runtime_->setTempfileControlFlags(kTemporary);
  runtime_->setTemporaryDirectory((folder_ / "missing").c_str());
  EXPECT_EQ(load(), nullptr);
  EXPECT_THAT(errors_.take(),
              AllOf(HasSubstr("missing: No such file"), HasSubstr("setTemporaryDirectory")));
}

TEST_F(LibrariesInPlans, AreSharedByEnginesAndOutliveTheFirst) {
  runtime_->setEngineHostCodeAllowed(true);
  auto first = load(), second = load();
  ASSERT_NE(second, nullptr) << errors_.take();
  // What the engine writes again holds the library, too.
  plan_.reset(second->serialize());
  first.reset();
  auto third = load();
  ASSERT_NE(third, nullptr) << errors_.take();
  second.reset();
  EXPECT_THAT(run(*third), ElementsAre(2, 4, 6));
  EXPECT_THAT(errors_.take(), IsEmpty());
}

TEST_F(LibrariesInPlans, ThatAreNoneAreErrors) {
  runtime_->setEngineHostCodeAllowed(true);
  runtime_->setTemporaryDirectory(folder_.c_str());
  build("/nowhere/libplugins.so");
  EXPECT_EQ(plan_, nullptr);
  EXPECT_THAT(errors_.take(), AllOf(HasSubstr("setPluginsToSerialize: /nowhere/libplugins.so")));
  const std::string text = (std::filesystem::path(::testing::TempDir()) / "no_library.so").string();
  std::ofstream(text) << "some text";
  build(text.c_str());
  std::filesystem::remove(text);
  ASSERT_NE(plan_, nullptr) << errors_.take();
  for (const TempfileControlFlags files : {kInMemory, kTemporary}) {
    runtime_->setTempfileControlFlags(files);
    EXPECT_EQ(load(), nullptr);
    EXPECT_THAT(errors_.take(),
                HasSubstr("plugin library 'no_library.so' of the plan: cannot load"));
  }
}

}  // namespace
