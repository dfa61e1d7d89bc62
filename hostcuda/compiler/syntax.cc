/// What the rewriter has to know of C++'s syntax.
#include "hostcuda/compiler/syntax.h"

#include <set>

namespace tenon::nvcc {
namespace {

bool opens(const Token& t) {
  return t.kind == Kind::kSign && (t.is("(") || t.is("[") || t.is("{"));
}
bool closes(const Token& t) {
  return t.kind == Kind::kSign && (t.is(")") || t.is("]") || t.is("}"));
}

bool is_part_of_a_type(std::string_view word) {
  static const std::set<std::string_view> words = {
      "const", "volatile", "__restrict__", "__restrict", "restrict", "unsigned", "signed",
      "int",   "long",     "short",        "char",       "bool",     "float",    "double",
      "void",  "auto",     "struct",       "class",      "typename", "enum"};
  return words.count(word) > 0;
}
bool is_qualifier(std::string_view word) {
  return word == "const" || word == "volatile" || word == "struct" || word == "class"
         || word == "typename" || word == "enum";
}

// The name of one parameter, and whether it is a pack; "" if it has none.
std::string_view name_of(const Tokens& tokens, Range range, bool* is_pack) {
  std::size_t end = range.begin;
  int depth = 0;
  for (; end < range.end && !(depth == 0 && tokens[end].is("=")); ++end) {
    if (tokens[end].is("(") || tokens[end].is("[")) {
      // A pointer to a function or an array: the name is in the first parentheses.
      if (tokens[end].is("(") && depth == 0 && end + 1 < range.end
          && (tokens[end + 1].is("*") || tokens[end + 1].is("&"))) {
        std::string_view name;
        for (std::size_t k = end + 1; !tokens[k].is(")"); ++k)
          if (tokens[k].kind == Kind::kWord && !is_part_of_a_type(tokens[k].text))
            name = tokens[k].text;
        return name;
      }
      ++depth;
    }
    if (tokens[end].is(")") || tokens[end].is("]")) --depth;
  }
  while (end > range.begin && tokens[end - 1].is("]")) {
    while (!tokens[end - 1].is("[")) --end;
    --end;
  }
  if (end <= range.begin + 1) return "";
  const Token& last = tokens[end - 1];
  const Token& before = tokens[end - 2];
  if (last.kind != Kind::kWord || is_part_of_a_type(last.text) || before.is("::")) return "";
  bool has_type = false;
  for (std::size_t k = range.begin; k + 1 < end; ++k)
    has_type |= tokens[k].kind == Kind::kWord && !is_qualifier(tokens[k].text);
  if (!has_type) return "";
  *is_pack = before.is(".");
  return last.text;
}

}  // namespace

std::size_t closing(const Source& source, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < source.tokens.size(); ++i) {
    if (opens(source.tokens[i])) ++depth;
    if (closes(source.tokens[i]) && --depth == 0) return i;
  }
  fail(source, source.tokens[open], "this bracket is never closed");
}

std::string text_of(const Source& source, const std::vector<std::size_t>& tokens, std::size_t begin,
                    std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    const Token& t = source.tokens[tokens[i]];
    if (i > begin && source.tokens[tokens[i - 1]].end() != t.at) text += ' ';
    text += t.text;
  }
  return text;
}

std::string flat(const Source& source, std::size_t begin, std::size_t end) {
  std::vector<std::size_t> kept;
  for (std::size_t i = begin; i < end; ++i)
    if (source.tokens[i].kind != Kind::kDirective) kept.push_back(i);
  return text_of(source, kept, 0, kept.size());
}

std::string lines_of(const Source& source, std::size_t begin, std::size_t end) {
  std::string lines;
  bool is_directive = false;
  bool is_line_start = begin == 0 || source.text[begin - 1] == '\n';
  for (std::size_t i = begin; i < end; ++i) {
    const char c = source.text[i];
    if (is_line_start && c == '#') is_directive = true;
    if (c == '\n' || is_directive) lines += c;
    if (c == '\n') is_directive = false;
    is_line_start = c == '\n';
  }
  return lines;
}

std::string string_literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string site_of(const Source& source, const Token& token) {
  return "{" + string_literal(source.files[static_cast<std::size_t>(token.file)]) + ", "
         + std::to_string(token.line) + "}";
}

std::vector<Range> split(const Source& source, std::size_t begin, std::size_t end) {
  const Tokens& tokens = source.tokens;
  std::vector<Range> parts;
  std::size_t first = begin;
  int depth = 0, angles = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (opens(tokens[i])) ++depth;
    if (closes(tokens[i])) --depth;
    if (depth == 0 && tokens[i].is("<") && i > begin && tokens[i - 1].kind == Kind::kWord) ++angles;
    if (depth == 0 && angles > 0 && tokens[i].is(">")) --angles;
    if (depth == 0 && tokens[i].is(">>>")) angles = std::max(0, angles - 3);
    if (depth == 0 && angles == 0 && tokens[i].is(",")) {
      parts.push_back({first, i});
      first = i + 1;
    }
  }
  if (first < end) parts.push_back({first, end});
  return parts;
}

std::string parameter_types(const Source& source, std::size_t begin, std::size_t end,
                            bool* are_known) {
  std::string types;
  *are_known = true;
  if (end == begin + 1 && source.tokens[begin].is("void")) return types;
  for (const Range& range : split(source, begin, end)) {
    bool is_pack = false;
    const std::string_view name = name_of(source.tokens, range, &is_pack);
    if (name.empty()) {
      *are_known = false;
      return "";
    }
    if (!types.empty()) types += ", ";
    types += "decltype(" + std::string(name) + ")" + (is_pack ? "..." : "");
  }
  return types;
}

std::size_t closing_angle(const Source& source, std::size_t open) {
  const Tokens& tokens = source.tokens;
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.kind != Kind::kSign) continue;
    if (t.is(";") || t.is("{") || closes(t)) break;
    if (opens(t)) i = closing(source, i);
    if (t.is("<")) ++depth;
    if (t.is(">") || t.is(">>")) depth -= static_cast<int>(t.text.size());
    if (depth <= 0) return i;
  }
  return tokens.size();
}

std::set<std::string_view> function_templates(const Source& source) {
  const Tokens& tokens = source.tokens;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].is_system || !tokens[i].is("template") || !tokens[i + 1].is("<")) continue;
    i = closing_angle(source, i + 1) + 1;
    while (i < tokens.size() && !tokens[i].is("(") && !tokens[i].is(";") && !tokens[i].is("{")) ++i;
    if (i < tokens.size() && tokens[i].is("(") && tokens[i - 1].kind == Kind::kWord)
      names.insert(tokens[i - 1].text);
  }
  return names;
}

}  // namespace tenon::nvcc
