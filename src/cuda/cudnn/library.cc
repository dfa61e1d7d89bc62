#include "cuda/cudnn/library.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "cuda/check.h"

namespace tenon::cuda::cudnn {
namespace {

struct Opened {
  Library library;
  std::string reason;

  Opened() {
    void* file = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) {
      reason = fmt::format("cuDNN 9 cannot be opened: {}", dlerror());
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
      if (function == nullptr) reason = fmt::format("libcudnn.so.9 has no function {}", name);
    };
    find(library.version, "cudnnGetVersion");
    find(library.error_string, "cudnnGetErrorString");
    find(library.create, "cudnnCreate");
    find(library.set_stream, "cudnnSetStream");
    find(library.create_descriptor, "cudnnBackendCreateDescriptor");
    find(library.destroy_descriptor, "cudnnBackendDestroyDescriptor");
    find(library.set_attribute, "cudnnBackendSetAttribute");
    find(library.get_attribute, "cudnnBackendGetAttribute");
    find(library.finalize, "cudnnBackendFinalize");
    find(library.execute, "cudnnBackendExecute");
  }
};

const Opened& opened() {
  static const auto& opened = *new Opened;  // never closed
  return opened;
}

/// Handles that nobody uses now, of one device. They live as long as the process.
struct Pool {
  std::array<std::atomic<cudnnHandle_t>, 64> free{};
};

Pool& pool_of(int device) {
  static std::array<Pool, 64> pools;
  require(device >= 0 && device < static_cast<int>(pools.size()), "GPU {} is one too many", device);
  return pools[static_cast<size_t>(device)];
}

}  // namespace

const std::string& reason_for_no_cudnn() {
  return opened().reason;
}

const Library& library() {
  if (!opened().reason.empty()) fail(ErrorCode::kFAILED_INITIALIZATION, "{}", opened().reason);
  return opened().library;
}

void check(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) fail_in("cuDNN", what, library().error_string(status));
}

Handle::Handle() {
  cuda::check(cudaGetDevice(&device_), "asking for the current device");
  for (auto& slot : pool_of(device_).free)
    if (slot.load(std::memory_order_relaxed) != nullptr)
      if ((handle_ = slot.exchange(nullptr)) != nullptr) return;
  check(library().create(&handle_), "making a handle");
}

Handle::~Handle() {
  for (auto& slot : pool_of(device_).free) {
    cudnnHandle_t none = nullptr;
    if (slot.compare_exchange_strong(none, handle_)) return;
  }
}

}  // namespace tenon::cuda::cudnn
