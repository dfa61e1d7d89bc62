// Feeds timing caches with a right checksum around arbitrary contents to the reader; what it
// accepts is asked, combined, and must read back as it is written. It may refuse bytes with an
// Error, and nothing else.
#include <xxhash.h>

#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "plan/timing_cache.h"

namespace {

using namespace tenon;

void read(std::span<const std::byte> bytes) {
  TimingCache cache, again, combined(16);
  try {
    cache.read(bytes);
  } catch (const Error&) {  // the only answer to a bad cache
    return;
  }
  for (const TimingKey& key : cache.keys())
    if (!cache.find(key)) std::abort();
  combined.combine(cache);
  combined.keep_code({}, Tensor(DataType::kUINT8, {8}));
  const auto written = cache.write();
  again.read(written);
  if (again.write() != written) std::abort();
}

}  // namespace

// An input is what lies between the magic and the checksum.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMagicBytes = 8;
  const auto* input = reinterpret_cast<const std::byte*>(data);
  read({input, size});
  std::vector<std::byte> bytes = TimingCache().write();
  bytes.resize(kMagicBytes);
  bytes.insert(bytes.end(), input, input + size);
  const XXH64_hash_t sum = XXH3_64bits(bytes.data(), bytes.size());
  const auto* end = reinterpret_cast<const std::byte*>(&sum);
  bytes.insert(bytes.end(), end, end + sizeof sum);
  read(bytes);
  return 0;
}
