#include "tenon/session/output.h"

#include <algorithm>

namespace tenon::session {

void* Output::reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t alignment,
                                    cudaStream_t) noexcept {
  if (!is_given_) return own_memory(size, alignment);
  if (size != std::max<size_t>(bytes_, 1)) return nullptr;
  // An array without elements may have no memory; the engine needs an address all the same.
  return data_ != nullptr ? data_ : &shape_;
}

void Output::use(void* data, size_t bytes) {
  data_ = data;
  bytes_ = bytes;
  is_given_ = true;
  shape_.nbDims = -1;
}

void Output::use_own() {
  use(nullptr, 0);
  is_given_ = false;
}

}  // namespace tenon::session
