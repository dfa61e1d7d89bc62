/// Which CUDA runtime the process uses: NVIDIA's on a GPU, or ours on host memory.
#pragma once

#include <string>

namespace tenon::cudart {

/// NVIDIA's libcudart, looked for once; null with the reason if there is none to use. It is not
/// called for this, so that a process which only loads device code may still fork.
struct NvidiaLibrary {
  void* handle = nullptr;
  std::string path;
  std::string why_not;

  /// A function by its name, or null.
  template <class Function> Function* find(const char* name) const {
    return handle ? reinterpret_cast<Function*>(find_symbol(name)) : nullptr;
  }

 private:
  void* find_symbol(const char* name) const;
};
const NvidiaLibrary& nvidia_library();

}  // namespace tenon::cudart
