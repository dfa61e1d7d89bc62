#include "api/plan_libraries.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <list>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "registry/registry.h"

namespace tenon {
namespace {

using nvinfer1::TempfileControlFlag;

bool allows(const HostCode& code, TempfileControlFlag flag) {
  return (code.files >> static_cast<int>(flag) & 1u) != 0;
}

// A file that the loader can open, and that is gone with this object.
class LoadableFile {
 public:
  LoadableFile(const PlanLibrary& library, const HostCode& code) {
    if (allows(code, TempfileControlFlag::kALLOW_IN_MEMORY_FILES)) {
      descriptor_ = ::memfd_create(library.name.c_str(), MFD_CLOEXEC);
      path_ = fmt::format("/proc/self/fd/{}", descriptor_);
    }
    if (descriptor_ < 0) make_temporary(code);
    write(library.bytes);
  }
  LoadableFile(const LoadableFile&) = delete;
  LoadableFile& operator=(const LoadableFile&) = delete;
  ~LoadableFile() {
    unlink();
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  const std::string& path() const { return path_; }
  // What is loaded needs no name any more. The descriptor stays, so that no other file gets its
  // number: the loader would take that for this one.
  void unlink() {
    if (std::exchange(is_temporary_, false)) ::unlink(path_.c_str());
  }

 private:
  void make_temporary(const HostCode& code) {
    require(allows(code, TempfileControlFlag::kALLOW_TEMPORARY_FILES),
            "the loader needs a file, and IRuntime::setTempfileControlFlags allows none{}",
            allows(code, TempfileControlFlag::kALLOW_IN_MEMORY_FILES)
                ? " but in memory, which this system does not give"
                : "");
    const char* standard = std::getenv("TMPDIR");
    const std::string folder = !code.directory.empty()                    ? code.directory
                               : standard != nullptr && *standard != '\0' ? standard
                                                                          : "/tmp";
    path_ = folder + "/tenon-plugin-XXXXXX.so";
    descriptor_ = ::mkostemps(path_.data(), 3, O_CLOEXEC);
    if (descriptor_ < 0)
      fail(ErrorCode::kFAILED_INITIALIZATION,
           "cannot make a temporary file in {}: {} (IRuntime::setTemporaryDirectory)", folder,
           std::strerror(errno));
    is_temporary_ = true;
  }

  void write(const Tensor& bytes) {
    const auto* from = static_cast<const char*>(bytes.data());
    for (size_t done = 0; done < bytes.bytes();) {
      const ssize_t more = ::write(descriptor_, from + done, bytes.bytes() - done);
      if (more > 0) {
        done += static_cast<size_t>(more);
      } else if (more == 0 || errno != EINTR) {
        const std::string reason = std::strerror(errno);
        unlink();
        ::close(descriptor_);
        fail(ErrorCode::kFAILED_INITIALIZATION, "cannot write {}: {}", path_, reason);
      }
    }
  }

  int descriptor_ = -1;
  std::string path_;
  bool is_temporary_ = false;
};

// A library that was loaded from a plan; unloaded with this object.
class LoadedLibrary {
 public:
  LoadedLibrary(const PlanLibrary& library, const HostCode& code)
      : bytes_(library.bytes), file_(library, code), handle_(load_plugin_library(file_.path())) {
    file_.unlink();
  }
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;
  ~LoadedLibrary() { plugin_registry().deregisterLibrary(handle_); }

  bool is(const Tensor& bytes) const {
    return bytes.bytes() == bytes_.bytes()
           && std::memcmp(bytes.data(), bytes_.data(), bytes.bytes()) == 0;
  }

 private:
  Tensor bytes_;
  LoadableFile file_;
  nvinfer1::IPluginRegistry::PluginLibraryHandle handle_;
};

// The libraries of all engines, each once, and how many engines hold it.
struct Shared {
  Shared(const PlanLibrary& from, const HostCode& code) : library(from, code) {}
  LoadedLibrary library;
  int64_t uses = 0;
};
struct AllShared {
  std::mutex mutex;
  std::list<Shared> list;
};
AllShared& all_shared() {
  static auto& all = *new AllShared;  // never destroyed: engines may end later
  return all;
}

// Those of one engine.
class Held {
 public:
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    const std::lock_guard lock(all_shared().mutex);
    for (const auto& shared : held_)
      if (--shared->uses == 0) all_shared().list.erase(shared);
  }
  void add(std::list<Shared>::iterator shared) {
    held_.push_back(shared);
    ++shared->uses;
  }

 private:
  std::vector<std::list<Shared>::iterator> held_;
};

bool is_complete(const Plan& plan) {
  return std::all_of(plan.plugins.begin(), plan.plugins.end(), [](const RequiredPlugin& p) {
    return find_creator(p.name, p.version, p.name_space) != nullptr;
  });
}

}  // namespace

std::vector<PlanLibrary> read_libraries(const std::vector<std::string>& paths) {
  std::vector<PlanLibrary> list;
  for (const std::string& path : paths)
    with_context("setPluginsToSerialize", [&] {
      const auto file = MappedFile::open(path);
      const auto bytes = file->bytes();
      list.push_back({std::filesystem::path(path).filename().string(),
                      Tensor(DataType::kUINT8, Shape{static_cast<int64_t>(bytes.size())}, file,
                             bytes.data())});
    });
  return list;
}

std::shared_ptr<const void> load_libraries(const Plan& plan, const HostCode& code) {
  if (plan.libraries.empty()) return nullptr;
  if (!code.allowed)
    fail(ErrorCode::kINVALID_STATE,
         "the plan holds the plugin library '{}', which is code that runs in this process: if you "
         "trust the plan, call IRuntime::setEngineHostCodeAllowed(true) first",
         plan.libraries[0].name);
  auto held = std::make_shared<Held>();
  auto& [mutex, list] = all_shared();
  const std::lock_guard lock(mutex);
  for (const PlanLibrary& library : plan.libraries)
    with_context(fmt::format("plugin library '{}' of the plan", library.name), [&] {
      const auto known = std::find_if(list.begin(), list.end(), [&](const Shared& shared) {
        return shared.library.is(library.bytes);
      });
      if (known != list.end())
        held->add(known);
      else if (!is_complete(plan))
        held->add(list.emplace(list.end(), library, code));
    });
  return held;
}

}  // namespace tenon
