#include "tenon/serve/trace_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "doubling_pipeline.h"

namespace tenon::serve {
namespace {

// As HTML says: a script's text goes to the next "</script", whatever is in between.
std::string embedded(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="trace">)";
  const size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script", from) - from);
}

TEST(TracePage, HasTheTraceInside) {
  PipelineOptions options;
  options.model = R"(</script><script>alert("1")</script><!-- & 'x' \ )";
  options.trace_spans = 100;
  const auto pipeline = start_doubling(options, doubling());
  JobOptions job;
  job.correlation_id = "<!--<script>\xff";
  EXPECT_TRUE(pipeline->commit(1, job).get());
  EXPECT_TRUE(pipeline->stop());
  const std::string page = pipeline->trace_page();
  EXPECT_EQ(nlohmann::json::parse(embedded(page)), nlohmann::json::parse(pipeline->trace_json()));
  EXPECT_EQ(page.find("alert(\"1\")</"), std::string::npos);
  EXPECT_EQ(embedded(page).find('<'), std::string::npos);
}

TEST(TracePage, AsksForNothingElse) {
  const std::string page = trace_page(R"({"traceEvents": []})");
  EXPECT_FALSE(
      std::regex_search(page, std::regex(R"(https?:|//[a-z]|@import|url\(|\bsrc=|fetch)")));
  EXPECT_EQ(page.rfind("</html>\n"), page.size() - 8);
}

}  // namespace
}  // namespace tenon::serve
