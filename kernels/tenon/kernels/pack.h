/// Elements that a thread reads and writes as one. CUDA alone.
#pragma once

#if defined(__CUDACC__)

#include <tenon/plugin/device.h>

#include <cstring>
#include <type_traits>

namespace tenon::kernels::inline TENON_TARGET {

/// `count` elements, at addresses that are multiples of their size.
template <class E, int count = 16 / sizeof(E)> struct Pack {
  static constexpr int kCount = count;
  E values[count];

  static __device__ Pack load(const E* from) {
    Pack pack;
    static_assert(sizeof(Word) == kBytes);
    const Word word = *reinterpret_cast<const Word*>(from);
    memcpy(&pack, &word, sizeof(Word));
    return pack;
  }
  __device__ void store(E* to) const {
    static_assert(sizeof(Word) == kBytes);
    Word word;
    memcpy(&word, this, sizeof(Word));
    *reinterpret_cast<Word*>(to) = word;
  }
  /// Whether rows of `length` elements, the first one at this address, are packs. A null address
  /// is none to read from.
  static bool divides(const void* address, int64_t length) {
    return length % count == 0 && reinterpret_cast<uintptr_t>(address) % sizeof(Word) == 0;
  }

 private:
  static constexpr size_t kBytes = sizeof(E) * count;
  using Word = std::conditional_t<
      kBytes == 16, uint4,
      std::conditional_t<kBytes == 8, uint2,
                         std::conditional_t<kBytes == 4, uint32_t,
                                            std::conditional_t<kBytes == 2, uint16_t, uint8_t>>>>;
};

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
