/// What ThreadSanitizer cannot see by itself when this library is not compiled with it: an order
/// that atomics make.
#pragma once

extern "C" {
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
}

namespace tenon::cudart {

/// What happened before release(p) has happened for whoever comes back from acquire(p).
inline void release(const void* address) {
  if (&__tsan_release != nullptr) __tsan_release(const_cast<void*>(address));
}
inline void acquire(const void* address) {
  if (&__tsan_acquire != nullptr) __tsan_acquire(const_cast<void*>(address));
}

}  // namespace tenon::cudart
