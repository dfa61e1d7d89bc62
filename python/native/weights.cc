// Weights, and what NumPy knows of the data types.
#include "weights.h"

#include <nanobind/ndarray.h>

#include <optional>
#include <string>

#include "array.h"
#include "bind.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

/// A data type with its names in NumPy (null if it has none), in the package ml_dtypes and in this
/// module. `bits` is 0 where Python is told no size.
struct TypeName {
  DataType type;
  const char* numpy;
  const char* ml_dtypes;
  const char* alias;
  int bits;
};
constexpr TypeName kTypeNames[] = {
    {DataType::kFLOAT, "float32", nullptr, "float32", 32},
    {DataType::kHALF, "float16", nullptr, "float16", 16},
    {DataType::kBF16, nullptr, "bfloat16", "bfloat16", 16},
    {DataType::kINT8, "int8", nullptr, "int8", 8},
    {DataType::kINT32, "int32", nullptr, "int32", 32},
    {DataType::kINT64, "int64", nullptr, "int64", 64},
    {DataType::kBOOL, "bool", nullptr, "bool", 8},
    {DataType::kUINT8, "uint8", nullptr, "uint8", 8},
    {DataType::kFP8, nullptr, "float8_e4m3fn", "fp8", 8},
    {DataType::kINT4, nullptr, nullptr, "int4", 4},
    {DataType::kFP4, nullptr, nullptr, "fp4", 4},
    {DataType::kE8M0, nullptr, "float8_e8m0fnu", "e8m0", 0},
};

const TypeName& names_of(DataType type) {
  for (const TypeName& names : kTypeNames)
    if (names.type == type) return names;
  throw nb::type_error("not a data type");
}

size_t size_in_bytes(const Weights& weights) {
  const int bits = names_of(weights.type).bits;
  return (static_cast<size_t>(weights.count) * static_cast<size_t>(bits == 0 ? 8 : bits) + 7) / 8;
}

std::string str_of(nb::handle object) {
  return nb::str(object).c_str();
}

/// The type of an array that is not NumPy's own kind, as of PyTorch: by what DLPack calls it.
std::optional<DataType> from_dlpack(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  const auto is = [&](Code code, int bits) {
    return type.code == static_cast<uint8_t>(code) && type.bits == bits && type.lanes == 1;
  };
  if (is(Code::Float, 32)) return DataType::kFLOAT;
  if (is(Code::Float, 16)) return DataType::kHALF;
  if (is(Code::Bfloat, 16)) return DataType::kBF16;
  if (is(Code::Int, 8)) return DataType::kINT8;
  if (is(Code::Int, 32)) return DataType::kINT32;
  if (is(Code::Int, 64)) return DataType::kINT64;
  if (is(Code::Bool, 8)) return DataType::kBOOL;
  if (is(Code::UInt, 8)) return DataType::kUINT8;
  return std::nullopt;
}

/// The types of the package ml_dtypes, which NumPy can only give away as bytes.
std::optional<DataType> from_ml_dtypes(nb::handle array) {
  if (!nb::hasattr(array, "dtype") || !nb::hasattr(array, "ctypes")) return std::nullopt;
  const std::string name = str_of(array.attr("dtype"));
  for (const TypeName& names : kTypeNames)
    if (names.ml_dtypes != nullptr && name == names.ml_dtypes) return names.type;
  return std::nullopt;
}

/// The array as NumPy's where it can be seen as one, as PyTorch's of bool, which DLPack may lack.
nb::object as_numpy(nb::handle array) {
  if (!nb::hasattr(array, "numpy")) return nb::none();
  try {
    return array.attr("numpy")();
  } catch (nb::python_error&) {  // on another device, or of a type that NumPy lacks
    return nb::none();
  }
}

}  // namespace

PythonWeights weights_from_array(nb::handle array) {
  refuse_mask(array);
  const std::optional<DataType> narrow = from_ml_dtypes(array);
  nb::object plain = nb::borrow(array);
  if (narrow) plain = array.attr("view")(*narrow == DataType::kBF16 ? "uint16" : "uint8");
  if (nb::hasattr(array, "detach")) plain = array.attr("detach")();  // parameters of PyTorch
  nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> values;
  if (!nb::try_cast(plain, values) && !nb::try_cast(as_numpy(plain), values)) {
    throw nb::type_error((std::string("weights are given as a NumPy array or another array in host "
                                      "memory, not as a ")
                          + nb::type_name(array.type()).c_str())
                             .c_str());
  }
  const std::optional<DataType> type = narrow ? narrow : from_dlpack(values.dtype());
  if (!type) {
    const std::string found =
        nb::hasattr(array, "dtype") ? str_of(array.attr("dtype")) : "of another type";
    throw nb::value_error(
        ("weights cannot be " + found + "; convert the array, as by array.astype(numpy.float32)")
            .c_str());
  }
  return {{*type, values.data(), static_cast<int64_t>(values.size())}, nb::cast(values)};
}

Weights GivenWeights::weights() const {
  if (fault != nullptr) std::rethrow_exception(fault);
  if (object.is_none()) return {DataType::kFLOAT, nullptr, 0};
  return nb::cast<const PythonWeights&>(object).weights;
}

Any weights_to_numpy(const Weights& weights, nb::handle owner) {
  const char* const name = names_of(weights.type).numpy;
  if (name == nullptr) return nb::cast(PythonWeights{weights, nb::borrow(owner)});
  const size_t shape[] = {size_in_bytes(weights)};
  const nb::ndarray<nb::numpy, uint8_t> bytes(const_cast<void*>(weights.values), 1, shape, owner);
  return nb::cast(bytes).attr("view")(name);
}

void bind_weights(nb::module_& m) {
  const nb::handle data_type = m.attr("DataType");
  for (const TypeName& names : kTypeNames) m.attr(names.alias) = nb::cast(names.type);
  data_type.attr("itemsize") =
      nb::module_::import_("builtins")
          .attr("property")(nb::cpp_function(
              [](DataType self) -> nb::object {
                const int bits = names_of(self).bits;
                if (bits == 0) return nb::none();
                if (bits < 8) return nb::float_(bits / 8.0);
                return nb::int_(bits / 8);
              },
              nb::is_method(), nb::sig("def itemsize(self) -> float | None"),
              "The size of an element in bytes."));

  m.def(
      "nptype",
      [](DataType trt_type) {
        const char* const name = names_of(trt_type).numpy;
        if (name == nullptr) {
          throw nb::type_error(
              ("NumPy has no data type for " + str_of(nb::cast(trt_type))).c_str());
        }
        return nb::module_::import_("numpy").attr("dtype")(name).attr("type");
      },
      nb::arg("trt_type"), nb::sig("def nptype(trt_type: DataType) -> type[numpy.generic]"),
      "NumPy's type for a data type; TypeError if it has none.");
  m.def(
      "volume",
      [](nb::iterable iterable) {
        nb::object product = nb::int_(1);
        for (const nb::handle extent : iterable) product = product * extent;
        return product;
      },
      nb::arg("iterable"), nb::sig("def volume(iterable: collections.abc.Iterable[int]) -> int"),
      "The product of a shape's dimensions; 1 for a scalar.");

  nb::class_<PythonWeights>(m, "Weights",
                            "Values of one type. Where weights are an argument, an array does as "
                            "well; a network copies them.")
      .def(
          "__init__",
          [](PythonWeights* self, DataType type) {
            new (self) PythonWeights{{type, nullptr, 0}, {}};
          },
          nb::arg("type") = DataType::kFLOAT)
      .def(
          "__init__",
          [](PythonWeights* self, DataType type, uintptr_t ptr, int64_t count) {
            if (count < 0) throw nb::value_error("count is negative");
            new (self) PythonWeights{{type, reinterpret_cast<const void*>(ptr), count}, {}};
          },
          nb::arg("type"), nb::arg("ptr"), nb::arg("count"),
          "Weights in memory that the caller keeps alive.")
      .def(
          "__init__",
          [](PythonWeights* self, nb::object a) {
            new (self) PythonWeights(weights_from_array(a));
          },
          nb::arg("a"), nb::sig("def __init__(self, a: numpy.ndarray) -> None"),
          "Weights over an array's memory, which they keep alive.")
      .def_prop_ro("dtype", [](const PythonWeights& self) { return self.weights.type; })
      .def_prop_ro(
          "size", [](const PythonWeights& self) { return self.weights.count; },
          "How many values there are.")
      .def_prop_ro("nbytes", [](const PythonWeights& self) { return size_in_bytes(self.weights); })
      .def(
          "numpy",
          [](nb::handle self) {
            return weights_to_numpy(nb::cast<const PythonWeights&>(self).weights, self);
          },
          "A one-dimensional array over the same memory; the weights themselves when NumPy lacks "
          "their type.")
      .def("__len__", [](const PythonWeights& self) { return self.weights.count; });
}

}  // namespace tenon::python

namespace nanobind::detail {

bool type_caster<tenon::python::GivenWeights>::from_python(handle source, uint32_t flags,
                                                           cleanup_list* cleanup) noexcept {
  using tenon::python::PythonWeights;
  if (source.is_none() && (flags & cast_flags::accepts_none) == 0) return false;
  if (source.is_none() || isinstance<PythonWeights>(source)) {
    value.object = borrow(source);
    return true;
  }
  if ((flags & cast_flags::convert) == 0) return false;
  if (!PyObject_CheckBuffer(source.ptr()) && !hasattr(source, "__dlpack__")) return false;
  try {
    value.object = cast(tenon::python::weights_from_array(source));
  } catch (...) {
    value.fault = std::current_exception();
  }
  return true;
}

}  // namespace nanobind::detail
