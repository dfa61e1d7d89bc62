/// The sanitizers of the process, if it has any: the runtime itself is never compiled with them.
#pragma once

#include <cstddef>

extern "C" {
#define TENON_WEAK __attribute__((weak))
TENON_WEAK void __sanitizer_start_switch_fiber(void** save, const void* bottom, size_t size);
TENON_WEAK void __sanitizer_finish_switch_fiber(void* saved, const void** bottom, size_t* size);
TENON_WEAK void __sanitizer_set_death_callback(void (*callback)());
TENON_WEAK void __asan_poison_memory_region(const volatile void* address, size_t size);
TENON_WEAK void __asan_unpoison_memory_region(const volatile void* address, size_t size);
TENON_WEAK void* __tsan_get_current_fiber();
TENON_WEAK void* __tsan_create_fiber(unsigned flags);
TENON_WEAK void __tsan_switch_to_fiber(void* fiber, unsigned flags);
TENON_WEAK void __tsan_acquire(void* address);
TENON_WEAK void __tsan_release(void* address);
TENON_WEAK void AnnotateIgnoreReadsBegin(const char* file, int line);
TENON_WEAK void AnnotateIgnoreReadsEnd(const char* file, int line);
TENON_WEAK void AnnotateIgnoreWritesBegin(const char* file, int line);
TENON_WEAK void AnnotateIgnoreWritesEnd(const char* file, int line);
TENON_WEAK void __msan_poison(const volatile void* address, size_t size);
TENON_WEAK void __msan_unpoison(const volatile void* address, size_t size);
TENON_WEAK void __msan_unpoison_param(size_t count);
#undef TENON_WEAK
}

namespace tenon::hostcuda {

inline bool has_address_sanitizer() {
  return &__asan_poison_memory_region != nullptr;
}
inline bool has_thread_sanitizer() {
  return &__tsan_switch_to_fiber != nullptr;
}
inline bool has_memory_sanitizer() {
  return &__msan_poison != nullptr;
}
inline bool has_sanitizer() {
  return has_address_sanitizer() || has_thread_sanitizer() || has_memory_sanitizer();
}

/// What happened before release(p) has happened for whoever comes back from acquire(p).
inline void acquire(void* address) {
  if (has_thread_sanitizer()) __tsan_acquire(address);
}
inline void release(void* address) {
  if (has_thread_sanitizer()) __tsan_release(address);
}

/// While it lives, accesses of the calling thread are none of ThreadSanitizer's business: it sees
/// calls of memcpy and the like in the runtime, too.
class Unseen {
 public:
  Unseen() {
    if (!has_thread_sanitizer()) return;
    AnnotateIgnoreReadsBegin("", 0);
    AnnotateIgnoreWritesBegin("", 0);
  }
  ~Unseen() {
    if (!has_thread_sanitizer()) return;
    AnnotateIgnoreReadsEnd("", 0);
    AnnotateIgnoreWritesEnd("", 0);
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};

}  // namespace tenon::hostcuda
