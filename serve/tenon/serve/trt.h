// tiny-tensorrt's class, by its method names, on Infer.
#ifndef TENON_SERVE_TRT_H
#define TENON_SERVE_TRT_H

#include <memory>
#include <string>
#include <vector>

#include "tenon/serve/compile.h"
#include "tenon/serve/infer.h"

namespace tenon::serve {

class NpzCalibrator;

/// Builds or loads an engine and runs it on float32 vectors. Inputs are numbered first, then
/// outputs. What fails says why in a Result, where tiny-tensorrt ends the process. For one thread
/// at a time.
class Trt {
 public:
  void EnableFP16() { mode_ = mode_ == Mode::INT8 ? mode_ : Mode::FP16; }
  void EnableINT8() { mode_ = Mode::INT8; }
  /// For BuildEngine(), by samples that are the .npz files of a folder: each holds an array of each
  /// input, and as many as fill a batch, which has the opt shapes of the profile, are a batch.
  /// @param type "EntropyCalibratorV2", "MinMaxCalibrator" or "EntropyCalibrator"; others are an
  ///     error.
  /// @param batch_size what the calibrator says; networks that have a batch axis decide it.
  /// @param cache_file where ranges are kept, and taken from where it is there; empty for nowhere.
  Result<void> SetInt8Calibrator(const std::string& type, int batch_size,
                                 const std::string& data_path,
                                 const std::string& cache_file) noexcept;
  /// The caller's, until BuildEngine() has returned.
  void SetInt8Calibrator(nvinfer1::IInt8Calibrator* calibrator);
  void SetWorkspaceSize(size_t bytes) { workspace_ = bytes; }
  /// The network's outputs are these tensors, instead of its own.
  void SetCustomOutput(std::vector<std::string> names) { custom_outputs_ = std::move(names); }
  /// The range of an input, for BuildEngine(). A plan has its own.
  void AddDynamicShapeProfile(const std::string& name, const session::Shape& min,
                              const session::Shape& opt, const session::Shape& max) {
    ranges_[name] = {min, opt, max};
  }

  /// @param engine_file where the plan goes, and where later calls find it; empty for nowhere.
  Result<void> BuildEngine(const std::string& onnx, const std::string& engine_file) noexcept;
  Result<void> DeserializeEngine(const std::string& engine_file) noexcept;

  /// Runs, and waits.
  Result<void> Forward() noexcept;
  /// Sets the shape of an input.
  Result<void> SetBindingDimensions(const std::vector<int>& dims, int index) noexcept;
  /// As many elements as the input's shape has, converted to its type.
  Result<void> CopyFromHostToDevice(const std::vector<float>& values, int index) noexcept;
  /// The vector gets the size of the tensor.
  Result<void> CopyFromDeviceToHost(std::vector<float>& values, int index) noexcept;

  // Of the loaded engine; without one, and for other indices, nothing.
  int GetNbInputBindings() const { return infer_ == nullptr ? 0 : infer_->num_input(); }
  int GetNbOutputBindings() const { return infer_ == nullptr ? 0 : infer_->num_output(); }
  std::string GetBindingName(int index) const;
  nvinfer1::DataType GetBindingDataType(int index) const;
  nvinfer1::Dims GetBindingDims(int index) const;
  size_t GetBindingSize(int index) const;
  /// Where the newest data is.
  void* GetBindingPtr(int index) const;

  const std::shared_ptr<Infer>& infer() const { return infer_; }

 private:
  void start_calibration(const nvinfer1::INetworkDefinition& network);
  std::shared_ptr<Tensor> binding(int index) const;
  std::shared_ptr<Tensor> checked(int index) const;

  Mode mode_ = Mode::FP32;
  nvinfer1::IInt8Calibrator* calibrator_ = nullptr;
  std::shared_ptr<NpzCalibrator> npz_calibrator_;
  size_t workspace_ = 0;
  std::vector<std::string> custom_outputs_;
  session::Ranges ranges_;
  std::shared_ptr<Infer> infer_;
};

}  // namespace tenon::serve

#endif  // TENON_SERVE_TRT_H
