#include "page/page.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

constexpr std::string_view kPage = "<script>{{report}}</script><title>{{title}}</title>";

TEST(Page, NoTextLeavesItsPlace) {
  EXPECT_EQ(filled_page(kPage, "a<b>&c{{report}}", R"({"x": "</script>{{title}}"})"),
            R"(<script>{"x": "\u003c/script>{{title}}"}</script>)"
            "<title>a&lt;b>&amp;c{{report}}</title>");
  EXPECT_EQ(filled_page(kPage, "", ""), "<script></script><title></title>");
}

TEST(Page, ManyNamesMayHaveWhatIsReplaced) {
  constexpr size_t kNames = 2'000'000;
  std::string json, expected = "<script>";
  for (size_t i = 0; i < kNames; ++i) {
    json += "<eval>.0 ";
    expected += "\\u003ceval>.0 ";
  }
  EXPECT_EQ(filled_page(kPage, "", json), expected + "</script><title></title>");
}

}  // namespace
}  // namespace tenon
