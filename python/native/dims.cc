// Dims, its fixed sizes, and Permutation: short sequences of integers.
#include "dims.h"

#include <algorithm>
#include <string>

#include "bind.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

constexpr int64_t kMaxRank = Dims::MAX_DIMS;

/// `error` begins the text for something else than an integer, and `advice` ends it.
int64_t to_integer(nb::handle object, const char* error, const char* advice) {
  if (!PyIndex_Check(object.ptr())) {
    throw nb::type_error(
        (std::string(error) + nb::type_name(object.type()).c_str() + advice).c_str());
  }
  const nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
  if (!integer.is_valid()) throw nb::python_error();
  const int64_t value = PyLong_AsLongLong(integer.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

/// Writes the integers of a sequence to `first`; gives how many there are, at most kMaxRank.
template <class Integer> int32_t read_integers(nb::sequence values, Integer* first) {
  const auto count = static_cast<int64_t>(nb::len(values));
  if (count > kMaxRank) {
    throw nb::value_error(("Input length " + std::to_string(count) + ". Max expected length is "
                           + std::to_string(kMaxRank))
                              .c_str());
  }
  for (int64_t i = 0; i < count; ++i)
    first[i] = static_cast<Integer>(
        to_integer(values[i], "a dimension is an int, not a ", "; -1 stands for one that varies"));
  return static_cast<int32_t>(count);
}

/// Writes a sequence to a shape with a fixed number of dimensions.
template <class Fixed> void read_fixed(nb::sequence values, Fixed& shape, const char* name) {
  Dims given;
  read(values, given);
  if (given.nbDims != shape.nbDims) {
    throw nb::value_error(("Input length " + std::to_string(given.nbDims)
                           + " not equal to expected " + name + " length, which is "
                           + std::to_string(shape.nbDims))
                              .c_str());
  }
  std::copy_n(given.d, given.nbDims, shape.d);
}

/// The dimensions that count; a shape that was never set (nbDims -1) has none.
int64_t length(const Dims& dims) {
  return std::max(dims.nbDims, 0);
}

int64_t checked_index(int64_t index, int64_t count) {
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw nb::index_error("Out of bounds");
  return index;
}

nb::tuple to_tuple(const Dims& dims) {
  nb::list values;
  for (int64_t i = 0; i < length(dims); ++i) values.append(dims.d[i]);
  return nb::tuple(values);
}

nb::tuple to_tuple(const Permutation& permutation) {
  nb::list values;
  for (const int32_t axis : permutation.order) values.append(axis);
  return nb::tuple(values);
}

/// Whether `other` is a shape, list or tuple with the same integers.
bool equals(const Dims& dims, nb::handle other) {
  if (nb::isinstance<Dims>(other)) return to_tuple(dims).equal(to_tuple(nb::cast<Dims>(other)));
  if (nb::isinstance<nb::list>(other)) return to_tuple(dims).equal(nb::tuple(other));
  return to_tuple(dims).equal(other);
}

/// Dims2, Dims3, Dims4 and DimsHW: `count` dimensions, zero at first.
template <class Fixed, class Base>
nb::class_<Fixed, Base> bind_fixed(nb::module_& m, const char* name, const char* doc) {
  nb::class_<Fixed, Base> dims(m, name, doc);
  dims.def(nb::init<>());
  dims.def(
      "__init__",
      [name](Fixed* self, nb::sequence shape) {
        Fixed fixed;
        read_fixed(shape, fixed, name);
        new (self) Fixed(fixed);
      },
      nb::arg("shape"), nb::is_implicit());
  nb::implicitly_convertible<nb::sequence, Fixed>();
  return dims;
}

/// The constructor from a sequence.
template <class T> void construct(T* self, nb::sequence values) {
  T value{};
  read(values, value);
  new (self) T(value);
}

}  // namespace

void read(nb::sequence values, Dims& dims) {
  dims.nbDims = read_integers(values, dims.d);
}

void read(nb::sequence values, DimsHW& size) {
  read_fixed(values, size, "DimsHW");
}

void read(nb::sequence values, Permutation& order) {
  read_integers(values, order.order);
}

void read(nb::sequence values, ShapeValues& elements) {
  for (const nb::handle value : values)
    elements.push_back(to_integer(value, "an element of a shape input is an int, not a ", ""));
}

void bind_dims(nb::module_& m) {
  nb::class_<Dims> dims(m, "Dims",
                        "A shape: at most 8 integers. Where a shape is an argument, lists, tuples "
                        "and arrays of integers do as well.");
  dims.attr("MAX_DIMS") = kMaxRank;
  dims.def("__init__", [](Dims* self) { new (self) Dims{}; })
      .def("__init__", construct<Dims>, nb::arg("shape"), nb::is_implicit())
      .def("__len__", length)
      .def("__getitem__", [](const Dims& self,
                             int64_t index) { return self.d[checked_index(index, length(self))]; })
      .def("__getitem__",
           [](const Dims& self, nb::slice slice) {
             return nb::tuple(nb::object(to_tuple(self))[slice]);
           })
      .def("__setitem__", [](Dims& self, int64_t index,
                             int64_t value) { self.d[checked_index(index, length(self))] = value; })
      .def("__setitem__",
           [](Dims& self, nb::slice slice, nb::sequence values) {
             const auto [start, stop, step, count] =
                 slice.compute(static_cast<size_t>(length(self)));
             Dims given;
             read(values, given);
             if (static_cast<size_t>(given.nbDims) != count)
               throw nb::value_error("the slice and the values given for it differ in length");
             for (size_t i = 0; i < count; ++i)
               self.d[start + static_cast<int64_t>(i) * step] = given.d[i];
           })
      .def("__eq__", equals, nb::arg("other").none())
      .def(
          "__ne__", [](const Dims& self, nb::handle other) { return !equals(self, other); },
          nb::arg("other").none())
      .def("__str__", [](const Dims& self) { return nb::str(to_tuple(self)); })
      .def("__repr__", [](const Dims& self) { return nb::str(to_tuple(self)); });
  make_iterable(dims, kOverIntegers);
  dims.attr("__hash__") = nb::none();
  nb::implicitly_convertible<nb::sequence, Dims>();

  using I = int64_t;
  bind_fixed<Dims2, Dims>(m, "Dims2", "A shape of two dimensions.")
      .def(nb::init<I, I>(), nb::arg("dim0"), nb::arg("dim1"));
  bind_fixed<Dims3, Dims>(m, "Dims3", "A shape of three dimensions.")
      .def(nb::init<I, I, I>(), nb::arg("dim0"), nb::arg("dim1"), nb::arg("dim2"));
  bind_fixed<Dims4, Dims>(m, "Dims4", "A shape of four dimensions.")
      .def(nb::init<I, I, I, I>(), nb::arg("dim0"), nb::arg("dim1"), nb::arg("dim2"),
           nb::arg("dim3"));
  bind_fixed<DimsHW, Dims2>(m, "DimsHW", "A size as height and width.")
      .def(nb::init<I, I>(), nb::arg("h"), nb::arg("w"))
      .def_prop_rw(
          "h", [](const DimsHW& self) { return self.h(); },
          [](DimsHW& self, int64_t value) { self.h() = value; })
      .def_prop_rw(
          "w", [](const DimsHW& self) { return self.w(); },
          [](DimsHW& self, int64_t value) { self.w() = value; });

  nb::class_<Permutation> permutation(
      m, "Permutation", "An order of at most 8 dimensions. Lists and tuples do as well.");
  permutation.def("__init__", [](Permutation* self) { new (self) Permutation{}; })
      .def("__init__", construct<Permutation>, nb::arg("order"), nb::is_implicit())
      .def("__len__", [](const Permutation&) { return kMaxRank; })
      .def("__getitem__", [](const Permutation& self,
                             int64_t index) { return self.order[checked_index(index, kMaxRank)]; })
      .def("__setitem__", [](Permutation& self, int64_t index,
                             int32_t axis) { self.order[checked_index(index, kMaxRank)] = axis; })
      .def("__str__", [](const Permutation& self) { return nb::str(to_tuple(self)); })
      .def("__repr__", [](const Permutation& self) { return nb::str(to_tuple(self)); });
  make_iterable(permutation, kOverIntegers);
  nb::implicitly_convertible<nb::sequence, Permutation>();
}

}  // namespace tenon::python
