// NumPy's .npy format: one array.
#pragma once

#include <cstddef>
#include <vector>

#include "tenon/session/array.h"

namespace tenon::session {

/// The array of an .npy file's bytes, as read_npz() says. Throws Error.
Array parse_npy(std::vector<std::byte> file);

/// The bytes of an .npy file. Throws Error for types that NumPy does not have; bfloat16 becomes
/// float32.
std::vector<std::byte> npy_of(const Array& array);

}  // namespace tenon::session
