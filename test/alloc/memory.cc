#include "test/alloc/memory.h"

#include <cerrno>
#include <cstdlib>
#include <new>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* data, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* data);
}

namespace tenon::testing {
namespace {

bool may_allocate(const void* caller) {
  const auto hook = allocation_hook.load(std::memory_order_relaxed);
  return hook == nullptr || hook(caller);
}

void* counted(void* data) {
  if (data != nullptr) live_blocks.fetch_add(1, std::memory_order_relaxed);
  return data;
}

void release(void* data) {
  if (data == nullptr) return;
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(data);
}

// As malloc says that there is none.
void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

void* thrown_unless(void* data) {
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

}  // namespace
}  // namespace tenon::testing

using namespace tenon::testing;

#define TENON_ALLOCATE(ALLOCATION) \
  (may_allocate(__builtin_return_address(0)) ? counted(ALLOCATION) : no_memory())

extern "C" {
void* malloc(size_t bytes) {
  return TENON_ALLOCATE(__libc_malloc(bytes));
}
void* calloc(size_t count, size_t bytes) {
  return TENON_ALLOCATE(__libc_calloc(count, bytes));
}
void* realloc(void* data, size_t bytes) {
  if (!may_allocate(__builtin_return_address(0))) return no_memory();
  void* const moved = __libc_realloc(data, bytes);
  if (data == nullptr) return counted(moved);
  if (moved == nullptr && bytes == 0) live_blocks.fetch_sub(1, std::memory_order_relaxed);
  return moved;
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return TENON_ALLOCATE(__libc_memalign(alignment, bytes));
}
void* memalign(size_t alignment, size_t bytes) {
  return TENON_ALLOCATE(__libc_memalign(alignment, bytes));
}
int posix_memalign(void** data, size_t alignment, size_t bytes) {
  void* const found = TENON_ALLOCATE(__libc_memalign(alignment, bytes));
  if (found == nullptr) return ENOMEM;
  *data = found;
  return 0;
}
void free(void* data) {
  release(data);
}
}

// The library's own operator new calls malloc, which would count as the C++ library's.
void* operator new(size_t bytes) {
  return thrown_unless(TENON_ALLOCATE(__libc_malloc(bytes)));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return TENON_ALLOCATE(__libc_malloc(bytes));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return thrown_unless(TENON_ALLOCATE(__libc_memalign(static_cast<size_t>(alignment), bytes)));
}
void operator delete(void* data) noexcept {
  release(data);
}
void operator delete(void* data, size_t) noexcept {
  release(data);
}
void operator delete(void* data, std::align_val_t) noexcept {
  release(data);
}
void operator delete(void* data, size_t, std::align_val_t) noexcept {
  release(data);
}
