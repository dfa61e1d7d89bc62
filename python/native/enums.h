// How TensorRT's enumerations appear in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <initializer_list>
#include <utility>

namespace nb = nanobind;

namespace tenon::python {

/// Gives an enumeration the manners of TensorRT's: `int(e)`, `e.__index__()`, equality with values
/// of its own kind only (two names may mean one value), order by value, a short representation,
/// and `__entries`, the members by their names.
void give_manners(nb::handle enumeration);

/// Binds an enumeration, as a Python Enum, under TensorRT's names.
template <class E>
nb::enum_<E> bind_enum(nb::module_& m, const char* name, const char* doc,
                       std::initializer_list<std::pair<const char*, E>> values) {
  nb::enum_<E> enumeration(m, name, doc);
  for (const auto& [value_name, value] : values) enumeration.value(value_name, value);
  give_manners(enumeration);
  return enumeration;
}

}  // namespace tenon::python
