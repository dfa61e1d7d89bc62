#include "report.h"

#include <gtest/gtest.h>

namespace tenon::load {
namespace {

LevelResult result() {
  LevelResult made;
  made.level = {Loop::kOpen, 250};
  made.measurement.answered = 3;
  made.measurement.refused = 2;
  made.measurement.requests_per_second = 12.5;
  made.measurement.latency = {0.002, 0.001, 0.004, {{50, 0.0015}, {99.9, 0.004}}};
  made.requests = {{0.5, 0.501, 0.503, Outcome::kRefused}};
  made.windows = 4;
  return made;
}

TEST(Report, IsMillisecondsAndItems) {
  const auto json = to_json(result(), 8);
  EXPECT_EQ(json["requestRate"], 250);
  EXPECT_EQ(json["itemsPerSecond"], 100);
  EXPECT_EQ(json["latencyMs"]["p50"], 1.5);
  EXPECT_EQ(json["latencyMs"]["p99.9"], 4);
  EXPECT_EQ(json["refused"], 2);
  const auto times = times_json(result());
  EXPECT_EQ(times[0]["sentMs"], 501);
  EXPECT_EQ(times[0]["outcome"], "refused");
}

TEST(Report, ColumnsOfTheTableStandBelowTheirNames) {
  const std::string head = table_head(Loop::kOpen, {50, 99.9}), row = table_row(result(), 8);
  for (const auto& [name, value] :
       {std::pair("p50", "1.500"), std::pair("refused", "2"), std::pair("windows", "4")})
    EXPECT_EQ(head.find(name) + std::string_view(name).size(),
              row.find(value, head.find(name) - 8) + std::string_view(value).size())
        << head << '\n'
        << row;
  EXPECT_NE(row.find("not stable"), std::string::npos);
}

}  // namespace
}  // namespace tenon::load
