// --calib and --calibData: where a build in int8 has its ranges from.
#pragma once

#include "model.h"

namespace tenon::tool {

/// Gives a model's builder the calibrator, and the shapes to calibrate with, that the options ask
/// for; it lives until the model is built. Without --calib and --calibData tensors of a model in
/// int8 get trtexec's placeholders for ranges, with a warning. Throws Failure.
class Calibration {
 public:
  Calibration(session::Model& model, const BuildOptions& options, Logger& logger);
  ~Calibration();

  /// The calibration cache that the build made of --calibData; empty before.
  std::string found() const;
  /// Shapes of the batches of --calibData, by input.
  session::Shapes shapes() const;
  /// Writes the file of --calib, if the build has found ranges for it. Throws Failure.
  void save() const;

 private:
  class Calibrator;
  std::unique_ptr<Calibrator> calibrator_;
};

}  // namespace tenon::tool
