// When requests of an open loop are to be sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace tenon::load {

enum class Distribution : uint8_t { kConstant, kPoisson };

/// The times between requests of a rate; the same for the same seed.
class Arrivals {
 public:
  /// @param rate requests per second, above 0.
  Arrivals(Distribution distribution, double rate, uint64_t seed)
      : distribution_(distribution), mean_(1e9 / rate), random_(seed) {}

  /// From the last request to the next one.
  std::chrono::nanoseconds next() {
    const double wait =
        distribution_ == Distribution::kPoisson ? mean_ * exponential_(random_) : mean_;
    // Fractions of nanoseconds add up.
    rest_ += wait;
    const auto whole = static_cast<int64_t>(rest_);
    rest_ -= static_cast<double>(whole);
    return std::chrono::nanoseconds(whole);
  }

 private:
  Distribution distribution_;
  double mean_, rest_ = 0;  // nanoseconds
  std::mt19937_64 random_;
  std::exponential_distribution<double> exponential_{1};
};

}  // namespace tenon::load
