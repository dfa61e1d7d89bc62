#include "shared_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <limits>

namespace tenon::server {
namespace {

using ::testing::HasSubstr;

// A client's object, of floats that are their index.
class Object {
 public:
  explicit Object(size_t floats) {
    descriptor_ = ::shm_open(key_.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0600);
    resize(floats);
    for (size_t i = 0; i < floats; ++i) set(i, static_cast<float>(i));
  }
  ~Object() {
    ::close(descriptor_);
    ::shm_unlink(key_.c_str());
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  const std::string& key() const { return key_; }
  void resize(size_t floats) const {
    EXPECT_EQ(::ftruncate(descriptor_, static_cast<off_t>(floats * sizeof(float))), 0);
  }
  size_t size() const {
    struct stat info{};
    EXPECT_EQ(::fstat(descriptor_, &info), 0);
    return static_cast<size_t>(info.st_size);
  }
  void set(size_t index, float value) const {
    const auto at = static_cast<off_t>(index * sizeof value);
    EXPECT_EQ(::pwrite(descriptor_, &value, sizeof value, at), ssize_t{sizeof value});
  }
  float at(size_t index) const {
    float value = NAN;
    const auto at = static_cast<off_t>(index * sizeof value);
    EXPECT_EQ(::pread(descriptor_, &value, sizeof value, at), ssize_t{sizeof value});
    return value;
  }

 private:
  const std::string key_ = "/tenon_shared_memory_test." + std::to_string(getpid());
  int descriptor_ = -1;
};

std::string text_of(const std::optional<RequestError>& error) {
  return error ? error->text : "none";
}

class SharedMemoryTest : public ::testing::Test {
 protected:
  std::string add(const std::string& name, const std::string& key, size_t offset, size_t bytes) {
    return text_of(memory_.add({name, key, offset, bytes}));
  }
  std::string read(Shape shape, const RegionPart& part) const {
    Tensor tensor(std::move(shape));
    return text_of(memory_.read(part, tensor));
  }
  static Tensor output(std::vector<float> elements) {
    Tensor tensor(Shape{static_cast<int64_t>(elements.size())});
    std::memcpy(*tensor.cpu(), elements.data(), elements.size() * sizeof(float));
    return tensor;
  }
  std::string write(std::vector<float> elements, RegionPart part) const {
    Tensor y = output(std::move(elements));
    return text_of(memory_.write(y, part));
  }

  const Object object_{16};
  SharedMemory memory_{{}};
};

TEST_F(SharedMemoryTest, InputsAreReadAndOutputsWritten) {
  ASSERT_EQ(add("r", object_.key(), 8, 40), "none");
  Tensor x(Shape{2, 2});
  ASSERT_EQ(text_of(memory_.read({"r", 4, 16}, x)), "none");
  EXPECT_EQ(*x.at<float>({0, 0}), 3);  // two floats of the region, one of the part
  EXPECT_EQ(*x.at<float>({1, 1}), 6);
  object_.set(3, 100);  // what was read is read
  EXPECT_EQ(*x.at<float>({0, 0}), 3);

  Tensor y = output({-1, -2});
  RegionPart part{"r", 28, 12};
  ASSERT_EQ(text_of(memory_.write(y, part)), "none");
  EXPECT_EQ(object_.at(9), -1);
  EXPECT_EQ(object_.at(10), -2);
  EXPECT_EQ(object_.at(11), 11);
  EXPECT_EQ(part.bytes, 8u);
}

TEST_F(SharedMemoryTest, RegionsAreListedAndTakenAway) {
  ASSERT_EQ(add("a", object_.key(), 0, 4), "none");
  ASSERT_EQ(add("b", object_.key().substr(1), 4, 8), "none");
  const auto all = std::get<0>(memory_.regions(""));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].name, "b");
  EXPECT_EQ(all[1].offset, 4u);
  EXPECT_EQ(all[1].bytes, 8u);
  EXPECT_THAT(add("a", object_.key(), 0, 4), HasSubstr("registered already"));
  EXPECT_FALSE(memory_.remove("a"));
  EXPECT_FALSE(memory_.remove("a"));
  EXPECT_EQ(std::get<1>(memory_.regions("a")).failure, Failure::kNotFound);
  EXPECT_EQ(read({1}, {"a", 0, 4}), "there is no shared memory region 'a'");
  EXPECT_FALSE(memory_.remove(""));
  EXPECT_TRUE(std::get<0>(memory_.regions("")).empty());
}

TEST_F(SharedMemoryTest, KeysAreNamesOfObjects) {
  for (const char* key : {"", "/", "..", "/../etc/passwd", "/a/b", "/.", "/sem.lock", "//x"})
    EXPECT_THAT(add("r", key, 0, 4), HasSubstr("expected the name of a shared memory object"))
        << key;
  EXPECT_THAT(add("r", std::string("/a\0b", 4), 0, 4), HasSubstr("expected the name"));
  EXPECT_THAT(add("r", "/tenon_no_such_object", 0, 4), HasSubstr("cannot open"));
  EXPECT_THAT(add("", object_.key(), 0, 4), HasSubstr("1 to 255 bytes"));
  // A link to what is no object of the client's.
  const std::string link = "/dev/shm" + object_.key() + ".link";
  std::filesystem::create_symlink("/etc/passwd", link);
  EXPECT_THAT(add("r", object_.key() + ".link", 0, 4), HasSubstr("cannot open"));
  std::filesystem::remove(link);
}

TEST_F(SharedMemoryTest, OnlyKeysWithThePrefixAreOpened) {
  SharedMemoryOptions options;
  options.prefix = "other_";
  SharedMemory memory(options);
  EXPECT_THAT(text_of(memory.add({"r", object_.key(), 0, 4})), HasSubstr("'/other_...'"));
  options.prefix = "tenon_shared";
  SharedMemory fitting(options);
  EXPECT_FALSE(fitting.add({"r", object_.key(), 0, 4}));
}

TEST_F(SharedMemoryTest, OffsetsAndSizesStayInTheObject) {
  constexpr size_t kMax = std::numeric_limits<size_t>::max();
  EXPECT_THAT(add("r", object_.key(), 0, 65), HasSubstr("its object has 64 bytes"));
  EXPECT_THAT(add("r", object_.key(), 60, 5), HasSubstr("the region ends at 65"));
  EXPECT_THAT(add("r", object_.key(), 0, 0), HasSubstr("byte_size of 1 or more"));
  EXPECT_THAT(add("r", object_.key(), kMax, 2), HasSubstr("fits 63 bits"));
  EXPECT_THAT(add("r", object_.key(), kMax / 2, 2), HasSubstr("fits 63 bits"));
  ASSERT_EQ(add("r", object_.key(), 16, 32), "none");
  EXPECT_THAT(read({1}, {"r", 29, 4}), HasSubstr("has 32 bytes; found an offset of 29"));
  EXPECT_THAT(read({1}, {"r", kMax - 3, 4}), HasSubstr("found an offset of"));
  EXPECT_THAT(read({9}, {"r", 0, 36}), HasSubstr("has 32 bytes"));
  EXPECT_THAT(read({1}, {"r", 0, 8}), HasSubstr("expected the 4 bytes of the shape, found 8"));
  EXPECT_THAT(write({1, 2}, {"r", 0, 4}), HasSubstr("expected the 8 bytes of the output or more"));
  EXPECT_THAT(write({1, 2}, {"r", 28, 8}), HasSubstr("found an offset of 28"));
  EXPECT_EQ(object_.at(11), 11);
}

TEST_F(SharedMemoryTest, AnObjectThatBecameShorterIsAnError) {
  ASSERT_EQ(add("r", object_.key(), 0, 64), "none");
  object_.resize(4);
  EXPECT_THAT(read({16}, {"r", 0, 64}), HasSubstr("shorter than when it was registered"));
  EXPECT_EQ(read({4}, {"r", 0, 16}), "none");
  EXPECT_THAT(write({1, 2}, {"r", 56, 8}), HasSubstr("its object has 16 bytes"));
  EXPECT_EQ(object_.size(), 16u);
}

TEST_F(SharedMemoryTest, RegionsAndBytesAreBounded) {
  SharedMemoryOptions options;
  options.max_regions = 1;
  options.max_bytes = 16;
  SharedMemory memory(options);
  ASSERT_FALSE(memory.add({"r", object_.key(), 0, 64}));
  EXPECT_THAT(text_of(memory.add({"s", object_.key(), 0, 64})), HasSubstr("at most 1 regions"));
  std::optional<Tensor> first(Shape{3});
  EXPECT_FALSE(memory.read({"r", 0, 12}, *first));
  Tensor second(Shape{3});
  const auto refused = memory.read({"r", 0, 12}, second);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->failure, Failure::kFull);
  first.reset();
  EXPECT_FALSE(memory.read({"r", 0, 12}, second));
  Tensor large(Shape{5});
  EXPECT_THAT(text_of(memory.read({"r", 0, 20}, large)), HasSubstr("may have 16 bytes, found 20"));
}

}  // namespace
}  // namespace tenon::server
