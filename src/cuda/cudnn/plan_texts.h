// Kernels that this process has made, in cuDNN's own serialised form.
#pragma once

#include <memory>
#include <string>

namespace tenon::cuda::cudnn {

/// Making a kernel may mean to compile it, and a network has many equal layers, each of which is
/// timed, checked and loaded: what was made once is read the next time. Thread-safe. Keeps up to
/// 256 MB.
class PlanTexts {
 public:
  /// Null when there is none.
  static std::shared_ptr<const std::string> find(const std::string& key);
  static void keep(const std::string& key, std::string text);
};

}  // namespace tenon::cuda::cudnn
