#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

struct File : ::testing::Test {
  fs::path folder = fs::temp_directory_path() / ("tenon_file_test_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directory(folder); }
  void TearDown() override { fs::remove_all(folder); }

  static std::span<const std::byte> bytes(const std::string& text) {
    return std::as_bytes(std::span(text));
  }
  static std::string text(const std::string& path) {
    const auto file = MappedFile::open(path);
    return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
  }
};

TEST_F(File, WhatIsWrittenIsRead) {
  const std::string path = folder / "a";
  write_file(path, bytes("first"));
  EXPECT_EQ(text(path), "first");
  const auto old = MappedFile::open(path);
  write_file(path, bytes("second"));
  EXPECT_EQ(text(path), "second");
  EXPECT_EQ(std::memcmp(old->bytes().data(), "first", 5), 0);  // readers keep what they opened
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(File, WhatIsNoFileIsAnErrorThatNamesThePath) {
  const auto message = [](const std::string& path) -> std::string {
    try {
      MappedFile::open(path);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message(folder / "none").find("none: cannot open: No such file"), std::string::npos);
  EXPECT_NE(message(folder).find("is a directory"), std::string::npos);
  std::ofstream(folder / "empty").close();
  EXPECT_NE(message(folder / "empty").find("empty"), std::string::npos);
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_NE(message(folder / "pipe").find("not a regular file"), std::string::npos);
}

// SIGXFSZ is a signal that comes while a file is written: the system sends it for one too large.
TEST_F(File, ASignalWhileWritingLeavesTheOldContentAndNothingElse) {
  const int probe = ::open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (probe < 0) GTEST_SKIP() << "the file system has no files without names";
  ::close(probe);
  const auto write_too_much = [](const std::string& path) {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    write_file(path, bytes(std::string(100'000, 'x')));
  };
  EXPECT_EXIT(write_too_much(folder / "new"), ::testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_TRUE(fs::is_empty(folder));
  write_file(folder / "old", bytes("old"));
  EXPECT_EXIT(write_too_much(folder / "old"), ::testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_EQ(text(folder / "old"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(File, AFailedWriteLeavesNothing) {
  EXPECT_THROW(write_file(folder / "missing" / "a", bytes("x")), Error);
  EXPECT_THROW(write_file(folder, bytes("x")), Error);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(File, ATemporaryFileHasItsBytesAndNoName) {
  ::setenv("TMPDIR", folder.c_str(), 1);
  const std::string text(100'000, 'x');
  const auto file = MappedFile::temporary(bytes(text));
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(std::memcmp(file->bytes().data(), text.data(), text.size()), 0);
  EXPECT_EQ(file->bytes().size(), text.size());
  EXPECT_TRUE(fs::is_empty(folder));
  ::setenv("TMPDIR", (folder / "missing").c_str(), 1);
  EXPECT_EQ(MappedFile::temporary(bytes(text)), nullptr);
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace tenon
