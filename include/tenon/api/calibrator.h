// INT8 calibrators, which the application implements.
#ifndef TENON_API_CALIBRATOR_H
#define TENON_API_CALIBRATOR_H

#include "NvInferRuntime.h"

namespace nvinfer1 {

enum class CalibrationAlgoType : int32_t {
  kLEGACY_CALIBRATION = 0,
  kENTROPY_CALIBRATION = 1,
  kENTROPY_CALIBRATION_2 = 2,
  kMINMAX_CALIBRATION = 3,
};

template <> struct impl::EnumMaxImpl<CalibrationAlgoType> {
  static constexpr int32_t kVALUE = 4;
};

class IInt8Calibrator : public IVersionedInterface {
 public:
  virtual int32_t getBatchSize() const noexcept = 0;
  virtual bool getBatch(void* bindings[], const char* names[], int32_t nbBindings) noexcept = 0;
  virtual const void* readCalibrationCache(size_t& length) noexcept = 0;
  virtual void writeCalibrationCache(const void* data, size_t length) noexcept = 0;
  virtual CalibrationAlgoType getAlgorithm() noexcept = 0;
  ~IInt8Calibrator() noexcept override = default;
};

namespace v_1_0 {
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

class IInt8LegacyCalibrator : public IInt8Calibrator {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IInt8Calibrator", 1, 0}; }
  CalibrationAlgoType getAlgorithm() noexcept override {
    return CalibrationAlgoType::kLEGACY_CALIBRATION;
  }
  virtual double getQuantile() const noexcept = 0;
  virtual double getRegressionCutoff() const noexcept = 0;
  virtual const void* readHistogramCache(size_t& length) noexcept = 0;
  virtual void writeHistogramCache(const void* data, size_t length) noexcept = 0;
  ~IInt8LegacyCalibrator() noexcept override = default;
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // TENON_API_CALIBRATOR_H
