// A code cache for tests.
#pragma once

#include <map>

#include "backend/code_cache.h"

namespace tenon {

/// Keeps code for as long as it lives, for one thread.
struct KeptCode final : CodeCache {
  std::optional<Tensor> find_code(const Digest& key) override {
    const auto it = kept.find(key);
    return it == kept.end() ? std::nullopt : std::optional(it->second);
  }
  void keep_code(const Digest& key, const Tensor& code) override { kept.emplace(key, code); }

  std::map<Digest, Tensor> kept;
};

}  // namespace tenon
