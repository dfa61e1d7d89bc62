#include "cuda/cublas/library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace tenon::cuda {
namespace {

constexpr const char* kName = "libcublasLt.so.13";

struct Opened {
  CublasLt lt = {};
  std::string reason;

  Opened() {
    void* library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      reason =
          fmt::format("matrix products need cuBLASLt (the wheel nvidia-cublas): {}", dlerror());
      return;
    }
#define TENON_FIND(function) find(library, lt.function, "cublasLt" #function)
    TENON_FIND(Create);
    TENON_FIND(GetVersion);
    TENON_FIND(GetStatusString);
    TENON_FIND(Matmul);
    TENON_FIND(MatmulAlgoCheck);
    TENON_FIND(MatmulAlgoGetHeuristic);
    TENON_FIND(MatmulDescCreate);
    TENON_FIND(MatmulDescDestroy);
    TENON_FIND(MatmulDescSetAttribute);
    TENON_FIND(MatmulPreferenceCreate);
    TENON_FIND(MatmulPreferenceDestroy);
    TENON_FIND(MatmulPreferenceSetAttribute);
    TENON_FIND(MatrixLayoutCreate);
    TENON_FIND(MatrixLayoutDestroy);
    TENON_FIND(MatrixLayoutSetAttribute);
#undef TENON_FIND
  }

 private:
  template <class Function> void find(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr)
      reason = fmt::format("{} has no {}: it is of another version", kName, name);
  }
};

const Opened& opened() {
  static const auto& opened = *new Opened;  // never closed
  return opened;
}

}  // namespace

const std::string& reason_for_no_cublas() {
  return opened().reason;
}

const CublasLt& cublas_lt() {
  if (!opened().reason.empty()) fail(ErrorCode::kFAILED_INITIALIZATION, "{}", opened().reason);
  return opened().lt;
}

}  // namespace tenon::cuda
