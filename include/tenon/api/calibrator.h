// INT8 calibrators, which the application implements.
#ifndef TENON_API_CALIBRATOR_H
#define TENON_API_CALIBRATOR_H

#include "NvInferRuntime.h"

#if TENON_TRT_OLDER_NAMES
namespace nvinfer1 {

/// How a calibrator wants ranges to be found.
enum class CalibrationAlgoType : int32_t {
  kLEGACY_CALIBRATION = 0,     ///< From histograms, by a quantile.
  kENTROPY_CALIBRATION = 1,    ///< From histograms, by the least loss of information.
  kENTROPY_CALIBRATION_2 = 2,  ///< The same, per channel of weights and before fusion.
  kMINMAX_CALIBRATION = 3,     ///< From the least and largest values.
};

template <> struct impl::EnumMaxImpl<CalibrationAlgoType> {
  static constexpr int32_t kVALUE = 4;
};

/// Feeds inputs to the builder so that it finds the ranges of INT8 tensors; the application
/// implements one of the derived classes.
class IInt8Calibrator : public IVersionedInterface {
 public:
  /// How many items getBatch() gives at a time.
  virtual int32_t getBatchSize() const noexcept = 0;

  /// Writes the device address of the next batch of each input to `bindings`, in the order of
  /// `names`; false if there are no more.
  virtual bool getBatch(void* bindings[], const char* names[], int32_t nbBindings) noexcept = 0;

  /// Ranges saved before, owned by the calibrator, and their size in bytes; null if there are none.
  virtual const void* readCalibrationCache(size_t& length) noexcept = 0;

  /// Takes the ranges found, so that the next build need not search; `data` is valid during the
  /// call.
  virtual void writeCalibrationCache(const void* data, size_t length) noexcept = 0;

  /// How ranges are found; each derived class says it.
  virtual CalibrationAlgoType getAlgorithm() noexcept = 0;
  ~IInt8Calibrator() noexcept override = default;
};

namespace v_1_0 {
/// A calibrator for kENTROPY_CALIBRATION.
class IInt8EntropyCalibrator : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"IInt8EntropyCalibrator", 1, 0};
  }
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kENTROPY_CALIBRATION;
  }
  ~IInt8EntropyCalibrator() noexcept override = default;
};

/// A calibrator for kENTROPY_CALIBRATION_2, the usual choice.
class IInt8EntropyCalibrator2 : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"IInt8EntropyCalibrator2", 1, 0};
  }
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kENTROPY_CALIBRATION_2;
  }
  ~IInt8EntropyCalibrator2() noexcept override = default;
};

/// A calibrator for kMINMAX_CALIBRATION, good for language models.
class IInt8MinMaxCalibrator : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"IInt8MinMaxCalibrator", 1, 0};
  }
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kMINMAX_CALIBRATION;
  }
  ~IInt8MinMaxCalibrator() noexcept override = default;
};

/// A calibrator for kLEGACY_CALIBRATION.
class IInt8LegacyCalibrator : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IInt8Calibrator", 1, 0}; }
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kLEGACY_CALIBRATION;
  }

  /// The quantile of values that the range covers, from 0 to 1.
  virtual double getQuantile() const noexcept = 0;

  /// The share of the largest value at which the search for the range stops, from 0 to 1.
  virtual double getRegressionCutoff() const noexcept = 0;

  /// Histograms saved before, and their size in bytes; null if there are none.
  virtual const void* readHistogramCache(size_t& length) noexcept = 0;

  /// Takes the histograms found.
  virtual void writeHistogramCache(const void* data, size_t length) noexcept = 0;
  ~IInt8LegacyCalibrator() noexcept override = default;
};
}  // namespace v_1_0

}  // namespace nvinfer1
#endif  // TENON_TRT_OLDER_NAMES

#endif  // TENON_API_CALIBRATOR_H
