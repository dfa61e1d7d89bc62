#include "access_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tenon::server {
namespace {

using std::chrono::microseconds;
using ::testing::HasSubstr;

TEST(AccessLog, ALineSaysWhatIsKnownOfARequest) {
  AccessRecord record;
  record.protocol = "http";
  record.remote = "127.0.0.1:5000";
  record.method = "POST";
  record.path = "/v2/models/m/infer";
  record.model = "m";
  record.status = "200";
  record.bytes_in = 10;
  record.bytes_out = 20;
  record.times = {record.begin, record.begin + microseconds(100), record.begin + microseconds(400)};
  record.trace = "00-a-b-01";
  // GNU date: date -u -d @1700000000
  const std::chrono::system_clock::time_point now(microseconds(1'700'000'000'000'042));
  EXPECT_EQ(access_line(record, now, record.begin + microseconds(500)),
            R"({"time":"2023-11-14T22:13:20.000042Z","protocol":"http","remote":"127.0.0.1:5000",)"
            R"("method":"POST","path":"/v2/models/m/infer","model":"m","status":"200",)"
            R"("bytes_in":10,"bytes_out":20,"duration_us":500,"queue_us":100,"compute_us":300,)"
            R"("trace":"00-a-b-01"})");
}

TEST(AccessLog, WhatClientsSendStaysInItsString) {
  AccessRecord record;
  record.id = "a\n{\"status\":\"200\"}\x1b[31m\xff";
  record.path = std::string(100'000, 'x');
  const std::string line = access_line(record, {}, record.begin);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  const auto read = nlohmann::json::parse(line);
  EXPECT_EQ(read["id"], "a\n{\"status\":\"200\"}\x1b[31m\xef\xbf\xbd");
  EXPECT_EQ(read["path"].get<std::string>().size(), 256u);
  EXPECT_FALSE(read.contains("status"));
  EXPECT_FALSE(read.contains("queue_us"));
}

TEST(AccessLog, LinesAreAddedToTheFile) {
  const auto path =
      std::filesystem::path(::testing::TempDir()) / ("access." + std::to_string(getpid()) + ".log");
  std::ofstream(path) << "before\n";
  {
    auto log = AccessLog::open(path);
    ASSERT_TRUE(log) << log.error();
    AccessRecord record;
    for (int i = 0; i < 100; ++i) {
      record.id = std::to_string(i);
      (*log)->add(record);
    }
  }
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "before");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(std::getline(file, line));
    EXPECT_EQ(nlohmann::json::parse(line)["id"], std::to_string(i));
  }
  EXPECT_FALSE(std::getline(file, line));
  std::filesystem::remove(path);
  EXPECT_THAT(AccessLog::open("/no/such/folder/log").error(), HasSubstr("/no/such/folder/log"));
}

// A disk that is full.
TEST(AccessLog, AFileThatTakesNoLinesHoldsUpNothing) {
  auto log = AccessLog::open("/dev/full");
  ASSERT_TRUE(log) << log.error();
  for (int i = 0; i < 50'000; ++i) (*log)->add({});
}

TEST(AccessLog, APipeThatNobodyReadsHoldsUpNoEnd) {
  const auto path = std::filesystem::path(::testing::TempDir())
                    / ("access." + std::to_string(getpid()) + ".pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto began = Clock::now();
  {
    auto log = AccessLog::open(path);
    ASSERT_TRUE(log) << log.error();
    AccessRecord record;
    record.path = std::string(200, 'x');
    for (int i = 0; i < 5000; ++i) (*log)->add(record);  // more than a pipe holds
  }
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(10));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tenon::server
