// The one exception of the engine: a code, and a text that says what, where, why and what to do.
#pragma once

#include <NvInferRuntimeBase.h>
#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace tenon {

using nvinfer1::ErrorCode;

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// Throws an Error; the text is formatted as fmt::format does.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(code, fmt::format(text, std::forward<Args>(args)...));
}

/// Throws kINVALID_ARGUMENT unless `condition`.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) fail(ErrorCode::kINVALID_ARGUMENT, text, std::forward<Args>(args)...);
}

/// Runs `body` and puts `where` in front of the text of any Error that leaves it.
template <class Body> decltype(auto) with_context(const std::string& where, Body&& body) {
  try {
    return body();
  } catch (const Error& e) {
    throw Error(e.code(), where + ": " + e.what());
  }
}

}  // namespace tenon
