#include "migrate/tokens.h"

#include <cctype>
#include <string>

namespace tenon::migrate {
namespace {

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool in_name(char c) {
  return begins_name(c) || is_digit(c);
}

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  std::vector<Token> read() {
    while (at_ < source_.size()) {
      if (std::isspace(static_cast<unsigned char>(source_[at_])) != 0 || continues_line())
        ++at_;
      else if (starts("//"))
        skip_line_comment();
      else if (starts("/*"))
        skip_to("*/");
      else
        read_token();
    }
    return std::move(tokens_);
  }

 private:
  bool starts(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  bool continues_line() const { return starts("\\\n") || starts("\\\r\n"); }
  char next(size_t n = 1) const { return at_ + n < source_.size() ? source_[at_ + n] : '\0'; }
  void skip_to(std::string_view end) {
    const size_t found = source_.find(end, at_ + 2);
    at_ = found == std::string_view::npos ? source_.size() : found + end.size();
  }
  // A backslash before the line's end continues the comment.
  void skip_line_comment() {
    while (at_ < source_.size() && source_[at_] != '\n') at_ += continues_line() ? 2 : 1;
  }
  void add(Token::Kind kind, size_t begin) {
    tokens_.push_back({kind, source_.substr(begin, at_ - begin), begin});
  }

  void read_token() {
    const size_t begin = at_;
    if (starts("#")) return read_directive();
    if (begins_name(source_[at_])) {
      while (at_ < source_.size() && in_name(source_[at_])) ++at_;
      const std::string_view name = source_.substr(begin, at_ - begin);
      const bool is_raw = name.ends_with('R') && name.size() <= 3 && starts("\"");
      const bool is_prefix = name == "u8" || name == "u" || name == "U" || name == "L";
      if (is_raw) return read_raw(begin);
      if (is_prefix && (starts("\"") || starts("'"))) return read_text(begin);
      return add(Token::Kind::kName, begin);
    }
    if (is_digit(source_[at_]) || (source_[at_] == '.' && is_digit(next()))) {
      // Exponents have signs, and quotes part digits.
      const auto is_signed = [&] {
        return (source_[at_] == '+' || source_[at_] == '-')
               && std::string_view("eEpP").find(source_[at_ - 1]) != std::string_view::npos;
      };
      while (at_ < source_.size()
             && (in_name(source_[at_]) || source_[at_] == '.' || is_signed()
                 || (source_[at_] == '\'' && in_name(next()))))
        ++at_;
      return add(Token::Kind::kNumber, begin);
    }
    if (source_[at_] == '"' || source_[at_] == '\'') return read_text(begin);
    at_ += starts("::") || starts("->") ? 2 : 1;
    add(Token::Kind::kMark, begin);
  }

  // A text without a closing quote ends with its line.
  void read_text(size_t begin) {
    const char quote = source_[at_++];
    while (at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n')
      at_ += source_[at_] == '\\' && at_ + 1 < source_.size() ? 2 : 1;
    if (at_ < source_.size() && source_[at_] == quote) ++at_;
    add(Token::Kind::kText, begin);
  }

  void read_raw(size_t begin) {
    const size_t open = source_.find('(', at_);
    const size_t end = open == std::string_view::npos ? source_.size() : open;
    const std::string close = ")" + std::string(source_.substr(at_ + 1, end - at_ - 1)) + "\"";
    const size_t found = source_.find(close, end);
    at_ = found == std::string_view::npos ? source_.size() : found + close.size();
    add(Token::Kind::kText, begin);
  }

  void read_directive() {
    size_t at = at_ + 1;
    const auto skip = [&] {
      while (at < source_.size() && (source_[at] == ' ' || source_[at] == '\t')) ++at;
    };
    skip();
    if (source_.substr(at).starts_with("include")) {
      at += std::string_view("include").size();
      skip();
      const char close = at >= source_.size() ? '\0'
                         : source_[at] == '<' ? '>'
                         : source_[at] == '"' ? '"'
                                              : '\0';
      const size_t end = close == '\0' ? std::string_view::npos : source_.find(close, at + 1);
      if (end != std::string_view::npos
          && source_.substr(at, end - at).find('\n') == std::string_view::npos) {
        tokens_.push_back({Token::Kind::kInclude, source_.substr(at + 1, end - at - 1), at + 1});
        at_ = end + 1;
        return;
      }
    }
    ++at_;
    tokens_.push_back({Token::Kind::kMark, source_.substr(at_ - 1, 1), at_ - 1});
  }

  const std::string_view source_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) {
  return Reader(source).read();
}

}  // namespace tenon::migrate
