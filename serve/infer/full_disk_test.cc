// A disk that fills up while a tensor or a plan is written: one clear error, and what was there
// stays.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tenon/replace_file.h"
#include "tenon/serve/infer.h"
#include "tenon/serve/tensor_file.h"
#include "test_models.h"

namespace tenon::serve {
namespace {

namespace fs = std::filesystem;

// Files of this process become no longer than this.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    signal_ = std::signal(SIGXFSZ, SIG_IGN);  // the call fails instead
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int) = SIG_DFL;
};

// What writes a file of some thousand bytes at a path, and what reads it.
struct Kind {
  const char* name;
  std::function<Result<void>(const std::string&)> write;
  std::function<bool(const std::string&)> is_whole;
};

Result<void> write_tensor(const std::string& path) {
  Tensor tensor(Shape{4, 1000});
  if (const auto set = tensor.set_to(7); !set) return set;
  return save_to_file(tensor, path);
}

bool is_whole_tensor(const std::string& path) {
  auto tensor = load_from_file(path);
  return tensor && tensor->shape() == Shape{4, 1000} && *tensor->at<float>({3, 999}) == 7;
}

Result<void> write_plan(const std::string& path) {
  CompileOutput output(path);
  const std::string model = relu_model();
  return compile(Mode::FP32, source_of(model), output);
}

bool is_whole_plan(const std::string& path) {
  return static_cast<bool>(EngineContext::open(path));
}

class FullDisk : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  // Of writing while the disk has so much room; what the test says has more.
  std::string error_within(rlim_t bytes) const {
    const FileLimit limit(bytes);
    return GetParam().write(path_).error();
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_ = fs::path(::testing::TempDir()) / ("tenon_full." + std::to_string(getpid()));
  std::string path_ = (folder_ / "file").string();
};

TEST_P(FullDisk, NoFileComesToBe) {
  for (const rlim_t bytes : {0, 1, 100, 1000}) {
    EXPECT_EQ(error_within(bytes), path_ + ": cannot write: File too large");
    EXPECT_EQ(files(), 0u);
  }
  const auto written = GetParam().write(path_);
  ASSERT_TRUE(written) << written.error();
  EXPECT_TRUE(GetParam().is_whole(path_));
}

TEST_P(FullDisk, TheOldFileStays) {
  ASSERT_TRUE(GetParam().write(path_));
  EXPECT_NE(error_within(100), "");
  EXPECT_TRUE(GetParam().is_whole(path_));
  EXPECT_EQ(files(), 1u);
}

// A file system of one page that is full, which only the thread that made it sees.
TEST_P(FullDisk, OfAFileSystem) {
  bool is_mounted = false;
  std::string error;
  size_t left = 0;
  std::thread([&] {
    is_mounted = unshare(CLONE_NEWNS) == 0
                 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
                 && mount("none", folder_.c_str(), "tmpfs", 0, "size=4k") == 0;
    if (!is_mounted) return;
    const std::vector<char> page(4096);
    replace_file((folder_ / "page").string(), page.data(), page.size());
    error = GetParam().write(path_).error();
    left = files();
    umount2(folder_.c_str(), MNT_DETACH);
  }).join();
  if (!is_mounted) GTEST_SKIP() << "this process may not mount a file system";
  EXPECT_EQ(error, path_ + ": cannot write: No space left on device");
  EXPECT_EQ(left, 1u);  // the page
}

TEST_P(FullDisk, ADeviceIsNoFile) {
  EXPECT_EQ(GetParam().write("/dev/full").error(),
            "/dev/full: cannot write: it is not a regular file");
}

INSTANTIATE_TEST_SUITE_P(Serve, FullDisk,
                         ::testing::Values(Kind{"Tensor", write_tensor, is_whole_tensor},
                                           Kind{"Plan", write_plan, is_whole_plan}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace tenon::serve
