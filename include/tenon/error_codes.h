// Error codes: what kinds of errors there are, and what to do about each. A message ends with the
// code of its kind, as in "[TN2002]", and `tenon explain TN2002` says what is here.
#ifndef TENON_ERROR_CODES_H
#define TENON_ERROR_CODES_H

namespace tenon {

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
