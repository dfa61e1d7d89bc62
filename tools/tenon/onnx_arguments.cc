#include "onnx_arguments.h"

#include <charconv>
#include <optional>

#include "error.h"
#include "options.h"

namespace tenon::tool {

std::string without_quotes(const std::string& text) {
  std::string bare;
  char quote = 0;
  for (const char c : text)
    if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else
      bare += c;
  return bare;
}

std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& part : split(text, ','))
    if (!part.empty()) names.push_back(without_quotes(part));
  return names;
}

int64_t integer_of(const char* verb, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(ErrorClass::kOptions, "{}: '{}' is no whole number", verb, text);
  return value;
}

std::pair<std::string, std::string> two_parts(const char* verb, const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty())
    fail(
        ErrorClass::kOptions,
        "{}: '{}' is not two names with a colon between them; a name with a colon stands in quotes",
        verb, text);
  return {without_quotes(parts[0]), parts[1]};
}

std::pair<std::string, std::string> two_names(const char* verb, const std::string& text) {
  const auto [first, second] = two_parts(verb, text);
  return {first, without_quotes(second)};
}

edit::Extent extent_of(const std::string& text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) return {integer_of("extent", text), ""};
  if (text == "?" || text == "-1") return {};
  if (text.empty()) fail(ErrorClass::kOptions, "an extent is empty: give a number, a name, or ?");
  if (text.starts_with('-'))
    fail(ErrorClass::kOptions,
         "'{}' is no extent: give a number from 0 on, a name that does not begin with -, or ?",
         text);
  return {-1, text};
}

// Quotes within a text, as JSON has them, are its own.
edit::AttributeValue attribute_value_of(const std::string& text) {
  const bool is_quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"')
                         && text.find(text.front(), 1) == text.size() - 1;
  if (is_quoted) return text.substr(1, text.size() - 2);
  const auto number = [](const std::string& word) -> std::optional<int64_t> {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() || end != word.data() + word.size()) return {};
    return value;
  };
  const auto real = [](const std::string& word) -> std::optional<float> {
    float value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() || end != word.data() + word.size()) return {};
    return value;
  };
  if (const auto value = number(text)) return *value;
  if (const auto value = real(text)) return *value;
  if (!text.starts_with('[') || !text.ends_with(']')) return text;
  std::vector<int64_t> integers;
  std::vector<float> reals;
  const auto words = split(text.substr(1, text.size() - 2), ';');
  for (const std::string& word : words) {
    if (const auto value = number(word)) integers.push_back(*value);
    if (const auto value = real(word)) reals.push_back(*value);
  }
  if (integers.size() == words.size()) return integers;
  if (reals.size() == words.size()) return reals;
  return words;
}

edit::Node node_of(const std::string& text) {
  const auto words = split(text, ',');
  edit::Node node;
  const std::string name = without_quotes(words[0]);
  const size_t colons = name.find("::");
  node.op_type = colons == std::string::npos ? name : name.substr(colons + 2);
  if (colons != std::string::npos) node.domain = name.substr(0, colons);
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == std::string::npos || equals == 0)
      fail(ErrorClass::kOptions, "'{}' is not an attribute: write NAME=VALUE", words[i]);
    node.attributes.emplace_back(words[i].substr(0, equals),
                                 attribute_value_of(words[i].substr(equals + 1)));
  }
  return node;
}

size_t single_colon(const std::string& text, size_t from) {
  char quote = 0;
  for (size_t at = from; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0 || c == '\'' || c == '"') {
      quote = quote == 0 ? c : c == quote ? 0 : quote;
    } else if (c == ':') {
      if (at + 1 >= text.size() || text[at + 1] != ':') return at;
      ++at;
    }
  }
  return std::string::npos;
}

}  // namespace tenon::tool
