// Tensors to and from other libraries, without a copy.
#ifndef TENON_SERVE_DLPACK_H
#define TENON_SERVE_DLPACK_H

#include <dlpack/dlpack.h>

#include "tenon/serve/tensor.h"

namespace tenon::serve {

/// The newest data, in the same memory, which lives until the deleter is called. On a device it is
/// there once the tensor's stream has come so far. An error when there is no data yet, and for
/// types that DLPack lacks.
Result<DLManagedTensor*> to_dlpack(Tensor& tensor) noexcept;
/// In the other library's memory, which is given back with the tensor. An error, after which it is
/// still the caller's, for elements that are no rows one behind the other, types that TensorRT
/// lacks, and devices other than the host and CUDA's.
Result<Tensor> from_dlpack(DLManagedTensor* managed) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_DLPACK_H
