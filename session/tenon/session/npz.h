// NumPy's .npz and .npy files.
#ifndef TENON_SESSION_NPZ_H
#define TENON_SESSION_NPZ_H

#include <string>

#include "tenon/session/array.h"
#include "tenon/session/result.h"

namespace tenon::session {

/// All arrays of an .npz file, in either byte order and of either order of axes; float64 becomes
/// float32. An error, which names the file and the array, when it is not one, holds types that
/// tensors do not have, or values beyond float32, and when all arrays together take more than 64
/// MiB and 100 times the file's bytes.
Result<Arrays> read_npz(const std::string& path) noexcept;

/// Writes the arrays uncompressed: readers see the whole file or the old one. bfloat16 is written
/// as float32. The same arrays are the same bytes.
Result<void> write_npz(const std::string& path, const Arrays& arrays) noexcept;

/// The same for one array, as an .npy file.
Result<void> write_npy(const std::string& path, const Array& array) noexcept;

}  // namespace tenon::session

#endif  // TENON_SESSION_NPZ_H
