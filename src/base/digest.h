// 128 bits that stand for a text in keys of caches.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tenon {

using Digest = std::array<uint8_t, 16>;

/// Equal for equal texts, on every machine. Source: XXH3-128 in its canonical byte order.
Digest digest_of(std::string_view text);

}  // namespace tenon
