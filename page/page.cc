#include "page/page.h"

namespace tenon {
namespace {

std::string replaced(std::string text, char c, std::string_view by) {
  for (size_t at = 0; (at = text.find(c, at)) != std::string::npos; at += by.size())
    text.replace(at, 1, by);
  return text;
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
