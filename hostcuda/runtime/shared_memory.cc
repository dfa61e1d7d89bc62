/// The shared memory of a block.
#include "hostcuda/runtime/shared_memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "hostcuda/runtime/sanitizers.h"

namespace tenon::hostcuda {
namespace {

constexpr std::size_t kZone = 128;        // on both sides of each variable
constexpr std::size_t kRoom = 128 << 10;  // of static memory, with zones
constexpr std::size_t kAlignment = 256;   // of dynamic memory

std::size_t up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

char* allocate(std::size_t bytes) {
  void* memory = std::aligned_alloc(kAlignment, bytes);
  if (!memory) throw std::bad_alloc();
  if (has_address_sanitizer()) __asan_poison_memory_region(memory, bytes);
  return static_cast<char*>(memory);
}

void free_memory(char* memory, std::size_t bytes) {
  if (memory && has_address_sanitizer()) __asan_unpoison_memory_region(memory, bytes);
  std::free(memory);
}

// ThreadSanitizer forgets who used memory when it is allocated anew.
void forget_users(char*& memory, std::size_t bytes) {
  if (!has_thread_sanitizer() || !memory) return;
  free_memory(memory, bytes);
  memory = allocate(bytes);
}

// Nobody may count on what was there before.
void begin(char* address, std::size_t bytes) {
  if (has_address_sanitizer()) __asan_unpoison_memory_region(address, bytes);
  std::memset(address, 0xff, bytes);
  if (has_memory_sanitizer()) __msan_poison(address, bytes);
}

}  // namespace

SharedMemory::SharedMemory() : memory_(allocate(kRoom)) {
  variables_.reserve(64);
}

SharedMemory::~SharedMemory() {
  free_memory(memory_, kRoom);
  free_memory(dynamic_, dynamic_room_);
}

void SharedMemory::begin_launch(std::size_t dynamic_bytes) {
  dynamic_bytes_ = dynamic_bytes;
  const std::size_t room = up(dynamic_bytes + kZone, kAlignment);
  if (room > dynamic_room_) {
    free_memory(dynamic_, dynamic_room_);
    dynamic_ = allocate(room);
    dynamic_room_ = room;
  }
  if (has_address_sanitizer()) __asan_poison_memory_region(dynamic_, dynamic_room_);
}

void SharedMemory::begin_block() {
  if (used_ > 0 && has_address_sanitizer()) __asan_poison_memory_region(memory_, used_);
  forget_users(memory_, kRoom);
  used_ = bytes_ = 0;
  variables_.clear();
  if (dynamic_bytes_ > 0) forget_users(dynamic_, dynamic_room_);
  if (dynamic_bytes_ > 0) begin(dynamic_, dynamic_bytes_);
}

void* SharedMemory::find(const void* key, const char* name, std::size_t bytes,
                         std::size_t alignment, Site site) {
  for (const Variable& variable : variables_)
    if (variable.key == key) return variable.address;
  bytes_ += bytes;
  const std::size_t offset = up(used_ + kZone, alignment > 16 ? alignment : 16);
  if (bytes_ > kMostStaticBytes || offset + bytes + kZone > kRoom) return nullptr;
  char* const address = memory_ + offset;
  used_ = offset + bytes + kZone;
  begin(address, bytes);
  variables_.push_back({key, address, name, bytes, site});
  return address;
}

std::string SharedMemory::describe() const {
  std::string text;
  char line[512];
  for (const Variable& v : variables_) {
    std::snprintf(line, sizeof(line), "\n  __shared__ %s, declared at %s:%d: %zu bytes at %p",
                  v.name, v.site.file, v.site.line, v.bytes, static_cast<void*>(v.address));
    text += line;
  }
  if (dynamic_bytes_ > 0) {
    std::snprintf(line, sizeof(line), "\n  extern __shared__: %zu bytes at %p", dynamic_bytes_,
                  static_cast<void*>(dynamic_));
    text += line;
  }
  return text;
}

}  // namespace tenon::hostcuda
