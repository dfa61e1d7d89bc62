/// Shapes and tensors as kernels see them.
#pragma once

#include "tenon/plugin/spec.h"

namespace tenon {
namespace kit {

struct Split {
  int64_t outer, n, inner;
};

struct Shape : nvinfer1::Dims {
  TENON_HD int rank() const { return nbDims; }
  TENON_HD int64_t operator[](int axis) const { return d[axis]; }
  TENON_HD int64_t volume() const {
    int64_t v = 1;
    for (int i = 0; i < nbDims; ++i) v *= d[i];
    return v;
  }
  /// [outer][n][inner] around `axis`; negative axes count from the end.
  Split split(int axis) const {
    if (axis < 0) axis += nbDims;
    Split s{1, d[axis], 1};
    for (int i = 0; i < axis; ++i) s.outer *= d[i];
    for (int i = axis + 1; i < nbDims; ++i) s.inner *= d[i];
    return s;
  }
};

/// Elements in rows, first axis outermost. Does not own.
template <class E> struct Tensor {
  E* data;
  Shape shape;
  /// kLINEAR, or for ports with `channels_last` kHWC: the shape is still (N, C, H, W), the order in
  /// memory N, H, W, C.
  nvinfer1::TensorFormat format = nvinfer1::TensorFormat::kLINEAR;

  /// Whether an optional port is there.
  TENON_HD explicit operator bool() const { return data != nullptr; }
};

/// The tensors of a repeated port.
template <class E> struct Tensors {
  static constexpr int kMax = Ports::kMax;
  Tensor<E> tensor[kMax] = {};
  int count = 0;

  TENON_HD const Tensor<E>& operator[](int i) const { return tensor[i]; }
};

}  // namespace kit
}  // namespace tenon
