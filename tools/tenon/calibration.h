// --calib and --calibData: where a build in int8 has its ranges from.
#pragma once

#include "calibration_data.h"
#include "model.h"

namespace tenon::tool {

/// Samples for all inputs of a model, in batches of the shapes that the options have for
/// calibration; dynamic inputs without one have that of a sample. Throws Failure. The model
/// outlives them.
CalibrationData open_samples(const session::Model& model, const std::string& path,
                             const BuildOptions& options,
                             session::Memory::Kind memory = session::Memory::Kind::kPinned);

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
