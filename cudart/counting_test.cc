/// Counts the allocations of the test program and of the libraries that it loads.
#include <atomic>
#include <cstdlib>
#include <new>

#include "cudart/testing.h"

namespace {
std::atomic<long> allocations{0};
}

long tenon::cudart::testing::allocation_count() {
  return allocations.load();
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* pointer = std::malloc(size ? size : 1)) return pointer;
  throw std::bad_alloc();
}

void operator delete(void* pointer) noexcept {
  std::free(pointer);
}

void operator delete(void* pointer, std::size_t) noexcept {
  std::free(pointer);
}
