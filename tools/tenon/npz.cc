#include "npz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <tenon/replace_file.h>
#include <tenon/session/npz.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "error.h"

namespace tenon::tool {

std::vector<std::byte> read_file(const std::string& path, size_t max_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail(ErrorClass::kFile, "{}: cannot open: {}", path, std::strerror(errno));
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat info{};
  if (::fstat(fd, &info) != 0 || S_ISDIR(info.st_mode))
    fail(ErrorClass::kFile, "{}: is a directory; expected a file", path);
  if (!S_ISREG(info.st_mode)) fail(ErrorClass::kFile, "{}: is not a regular file", path);
  std::vector<std::byte> bytes(std::min(max_bytes, static_cast<size_t>(info.st_size)));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(fd, bytes.data() + done, bytes.size() - done);
    if (n <= 0)
      fail(ErrorClass::kFile, "{}: cannot read: {}", path,
           n < 0 ? std::strerror(errno) : "it was cut short");
    done += static_cast<size_t>(n);
  }
  return bytes;
}

std::string read_standard_input() {
  std::string bytes;
  char block[1 << 16];
  while (const size_t n = std::fread(block, 1, sizeof block, stdin)) {
    if (bytes.size() + n > INT_MAX)
      fail(ErrorClass::kModelFile,
           "standard input has more than 2 GiB, at which ONNX models end: give a file");
    bytes.append(block, n);
  }
  if (std::ferror(stdin) != 0) fail(ErrorClass::kFile, "standard input cannot be read");
  return bytes;
}

void write_file(const std::string& path, const void* data, size_t size) {
  try {
    replace_file(path, data, size);
  } catch (const std::runtime_error& e) {
    throw Failure(ErrorClass::kFile, e.what());
  }
}

Arrays read_npz(const std::string& path) {
  return value_or_fail(session::read_npz(path));
}

void write_npy(const std::string& path, const Array& array) {
  value_or_fail(session::write_npy(path, array));
}

void write_npz(const std::string& path, const Arrays& arrays) {
  value_or_fail(session::write_npz(path, arrays));
}

}  // namespace tenon::tool
