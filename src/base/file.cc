#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace tenon {
namespace {

[[noreturn]] void fail_on(const std::string& path, const char* what) {
  fail(ErrorCode::kINVALID_ARGUMENT, "{}: {}: {}", path, what, std::strerror(errno));
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// A new file in the folder of `path`, with the permissions that the process gives new files.
// (mkstemp gives others, and asking for the umask changes it for a moment in every thread.)
int create_beside(const std::string& path, std::string& name) {
  static std::atomic<unsigned> count = 0;
  int fd = -1;
  do {
    name = fmt::format("{}.{}.{}", path, ::getpid(), ++count);
    fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EEXIST);
  if (fd < 0) fail_on(path, "cannot write");
  return fd;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail_on(path, "cannot open");
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) fail_on(path, "cannot read its size");
  require(!S_ISDIR(info.st_mode), "{}: is a directory; expected a file", path);
  require(S_ISREG(info.st_mode), "{}: is not a regular file", path);
  require(info.st_size > 0, "{}: the file is empty", path);
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  void* data =
      ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) fail_on(path, "cannot map");
  mapped->data_ = static_cast<const std::byte*>(data);
  mapped->size_ = static_cast<size_t>(info.st_size);
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) {
    require(!S_ISDIR(info.st_mode), "{}: cannot write: is a directory", path);
    require(S_ISREG(info.st_mode), "{}: cannot write: is not a regular file", path);
  }
  std::string aside;
  const auto give_up = [&](const char* what) {
    const int cause = errno;
    ::unlink(aside.c_str());
    errno = cause;
    fail_on(path, what);
  };
  const Descriptor file{create_beside(path, aside)};
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(file.fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) give_up("cannot write");
    done += static_cast<size_t>(n);
  }
  if (::fsync(file.fd) != 0) give_up("cannot write");
  if (::rename(aside.c_str(), path.c_str()) != 0) give_up("cannot rename into place");
}

}  // namespace tenon
