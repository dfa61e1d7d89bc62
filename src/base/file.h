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
  /// These bytes in a file without a name, in TMPDIR or else /var/tmp: the system may take their
  /// memory away, and reads them again when they are used. Null where no such file can be written.
  static std::shared_ptr<const MappedFile> temporary(std::span<const std::byte> bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  /// Null after an error, which errno says.
  static std::shared_ptr<const MappedFile> map(int descriptor, size_t size);

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// replace_file() of tenon/replace_file.h with an Error.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace tenon
