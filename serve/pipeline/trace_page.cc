#include "tenon/serve/trace_page.h"

#include "trace_page_text.h"

namespace tenon::serve {

// In JSON `<` stands in strings alone, where it may be written by its number: names cannot end the
// script that the JSON is in.
std::string trace_page(std::string_view trace_json) {
  constexpr std::string_view kEmpty = R"({"traceEvents": []})";
  const std::string_view text = trace_page_text();
  const size_t at = text.find(kEmpty);
  std::string page(text.substr(0, at));
  for (const char c : trace_json) {
    if (c == '<')
      page += "\\u003c";
    else
      page += c;
  }
  page += text.substr(at + kEmpty.size());
  return page;
}

}  // namespace tenon::serve
