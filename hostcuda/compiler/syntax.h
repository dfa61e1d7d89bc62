/// What the rewriter has to know of C++'s syntax.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hostcuda/compiler/lexer.h"

namespace tenon::nvcc {

using Tokens = std::vector<Token>;

/// The index of the bracket that closes the one at `open`.
/// @throws Failure when there is none.
std::size_t closing(const Source& source, std::size_t open);

/// The text of those tokens whose indices are [begin, end) of a list, on one line. What the source
/// does not part, as ==, stays together.
std::string text_of(const Source& source, const std::vector<std::size_t>& tokens, std::size_t begin,
                    std::size_t end);
/// The text of tokens [begin, end) on one line, without directives.
std::string flat(const Source& source, std::size_t begin, std::size_t end);
/// The line breaks and directives between two places of the text, so that lines stay where they
/// are.
std::string lines_of(const Source& source, std::size_t begin, std::size_t end);
/// {"file", line}
std::string site_of(const Source& source, const Token& token);
/// As a literal.
std::string string_literal(std::string_view text);

/// The parts of tokens [begin, end) between commas that are in no brackets.
struct Range {
  std::size_t begin, end;
};
std::vector<Range> split(const Source& source, std::size_t begin, std::size_t end);

/// The index of the `>` that closes the `<` at `open`; the number of tokens if it opens nothing. It
/// may be the first half of a `>>`.
std::size_t closing_angle(const Source& source, std::size_t open);

/// Names of functions that sources declare as templates.
std::set<std::string_view> function_templates(const Source& source);

/// `decltype(name)`, with `...` for a pack, of a function's parameters in (begin, end); "" if one
/// has no name, which is told by `are_known`.
std::string parameter_types(const Source& source, std::size_t begin, std::size_t end,
                            bool* are_known);

}  // namespace tenon::nvcc
