/// Preprocessed C++ as a list of tokens.
#include "hostcuda/compiler/lexer.h"

#include <cctype>
#include <map>

namespace tenon::nvcc {
namespace {

bool begins_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80);
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c));
}
bool continues_word(char c) {
  return begins_word(c) || is_digit(c);
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) {
    source_.text = text;
    source_.files.emplace_back("<source>");
    source_.tokens.reserve(text.size() / 5);
  }

  Source read() {
    while (skip_space()) {
      const std::size_t begin = at_;
      const Kind kind = read_token();
      const std::string_view text = source_.text.substr(begin, at_ - begin);
      if (kind != Kind::kDirective || !follow(text)) add(kind, begin);
      is_line_start_ = false;
    }
    return std::move(source_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.text.size() ? source_.text[at_ + ahead] : '\0';
  }

  bool skip_space() {
    for (; at_ < source_.text.size() && std::isspace(static_cast<unsigned char>(peek())); ++at_)
      if (peek() == '\n') {
        ++line_;
        is_line_start_ = true;
      }
    return at_ < source_.text.size();
  }

  void add(Kind kind, std::size_t begin) {
    source_.tokens.push_back(
        {kind, source_.text.substr(begin, at_ - begin), begin, token_line_, file_, is_system_});
  }

  Kind read_token() {
    token_line_ = line_;
    const char c = peek();
    if (c == '#' && is_line_start_) {
      while (at_ < source_.text.size() && peek() != '\n') ++at_;
      return Kind::kDirective;
    }
    if (begins_word(c)) {
      const std::size_t begin = at_;
      while (continues_word(peek())) ++at_;
      const std::string_view word = source_.text.substr(begin, at_ - begin);
      if (peek() == '"'
          && (word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R"))
        return read_raw();
      return Kind::kWord;
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return read_number();
    if (c == '"' || c == '\'') return read_quoted(c);
    return read_sign();
  }

  Kind read_number() {
    while (continues_word(peek()) || peek() == '.' || (peek() == '\'' && continues_word(peek(1)))) {
      const char c = peek();
      ++at_;
      if ((c == 'e' || c == 'E' || c == 'p' || c == 'P') && (peek() == '+' || peek() == '-')) ++at_;
    }
    return Kind::kNumber;
  }

  Kind read_quoted(char quote) {
    for (++at_; peek() != quote; ++at_) {
      if (at_ >= source_.text.size() || peek() == '\n') {
        // An apostrophe in a line of assembly, or a directive's text: no literal.
        return Kind::kSign;
      }
      if (peek() == '\\') ++at_;
    }
    ++at_;
    return Kind::kText;
  }

  // At the quote of R"delimiter( ... )delimiter".
  Kind read_raw() {
    const std::size_t open = source_.text.find('(', at_);
    if (open == std::string_view::npos) return Kind::kSign;
    const std::string closing =
        ")" + std::string(source_.text.substr(at_ + 1, open - at_ - 1)) + "\"";
    std::size_t end = source_.text.find(closing, open);
    end = end == std::string_view::npos ? source_.text.size() : end + closing.size();
    for (; at_ < end; ++at_) line_ += source_.text[at_] == '\n';
    return Kind::kText;
  }

  Kind read_sign() {
    const std::string_view rest = source_.text.substr(at_, 3);
    for (const std::string_view sign : {"<<<", ">>>", "::", "->", "&&", "||"})
      if (rest.substr(0, sign.size()) == sign) {
        at_ += sign.size();
        return Kind::kSign;
      }
    ++at_;
    return Kind::kSign;
  }

  // # 12 "file.cu" 1 3, or #line: the next line is this one of that file. With 1 it is entered,
  // with 3 it is the system's; 3 alone may come from a macro of the system. False for other
  // directives.
  bool follow(std::string_view rest) {
    rest.remove_prefix(1);
    const auto skip = [&] {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    };
    skip();
    if (rest.substr(0, 4) == "line") rest.remove_prefix(4), skip();
    if (rest.empty() || !is_digit(rest[0])) return false;
    line_ = std::stoi(std::string(rest.substr(0, rest.find(' ')))) - 1;
    const std::size_t open = rest.find('"'), close = rest.rfind('"');
    if (open == std::string_view::npos || close == open) return true;
    const std::string name(rest.substr(open + 1, close - open - 1));
    const auto [found, is_new] =
        known_.try_emplace(name, File{static_cast<int>(source_.files.size()), false});
    const std::string_view flags = rest.substr(close);
    if (is_new) {
      source_.files.push_back(name);
      found->second.is_system = flags.find(" 1 3") != std::string_view::npos;
    }
    file_ = found->second.index;
    is_system_ = found->second.is_system;
    return true;
  }

  struct File {
    int index;
    bool is_system;
  };
  Source source_;
  std::map<std::string, File> known_;
  std::size_t at_ = 0;
  int line_ = 1, token_line_ = 1, file_ = 0;
  bool is_system_ = false, is_line_start_ = true;
};

}  // namespace

Source read_source(std::string_view text) {
  return Lexer(text).read();
}

void fail(const Source& source, const Token& token, const std::string& what) {
  throw Failure{source.place(token) + ": error: " + what};
}

}  // namespace tenon::nvcc
