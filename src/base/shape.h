// A concrete shape: up to eight extents, no allocation.
#pragma once

#include <NvInferRuntimeBase.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tenon {

class Shape {
 public:
  static constexpr int kMaxRank = nvinfer1::Dims::MAX_DIMS;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents)
      : Shape(std::span(extents.begin(), extents.end())) {}
  /// Throws when there are more than kMaxRank extents.
  explicit Shape(std::span<const int64_t> extents);
  /// Throws when nbDims is outside [0, 8].
  explicit Shape(const nvinfer1::Dims& dims);
  static Shape filled(int rank, int64_t extent);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return extents_[axis]; }
  int64_t& operator[](int axis) { return extents_[axis]; }
  const int64_t* begin() const { return extents_; }
  const int64_t* end() const { return extents_ + rank_; }
  int64_t back() const { return extents_[rank_ - 1]; }
  void push_back(int64_t extent);
  void insert(int axis, int64_t extent);
  void erase(int axis);

  /// Product of the extents (1 for rank 0). Throws when it does not fit int64 or one is negative.
  int64_t volume() const;
  /// Product of the extents in [from, to).
  int64_t volume(int from, int to) const;
  /// Elements to skip for a step of one along each axis, rows first.
  Shape strides() const;
  nvinfer1::Dims dims() const;
  /// "2x3x4", or "scalar" for rank 0: trtexec's spelling.
  std::string str() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  int64_t extents_[kMaxRank] = {};
  int rank_ = 0;
};

/// The axis in [0, rank) that `axis` names, negative ones counted from the end; throws otherwise.
int normalized_axis(int64_t axis, int rank);

}  // namespace tenon

template <> struct fmt::formatter<tenon::Shape> : fmt::formatter<std::string> {
  auto format(const tenon::Shape& s, format_context& c) const {
    return formatter<std::string>::format(s.str(), c);
  }
};
