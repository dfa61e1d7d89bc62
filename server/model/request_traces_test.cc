#include "request_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tenon::server {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using std::chrono::nanoseconds;
using ::testing::HasSubstr;

AccessRecord record_of(const std::string& model) {
  AccessRecord record;
  record.model = model;
  record.version = "3";
  record.id = "an id";
  record.times = {record.begin + nanoseconds(10), record.begin + nanoseconds(20),
                  record.begin + nanoseconds(50)};
  return record;
}

class RequestTracesTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  void add(const std::string& model, int count = 1) {
    for (int i = 0; i < count; ++i) traces_.add(record_of(model));
  }
  Json read(const std::string& name = "trace.json") const {
    std::ifstream file(folder_ / name);
    return Json::parse(file);
  }
  // Each trace is two entries.
  size_t count(const std::string& name = "trace.json") const { return read(name).size() / 2; }
  std::string change(const SettingChanges& wanted, const std::string& model = "") {
    const auto error = traces_.change(model, wanted);
    return error ? error->text : "";
  }
  static SettingValue text(const std::string& value) { return std::vector<std::string>{value}; }

  const fs::path folder_ = fs::path(::testing::TempDir()) / ("traces." + std::to_string(getpid()));
  const std::string file_ = folder_ / "trace.json";
  RequestTraces traces_;
};

TEST_F(RequestTracesTest, ATraceIsTheRequestAndItsTimes) {
  const AccessRecord record = record_of("m");
  const Json trace = Json::parse("[" + trace_text(7, record, record.begin + nanoseconds(60)) + "]");
  EXPECT_EQ(
      trace[0],
      (Json{{"id", 7}, {"model_name", "m"}, {"model_version", "3"}, {"request_id", "an id"}}));
  const int64_t begin = nanoseconds(record.begin.time_since_epoch()).count();
  const auto stamp = [&](const char* name, int64_t after) {
    return Json{{"name", name}, {"ns", begin + after}};
  };
  EXPECT_EQ(trace[1],
            (Json{{"id", 7},
                  {"timestamps",
                   {stamp("REQUEST_START", 0), stamp("QUEUE_START", 10), stamp("COMPUTE_START", 20),
                    stamp("COMPUTE_END", 50), stamp("REQUEST_END", 60)}}}));
}

TEST_F(RequestTracesTest, TextsOfClientsAreCut) {
  AccessRecord record = record_of(std::string(5000, 'm'));
  record.id = std::string(5000, 'i');
  EXPECT_LT(trace_text(1, record, record.begin).size(), 1500u);
}

TEST_F(RequestTracesTest, RequestsThatDidNotRunAreNotTraced) {
  ASSERT_TRUE(traces_.open(file_, {{"trace_level", text("TIMESTAMPS")}}));
  AccessRecord refused;
  refused.model = "none";
  for (int i = 0; i < 3; ++i) traces_.add(refused);
  add("m");
  EXPECT_EQ(count(), 1u);
}

TEST_F(RequestTracesTest, TheFileIsAWholeListAtAnyTime) {
  ASSERT_TRUE(
      traces_.open(file_, {{"trace_level", text("TIMESTAMPS")}, {"trace_rate", text("1")}}));
  EXPECT_EQ(read(), Json::array());
  for (size_t i = 1; i <= 3; ++i) {
    add("m");
    EXPECT_EQ(count(), i);
  }
}

TEST_F(RequestTracesTest, RateAndCountSayWhichRequests) {
  ASSERT_TRUE(traces_.open(file_, {{"trace_rate", text("4")}}));
  add("m", 4);
  EXPECT_FALSE(traces_.are_on());
  EXPECT_EQ(count(), 0u);
  ASSERT_EQ(change({{"trace_level", text("TIMESTAMPS")}}), "");
  add("m", 9);
  EXPECT_EQ(count(), 3u);
  ASSERT_EQ(change({{"trace_rate", text("1")}, {"trace_count", text("2")}}), "");
  add("m", 5);
  EXPECT_EQ(count(), 5u);
  EXPECT_EQ(traces_.settings("").at("trace_count"), SettingValue(std::string("0")));
  ASSERT_EQ(change({{"trace_rate", std::nullopt}, {"trace_level", std::nullopt}}), "");
  EXPECT_EQ(traces_.settings("").at("trace_rate"), SettingValue(std::string("4")));
  EXPECT_FALSE(traces_.are_on());
}

TEST_F(RequestTracesTest, AModelMayHaveSettingsOfItsOwn) {
  ASSERT_TRUE(traces_.open(file_, {{"trace_rate", text("1")}}));
  ASSERT_EQ(change({{"trace_level", text("TIMESTAMPS")}}, "a"), "");
  add("a", 2);
  add("b", 2);
  EXPECT_EQ(count(), 2u);
  ASSERT_EQ(change({{"trace_rate", text("2")}}), "");
  EXPECT_EQ(traces_.settings("a").at("trace_rate"), SettingValue(std::string("2")));
  ASSERT_EQ(change({{"trace_level", std::nullopt}}, "a"), "");
  EXPECT_FALSE(traces_.are_on());
}

TEST_F(RequestTracesTest, WhatIsLeftOfACountStays) {
  ASSERT_TRUE(
      traces_.open(file_, {{"trace_level", text("TIMESTAMPS")}, {"trace_rate", text("1")}}));
  ASSERT_EQ(change({{"trace_count", text("2")}}, "m"), "");
  add("m", 3);
  EXPECT_EQ(count(), 2u);
  ASSERT_EQ(change({}, "m"), "");  // as who only reads them
  ASSERT_EQ(change({}), "");
  ASSERT_EQ(change({{"trace_rate", text("1")}}), "");
  ASSERT_EQ(change({{"trace_rate", text("1")}}, "m"), "");
  add("m", 3);
  EXPECT_EQ(count(), 2u);
}

TEST_F(RequestTracesTest, AFileIsOfOneServer) {
  ASSERT_TRUE(traces_.open(file_, {{"trace_level", text("TIMESTAMPS")}}));
  add("m");
  RequestTraces other;
  EXPECT_THAT(other.open(file_, {}).error(), HasSubstr("another server writes to it"));
  EXPECT_EQ(count(), 1u);
}

TEST_F(RequestTracesTest, AFolderThatComesBackIsWrittenToAgain) {
  ASSERT_TRUE(traces_.open(file_, {{"trace_level", text("TIMESTAMPS")},
                                   {"trace_rate", text("1")},
                                   {"log_frequency", text("1")}}));
  add("m");
  fs::rename(folder_, folder_.string() + ".away");
  add("m", 2);
  fs::rename(folder_.string() + ".away", folder_);
  add("m");
  EXPECT_EQ(count("trace.json.0"), 1u);
  EXPECT_EQ(read("trace.json.1").at(2), (Json{{"lost_traces", 2}}));
}

TEST_F(RequestTracesTest, FilesHaveSoManyTraces) {
  ASSERT_TRUE(traces_.open(file_, {{"trace_level", text("TIMESTAMPS")},
                                   {"trace_rate", text("1")},
                                   {"log_frequency", text("2")}}));
  add("m", 5);
  EXPECT_EQ(count("trace.json.0"), 2u);
  EXPECT_EQ(count("trace.json.1"), 2u);
  EXPECT_EQ(count("trace.json.2"), 1u);
}

TEST_F(RequestTracesTest, WhatCannotBeIsNamedAndNothingChanges) {
  EXPECT_THAT(traces_.open("", {{"trace_level", text("TIMESTAMPS")}}).error(),
              HasSubstr("there is no file"));
  EXPECT_THAT(traces_.open(folder_, {}).error(), HasSubstr("cannot write traces"));
  EXPECT_THAT(traces_.open("/dev/null", {}).error(), HasSubstr("cannot write traces"));
  ASSERT_TRUE(traces_.open(file_, {}));
  EXPECT_THAT(change({{"trace_level", text("TENSORS")}}), HasSubstr("not supported yet"));
  EXPECT_THAT(change({{"trace_level", text("ON")}}), HasSubstr("expected OFF or TIMESTAMPS"));
  EXPECT_THAT(change({{"trace_rate", text("0")}}), HasSubstr("'trace_rate': expected a number"));
  EXPECT_THAT(change({{"trace_count", text("1x")}}), HasSubstr("found '1x'"));
  EXPECT_THAT(change({{"trace_file", text("/etc/passwd")}}), HasSubstr("clients do not change it"));
  EXPECT_THAT(change({{"trace_rate", text("5")}, {"x", text("1")}}),
              HasSubstr("'x': there is none"));
  EXPECT_THAT(change({{"log_frequency", text("5")}}), HasSubstr("clients do not change it"));
  EXPECT_EQ(change({{"log_frequency", text("0")}}), "");
  EXPECT_EQ(traces_.settings("").at("trace_rate"), SettingValue(std::string("1000")));
}

// The limit is of the whole process, and so is what the kernel sends where it is passed.
TEST_F(RequestTracesTest, AFullDiskLeavesAWholeList) {
  ASSERT_TRUE(
      traces_.open(file_, {{"trace_level", text("TIMESTAMPS")}, {"trace_rate", text("1")}}));
  add("m", 2);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{fs::file_size(file_) + 100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  add("m", 3);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(count(), 2u);
  add("m");
  EXPECT_EQ(read().size(), 7u);
  EXPECT_EQ(read().back(), (Json{{"lost_traces", 3}}));
  EXPECT_EQ(
      change({{"trace_level", SettingValue(std::vector<std::string>{"TIMESTAMPS", "TENSORS"})}}),
      "setting 'trace_level': TENSORS is not supported yet");
}

// As at the start, where nothing can be written.
TEST_F(RequestTracesTest, AFullDiskAtTheStartIsAnError) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const auto opened = traces_.open(file_, {});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error(), HasSubstr("there is no room for it"));
}

}  // namespace
}  // namespace tenon::server
