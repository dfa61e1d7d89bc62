#include "ops/support/fourier_transform.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tenon {
namespace {

constexpr int64_t kLargestFactor = 13;

Complex operator+(Complex a, Complex b) {
  return {a.re + b.re, a.im + b.im};
}
Complex operator-(Complex a, Complex b) {
  return {a.re - b.re, a.im - b.im};
}
Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// exp(-2 pi i k / n)
Complex root(int64_t k, int64_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// One stage for a factor p of n = p * m: x holds `s` interleaved sequences.
struct Stage {
  int64_t n, m, s;
  const Complex* roots;
  int64_t root_step;  // roots[k * root_step] is exp(-2 pi i k / n)
};

void stage_of_2(const Stage& t, const Complex* x, Complex* y) {
  for (int64_t k = 0; k < t.m; ++k) {
    const Complex w = t.roots[k * t.root_step];
    for (int64_t q = 0; q < t.s; ++q) {
      const Complex a = x[q + t.s * k], b = x[q + t.s * (k + t.m)];
      y[q + t.s * 2 * k] = a + b;
      y[q + t.s * (2 * k + 1)] = (a - b) * w;
    }
  }
}

void stage_of_4(const Stage& t, const Complex* x, Complex* y) {
  for (int64_t k = 0; k < t.m; ++k) {
    const Complex w1 = t.roots[k * t.root_step], w2 = w1 * w1, w3 = w1 * w2;
    for (int64_t q = 0; q < t.s; ++q) {
      const Complex a = x[q + t.s * k], b = x[q + t.s * (k + t.m)];
      const Complex c = x[q + t.s * (k + 2 * t.m)], d = x[q + t.s * (k + 3 * t.m)];
      const Complex even = a + c, odd = a - c, sum = b + d, difference = b - d;
      const Complex turned{difference.im, -difference.re};  // times -i
      y[q + t.s * 4 * k] = even + sum;
      y[q + t.s * (4 * k + 1)] = (odd + turned) * w1;
      y[q + t.s * (4 * k + 2)] = (even - sum) * w2;
      y[q + t.s * (4 * k + 3)] = (odd - turned) * w3;
    }
  }
}

void stage_of_any(const Stage& t, int64_t p, const Complex* x, Complex* y) {
  for (int64_t k = 0; k < t.m; ++k)
    for (int64_t i = 0; i < p; ++i) {
      const Complex w = t.roots[i * k * t.root_step];
      for (int64_t q = 0; q < t.s; ++q) {
        Complex sum = x[q + t.s * k];
        for (int64_t j = 1; j < p; ++j)
          sum = sum + x[q + t.s * (k + j * t.m)] * t.roots[i * j % p * t.m * t.root_step];
        y[q + t.s * (p * k + i)] = sum * w;
      }
    }
}

}  // namespace

FourierTransform::FourierTransform(int64_t length) : length_(length) {
  int64_t rest = length;
  for (int64_t p : {4, 2, 3, 5, 7, 11, 13})
    for (; rest > 1 && rest % p == 0; rest /= p) factors_.push_back(p);
  static_assert(kLargestFactor == 13);
  if (rest <= 1) {
    for (int64_t k = 0; k < length; ++k) roots_.push_back(root(k, length));
    return;
  }
  factors_.clear();
  int64_t size = 1;
  while (size < 2 * length - 1) size *= 2;
  longer_ = std::make_unique<FourierTransform>(size);
  // k^2 is taken modulo 2n, step by step: it would overflow, and lose accuracy.
  for (int64_t k = 0, square = 0; k < length; ++k) {
    chirp_.push_back(root(square, 2 * length));
    square = (square + 2 * k + 1) % (2 * length);
  }
  filter_.resize(static_cast<size_t>(size));
  for (int64_t k = 0; k < length; ++k) {
    const Complex c = chirp_[static_cast<size_t>(k)];
    filter_[static_cast<size_t>(k)] = {c.re, -c.im};
    if (k > 0) filter_[static_cast<size_t>(size - k)] = {c.re, -c.im};
  }
  std::vector<Complex> work(static_cast<size_t>(longer_->work_size()));
  longer_->transform(filter_.data(), work.data(), false);
}

int64_t FourierTransform::work_size() const {
  return longer_ == nullptr ? length_ : static_cast<int64_t>(filter_.size()) + longer_->work_size();
}

void FourierTransform::transform(Complex* sequence, Complex* work, bool inverse) const {
  // Swapping the parts before and after turns the sign of the exponent.
  const auto swap_parts = [&] {
    if (inverse)
      for (int64_t k = 0; k < length_; ++k) std::swap(sequence[k].re, sequence[k].im);
  };
  swap_parts();
  if (longer_ != nullptr)
    convolve(sequence, work);
  else
    split(sequence, work);
  swap_parts();
}

void FourierTransform::split(Complex* sequence, Complex* work) const {
  Complex *x = sequence, *y = work;
  Stage stage{length_, length_, 1, roots_.data(), 1};
  for (const int64_t p : factors_) {
    stage.m = stage.n / p;
    if (p == 2)
      stage_of_2(stage, x, y);
    else if (p == 4)
      stage_of_4(stage, x, y);
    else
      stage_of_any(stage, p, x, y);
    std::swap(x, y);
    stage.n = stage.m;
    stage.s *= p;
    stage.root_step *= p;
  }
  if (x != sequence) std::copy_n(x, length_, sequence);
}

void FourierTransform::convolve(Complex* sequence, Complex* work) const {
  const auto size = static_cast<int64_t>(filter_.size());
  Complex* padded = work;
  for (int64_t k = 0; k < length_; ++k) padded[k] = sequence[k] * chirp_[static_cast<size_t>(k)];
  std::fill(padded + length_, padded + size, Complex{});
  longer_->transform(padded, work + size, false);
  for (int64_t k = 0; k < size; ++k) padded[k] = padded[k] * filter_[static_cast<size_t>(k)];
  longer_->transform(padded, work + size, true);
  for (int64_t k = 0; k < length_; ++k) {
    const Complex y = padded[k] * chirp_[static_cast<size_t>(k)];
    sequence[k] = {y.re / static_cast<double>(size), y.im / static_cast<double>(size)};
  }
}

}  // namespace tenon
