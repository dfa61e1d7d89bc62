// Every case of every plugins/*/cases.json, in both plugin protocols. A test per case, made when
// the program starts, so that new cases need no build.
#include <gtest/gtest.h>

#include <set>

#include "folder_cases.h"

namespace tenon::plugins::testing {
namespace {

using kit::testing::NamedCase;

class PluginCases : public ::testing::TestWithParam<NamedCase> {};

TEST_P(PluginCases, Pass) {
  EXPECT_EQ(GetParam().test.check(), "");
}

INSTANTIATE_TEST_SUITE_P(All, PluginCases, ::testing::ValuesIn(all_cases()),
                         [](const auto& info) { return test_name(info.param, info.index); });

TEST(CasesTest, EveryFolderHasCases) {
  for (const auto& folder : plugin_folders())
    EXPECT_NO_THROW(EXPECT_FALSE(cases_of(folder).empty())) << folder;
}

TEST(CasesTest, EveryRegisteredNameHasCases) {
  std::set<std::string> tried;
  for (const NamedCase& c : all_cases()) tried.insert(c.test.key());
  for (const auto& [key, entry] : kit::entries()) EXPECT_TRUE(tried.contains(key)) << key;
}

TEST(CasesTest, EveryPluginSaysWhatItDoes) {
  for (const auto& [key, entry] : kit::entries()) EXPECT_STRNE(entry.spec.text, "") << key;
}

}  // namespace
}  // namespace tenon::plugins::testing
