#include "check/job.h"

#include <gtest/gtest.h>

#include "check/report.h"

namespace tenon::check {
namespace {

TEST(Job, AProcessIsToldAllThatTheOptionsSay) {
  Job job;
  job.options.library = "lib \"quoted\".so";
  job.options.plugins = {"A", "B"};
  job.options.fields = {"mode=linear", "pads=1,2"};
  job.options.shapes = "2x3,4";
  job.options.types = "float32";
  job.options.cases = {"cases.json"};
  job.options.device = "cuda";
  job.options.cudart = "other.so";
  job.options.mode = "order";
  job.options.seeds = 7;
  job.options.time_limit = 8;
  job.options.prints = true;
  job.creator = 5;
  job.left_out = {Report::key("create", "2x3\n")};
  const Job read = Job::read(job.argument());
  EXPECT_EQ(read.argument(), job.argument());
  EXPECT_EQ(read.options.fields, job.options.fields);
  EXPECT_EQ(read.creator, job.creator);
  EXPECT_EQ(read.left_out, job.left_out);
  EXPECT_EQ(Job::read(Job().argument()).creator, std::nullopt);
}

TEST(Job, AnythingElseIsRefused) {
  for (const char* text : {"", "nonsense", "{}", "[1]", R"({"options": 3, "left out": []})"})
    EXPECT_THROW(Job::read(text), Failure) << text;
}

}  // namespace
}  // namespace tenon::check
