#include "tenon/serve/trace_page.h"

#include "trace_page_text.h"

namespace tenon::serve {

// In JSON `<` stands in strings alone, where it may be written by its number: names cannot end the
// script that the JSON is in.
std::string trace_page(std::string_view trace_json) {
  constexpr std::string_view kEmpty = R"({"traceEvents": []})";
  const size_t at = kTracePage.find(kEmpty);
  std::string page(kTracePage.substr(0, at));
  for (const char c : trace_json) {
    if (c == '<')
      page += "\\u003c";
    else
      page += c;
  }
  page += kTracePage.substr(at + kEmpty.size());
  return page;
}

}  // namespace tenon::serve
