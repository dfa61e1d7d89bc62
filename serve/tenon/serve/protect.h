// Where exceptions of the application's code end: whatever it throws is an error.
#ifndef TENON_SERVE_PROTECT_H
#define TENON_SERVE_PROTECT_H

#include <tenon/session/result.h>

#include <exception>
#include <new>

namespace tenon::serve {

using session::Error;

namespace detail {

/// The error of the exception that is being handled. Without memory for its text it says so, in as
/// few letters as need none.
inline Error current_error() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
    } catch (const Error& error) {
      return error;
    } catch (const std::exception& exception) {
      return Error{exception.what()};
    } catch (...) {
      return Error{"an exception of an unknown type"};
    }
  } catch (const std::bad_alloc&) {}
  return Error{"out of memory"};
}

/// What `call` returns; what it throws is an error.
template <class T, class Call> T protect(const Call& call) noexcept {
  try {
    return call();
  } catch (...) {
    return current_error();
  }
}

}  // namespace detail
}  // namespace tenon::serve

#endif  // TENON_SERVE_PROTECT_H
