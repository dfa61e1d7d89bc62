// Machine code of generated sources, kept in memory and in a folder, so that nothing is compiled
// twice on a machine.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "backend/code_cache.h"
#include "base/digest.h"

namespace tenon::cuda {

/// Thread-safe. Files are written whole or not at all, so that several processes may share a
/// folder; one that is damaged is made anew. A folder that cannot be written to is only read.
class CubinCache {
 public:
  static constexpr size_t kMaxBytes = size_t{256} << 20;

  /// The folder is made when it is needed; "": nothing is kept in files. When there are more than
  /// `max_bytes`, about, the files used longest ago are removed.
  explicit CubinCache(std::string folder, size_t max_bytes = kMaxBytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  /// Machine code for "sm_90": bytes (uint8). What `of_build` has is taken from there, so that one
  /// cache gives one code; otherwise it is the same tensor for the same source, and is kept there
  /// too. Throws what compile_cuda() throws.
  Tensor cubin(const std::string& source, const std::string& architecture,
               CodeCache* of_build = nullptr);

 private:
  Tensor own_cubin(const Digest& key, const std::string& source, const std::string& architecture);
  std::string path_of(const Digest& key) const;
  void remove_oldest() const;

  static constexpr int kWritesPerLook = 64;  // looking at all files takes its time

  std::string folder_;
  size_t max_bytes_;
  std::atomic<int> writes_ = 0;
  std::mutex mutex_;
  std::map<Digest, Tensor> cubins_;  // by code_key()
};

/// The process's own, in the folder that TENON_KERNEL_CACHE names (empty: none), else in
/// tenon/kernels under XDG_CACHE_HOME or ~/.cache.
CubinCache& cubin_cache();

}  // namespace tenon::cuda
