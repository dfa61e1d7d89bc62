#include "load_failure.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <cctype>
#include <memory>
#include <string_view>

namespace tenon::tool {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &::free);
  return status == 0 ? name.get() : symbol;
}

// The word before `mark`, and the one behind it, up to white space or a colon.
std::string word_before(const std::string& text, std::string_view mark) {
  const size_t end = text.find(mark);
  if (end == std::string::npos || end == 0) return "";
  const size_t begin = text.find_last_of(" \t", end - 1);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1));
}
std::string word_behind(const std::string& text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  const size_t begin = at + mark.size(), end = text.find_first_of(" \t:,;)", begin);
  return text.substr(begin, end == std::string::npos ? end : end - begin);
}

// Libraries of NVIDIA, and the packages of PyPI that have them.
struct Package {
  std::string_view library, package;
};
constexpr Package kPackages[] = {
    {"libcudart", "nvidia-cuda-runtime"},
    {"libcublas", "nvidia-cublas"},
    {"libcudnn", "nvidia-cudnn-cu13"},
    {"libnvrtc", "nvidia-cuda-nvrtc"},
    {"libcufft", "nvidia-cufft"},
    {"libcurand", "nvidia-curand"},
    {"libcusolver", "nvidia-cusolver"},
    {"libcusparse", "nvidia-cusparse"},
    {"libnpp", "nvidia-npp"},
};

std::string fix_of_missing(const std::string& library) {
  if (library.starts_with("libnvinfer") && (has(library, ".so.8") || has(library, ".so.7")))
    return "it was compiled for an older TensorRT: compile its sources again with these headers "
           "(docs/guide/from-tensorrt-8.md), or add Tenon's folder lib to LD_LIBRARY_PATH if they "
           "were Tenon's";
  if (library.starts_with("libnvinfer") || library.starts_with("libnvonnxparser"))
    return "add Tenon's folder lib to LD_LIBRARY_PATH: it has " + library;
  if (library.starts_with("libcuda.so"))
    return "it calls NVIDIA's driver, which is on machines with a GPU: compile its .cu files with "
           "tenon-nvcc to run them on a CPU";
  if (library.starts_with("libcudart.so") && !has(library, ".so.13"))
    return "it was compiled for another CUDA: compile it again for CUDA 13, whose libcudart.so.13 "
           "Tenon's folder lib/compatible has for CPUs";
  for (const auto& [prefix, package] : kPackages)
    if (library.starts_with(prefix))
      return fmt::format(
          "install {} (pip install {}), and add its folder lib to LD_LIBRARY_PATH{}", library,
          package, prefix == "libcudart" ? "; Tenon's folder lib/compatible has one for CPUs" : "");
  return fmt::format(
      "install the package that has {} (apt-file search {}), or add its folder to LD_LIBRARY_PATH",
      library, library);
}

std::string fix_of_symbol(const std::string& symbol) {
  const std::string name = demangled(symbol);
  for (const char* library :
       {"cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "nvrtc"})
    if (name.starts_with(library))
      return fmt::format("{} is of NVIDIA's {}: link the library with -l{}", name, library,
                         library);
  if (name.starts_with("cu") && name.size() > 2 && std::isupper(name[2]) != 0)
    return fmt::format(
        "{} is of NVIDIA's driver, which is on machines with a GPU: link the library with -lcuda",
        name);
  if (name.starts_with("cuda") || name.starts_with("__cuda"))
    return fmt::format(
        "{} is of CUDA: link the library with -lcudart, or, for its kernels on a CPU, compile it "
        "with tenon-nvcc",
        name);
  if (has(name, "nvinfer1::") || has(name, "nvonnxparser::"))
    return fmt::format(
        "{} is no function of TensorRT 10.16: compile the library again with Tenon's headers",
        name);
  return fmt::format(
      "no library that it is linked with has {}: link it with what has, -Wl,--no-undefined names "
      "such at link time",
      name);
}

}  // namespace

std::string fix_of_load_failure(const std::string& text) {
  if (has(text, "cannot open shared object file: No such file"))
    return fix_of_missing(word_before(text, ": cannot open shared object file"));
  if (has(text, "no such file") || has(text, "cannot open: No such file"))
    return "name a file that is there";
  if (has(text, "is a directory")) return "name the .so file in it";
  if (has(text, "undefined symbol: "))
    return fix_of_symbol(word_behind(text, "undefined symbol: "));
  if (has(text, "version `") && has(text, "not found"))
    return "it was compiled on a newer system: compile it on this one, or on the oldest that it is "
           "for";
  if (has(text, "wrong ELF class") || has(text, "invalid ELF header") || has(text, "file too short")
      || has(text, "not a dynamic executable"))
    return "it is no library for this processor: `file` says what it is; compile it here";
  if (has(text, "cannot enable executable stack") || has(text, "failed to map segment")
      || has(text, "Permission denied"))
    return "let the file be read and run: its permissions, and a file system mounted without "
           "noexec";
  if (has(text, "static TLS block"))
    return "it wants memory of threads that only libraries loaded at the start get: set LD_PRELOAD "
           "to it";
  return "ldd, and LD_DEBUG=libs, tell more of what it loads";
}

}  // namespace tenon::tool
