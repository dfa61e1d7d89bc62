// What every generated source begins with.
#pragma once

#include <string>
#include <string_view>

#include "base/dtype.h"

namespace tenon::cuda {

/// CUDA C++, no headers needed: element types (`Half`, `Int32`, ...), each with `Stored` in memory,
/// `Value` to compute with, `load` and `store`; vectors of them; low-precision floats; integer
/// arithmetic that wraps.
std::string_view prelude();

/// The prelude's name of an element type: "Half". Low-precision types are "UInt8" or "Nibble":
/// their bits.
std::string_view element_of(DataType type);

/// An expression for the number that a loaded element of that type stands for: "x0", or
/// "fp8_value(x0)".
std::string number_of(DataType type, const std::string& loaded);

/// A float constant, exactly: "__uint_as_float(0x3f800000u)".
std::string literal(float number);

}  // namespace tenon::cuda
