// A C++ source as tokens, without comments; what texts hold is not looked into.
#ifndef TENON_MIGRATE_TOKENS_H
#define TENON_MIGRATE_TOKENS_H

#include <cstddef>
#include <string_view>
#include <vector>

namespace tenon::migrate {

struct Token {
  enum class Kind { kName, kNumber, kText, kMark, kInclude };
  Kind kind;
  std::string_view text;  // of the source; of kInclude the file between < > or " "
  size_t at = 0;          // in bytes from the source's begin
};

/// Names, numbers, texts ("…", '…', raw ones, with their prefixes), marks (:: and -> as one, others
/// a character each), and files of #include. Lines of other directives are tokens like others. A
/// source that ends within a comment or text has its last token there.
/// @param source outlives the tokens.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace tenon::migrate

#endif  // TENON_MIGRATE_TOKENS_H
