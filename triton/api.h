// Triton's functions with errors as exceptions.
#pragma once

#include <tenon/session/result.h>

#include <string>

#include "abi.h"
#include "guard.h"

namespace tenon::triton {

using session::Error;

/// Throws what an error says, and frees it; null is success.
inline void check(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  Error thrown{TRITONSERVER_ErrorMessage(error)};
  TRITONSERVER_ErrorDelete(error);
  throw thrown;
}

/// What a function gives for an object: `get(TRITONBACKEND_ModelVersion, model)`.
template <class Object, class Value>
Value get(TRITONSERVER_Error* (*function)(Object*, Value*), Object* object) {
  Value value{};
  check(function(object, &value));
  return value;
}

inline void log(TRITONSERVER_LogLevel level, const std::string& line) {
  TRITONSERVER_Error* const error = TRITONSERVER_LogMessage(level, "tenon", 0, line.c_str());
  if (error != nullptr) TRITONSERVER_ErrorDelete(error);
}

/// For errors after which there is nothing to do but to say so.
template <class Call> void or_log(const Call& call) noexcept {
  const auto done = session::guard(call);
  if (!done) (void)session::guard([&] { log(TRITONSERVER_LOG_ERROR, done.error()); });
}

/// Calls, and makes an error of what is thrown.
template <class Call> TRITONSERVER_Error* guarded(const Call& call) noexcept {
  const auto done = session::guard(call);
  return done ? nullptr
              : TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, done.error().c_str());
}

}  // namespace tenon::triton
