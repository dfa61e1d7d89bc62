#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tenon/replace_file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace tenon {
namespace {

[[noreturn]] void fail_on(const std::string& path, const char* what) {
  fail(ErrorClass::kFile, "{}: {}: {}", path, what, std::strerror(errno));
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail_on(path, "cannot open");
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) fail_on(path, "cannot read its size");
  require(!S_ISDIR(info.st_mode), ErrorClass::kFile, "{}: is a directory; expected a file", path);
  require(S_ISREG(info.st_mode), ErrorClass::kFile, "{}: is not a regular file", path);
  require(info.st_size > 0, ErrorClass::kFile, "{}: the file is empty", path);
  auto mapped = map(file.fd, static_cast<size_t>(info.st_size));
  if (mapped == nullptr) fail_on(path, "cannot map");
  return mapped;
}

std::shared_ptr<const MappedFile> MappedFile::temporary(std::span<const std::byte> bytes) {
  const char* folder = std::getenv("TMPDIR");
  if (folder == nullptr || *folder == '\0') folder = "/var/tmp";
  const Descriptor file{::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
  if (file.fd < 0) return nullptr;
  for (auto rest = bytes; !rest.empty();) {
    const ssize_t written = ::write(file.fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return nullptr;
    rest = rest.subspan(static_cast<size_t>(written));
  }
  return map(file.fd, bytes.size());
}

std::shared_ptr<const MappedFile> MappedFile::map(int descriptor, size_t size) {
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) return nullptr;
  mapped->data_ = static_cast<const std::byte*>(data);
  mapped->size_ = size;
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  try {
    replace_file(path, bytes.data(), bytes.size());
  } catch (const std::runtime_error& e) {
    throw Error(ErrorClass::kFile, e.what());
  }
}

}  // namespace tenon
