// Shapes and orders of dimensions as arguments.
#pragma once

#include <NvInfer.h>
#include <nanobind/nanobind.h>

#include <exception>
#include <type_traits>
#include <vector>

namespace nb = nanobind;

namespace tenon::python {

/// A shape from a sequence of at most 8 integers. Throws what users are to see.
void read(nb::sequence values, nvinfer1::Dims& dims);
/// The same for exactly two.
void read(nb::sequence values, nvinfer1::DimsHW& size);
/// An order of dimensions from a sequence of at most 8 integers.
void read(nb::sequence values, nvinfer1::Permutation& order);

/// The elements of a shape tensor.
using ShapeValues = std::vector<int64_t>;
void read(nb::sequence values, ShapeValues& elements);

/// A T as an argument: an object of the class or a sequence of integers. What read() throws comes
/// out when it is used, so that users see it.
template <class T> struct Given {
  T value{};
  std::exception_ptr fault;

  const T& get() const {
    if (fault != nullptr) std::rethrow_exception(fault);
    return value;
  }
};

}  // namespace tenon::python

namespace nanobind::detail {

template <class T> struct type_caster<tenon::python::Given<T>> {
  static constexpr bool kIsClass = !std::is_same_v<T, tenon::python::ShapeValues>;
  static constexpr auto name() {
    if constexpr (kIsClass)
      return make_caster<T>::Name + const_name(" | collections.abc.Sequence[int]");
    else
      return const_name("collections.abc.Sequence[int]");
  }
  NB_TYPE_CASTER(tenon::python::Given<T>, name())

  bool from_python(handle source, uint32_t flags, cleanup_list*) noexcept {
    if constexpr (kIsClass) {
      if (isinstance<T>(source)) {
        value.value = *inst_ptr<T>(source);
        return true;
      }
    }
    if ((flags & cast_flags::convert) == 0 || !PySequence_Check(source.ptr())
        || PyUnicode_Check(source.ptr()) || PyBytes_Check(source.ptr()))
      return false;
    try {
      tenon::python::read(borrow<sequence>(source), value.value);
    } catch (...) {
      value.fault = std::current_exception();
    }
    return true;
  }
};

}  // namespace nanobind::detail
