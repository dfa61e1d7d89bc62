// Reports as text and as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "check/check.h"

namespace tenon::check {
namespace {

PluginReport report() {
  PluginReport report{{"Crop\n0 plugins", "1", "mine"}, "IPluginV3", {}};
  report.results = {{"create", "", Outcome::kPassed, "", ""},
                    {"written", "2x3, float32", Outcome::kFailed, "every byte", "\x1b[2J"},
                    {"empty", "0x3", Outcome::kNotRun, "", "no GPU"},
                    {"empty", "2x0", Outcome::kNotRun, "", "no GPU"}};
  return report;
}

TEST(Print, TextNamesFailuresAndEachReasonOnce) {
  EXPECT_EQ(
      text_of(report()),
      "Crop\\n0 plugins version 1 of namespace mine (IPluginV3): 1 checks passed, 1 failed, 2 "
      "not run\n"
      "  FAILED written (2x3, float32): expected every byte; found \\x1b[2J\n"
      "  not run: empty, and what follows from it: no GPU\n");
}

TEST(Print, JsonHasAll) {
  const auto list = nlohmann::json::parse(json_of({report()}));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["name"], "Crop\n0 plugins");
  EXPECT_EQ(list[0]["checks"].size(), 4u);
  EXPECT_EQ(list[0]["checks"][1]["outcome"], "failed");
  EXPECT_EQ(list[0]["checks"][1]["expected"], "every byte");
  EXPECT_EQ(list[0]["checks"][2]["outcome"], "not run");
  EXPECT_FALSE(list[0]["checks"][0].contains("found"));
}

}  // namespace
}  // namespace tenon::check
