// Writing a file whole: readers see the old content or the new one, whatever ends the program.
#ifndef TENON_REPLACE_FILE_H
#define TENON_REPLACE_FILE_H

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tenon {
namespace detail {

/// Keeps signals from this thread as long as it lives.
class SignalsLater {
 public:
  SignalsLater() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  SignalsLater(const SignalsLater&) = delete;
  SignalsLater& operator=(const SignalsLater&) = delete;
  ~SignalsLater() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// A file of the folder of `path`, with the permissions that the process gives new files. It has no
/// name while it is written, so that nothing stays when the process ends; a name beside `path`
/// where the file system has no such files.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd_ >= 0) return;
    do {
      name_ = another_name();
      fd_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EEXIST);
    if (fd_ < 0) name_.clear();
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  /// These return false with the cause in errno.
  bool append(const char* data, size_t size) const {
    if (fd_ < 0) return false;
    while (size > 0) {
      const ssize_t n = ::write(fd_, data, size);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      data += n;
      size -= static_cast<size_t>(n);
    }
    return true;
  }
  bool write(const char* data, size_t size) const { return append(data, size) && flush(); }
  bool flush() const { return ::fsync(fd_) == 0; }
  bool move_into_place() {
    if (name_.empty()) {
      if (link_to(path_)) return true;
      if (errno != EEXIST) return false;
    }
    // Only a file with a name can take the place of another, and for a moment it has both.
    const SignalsLater later;
    while (name_.empty()) {
      const std::string name = another_name();
      if (link_to(name))
        name_ = name;
      else if (errno != EEXIST)
        return false;
    }
    if (::rename(name_.c_str(), path_.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  std::string another_name() const {
    static std::atomic<unsigned> count = 0;
    return path_ + '.' + std::to_string(::getpid()) + '.' + std::to_string(++count);
  }
  bool link_to(const std::string& path) const {
    const std::string open_file = "/proc/self/fd/" + std::to_string(fd_);
    return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

  std::string path_, name_;
  int fd_ = -1;
};

}  // namespace detail

namespace detail {

inline void require_regular(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    throw std::runtime_error(path + ": cannot write: it is "
                             + (S_ISDIR(info.st_mode) ? "a directory" : "not a regular file"));
}

}  // namespace detail

/// Writes `size` bytes to the file at `path`, flushed to the disk, in place of what was there.
/// Throws std::runtime_error, naming the path and the cause, and leaves the old content when it
/// cannot.
inline void replace_file(const std::string& path, const void* data, size_t size) {
  detail::require_regular(path);
  detail::NewFile file(path);
  if (file.write(static_cast<const char*>(data), size) && file.move_into_place()) return;
  throw std::runtime_error(path + ": cannot write: " + std::strerror(errno));
}

}  // namespace tenon

#endif  // TENON_REPLACE_FILE_H
