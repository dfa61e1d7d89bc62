/// Values to bytes and back, for what a plugin's configuration saves besides its own members.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace ONNXPlugin {

/// A plain value is its bytes; a string or a vector has its count (int32) before its elements.
/// Reading more than there is throws std::out_of_range.
class Stream {
 public:
  Stream() = default;                    // to write
  Stream(const void* data, size_t size)  // to read; the bytes must outlive the stream
      : at_(static_cast<const char*>(data)), left_(size) {}

  template <class T> Stream& operator<<(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "only plain values have bytes to save");
    write(&value, sizeof(T));
    return *this;
  }
  Stream& operator<<(const std::string& text) {
    *this << static_cast<int32_t>(text.size());
    write(text.data(), text.size());
    return *this;
  }
  Stream& operator<<(const char* text) { return *this << std::string(text); }
  template <class T> Stream& operator<<(const std::vector<T>& list) {
    *this << static_cast<int32_t>(list.size());
    for (const T& value : list) *this << value;
    return *this;
  }

  template <class T> Stream& operator>>(T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "only plain values have bytes to save");
    read(&value, sizeof(T));
    return *this;
  }
  Stream& operator>>(std::string& text) {
    text.resize(count());
    read(text.data(), text.size());
    return *this;
  }
  template <class T> Stream& operator>>(std::vector<T>& list) {
    list.resize(count());
    for (T& value : list) *this >> value;
    return *this;
  }

  void write(const void* from, size_t bytes) {
    if (bytes > 0) written_.append(static_cast<const char*>(from), bytes);
  }
  void read(void* to, size_t bytes) {
    require(bytes);
    if (bytes > 0) std::memcpy(to, at_, bytes);
    at_ += bytes;
    left_ -= bytes;
  }
  const std::string& data() const { return written_; }
  /// What is left to read.
  size_t left() const { return left_; }

 private:
  void require(size_t bytes) const {
    if (bytes > left_) throw std::out_of_range("a plugin's saved bytes end too early");
  }
  // Every element has a byte at least, which bounds what a wrong count can allocate.
  size_t count() {
    int32_t n = 0;
    *this >> n;
    if (n < 0) throw std::out_of_range("a plugin's saved bytes have a negative count");
    require(static_cast<size_t>(n));
    return static_cast<size_t>(n);
  }

  std::string written_;
  const char* at_ = nullptr;
  size_t left_ = 0;
};

using OutStream = Stream;
using InStream = Stream;

}  // namespace ONNXPlugin

namespace Plugin {
using BinIO = ONNXPlugin::Stream;
}
