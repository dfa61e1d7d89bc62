// Text for people to read.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// The text on one line: control characters, which names from files may hold, are spelled as in C
/// ("\n", "\x1b").
std::string one_line(std::string_view text);

/// The same, and where it is long only its beginning and its end: a model can hold names of
/// megabytes, and messages repeat them.
std::string short_line(std::string_view text);

/// What a C function gave as a text, which may be null.
std::string text_or_empty(const char* text);

}  // namespace tenon
