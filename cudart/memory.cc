/// Allocation on host memory, with the answers that a device would give.
#include "cudart/memory.h"

#include <cstdlib>
#include <mutex>

#include "cudart/sanitizer.h"

namespace tenon::cudart {
namespace {

std::uintptr_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// Smaller requests do not pay for asking the machine.
constexpr std::size_t kAskMachineFrom = std::size_t{16} << 20;

}  // namespace

cudaError_t MemoryRegistry::allocate(void** pointer, std::size_t size, cudaMemoryType type,
                                     unsigned flags) {
  write_out<void*>(pointer, nullptr);
  if (size == 0) return cudaSuccess;
  static const std::size_t total = machine_memory().total;
  // Untouched pages cost nothing, so the machine alone would never say no to many requests.
  const std::size_t before = in_use_.fetch_add(size);
  if (before + size < before || before + size > total
      || (size >= kAskMachineFrom && size > machine_memory().free)) {
    in_use_.fetch_sub(size);
    return cudaErrorMemoryAllocation;
  }
  // To the byte, so that AddressSanitizer sees the first one behind it.
  void* block = nullptr;
  if (posix_memalign(&block, kAlignment, size) != 0) {
    in_use_.fetch_sub(size);
    return cudaErrorMemoryAllocation;
  }
  try {
    const std::unique_lock lock(mutex_);
    blocks_[address(block)] = {address(block), size, type, flags, true, false};
  } catch (...) {
    std::free(block);
    in_use_.fetch_sub(size);
    throw;
  }
  *pointer = block;
  return cudaSuccess;
}

cudaError_t MemoryRegistry::register_host(void* pointer, std::size_t size, unsigned flags) {
  if (!pointer || size == 0 || address(pointer) + size < address(pointer)) {
    return cudaErrorInvalidValue;
  }
  const std::unique_lock lock(mutex_);
  const auto after = blocks_.lower_bound(address(pointer) + size);
  if (after != blocks_.begin()) {
    const Allocation& last = std::prev(after)->second;
    if (last.base + last.size > address(pointer)) return cudaErrorHostMemoryAlreadyRegistered;
  }
  blocks_[address(pointer)] = {
      address(pointer), size, cudaMemoryTypeHost, flags | cudaHostRegisterMapped, false, false};
  return cudaSuccess;
}

cudaError_t MemoryRegistry::unregister_host(void* pointer) {
  const std::unique_lock lock(mutex_);
  const auto found = blocks_.find(address(pointer));
  if (found == blocks_.end() || found->second.owned) return cudaErrorHostMemoryNotRegistered;
  blocks_.erase(found);
  return cudaSuccess;
}

std::optional<Allocation> MemoryRegistry::find(const void* pointer) {
  const std::shared_lock lock(mutex_);
  const auto after = blocks_.upper_bound(address(pointer));
  if (after == blocks_.begin()) return std::nullopt;
  const Allocation& block = std::prev(after)->second;
  if (address(pointer) >= block.base + block.size) return std::nullopt;
  return block;
}

std::optional<Allocation> MemoryRegistry::claim(const void* pointer, bool leave) {
  const std::unique_lock lock(mutex_);
  const auto found = blocks_.find(address(pointer));
  if (found == blocks_.end() || !found->second.owned || found->second.leaving) return std::nullopt;
  const Allocation block = found->second;
  found->second.leaving = leave;
  return block;
}

bool MemoryRegistry::device_can_access(const void* pointer, std::size_t size) {
  const auto block = find(pointer);
  return block && size <= block->base + block->size - address(pointer);
}

void MemoryRegistry::release(void* pointer) {
  {
    const std::unique_lock lock(mutex_);
    const auto found = blocks_.find(address(pointer));
    if (found == blocks_.end()) return;
    in_use_.fetch_sub(found->second.size);
    blocks_.erase(found);
  }
  std::free(pointer);
}

void MemoryRegistry::release_all() {
  const std::unique_lock lock(mutex_);
  for (const auto& [base, block] : blocks_) {
    if (block.owned) std::free(reinterpret_cast<void*>(base));
  }
  blocks_.clear();
  in_use_.store(0);
}

MemoryRegistry& memory_registry() {
  static auto* const registry = new MemoryRegistry;
  return *registry;
}

}  // namespace tenon::cudart
