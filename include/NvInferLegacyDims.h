// Shapes with a fixed number of dimensions.
#ifndef NV_INFER_LEGACY_DIMS_H
#define NV_INFER_LEGACY_DIMS_H

#include "NvInferRuntimeBase.h"
#include "tenon/compat8/dims.h"

namespace nvinfer1 {

/// A shape of two dimensions.
class Dims2 : public Dims {
 public:
  Dims2() : Dims2{0, 0} {}
  Dims2(int64_t d0, int64_t d1) : Dims{2, {d0, d1}} {}
};

/// A size as height and width.
class DimsHW : public Dims2 {
 public:
  DimsHW() : DimsHW{0, 0} {}
  DimsHW(int64_t height, int64_t width) : Dims2{height, width} {}
  int64_t& h() { return d[0]; }
  int64_t h() const { return d[0]; }
  int64_t& w() { return d[1]; }
  int64_t w() const { return d[1]; }
};

/// A shape of three dimensions.
class Dims3 : public Dims2 {
 public:
  Dims3() : Dims3{0, 0, 0} {}
  Dims3(int64_t d0, int64_t d1, int64_t d2) : Dims2{d0, d1} {
    nbDims = 3;
    d[2] = d2;
  }
};

/// A shape of four dimensions.
class Dims4 : public Dims3 {
 public:
  Dims4() : Dims4{0, 0, 0, 0} {}
  Dims4(int64_t d0, int64_t d1, int64_t d2, int64_t d3) : Dims3{d0, d1, d2} {
    nbDims = 4;
    d[3] = d3;
  }
};

}  // namespace nvinfer1

#endif  // NV_INFER_LEGACY_DIMS_H
