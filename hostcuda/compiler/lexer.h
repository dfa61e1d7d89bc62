/// Preprocessed C++ as a list of tokens, each with its place in the original sources.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::nvcc {

enum class Kind { kWord, kNumber, kText, kSign, kDirective };

/// A piece of the source. White space and line markers are between tokens; a directive is another
/// line that starts with #.
struct Token {
  Kind kind;
  std::string_view text;
  std::size_t at;  ///< in the source
  int line;        ///< of the original file
  int file;        ///< an index into Source::files
  bool is_system;  ///< in a header of the system

  std::size_t end() const { return at + text.size(); }
  bool is(std::string_view what) const { return text == what; }
};

struct Source {
  std::string_view text;
  std::vector<std::string> files;
  std::vector<Token> tokens;

  std::string place(const Token& token) const {
    return files[static_cast<std::size_t>(token.file)] + "(" + std::to_string(token.line) + ")";
  }
};

/// @throws Failure for text that ends within a literal.
Source read_source(std::string_view text);

/// An error with its place, as nvcc prints it: "file(line): error: what".
struct Failure {
  std::string text;
};
[[noreturn]] void fail(const Source& source, const Token& token, const std::string& what);

}  // namespace tenon::nvcc
