// The bytes of a request's body, where tensors may stay.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "model/tensor_memory.h"

namespace tenon::server {

/// Its memory is not filled before bytes come, and at least kPadding bytes lie behind them, which
/// readers of JSON read. Bytes move when it grows.
class Body {
 public:
  static constexpr size_t kPadding = 64;

  /// @param json bytes of JSON in front of binary tensors, which begin at a multiple of 64 bytes.
  explicit Body(size_t json = 0) : shift_((kAlignment - json % kAlignment) % kAlignment) {}
  /// Holds a copy.
  template <class Iterator> Body(Iterator begin, Iterator end) : Body() {
    reserve(static_cast<size_t>(end - begin));
    std::copy(begin, end, data());
    size_ = static_cast<size_t>(end - begin);
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  unsigned char* data() { return data_; }
  const unsigned char* data() const { return data_; }
  const unsigned char* begin() const { return data_; }
  const unsigned char* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Room for so many bytes in all. Throws std::bad_alloc, as what follows does.
  void reserve(size_t bytes) {
    if (data_ != nullptr && bytes <= capacity_) return;
    if (bytes > SIZE_MAX - kAlignment - kPadding) throw std::bad_alloc();
    auto memory = heap_memory(shift_ + bytes + kPadding);
    auto* const data = reinterpret_cast<unsigned char*>(memory.get()) + shift_;
    if (size_ > 0) std::memcpy(data, data_, size_);
    memory_ = std::move(memory);
    data_ = data;
    capacity_ = bytes;
  }
  /// Room for `more` bytes, of a body that says to have `length`: for all of it at once, but only
  /// when a part is there, so that a length that is only claimed takes no memory.
  void make_room(size_t more, size_t length) {
    constexpr size_t kBelieved = size_t{1} << 20;
    const size_t wanted = size_ + more;
    if (data_ != nullptr && wanted <= capacity_) return;
    reserve(
        std::max({wanted, 2 * size_, size_ < kBelieved ? std::min(length, kBelieved) : length}));
  }
  /// Behind the bytes that are there: what is written to it counts when it is added.
  std::span<unsigned char> room() { return {data_ + size_, capacity_ - size_}; }
  void add(size_t bytes) { size_ += bytes; }
  /// What there is room for.
  void append(const void* from, size_t bytes) {
    if (bytes > 0) std::memcpy(data_ + size_, from, bytes);
    size_ += bytes;
  }

 private:
  static constexpr size_t kAlignment = 64;

  size_t shift_ = 0, size_ = 0, capacity_ = 0;
  std::shared_ptr<std::byte> memory_;
  unsigned char* data_ = nullptr;
};

}  // namespace tenon::server
