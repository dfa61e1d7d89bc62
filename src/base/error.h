// The one exception of the engine: a code, and a text that says what, where, why and what to do.
#pragma once

#include <NvInferRuntimeBase.h>
#include <fmt/format.h>

#include <string>

#include "tenon/error_codes.h"

namespace tenon {

using nvinfer1::ErrorCode;

/// The class of an error of which no more is known than TensorRT's code.
constexpr ErrorClass class_of(ErrorCode code) {
  return static_cast<ErrorClass>(1000 + static_cast<int>(code));
}
constexpr ErrorCode code_of(ErrorClass error_class) {
  switch (error_class) {
#define TENON_ERROR_CODE(number, name, code, what, why, remedy) \
  case ErrorClass::name:                                        \
    return ErrorCode::code;
#include "tenon/error_codes.inc"
#undef TENON_ERROR_CODE
  }
  return ErrorCode::kUNSPECIFIED_ERROR;
}

class Error : public CodedError {
 public:
  Error(ErrorCode code, const std::string& text) : Error(code, class_of(code), text) {}
  Error(ErrorClass error_class, const std::string& text)
      : Error(code_of(error_class), error_class, text) {}
  Error(ErrorCode code, ErrorClass error_class, const std::string& text)
      : CodedError(error_class, text), code_(code) {}
  ErrorCode code() const { return code_; }
  /// The same error with another text.
  Error with_text(const std::string& text) const { return {code_, error_class(), text}; }

 private:
  ErrorCode code_;
};

/// Throws an Error; the text is formatted as fmt::format does.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(code, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
[[noreturn]] void fail(ErrorClass error_class, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(error_class, fmt::format(text, std::forward<Args>(args)...));
}

/// Throws kINVALID_ARGUMENT unless `condition`.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) fail(ErrorCode::kINVALID_ARGUMENT, text, std::forward<Args>(args)...);
}
template <class... Args>
void require(bool condition, ErrorClass error_class, fmt::format_string<Args...> text,
             Args&&... args) {
  if (!condition) fail(error_class, text, std::forward<Args>(args)...);
}

/// Runs `body` and puts `where` in front of the text of any Error that leaves it.
template <class Body> decltype(auto) with_context(const std::string& where, Body&& body) {
  try {
    return body();
  } catch (const Error& e) {
    throw e.with_text(where + ": " + e.what());
  }
}

/// Runs `body`; an Error of kINVALID_ARGUMENT that leaves it and has no class of its own gets this
/// one.
template <class Body> decltype(auto) in_class(ErrorClass error_class, Body&& body) {
  try {
    return body();
  } catch (const Error& e) {
    if (e.error_class() != ErrorClass::kArgument) throw;
    throw Error(e.code(), error_class, e.what());
  }
}

}  // namespace tenon
