// Every case of every plugins/*/cases.json, in both plugin protocols. A test per case, made when
// the program starts, so that new cases need no build.
#include <gtest/gtest.h>
#include <tenon/plugin/cases.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

namespace {

using tenon::kit::entries;
using tenon::kit::testing::NamedCase;
using tenon::kit::testing::read_cases;
namespace fs = std::filesystem;

// Folders with a plugin: <name>/<name>.cc.
std::vector<fs::path> plugin_folders() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(TENON_SOURCE_DIR "/plugins"))
    if (fs::exists(entry.path() / entry.path().filename().concat(".cc")))
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

struct FolderCase {
  std::string folder;
  NamedCase named;
};

// For gtest's messages.
void PrintTo(const FolderCase& c, std::ostream* out) {
  *out << c.named.test.key() << ": " << c.named.name;
}

// A folder whose file is missing or broken has no cases, and fails below.
std::vector<FolderCase> all_cases() {
  std::vector<FolderCase> cases;
  for (const fs::path& folder : plugin_folders()) try {
      for (NamedCase& one : read_cases(folder / "cases.json"))
        cases.push_back({folder.filename(), std::move(one)});
    } catch (const std::exception&) {  // EveryFolderHasCases says it
    }
  return cases;
}

class PluginCases : public ::testing::TestWithParam<FolderCase> {};

TEST_P(PluginCases, Pass) {
  EXPECT_EQ(NamedCase(GetParam().named).test.check(), "");
}

std::string name_of(const ::testing::TestParamInfo<FolderCase>& info) {
  std::string name =
      info.param.named.test.name() + "_" + info.param.named.name + "_" + std::to_string(info.index);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, PluginCases, ::testing::ValuesIn(all_cases()), name_of);

TEST(CasesTest, EveryFolderHasCases) {
  for (const fs::path& folder : plugin_folders())
    EXPECT_NO_THROW(EXPECT_FALSE(read_cases(folder / "cases.json").empty())) << folder;
}

TEST(CasesTest, EveryRegisteredNameHasCases) {
  std::set<std::string> tried;
  for (const FolderCase& c : all_cases()) tried.insert(c.named.test.key());
  for (const auto& [key, entry] : entries()) EXPECT_TRUE(tried.contains(key)) << key;
}

}  // namespace
