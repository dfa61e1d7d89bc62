// NumPy's .npz and .npy files.
#pragma once

#include <tenon/session/array.h>

#include <string>
#include <vector>

namespace tenon::tool {

using session::Array;
using session::Arrays;

/// All arrays of an .npz file, in either byte order and of either order of axes; float64 becomes
/// float32. Throws Failure, naming the file and the array, when it is not one, holds types that
/// tensors do not have, or values beyond float32, and when all arrays together take more than 64
/// MiB and 100 times the file's bytes.
Arrays read_npz(const std::string& path);

/// Writes the arrays uncompressed, by write_file(). bfloat16 is written as float32.
void write_npz(const std::string& path, const Arrays& arrays);

/// Writes one array as an .npy file, by write_file(). bfloat16 is written as float32.
void write_npy(const std::string& path, const Array& array);

/// A file, or its first `max_bytes` bytes; throws Failure, naming the path, for what is not a
/// readable regular file.
std::vector<std::byte> read_file(const std::string& path, size_t max_bytes = SIZE_MAX);
/// All of standard input; throws Failure beyond 2 GiB, at which ONNX models end.
std::string read_standard_input();
/// replace_file() of tenon/replace_file.h with a Failure.
void write_file(const std::string& path, const void* data, size_t size);

}  // namespace tenon::tool
