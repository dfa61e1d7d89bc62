/// What sanitizers cannot see by themselves when this library is not compiled with them: an order
/// that atomics make, and values that it writes for its callers.
#pragma once

#include <cstddef>

extern "C" {
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
__attribute__((weak)) void __msan_unpoison(const volatile void* address, std::size_t size);
}

namespace tenon::cudart {

/// What happened before release(p) has happened for whoever comes back from acquire(p).
inline void release(const void* address) {
  if (&__tsan_release != nullptr) __tsan_release(const_cast<void*>(address));
}
inline void acquire(const void* address) {
  if (&__tsan_acquire != nullptr) __tsan_acquire(const_cast<void*>(address));
}

/// Writes a value through a pointer that an application gave.
template <class T> void write_out(T* out, const T& value) {
  *out = value;
  if (&__msan_unpoison != nullptr) __msan_unpoison(out, sizeof(T));
}

}  // namespace tenon::cudart
