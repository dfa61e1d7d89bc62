/// One line on standard error for each thing that is refused.
#include "cudart/notice.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "cudart/runtime.h"

namespace tenon::cudart {

void say_once(std::string_view name, std::string_view what) noexcept {
  static auto* const mutex = new std::mutex;
  static auto* const said = new std::set<std::string, std::less<>>;
  try {
    const std::lock_guard lock(*mutex);
    if (!said->emplace(name).second) return;
    std::fprintf(stderr, "tenon cudart: %.*s %.*s\n", static_cast<int>(name.size()), name.data(),
                 static_cast<int>(what.size()), what.data());
  } catch (...) {
    // Out of memory: the error code must do.
  }
}

cudaError_t note_refusal(cudaError_t error) noexcept {
  return note(error);
}

}  // namespace tenon::cudart
