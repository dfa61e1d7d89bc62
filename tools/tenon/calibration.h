// --calib: the calibrator of a build, which has a cache and no data.
#pragma once

#include "model.h"

namespace tenon::tool {

/// Gives a model's builder the calibrator, and the shapes to calibrate with, that the options ask
/// for; it lives until the model is built. Without --calib there is none. Throws Failure.
class Calibration {
 public:
  Calibration(session::Model& model, const BuildOptions& options);

 private:
  std::unique_ptr<nvinfer1::IInt8Calibrator> calibrator_;
};

}  // namespace tenon::tool
