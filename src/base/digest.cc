#include "base/digest.h"

#include <xxhash.h>

#include <cstring>

namespace tenon {

Digest digest_of(std::string_view text) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(text.data(), text.size()));
  Digest digest;
  static_assert(sizeof digest == sizeof canonical.digest);
  std::memcpy(digest.data(), canonical.digest, sizeof digest);
  return digest;
}

}  // namespace tenon
