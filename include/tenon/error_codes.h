// Error codes: what kinds of errors there are, and what to do about each. A message ends with the
// code of its kind, as in "[TN2002]", and `tenon explain TN2002` says what is here.
#ifndef TENON_ERROR_CODES_H
#define TENON_ERROR_CODES_H

#include <stdexcept>
#include <string>

namespace tenon {

/// The rows of error_codes.inc, by number.
enum class ErrorClass : int {
#define TENON_ERROR_CODE(number, name, code, what, why, remedy) name = number,
#include "tenon/error_codes.inc"
#undef TENON_ERROR_CODE
};

/// An error whose kind is known. Its text has no code yet.
class CodedError : public std::runtime_error {
 public:
  CodedError(ErrorClass error_class, const std::string& text)
      : std::runtime_error(text), class_(error_class) {}
  ErrorClass error_class() const { return class_; }

 private:
  ErrorClass class_;
};

/// That of a CodedError; kCommand for what the standard library throws.
inline ErrorClass class_of(const std::exception& error) {
  const auto* const coded = dynamic_cast<const CodedError*>(&error);
  return coded != nullptr ? coded->error_class() : ErrorClass::kCommand;
}

/// The text with the code behind it, "it failed [TN1001]"; as it is where it has a code already.
inline std::string with_code(const std::string& text, ErrorClass error_class) {
  if (text.find("[TN") != std::string::npos) return text;
  return text + " [TN" + std::to_string(static_cast<int>(error_class)) + "]";
}

/// A kind of errors: what happened, why, and what to do, a sentence or two each.
struct ErrorExplanation {
  int number;  ///< 2002 of TN2002
  const char* what;
  const char* why;
  const char* remedy;
};

inline constexpr ErrorExplanation kErrorCodes[] = {
#define TENON_ERROR_CODE(number, name, code, what, why, remedy) {number, what, why, remedy},
#include "tenon/error_codes.inc"
#undef TENON_ERROR_CODE
};

}  // namespace tenon

#endif  // TENON_ERROR_CODES_H
