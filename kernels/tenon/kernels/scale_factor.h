/// Factors of sizes, as fractions.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tenon::kernels {

/// The first fraction of its continued fraction that rounds to the factor: 0.7 as a float is
/// slightly less, and 7/10 is what was meant.
struct ScaleFactor {
  int64_t numerator = 1, denominator = 0;

  /// Throws std::invalid_argument for what no tensor is scaled by.
  static ScaleFactor of(float factor, const char* name = "scale_factor") {
    constexpr float kMaxFactor = 1 << 20;
    if (!(factor >= 1 / kMaxFactor && factor <= kMaxFactor))
      throw std::invalid_argument(std::string(name)
                                  + " must be between 1/1048576 and 1048576, found "
                                  + std::to_string(factor));
    ScaleFactor before{0, 1}, f;
    double rest = factor;
    for (;;) {
      const auto whole = static_cast<int64_t>(rest);
      const ScaleFactor next{whole * f.numerator + before.numerator,
                             whole * f.denominator + before.denominator};
      before = f;
      f = next;
      if (static_cast<float>(static_cast<double>(f.numerator) / static_cast<double>(f.denominator))
          == factor)
        return f;
      rest = 1 / (rest - static_cast<double>(whole));
    }
  }
};

}  // namespace tenon::kernels
