#include "cuda/nvrtc/compiler.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <nvrtc.h>

#include "base/error.h"

namespace tenon::cuda {
namespace {

// The functions that are used, with the library's own types.
struct Library {
  std::string reason;  // why it cannot be used
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetErrorString) text = nullptr;

  Library() {
    void* handle = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
      handle = dlopen("/usr/local/cuda/lib64/libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reason = fmt::format(
          "NVRTC, which compiles kernels, could not be opened: {}. Install the package "
          "nvidia-cuda-nvrtc of CUDA 13 and put its folder into LD_LIBRARY_PATH",
          dlerror());
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
      if (function == nullptr) reason = fmt::format("libnvrtc.so.13 has no function {}", name);
    };
    find(version, "nvrtcVersion");
    find(create, "nvrtcCreateProgram");
    find(destroy, "nvrtcDestroyProgram");
    find(compile, "nvrtcCompileProgram");
    find(cubin_size, "nvrtcGetCUBINSize");
    find(cubin, "nvrtcGetCUBIN");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(text, "nvrtcGetErrorString");
  }
};

const Library& loaded() {
  static const auto& library = *new Library;  // never closed
  return library;
}

const Library& library() {
  if (!loaded().reason.empty()) fail(ErrorCode::kUNSUPPORTED_STATE, "{}", loaded().reason);
  return loaded();
}

std::vector<std::string> options_for(const std::string& architecture) {
  return {"--gpu-architecture=" + architecture, "--std=c++17", "--fmad=false",
          "--device-as-default-execution-space"};
}

void check(nvrtcResult status, const char* what) {
  if (status != NVRTC_SUCCESS)
    fail(ErrorCode::kINTERNAL_ERROR, "NVRTC: {} failed: {}", what, library().text(status));
}

class Program {
 public:
  explicit Program(const std::string& source) {
    check(library().create(&program_, source.c_str(), "generated.cu", 0, nullptr, nullptr),
          "making a program");
  }
  ~Program() { library().destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  operator nvrtcProgram() const { return program_; }

  std::string log() const {
    size_t bytes = 0;
    check(library().log_size(program_, &bytes), "reading the log's size");
    std::string text(bytes, '\0');
    check(library().log(program_, text.data()), "reading the log");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

}  // namespace

const std::string& reason_for_no_compiler() {
  return loaded().reason;
}

std::string compiler_version() {
  int major = 0, minor = 0;
  check(library().version(&major, &minor), "asking for the version");
  return fmt::format("{}.{}", major, minor);
}

std::vector<std::byte> compile_cuda(const std::string& source, const std::string& architecture) {
  const Program program(source);
  const auto options = options_for(architecture);
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  const nvrtcResult status =
      library().compile(program, static_cast<int>(texts.size()), texts.data());
  if (status != NVRTC_SUCCESS)
    fail(ErrorCode::kINTERNAL_ERROR, "NVRTC cannot compile for {}: {}\n{}\nof the source\n{}",
         architecture, library().text(status), program.log(), source);
  size_t bytes = 0;
  check(library().cubin_size(program, &bytes), "reading the size of the machine code");
  std::vector<std::byte> cubin(bytes);
  check(library().cubin(program, reinterpret_cast<char*>(cubin.data())),
        "reading the machine code");
  return cubin;
}

Digest code_key(const std::string& source, const std::string& architecture) {
  return digest_of(fmt::format("{}\n{}\n{}", compiler_version(),
                               fmt::join(options_for(architecture), " "), source));
}

}  // namespace tenon::cuda
