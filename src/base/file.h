// Files, read and written whole.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tenon {

/// A file mapped read-only. Throws, naming the path and the cause, for what is not a regular file.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// replace_file() of tenon/replace_file.h with an Error.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace tenon
