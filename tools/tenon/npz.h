// NumPy's .npz and .npy files.
#pragma once

#include <string>

#include "array.h"

namespace tenon::tool {

/// All arrays of an .npz file; float64 becomes float32. Throws Failure, naming the file and the
/// array, when it is not one, holds types that tensors do not have, or values beyond float32.
Arrays read_npz(const std::string& path);

/// Writes the arrays uncompressed, aside and then renamed. bfloat16 is written as float32.
void write_npz(const std::string& path, const Arrays& arrays);

/// A file, or its first `most` bytes; throws Failure, naming the path, for what is not a readable
/// regular file.
std::vector<std::byte> read_file(const std::string& path, size_t most = SIZE_MAX);
/// Writes aside and renames, so that no half-written file is ever seen.
void write_file(const std::string& path, const void* data, size_t size);

}  // namespace tenon::tool
