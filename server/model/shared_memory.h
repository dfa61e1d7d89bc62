// Triton's system shared-memory extension: regions that clients register, and tensors in them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model.h"

namespace tenon::server {

struct SharedMemoryOptions {
  std::string prefix;                  ///< of all keys that may be registered, without the slash
  size_t max_regions = 128;            ///< each holds a descriptor
  size_t max_bytes = size_t{1} << 30;  ///< of all inputs in regions, while their requests run
};

/// Part of a POSIX shared-memory object.
struct SharedMemoryRegion {
  std::string name, key;
  size_t offset = 0, bytes = 0;
};

/// Part of a region.
struct RegionPart {
  std::string region;
  size_t offset = 0, bytes = 0;
};

/// Elements are read from and written to regions by calls of the system, and never mapped: neither
/// a client that makes the object shorter can end the server, nor does a model see elements change.
/// All members may be called from any thread.
class SharedMemory {
 public:
  explicit SharedMemory(SharedMemoryOptions options) : options_(std::move(options)) {}

  /// An error where the name is taken, or the key is not that of an object which has these bytes.
  std::optional<RequestError> add(const SharedMemoryRegion& region);
  /// Of that name, or all for an empty one; requests that use them go on. There may be none.
  std::optional<RequestError> remove(const std::string& name);
  /// That of the name, or all, by name, for an empty one.
  std::variant<std::vector<SharedMemoryRegion>, RequestError> regions(
      const std::string& name) const;

  /// Gives the tensor memory, with a copy of its elements.
  std::optional<RequestError> read(const RegionPart& part, Tensor& tensor) const;
  /// Copies the elements to where they are wanted: `part` then has the bytes that they take.
  std::optional<RequestError> write(Tensor& tensor, RegionPart& part) const;

 private:
  struct Opened;

  std::shared_ptr<const Opened> find(const RegionPart& part) const;

  const SharedMemoryOptions options_;
  const std::shared_ptr<std::atomic<size_t>> bytes_ = std::make_shared<std::atomic<size_t>>(0);
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Opened>> regions_;
};

/// What is answered where there are no regions because the server has none at all.
RequestError no_shared_memory();

}  // namespace tenon::server
