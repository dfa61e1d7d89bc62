// What Python objects keep alive for the engine, where the garbage collector sees it.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>

namespace nb = nanobind;

namespace tenon::python {

/// Makes `owner`, an object of a class with kKeeper, keep `object` until it goes.
void keep(nb::handle owner, nb::handle object);

/// The same in place of what it kept as `role`; None: nothing from now on.
void keep_as(nb::handle owner, nb::handle role, nb::handle object);

/// Makes `child` keep the object that made it, and what that object keeps now: the child may go on
/// to use it when its parent has been given something else.
void keep_parent(nb::handle child, nb::handle parent);

/// Shows the garbage collector what an object keeps. Nothing is cleared, as C++ objects go before
/// what they use: a cycle leads through an object of the user's, where it is broken.
int visit_kept(PyObject* self, visitproc visit, void* arg);

/// For nb::type_slots of classes whose objects keep others.
inline PyType_Slot kKeeper[] = {{Py_tp_traverse, reinterpret_cast<void*>(&visit_kept)},
                                {0, nullptr}};

/// A call policy: argument or result (0) `owner` keeps `object`, both counted from 1, as
/// nb::keep_alive<> counts.
template <size_t owner, size_t object> struct Keeps {
  static void precall(PyObject**, size_t, nb::detail::cleanup_list*) {}
  static void postcall(PyObject** arguments, size_t, nb::handle result) {
    keep(owner == 0 ? result : nb::handle(arguments[owner - 1]), arguments[object - 1]);
  }
};
template <size_t owner, size_t object> using keeps = nb::call_policy<Keeps<owner, object>>;

/// A call policy: the result keeps the object whose method made it.
struct OfParent {
  static void precall(PyObject**, size_t, nb::detail::cleanup_list*) {}
  static void postcall(PyObject** arguments, size_t, nb::handle result) {
    keep_parent(result, arguments[0]);
  }
};
using of_parent = nb::call_policy<OfParent>;

/// The name of a role as a template argument.
template <size_t size> struct Role {
  char name[size];
  constexpr Role(const char (&text)[size]) { std::copy_n(text, size, name); }  // NOLINT: implicit
};

/// A call policy of setters, which may give False: the object keeps argument `value` in place of
/// what was set before, for each value of argument `name` if there is one.
template <Role role, size_t value, size_t name> struct KeepsAs {
  static nb::object role_of(PyObject** arguments, bool is_set) {
    return nb::make_tuple(role.name, is_set, nb::handle(name > 0 ? arguments[name - 1] : Py_None));
  }
  // Kept from now on, as a setter may raise after it has set it.
  static void precall(PyObject** arguments, size_t, nb::detail::cleanup_list*) {
    keep_as(arguments[0], role_of(arguments, false), arguments[value - 1]);
  }
  static void postcall(PyObject** arguments, size_t, nb::handle result) {
    if (!result.is(Py_False)) keep_as(arguments[0], role_of(arguments, true), arguments[value - 1]);
    keep_as(arguments[0], role_of(arguments, false), nb::none());
  }
};
template <Role role, size_t value = 2, size_t name = 0>
using keeps_as = nb::call_policy<KeepsAs<role, value, name>>;

}  // namespace tenon::python
