/// The shared memory of a block.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tenon/hostcuda/launch.h"

namespace tenon::hostcuda {

/// Static memory is given out as declarations are reached, each between zones that AddressSanitizer
/// knows; dynamic memory has the launch's size to the byte. Both are new for each block: filled
/// with 0xff, which are NaNs, or uninitialised for MemorySanitizer.
class SharedMemory {
 public:
  static constexpr std::size_t kMostStaticBytes = 48 * 1024;

  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void begin_launch(std::size_t dynamic_bytes);
  void begin_block();
  /// Null when the block has too much.
  void* find(const void* key, const char* name, std::size_t bytes, std::size_t alignment,
             Site site);
  void* dynamic() { return dynamic_; }
  /// Lines that say what lies where, for reports.
  std::string describe() const;

 private:
  struct Variable {
    const void* key;
    char* address;
    const char* name;
    std::size_t bytes;
    Site site;
  };

  char* memory_;
  std::size_t used_ = 0, bytes_ = 0;
  std::vector<Variable> variables_;
  char* dynamic_ = nullptr;
  std::size_t dynamic_bytes_ = 0, dynamic_room_ = 0;
};

}  // namespace tenon::hostcuda
