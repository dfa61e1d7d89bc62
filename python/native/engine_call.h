// Calls between Python and the engine: who holds the GIL, and where exceptions go.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/trampoline.h>

#include <exception>
#include <utility>

#include "enum_caster.h"

namespace nb = nanobind;

namespace tenon::python {

/// What callbacks into Python raised on this thread while the engine was at work for it.
class Raised {
 public:
  Raised() : outer_(std::exchange(current(), this)) {}
  ~Raised() { current() = outer_; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

  /// The innermost call into the engine on this thread; null if there is none.
  static Raised*& current();

  /// Keeps the first exception; needs the GIL.
  void keep(std::exception_ptr exception) {
    if (first_ == nullptr) first_ = std::move(exception);
  }
  /// Whether an exception was kept.
  bool any() const { return first_ != nullptr; }
  /// Throws what was kept; needs the GIL.
  void rethrow() {
    if (first_ != nullptr) std::rethrow_exception(std::exchange(first_, nullptr));
  }

 private:
  Raised* const outer_;
  std::exception_ptr first_;
};

/// Lets a thread rest that has nowhere to go. It is not declared [[noreturn]]: before a call of
/// such a function, AddressSanitizer looks at a stack that is half unwound.
void sleep_for_ever() noexcept;

/// Runs `call`, which takes the GIL or runs Python code. When the interpreter ends meanwhile, the
/// thread sleeps for ever: Python before 3.14 would unwind it, which no C++ frame above expects.
template <class Call> auto unless_python_ends(Call&& call) {
  // No handler: C++ forbids one for what is no exception while another exception is handled.
  struct End {
    const int exceptions = std::uncaught_exceptions();
    bool returned = false;
    ~End() {
      if (!returned && std::uncaught_exceptions() == exceptions) sleep_for_ever();
    }
  } end;
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    end.returned = true;
  } else {
    auto result = call();
    end.returned = true;
    return result;
  }
}

/// A method of a user's Python object, as callbacks call it.
class UserMethod {
 public:
  explicit UserMethod(nb::object method) : method_(std::move(method)) {}
  template <class... Args> nb::object operator()(Args&&... args) const {
    return unless_python_ends([&] { return method_(std::forward<Args>(args)...); });
  }

 private:
  const nb::object method_;
};

/// Without the GIL for as long as it lives.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* const state_;
};

/// With the GIL for as long as it lives, on any thread.
class Held {
 public:
  Held();
  ~Held() { PyGILState_Release(state_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Runs `call`, work of the engine, without the GIL. Then throws what callbacks into Python raised
/// on this thread meanwhile: a plugin, a logger or a monitor of the user.
template <class Call> auto into_engine(Call&& call) {
  Raised raised;
  if constexpr (std::is_void_v<decltype(call())>) {
    {
      const Released released;
      call();
    }
    raised.rethrow();
  } else {
    auto result = [&] {
      const Released released;
      return call();
    }();
    raised.rethrow();
    return result;
  }
}

/// A member function as a binding that goes through into_engine().
template <class Class, class R, class... Args> auto engine_call(R (Class::*function)(Args...)) {
  return [function](Class& self, Args... args) -> R {
    return into_engine([&]() -> R { return (self.*function)(std::forward<Args>(args)...); });
  };
}
template <class Class, class R, class... Args>
auto engine_call(R (Class::*function)(Args...) noexcept) {
  return engine_call(static_cast<R (Class::*)(Args...)>(function));
}
template <class Class, class R, class... Args>
auto engine_call(R (Class::*function)(Args...) const noexcept) {
  return [function](const Class& self, Args... args) -> R {
    return into_engine([&]() -> R { return (self.*function)(std::forward<Args>(args)...); });
  };
}

/// Whether Python can still be called; at exit, the engine outlives the interpreter.
bool python_lives() noexcept;

/// Keeps the exception that a callback is handling for the into_engine() that led here; tells
/// sys.unraisablehook of it if nobody waits on this thread. `where` names the callback.
void keep_or_report(const char* where) noexcept;

/// Runs `call`, a callback of the engine into Python, with the GIL. What it raises is thrown by the
/// into_engine() that led here on this thread; on other threads it goes to sys.unraisablehook.
/// Gives `failure` then. `where` names the callback.
template <class R, class Call> R into_python(R failure, const char* where, Call&& call) noexcept {
  if (!python_lives()) return failure;
  const Held held;
  try {
    return call();
  } catch (...) {
    keep_or_report(where);
    return failure;
  }
}
template <class Call>
  requires std::is_void_v<std::invoke_result_t<Call>>
void into_python(const char* where, Call&& call) noexcept {
  into_python(0, where, [&] {
    call();
    return 0;
  });
}

/// The name of the class of an object, a str.
nb::object class_name(nb::handle object);

/// Throws NotImplementedError: the class of `self` lacks a method.
[[noreturn]] void raise_undefined(nb::handle self, const char* method);

/// Calls the method `name` that the user's class defines instead of a trampoline's; needs the GIL.
/// Throws when there is none.
template <class... Args>
nb::object call_override(const nb::detail::trampoline& trampoline, const char* name,
                         Args&&... args) {
  const nb::detail::ticket ticket(trampoline, name, nb::detail::str_hash(name), false);
  if (!ticket.key.is_valid()) raise_undefined(trampoline.base(), name);
  return UserMethod(trampoline.base().attr(ticket.key))(std::forward<Args>(args)...);
}

/// Whether the user's class defines the method `name`; needs the GIL.
inline bool is_overridden(const nb::detail::trampoline& trampoline, const char* name) {
  const nb::detail::ticket ticket(trampoline, name, nb::detail::str_hash(name), false);
  return ticket.key.is_valid();
}

}  // namespace tenon::python
