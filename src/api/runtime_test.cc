// Plans read from memory, streams and files, whole and damaged.
#include <tenon/open_plan.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>

#include "api/cnn_testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;

// Gives `size` bytes at most `chunk` at a time; then nothing.
struct Reader final : IStreamReader {
  int64_t read(void* to, int64_t count) override {
    const auto n = static_cast<size_t>(std::min<int64_t>(count, chunk));
    const auto given = std::min(n, bytes.size());
    std::copy_n(bytes.begin(), given, static_cast<char*>(to));
    bytes = bytes.subspan(given);
    return static_cast<int64_t>(given);
  }
  std::span<const char> bytes;
  int64_t chunk = 1 << 20;
};

TEST(Runtime, ReadsStreamsAndFiles) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, false);
  struct Writer final : IStreamWriter {
    int64_t write(const void* data, int64_t count) override {
      const int64_t n = std::min<int64_t>(count, 100);
      bytes.append(static_cast<const char*>(data), static_cast<size_t>(n));
      return n;
    }
    std::string bytes;
  } writer;
  ASSERT_TRUE(s.builder->buildSerializedNetworkToStream(*s.network, *s.config, writer));
  Reader reader;
  reader.bytes = writer.bytes;
  reader.chunk = 77;
  const std::unique_ptr<ICudaEngine> streamed(s.runtime->deserializeCudaEngine(reader));
  ASSERT_NE(streamed, nullptr) << s.logger.take_errors();
  const CudaStream stream;
  expect_right(cnn, *Context(streamed->createExecutionContext()), 1, 6, 4, stream.stream);
  reader.bytes = std::span(writer.bytes).first(writer.bytes.size() - 1);
  EXPECT_EQ(s.runtime->deserializeCudaEngine(reader), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("the stream ended"));
  reader.bytes = {};
  EXPECT_EQ(s.runtime->deserializeCudaEngine(reader), nullptr);

  const std::string path = ::testing::TempDir() + "engine_test.plan";
  std::ofstream(path, std::ios::binary) << writer.bytes;
  const auto opened = open_plan(*s.runtime, path.c_str());
  ASSERT_NE(opened, nullptr) << s.logger.take_errors();
  expect_right(cnn, *Context(opened->createExecutionContext()), 1, 6, 4, stream.stream);
  std::filesystem::remove(path);
  s.logger.take_errors();
  EXPECT_EQ(open_plan(*s.runtime, path.c_str()), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr(path));
  EXPECT_EQ(open_plan(*s.runtime, nullptr), nullptr);
}

TEST(Runtime, RefusesWhatIsNoPlan) {
  Session s;
  Cnn().add_to(s, false);
  const auto plan = s.build();
  ASSERT_NE(plan, nullptr);
  Recorder recorder;
  s.runtime->setErrorRecorder(&recorder);
  EXPECT_EQ(s.runtime->deserializeCudaEngine(nullptr, 5), nullptr);
  EXPECT_EQ(s.runtime->deserializeCudaEngine(plan->data(), 0), nullptr);
  EXPECT_EQ(s.runtime->deserializeCudaEngine("just some text, no plan at all.......", 36), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("not a Tenon plan"));
  for (size_t size : {size_t{1}, size_t{31}, size_t{32}, plan->size() / 2, plan->size() - 1})
    EXPECT_EQ(s.runtime->deserializeCudaEngine(plan->data(), size), nullptr) << size;
  std::vector<char> bytes(static_cast<char*>(plan->data()),
                          static_cast<char*>(plan->data()) + plan->size());
  for (size_t i = 0; i < bytes.size(); i += 13) {
    bytes[i] = static_cast<char>(bytes[i] ^ 0x20);
    EXPECT_EQ(s.runtime->deserializeCudaEngine(bytes.data(), bytes.size()), nullptr) << i;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x20);
  }
  EXPECT_GT(recorder.getNbErrors(), 10);
  s.runtime->setErrorRecorder(nullptr);
  EXPECT_EQ(recorder.references, 0);
}

// A runtime that is loaded is in python/test/test_runtime.py, where its library lies.
TEST(Runtime, SaysWhyALibraryIsNoRuntime) {
  Session s;
  EXPECT_EQ(s.runtime->loadRuntime(nullptr), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("the path is empty"));
  const std::string folder = ::testing::TempDir();
  EXPECT_EQ(s.runtime->loadRuntime((folder + "absent.so").c_str()), nullptr);
  EXPECT_THAT(s.logger.take_errors(),
              HasSubstr("cannot load runtime library " + folder + "absent.so: no such file"));
  EXPECT_EQ(s.runtime->loadRuntime("libm.so.6"), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("libm.so.6 is no runtime library"));
}

}  // namespace
}  // namespace tenon::testing
