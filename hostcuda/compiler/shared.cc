/// Declarations of shared memory.
#include "hostcuda/compiler/shared.h"

#include <algorithm>

namespace tenon::nvcc {
namespace {

bool ends_statement(const Token& t) {
  return t.is(";") || t.is("{") || t.is("}") || t.is(":") || t.is(")")
         || t.kind == Kind::kDirective;
}

// Where the declaration begins that the token at `at` is in. An alignment belongs to it.
std::size_t begin_of(const Source& source, std::size_t at) {
  const Tokens& tokens = source.tokens;
  while (at > 0) {
    if (!ends_statement(tokens[at - 1])) {
      --at;
      continue;
    }
    if (!tokens[at - 1].is(")")) break;
    std::size_t open = at - 1;
    for (int depth = 0; open > 0; --open) {
      if (tokens[open].is(")")) ++depth;
      if (tokens[open].is("(") && --depth == 0) break;
    }
    if (open == 0 || (!tokens[open - 1].is("alignas") && !tokens[open - 1].is("__attribute__")))
      break;
    at = open - 1;
  }
  return at;
}

// Tokens of the declaration that say what is declared, without those that say where it lies.
std::vector<std::size_t> meaningful(const Source& source, std::size_t begin, std::size_t end,
                                    bool keeps_alignment, bool* is_extern) {
  std::vector<std::size_t> kept;
  for (std::size_t i = begin; i < end; ++i) {
    const Token& t = source.tokens[i];
    if (t.is("extern")) *is_extern = true;
    if (t.is("extern") || t.is("static") || t.is("__shared__") || t.kind == Kind::kDirective)
      continue;
    const bool is_alignment = t.is("alignas") || t.is("__attribute__");
    if (is_alignment || t.is("decltype")) {
      const std::size_t close = closing(source, i + 1);
      if (!is_alignment || keeps_alignment)
        for (; i <= close; ++i) kept.push_back(i);
      i = close;
      continue;
    }
    kept.push_back(i);
  }
  return kept;
}

// Places in `kept` of the declared names: the words in front of [ , = and the end, in no brackets.
std::vector<std::size_t> names_in(const Source& source, const std::vector<std::size_t>& kept) {
  std::vector<std::size_t> names;
  int depth = 0, angles = 0;
  bool is_named = false;
  for (std::size_t i = 0; i <= kept.size(); ++i) {
    const Token* t = i < kept.size() ? &source.tokens[kept[i]] : nullptr;
    const Token* before = i > 0 ? &source.tokens[kept[i - 1]] : nullptr;
    const bool is_end = t == nullptr || t->is("[") || t->is(",") || t->is("=");
    if (depth == 0 && angles == 0 && is_end) {
      if (!is_named && before && before->kind == Kind::kWord) {
        names.push_back(i - 1);
        is_named = true;
      }
      if (t && t->is(",")) is_named = false;
    }
    if (!t) break;
    if (t->is("(") || t->is("{") || t->is("[")) ++depth;
    if (t->is(")") || t->is("}") || t->is("]")) --depth;
    if (depth == 0 && t->is("<")) ++angles;
    if (depth == 0 && t->is(">") && angles > 0) --angles;
    if (depth == 0 && t->is(">>>")) angles = std::max(0, angles - 3);
  }
  return names;
}

// A lambda that captures by value would copy the memory, of which it must see the original.
void require_no_copies(const Source& source, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i + 2 < source.tokens.size() && depth >= 0; ++i) {
    if (source.tokens[i].is("{")) ++depth;
    if (source.tokens[i].is("}")) --depth;
    if (source.tokens[i].is("[") && source.tokens[i + 1].is("=")
        && (source.tokens[i + 2].is("]") || source.tokens[i + 2].is(",")))
      fail(source, source.tokens[i],
           "[=] where __shared__ memory is declared is not supported yet: capture by reference");
  }
}

std::string dynamic(const Source& source, const std::vector<std::size_t>& kept, std::size_t at,
                    bool is_at_namespace) {
  const std::vector<std::size_t> names = names_in(source, kept);
  if (names.size() != 1 || names[0] == 0 || names[0] + 2 >= kept.size()
      || !source.tokens[kept[names[0] + 1]].is("["))
    fail(source, source.tokens[at], "extern __shared__ is supported for one array without a size");
  const std::string name(source.tokens[kept[names[0]]].text);
  const std::string type = text_of(source, kept, 0, names[0]);
  const std::string rest = text_of(source, kept, names[0] + 3, kept.size());  // of [][N]
  const std::string memory = kNamespace + "dynamic_shared_memory()";
  if (is_at_namespace)
    return "[[maybe_unused]] static " + kNamespace + "DynamicShared<" + type + "> " + name + ";";
  if (rest.empty())
    return "[[maybe_unused]] " + type + "* const " + name + " = static_cast<" + type + "*>("
           + memory + ");";
  return "[[maybe_unused]] " + type + " (*const " + name + ")" + rest + " = static_cast<" + type
         + " (*)" + rest + ">(" + memory + ");";
}

}  // namespace

SharedDeclaration read_shared(const Source& source, std::size_t at, bool is_at_namespace,
                              int* next) {
  const std::size_t begin = begin_of(source, at);
  std::size_t end = at;
  while (!source.tokens[end].is(";")) {
    const Token& t = source.tokens[end];
    end = t.is("(") || t.is("[") || t.is("{") ? closing(source, end) + 1 : end + 1;
    if (end >= source.tokens.size()) fail(source, source.tokens[at], "no ; follows __shared__");
  }
  bool is_extern = false;
  meaningful(source, begin, end, true, &is_extern);
  const std::vector<std::size_t> kept = meaningful(source, begin, end, !is_extern, &is_extern);
  if (is_extern) return {begin, end, dynamic(source, kept, at, is_at_namespace)};

  const std::vector<std::size_t> names = names_in(source, kept);
  if (is_at_namespace || names.empty() || names[0] == 0)
    fail(source, source.tokens[at], "this form of __shared__ is not supported yet");
  require_no_copies(source, end);
  // A type with the declaration as its member: whatever the declaration is, it is read by the
  // compiler. Each variable is by itself, if what it is can be said twice.
  const std::string specifiers = text_of(source, kept, 0, names[0]);
  const bool is_one = specifiers.find('{') != std::string::npos;
  std::string text;
  std::size_t first = names[0];
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name(source.tokens[kept[names[i]]].text);
    const std::string type = "tenon_shared_" + std::to_string(*next);
    if (!is_one || i == 0) {
      std::size_t last = kept.size();
      if (!is_one && i + 1 < names.size()) {
        last = names[i] + 1;
        for (int depth = 0; depth > 0 || !source.tokens[kept[last]].is(","); ++last) {
          if (source.tokens[kept[last]].is("[")) ++depth;
          if (source.tokens[kept[last]].is("]")) --depth;
        }
      }
      text += "struct " + type + " { " + specifiers + " " + text_of(source, kept, first, last)
              + "; }; ";
      first = last + 1;
      if (!is_one) ++*next;
    }
    text += "[[maybe_unused]] auto& " + name + " = " + kNamespace + "shared<" + type + ">(\"" + name
            + "\", " + site_of(source, source.tokens[at]) + ")." + name + "; ";
  }
  if (is_one) ++*next;
  return {begin, end, text};
}

}  // namespace tenon::nvcc
