#include "base/shape.h"

#include "base/error.h"

namespace tenon {

Shape::Shape(std::span<const int64_t> extents) {
  require(extents.size() <= kMaxRank, "a tensor has {} dimensions; at most {} are supported",
          extents.size(), kMaxRank);
  rank_ = static_cast<int>(extents.size());
  std::copy(extents.begin(), extents.end(), extents_);
}

Shape::Shape(const nvinfer1::Dims& dims) {
  require(dims.nbDims >= 0 && dims.nbDims <= kMaxRank, "nbDims is {}; expected 0 to {}",
          dims.nbDims, kMaxRank);
  rank_ = dims.nbDims;
  std::copy(dims.d, dims.d + rank_, extents_);
}

Shape Shape::filled(int rank, int64_t extent) {
  require(rank >= 0 && rank <= kMaxRank, "rank is {}; expected 0 to {}", rank, kMaxRank);
  Shape s;
  s.rank_ = rank;
  std::fill_n(s.extents_, rank, extent);
  return s;
}

void Shape::push_back(int64_t extent) {
  insert(rank_, extent);
}

void Shape::insert(int axis, int64_t extent) {
  require(rank_ < kMaxRank, "a tensor has more than {} dimensions", kMaxRank);
  std::copy_backward(extents_ + axis, extents_ + rank_, extents_ + rank_ + 1);
  extents_[axis] = extent;
  ++rank_;
}

void Shape::erase(int axis) {
  std::copy(extents_ + axis + 1, extents_ + rank_, extents_ + axis);
  --rank_;
}

int64_t Shape::volume() const {
  return volume(0, rank_);
}

int64_t Shape::volume(int from, int to) const {
  int64_t product = 1;
  bool negative = false, overflow = false, zero = false;
  for (int i = from; i < to; ++i) {
    negative |= extents_[i] < 0;
    zero |= extents_[i] == 0;
    overflow |= __builtin_mul_overflow(product, extents_[i], &product);
  }
  // Everything asks for volumes: the text is made only when it is needed.
  if (negative) fail(ErrorCode::kINVALID_ARGUMENT, "shape {} has a negative extent", str());
  if (zero) return 0;
  if (overflow)
    fail(ErrorCode::kINVALID_ARGUMENT, "shape {} has more elements than fit 64 bits", str());
  return product;
}

Shape Shape::strides() const {
  Shape s = *this;
  // Of a shape without elements, strides may not fit 64 bits, and nobody goes by them: they wrap.
  uint64_t step = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    s[i] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(extents_[i]);
  }
  return s;
}

nvinfer1::Dims Shape::dims() const {
  nvinfer1::Dims out{};
  out.nbDims = rank_;
  std::copy(begin(), end(), out.d);
  return out;
}

std::string Shape::str() const {
  return rank_ == 0 ? "scalar" : fmt::format("{}", fmt::join(begin(), end(), "x"));
}

int normalized_axis(int64_t axis, int rank) {
  require(axis >= -rank && axis < rank, "axis is {}; expected {} to {} for rank {}", axis, -rank,
          rank - 1, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace tenon
