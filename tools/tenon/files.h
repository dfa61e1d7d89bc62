// The files that a command line names, looked at before any work is done.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tenon::tool {

/// A file that an option names; no file when the path is empty.
struct NamedFile {
  std::string option, path;
};

/// Throws Failure when one of `written` cannot be written where it is, or is the same file, also
/// through links, as one of `read` or another of `written`.
void check_files(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

/// Those of one repeatable option whose values are "NAME:FILE" or "FILE".
std::vector<NamedFile> named_files(const std::string& option,
                                   const std::vector<std::string>& values);

/// Splits "NAME:FILE" at the first colon, for the file may hold others; "FILE" gets an empty name.
/// A name that holds one stands in single quotes.
std::pair<std::string, std::string> split_file(const std::string& text);

/// While it lives, no other process has one of the same folder: it waits up to 10 seconds for that.
/// It leaves nothing behind, and is void in a folder that cannot be read or locked.
class FolderLock {
 public:
  /// @param file a path in the folder.
  explicit FolderLock(const std::string& file);
  /// False where another process has held the folder all the time.
  bool is_alone() const { return is_alone_; }
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_;
  bool is_alone_ = true;
};

}  // namespace tenon::tool
