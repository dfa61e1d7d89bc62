// Elements that lie elsewhere, where the host reads them.
#pragma once

#include "base/tensor.h"
#include "base/tensor_memory.h"

namespace tenon {

/// A tensor's elements on the host, in memory that stays as long as its type and shape do.
class HostCopy {
 public:
  /// Valid until the next call. Throws Error(kFAILED_ALLOCATION) when there is no memory.
  const Tensor& read(TensorMemory& memory, const Tensor& tensor) {
    if (copy_.data() == nullptr || copy_.type() != tensor.type() || copy_.shape() != tensor.shape())
      copy_ = Tensor(tensor.type(), tensor.shape());
    memory.read(copy_.mutable_data<std::byte>(), tensor.data(), tensor.bytes());
    return copy_;
  }

 private:
  Tensor copy_;
};

}  // namespace tenon
