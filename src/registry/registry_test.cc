#include "registry/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <tuple>

#include "base/current_logger.h"

extern "C" TENSORRTAPI nvinfer1::IPluginRegistry* getPluginRegistry() noexcept {
  return &tenon::plugin_registry();
}

namespace tenon {
namespace {

using nvinfer1::IPluginCreatorInterface;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class RecordingLogger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    text += std::string(message) + "\n";
    ++counts[severity];
  }
  std::string text;
  std::map<Severity, int> counts;
};

class CreatorV1 final : public nvinfer1::IPluginCreator {
 public:
  CreatorV1(const char* name, const char* version) : name_(name), version_(version) {}
  const char* getPluginName() const noexcept override { return name_; }
  const char* getPluginVersion() const noexcept override { return version_; }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  nvinfer1::IPluginV2* createPlugin(const char*,
                                    const nvinfer1::PluginFieldCollection*) noexcept override {
    return nullptr;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void*, size_t) noexcept override {
    return nullptr;
  }
  void setPluginNamespace(const char* n) noexcept override { name_space_ = n; }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }

 private:
  const char* name_;
  const char* version_;
  std::string name_space_;
};

class CreatorV3 final : public nvinfer1::IPluginCreatorV3One {
 public:
  explicit CreatorV3(const char* name) : name_(name) {}
  nvinfer1::IPluginV3* createPlugin(const char*, const nvinfer1::PluginFieldCollection*,
                                    nvinfer1::TensorRTPhase) noexcept override {
    return nullptr;
  }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return name_; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const char* getPluginNamespace() const noexcept override { return ""; }

 private:
  const char* name_;
};

// As a creator compiled with TensorRT 8.6 looks from outside: its first slot is a version number.
class CreatorOf8 final : public IPluginCreatorInterface {
 public:
  nvinfer1::APILanguage getAPILanguage() const noexcept override {
    return static_cast<nvinfer1::APILanguage>(8601);
  }
  nvinfer1::InterfaceInfo getInterfaceInfo() const noexcept override { std::abort(); }
};

class RegistryTest : public ::testing::Test {
 protected:
  void SetUp() override { hold_logger(&logger_); }
  void TearDown() override {
    for (const CreatorInfo& c : registered_creators()) registry_.deregisterCreator(*c.creator);
    release_logger(&logger_);
  }
  // They live until they are deregistered.
  CreatorV1& v1(const char* name, const char* version) {
    return creators_.emplace_back(name, version);
  }
  std::deque<CreatorV1> creators_;
  CreatorV3 v3_{"Norm"};
  RecordingLogger logger_;
  nvinfer1::IPluginRegistry& registry_ = plugin_registry();
};

TEST_F(RegistryTest, FindsByNameVersionAndNamespace) {
  CreatorV1 &first = v1("Resize", "1"), &second = v1("Resize", "2");
  CreatorV3& third = v3_;
  EXPECT_TRUE(registry_.registerCreator(first, ""));
  EXPECT_TRUE(registry_.registerCreator(second, "mine"));
  EXPECT_TRUE(registry_.registerCreator(third, nullptr));
  EXPECT_EQ(registry_.getPluginCreator("Resize", "1"), &first);
  EXPECT_EQ(registry_.getPluginCreator("Resize", "2", "mine"), &second);
  EXPECT_STREQ(second.getPluginNamespace(), "mine");
  EXPECT_EQ(registry_.getPluginCreator("Resize", "2", ""), nullptr);
  EXPECT_EQ(registry_.getCreator("Norm", "2"), &third);
  EXPECT_EQ(registry_.getPluginCreator("Norm", "2"), nullptr);  // not of the first version

  int32_t count = 0;
  auto* const* old = registry_.getPluginCreatorList(&count);
  ASSERT_EQ(count, 2);
  EXPECT_EQ(registry_.getAllCreators(&count) != nullptr, true);
  EXPECT_EQ(count, 3);
  registry_.deregisterCreator(first);
  EXPECT_NE(old[0], nullptr);  // a list stays readable after a change
  EXPECT_EQ(registry_.getCreator("Resize", "1"), nullptr);
  registry_.getAllCreatorsRecursive(&count);
  EXPECT_EQ(count, 2);
}

TEST_F(RegistryTest, KeepsTheFirstOfTwo) {
  CreatorV1 &first = v1("Resize", "1"), &second = v1("Resize", "1");
  EXPECT_TRUE(registry_.registerCreator(first, ""));
  EXPECT_FALSE(registry_.registerCreator(second, ""));
  EXPECT_EQ(registry_.getCreator("Resize", "1"), &first);
  EXPECT_THAT(logger_.text, HasSubstr("\"Resize\" version \"1\" in namespace \"\" is registered"));
}

TEST_F(RegistryTest, SurvivesNull) {
  EXPECT_EQ(registry_.getCreator(nullptr, "1"), nullptr);
  EXPECT_EQ(registry_.getCreator("x", nullptr, nullptr), nullptr);
  EXPECT_EQ(registry_.getPluginCreator(nullptr, nullptr, nullptr), nullptr);
  registry_.getPluginCreatorList(nullptr);
  registry_.getAllCreators(nullptr);
  EXPECT_EQ(registry_.loadLibrary(nullptr), nullptr);
  registry_.deregisterLibrary(nullptr);
  EXPECT_EQ(registry_.acquirePluginResource(nullptr, nullptr), nullptr);
  EXPECT_NE(registry_.releasePluginResource(nullptr), 0);
  EXPECT_NE(registry_.releasePluginResource("nobody"), 0);
}

TEST_F(RegistryTest, RefusesCreatorsOfTensorRT8) {
  CreatorOf8 old;
  EXPECT_FALSE(registry_.registerCreator(old, ""));
  EXPECT_THAT(logger_.text, HasSubstr("compile the plugin library again"));
}

TEST_F(RegistryTest, CustomNodesFallBackToTheEmptyNamespace) {
  CreatorV1 &plain = v1("Resize", "1"), &named = v1("Resize", "1");
  registry_.registerCreator(plain, "");
  EXPECT_EQ(find_creator("Resize", "1", "custom"), &plain);
  registry_.registerCreator(named, "custom");
  EXPECT_EQ(find_creator("Resize", "1", "custom"), &named);
  EXPECT_EQ(find_creator("Resize", "9", ""), nullptr);
}

TEST_F(RegistryTest, ExplainsWhatIsMissing) {
  CreatorV1 &resize = v1("DynamicTRTResize", "1"), &other = v1("TRTBatchedNMS", "1");
  registry_.registerCreator(resize, "a");
  registry_.registerCreator(other, "");
  EXPECT_THAT(explain_missing("DynamicTrtResiz", "1", ""),
              AllOf(HasSubstr("no plugin \"DynamicTrtResiz\""),
                    HasSubstr("closest names are DynamicTRTResize."), HasSubstr("--plugins=lib.so"),
                    HasSubstr("loadLibrary")));
  EXPECT_THAT(explain_missing("DynamicTRTResize", "2", ""),
              HasSubstr("there is version \"1\" in namespace \"a\""));
}

TEST_F(RegistryTest, LoadsAndUnloadsALibrary) {
  void* handle = registry_.loadLibrary(TENON_TEST_PLUGIN_LIBRARY);
  ASSERT_NE(handle, nullptr) << logger_.text;
  EXPECT_NE(registry_.getCreator("FromGetCreators", "1", "library"), nullptr);
  EXPECT_NE(registry_.getCreator("FromStaticConstructor", "1"), nullptr);
  EXPECT_NE(registry_.getCreator("FromInitialization", "1"), nullptr);
  EXPECT_THAT(logger_.text, HasSubstr("hello from the library"));
  EXPECT_EQ(registry_.loadLibrary(TENON_TEST_PLUGIN_LIBRARY), handle);
  registry_.deregisterLibrary(handle);
  EXPECT_NE(registry_.getCreator("FromGetCreators", "1", "library"), nullptr);
  registry_.deregisterLibrary(handle);
  EXPECT_EQ(registry_.getCreator("FromGetCreators", "1", "library"), nullptr);
  EXPECT_EQ(registry_.getCreator("FromStaticConstructor", "1"), nullptr);
  EXPECT_EQ(registry_.getCreator("FromInitialization", "1"), nullptr);
}

// What is compiled with the registry, as this program is, counts as Tenon's own.
TEST_F(RegistryTest, APluginOfAUserTakesThePlaceOfOurs) {
  CreatorV1 &ours = v1("FromStaticConstructor", "1"), &exported = v1("FromGetCreators", "1");
  registry_.registerCreator(ours, "");
  void* handle = registry_.loadLibrary(TENON_TEST_PLUGIN_LIBRARY);
  ASSERT_NE(handle, nullptr) << logger_.text;
  registry_.registerCreator(exported, "library");  // too late
  for (const auto& [name, name_space, of_ours] : {std::tuple{"FromStaticConstructor", "", &ours},
                                                  {"FromGetCreators", "library", &exported}}) {
    const auto* users = registry_.getCreator(name, "1", name_space);
    EXPECT_NE(users, nullptr);
    EXPECT_NE(users, of_ours);
    EXPECT_EQ(find_creator(name, "1", name_space), users);
  }
  EXPECT_THAT(logger_.text,
              ContainsRegex("plugin \"FromStaticConstructor\" version \"1\" in namespace "
                            "\"\": that of .*plugin_library.so takes the place of "
                            "Tenon's own"));
  int32_t count = 0;
  registry_.getAllCreators(&count);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(registered_creators().size(), 3u);
  registry_.deregisterLibrary(handle);
  EXPECT_EQ(registry_.getCreator("FromStaticConstructor", "1"), &ours);
  EXPECT_EQ(registry_.getCreator("FromGetCreators", "1", "library"), &exported);
}

TEST_F(RegistryTest, OfTwoLibrariesTheFirstStays) {
  void* first = registry_.loadLibrary(TENON_TEST_PLUGIN_LIBRARY);
  const auto* creator = registry_.getCreator("FromStaticConstructor", "1");
  ASSERT_NE(creator, nullptr);
  const auto copy = std::filesystem::path(::testing::TempDir()) / "tenon_plugin_library_copy.so";
  std::filesystem::copy_file(TENON_TEST_PLUGIN_LIBRARY, copy,
                             std::filesystem::copy_options::overwrite_existing);
  void* second = registry_.loadLibrary(copy.c_str());
  EXPECT_NE(second, first);
  EXPECT_EQ(registry_.getCreator("FromStaticConstructor", "1"), creator);
  EXPECT_EQ(logger_.counts[nvinfer1::ILogger::Severity::kERROR], 3);
  EXPECT_THAT(logger_.text,
              HasSubstr("\"FromStaticConstructor\" version \"1\" in namespace \"\" is "
                        "registered already; the first one stays"));
  registry_.deregisterLibrary(second);
  EXPECT_EQ(registry_.getCreator("FromStaticConstructor", "1"), creator);
  registry_.deregisterLibrary(first);
  std::filesystem::remove(copy);
}

TEST_F(RegistryTest, SaysWhyALibraryCannotBeLoaded) {
  const auto folder = std::filesystem::path(::testing::TempDir());
  EXPECT_EQ(registry_.loadLibrary((folder / "absent.so").c_str()), nullptr);
  EXPECT_THAT(logger_.text, HasSubstr("absent.so: no such file"));
  EXPECT_EQ(registry_.loadLibrary(folder.c_str()), nullptr);
  EXPECT_THAT(logger_.text, HasSubstr("it is a directory"));
  const auto text = folder / "tenon_not_a_library.so";
  std::ofstream(text) << "this is text";
  EXPECT_EQ(registry_.loadLibrary(text.c_str()), nullptr);
  EXPECT_THAT(logger_.text, HasSubstr("tenon_not_a_library.so: "));
  std::filesystem::remove(text);
}

TEST_F(RegistryTest, AChildAsksItsParent) {
  CreatorV1 &resize = v1("Resize", "1"), &own = v1("Own", "1");
  registry_.registerCreator(resize, "");
  const auto child = make_child_registry();
  EXPECT_TRUE(child->registerCreator(own, ""));
  EXPECT_TRUE(child->isParentSearchEnabled());
  EXPECT_EQ(child->getCreator("Resize", "1"), &resize);
  EXPECT_EQ(registry_.getCreator("Own", "1"), nullptr);
  int32_t count = 0;
  child->getAllCreators(&count);
  EXPECT_EQ(count, 1);
  child->getAllCreatorsRecursive(&count);
  EXPECT_EQ(count, 2);
  child->setParentSearchEnabled(false);
  EXPECT_EQ(child->getCreator("Resize", "1"), nullptr);
}

class Resource final : public nvinfer1::IPluginResource {
 public:
  explicit Resource(int* released) : released_(released) {}
  int32_t release() noexcept override {
    ++*released_;
    return 0;
  }
  IPluginResource* clone() noexcept override { return new Resource(released_); }

 private:
  int* released_;
};

TEST_F(RegistryTest, CountsUsersOfAResource) {
  int released = 0;
  Resource mine(&released);
  auto* first = registry_.acquirePluginResource("table", &mine);
  ASSERT_NE(first, nullptr);
  EXPECT_NE(first, &mine);
  EXPECT_EQ(registry_.acquirePluginResource("table", nullptr), first);
  EXPECT_EQ(registry_.releasePluginResource("table"), 0);
  EXPECT_EQ(released, 0);
  EXPECT_EQ(registry_.releasePluginResource("table"), 0);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(registry_.acquirePluginResource("table", nullptr), nullptr);
}

TEST_F(RegistryTest, ManyThreadsMayRegister) {
  static std::vector<std::string> names;  // the creators point into it
  for (int i = 0; i < 64; ++i) names.push_back("P" + std::to_string(i));
  for (const auto& n : names) v1(n.c_str(), "1");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = t; i < 64; i += 4) {
        registry_.registerCreator(creators_[i], "");
        registry_.getAllCreators(nullptr);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(registered_creators().size(), 64u);
}

}  // namespace
}  // namespace tenon
