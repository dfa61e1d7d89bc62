// Files, read and written whole: mapped or copied in, written aside and renamed.
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

/// Writes to a temporary file in the same folder, flushes it and renames it over `path`, so that
/// readers see the old content or the new one. Throws on any failure and leaves nothing behind.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace tenon
