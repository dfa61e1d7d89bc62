#include "compare/tensor_error.h"

#include <algorithm>
#include <cmath>

namespace tenon::compare {
namespace {

bool is_same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// What elements that are finite in both add up to.
struct Sums {
  double squares = 0, products = 0, found = 0, expected = 0;
  int64_t count = 0;
  double least = std::numeric_limits<double>::infinity(), most = -least, magnitude = 0;

  void add(double f, double e) {
    squares += (f - e) * (f - e);
    products += f * e;
    found += f * f;
    expected += e * e;
    least = std::min(least, e);
    most = std::max(most, e);
    magnitude = std::max(magnitude, std::abs(e));
    ++count;
  }
};

}  // namespace

bool is_float(nvinfer1::DataType type) {
  return type == nvinfer1::DataType::kFLOAT || type == nvinfer1::DataType::kHALF
         || type == nvinfer1::DataType::kBF16;
}

session::Result<TensorError> error_of(const session::Array& found, const session::Array& expected) {
  if (found.shape != expected.shape)
    return session::Error{"shapes differ: " + session::shape_text(found.shape) + " and "
                          + session::shape_text(expected.shape)};
  auto f = session::numbers(found), e = session::numbers(expected);
  if (!f) return session::Error{f.error()};
  if (!e) return session::Error{e.error()};
  TensorError error;
  error.count = found.count();
  Sums sums;
  for (size_t i = 0; i < f->size(); ++i) {
    const double a = (*f)[i], b = (*e)[i];
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (is_same(a, b)) continue;
      if (error.not_finite++ == 0) error.first_not_finite = static_cast<int64_t>(i);
      continue;
    }
    sums.add(a, b);
    if (std::abs(a - b) <= error.largest) continue;
    error.largest = std::abs(a - b);
    error.worst = static_cast<int64_t>(i);
    error.found = a;
    error.expected = b;
  }
  if (error.not_finite > 0) {
    error.worst = error.first_not_finite;
    error.found = (*f)[static_cast<size_t>(error.worst)];
    error.expected = (*e)[static_cast<size_t>(error.worst)];
  }
  if (sums.count == 0) return error;
  error.rms = std::sqrt(sums.squares / static_cast<double>(sums.count));
  error.expected_rms = std::sqrt(sums.expected / static_cast<double>(sums.count));
  const double norms = std::sqrt(sums.found) * std::sqrt(sums.expected);
  if (norms > 0) error.cosine = std::clamp(sums.products / norms, -1.0, 1.0);
  error.range = sums.most > sums.least ? sums.most - sums.least : sums.magnitude;
  return error;
}

}  // namespace tenon::compare
