// Rules of coordinates that tests of resizing go through.
#pragma once

#include <vector>

#include "ops/resize.h"

namespace tenon {

inline std::vector<nvinfer1::ResizeCoordinateTransformation> all_rules() {
  const auto own = [](PrivateCoordinates c) {
    return static_cast<nvinfer1::ResizeCoordinateTransformation>(c);
  };
  return {nvinfer1::ResizeCoordinateTransformation::kALIGN_CORNERS,
          nvinfer1::ResizeCoordinateTransformation::kASYMMETRIC,
          nvinfer1::ResizeCoordinateTransformation::kHALF_PIXEL,
          own(PrivateCoordinates::kPytorchHalfPixel),
          own(PrivateCoordinates::kTfHalfPixelForNearest),
          own(PrivateCoordinates::kHalfPixelSymmetric)};
}

}  // namespace tenon
