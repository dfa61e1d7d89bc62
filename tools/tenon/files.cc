#include "files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "error.h"

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  if (fs::equivalent(a, b, none)) return true;
  // Neither need be there yet.
  const auto one = fs::weakly_canonical(a, none), other = fs::weakly_canonical(b, none);
  return !one.empty() && one == other;
}

// write_file() makes a new file in the folder and renames it.
void check_writable(const NamedFile& file) {
  struct stat info{};
  if (::stat(file.path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    fail(ErrorClass::kFile, "{}: {}: cannot write: it is {}", file.option, file.path,
         S_ISDIR(info.st_mode) ? "a directory" : "not a regular file");
  const std::string folder = folder_of(file.path);
  if (::stat(folder.c_str(), &info) == 0 && !S_ISDIR(info.st_mode))
    errno = ENOTDIR;
  else if (::access(folder.c_str(), W_OK | X_OK) == 0)
    return;
  fail(ErrorClass::kFile, "{}: {}: cannot write in the folder {}: {}", file.option, file.path,
       folder, std::strerror(errno));
}

}  // namespace

void check_files(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written) {
  for (size_t i = 0; i < written.size(); ++i) {
    const NamedFile& file = written[i];
    if (file.path.empty()) continue;
    const auto check_other = [&](const NamedFile& other) {
      if (!other.path.empty() && same_file(file.path, other.path))
        fail(ErrorClass::kOptions, "{}: {}: would write over the file of {}: name another",
             file.option, file.path, other.option);
    };
    for (const NamedFile& other : read) check_other(other);
    for (size_t k = 0; k < i; ++k) check_other(written[k]);
    check_writable(file);
  }
}

std::vector<NamedFile> named_files(const std::string& option,
                                   const std::vector<std::string>& values) {
  std::vector<NamedFile> files;
  for (const std::string& value : values) files.push_back({option, split_file(value).second});
  return files;
}

std::pair<std::string, std::string> split_file(const std::string& text) {
  const bool is_quoted = text.starts_with('\'') && text.find('\'', 1) != std::string::npos;
  const auto end = is_quoted ? text.find('\'', 1) : 0;
  const auto at = text.find(':', end);
  if (at == std::string::npos) return {"", text};
  return {is_quoted ? text.substr(1, end - 1) : text.substr(0, at), text.substr(at + 1)};
}

FolderLock::FolderLock(const std::string& file)
    : folder_(::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  constexpr std::chrono::milliseconds kLongest(10000), kPause(10);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (folder_ >= 0 && ::flock(folder_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    is_alone_ = std::chrono::steady_clock::now() < end;
    if (!is_alone_) return;
    std::this_thread::sleep_for(kPause);
  }
}

FolderLock::~FolderLock() {
  if (folder_ >= 0) ::close(folder_);
}

}  // namespace tenon::tool
