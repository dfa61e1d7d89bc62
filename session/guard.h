// Where exceptions end: inside the library errors are thrown, across its interface they are values.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "tenon/session/result.h"

namespace tenon::session {

/// What `call` returns, or the Error that it throws.
template <class Call> auto guard(Call&& call) noexcept -> Result<std::invoke_result_t<Call>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Call>>) {
      call();
      return {};
    } else {
      return call();
    }
  } catch (Error& error) {
    return std::move(error);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {     // of a container that would be larger than memory
  } catch (const std::exception& cause) {  // of the standard library: files, threads
    return Error{cause.what()};
  }
  return Error{"out of memory"};  // without a code, so short that a string needs no memory for it
}

/// The value of a result; throws its Error. For use under guard().
template <class T> T value_of(Result<T> result) {
  if (!result) throw Error{result.error()};
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace tenon::session
