// Where the builds of plans keep code that is generated for them.
#pragma once

#include <optional>

#include "base/digest.h"
#include "base/tensor.h"

namespace tenon {

/// Thread-safe: builds in several threads may share one.
class CodeCache {
 public:
  virtual ~CodeCache() = default;
  /// The code under a key, which stands for all that decides it: source, options, architecture,
  /// compiler.
  virtual std::optional<Tensor> find_code(const Digest& key) = 0;
  /// Keeps bytes (uint8), unless the key is there already.
  virtual void keep_code(const Digest& key, const Tensor& code) = 0;
};

}  // namespace tenon
