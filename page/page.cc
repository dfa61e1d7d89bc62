#include "page/page.h"

#include <algorithm>

namespace tenon {
namespace {

// Names of exporters are full of such characters: nothing is moved for each.
std::string replaced(std::string_view text, char c, std::string_view by) {
  std::string result;
  for (;;) {
    const size_t end = std::min(text.find(c), text.size());
    result += text.substr(0, end);
    if (end == text.size()) return result;
    result += by;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string filled_page(std::string_view page, const std::string& title, const std::string& json) {
  std::string filled(page);
  const auto fill = [&](std::string_view mark, const std::string& by) {
    filled.replace(filled.find(mark), mark.size(), by);
  };
  // The title first: names in the JSON may look like its mark.
  fill("{{title}}", replaced(replaced(title, '&', "&amp;"), '<', "&lt;"));
  fill("{{report}}", replaced(json, '<', "\\u003c"));
  return filled;
}

}  // namespace tenon
