// Tensors as files.
#ifndef TENON_SERVE_TENSOR_FILE_H
#define TENON_SERVE_TENSOR_FILE_H

#include <cstddef>
#include <span>
#include <string>

#include "tenon/serve/tensor.h"

namespace tenon::serve {

/// Little-endian: uint32 magic 0xFCCFE2E2, uint32 number of dimensions, uint32 type, int32 for each
/// dimension, then the elements in rows. The type is 0 for float32, 1 for float16, 2 for int32 and
/// 3 for uint8; of other types of whole bytes it is 256 and TensorRT's number of the type. In
/// Python tenon.serve.load_tensor() and save_tensor() are the same; NumPy alone reads float32 so:
///     head = numpy.fromfile(path, numpy.int32); rank = head[1]
///     x = numpy.fromfile(path, numpy.float32, offset=12 + 4 * rank).reshape(head[3 : 3 + rank])
/// The file is whole or not there. An error names the path.
Result<void> save_to_file(Tensor& tensor, const std::string& path) noexcept;
/// An error when the file cannot be read, is no such file, has another length than its shape wants,
/// or when there is no memory.
Result<Tensor> load_from_file(const std::string& path) noexcept;
/// The same from bytes.
Result<Tensor> tensor_of_bytes(std::span<const std::byte> file) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_TENSOR_FILE_H
