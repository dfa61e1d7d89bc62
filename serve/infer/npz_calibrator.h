// Calibration with samples that are .npz files, as tiny-tensorrt's users have them.
#pragma once

#include <NvInfer.h>
#include <tenon/session/array.h>
#include <tenon/session/memory.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tenon::serve {

/// Each file of a folder is a sample, or several, in the order of their names: an array of each
/// input of the network. Files that do not fill a batch at the end are left out. The ranges found
/// are kept in a cache file, which is used in the place of the samples where it is there.
class NpzCalibrator final : public nvinfer1::IInt8EntropyCalibrator2 {
 public:
  /// @param cache_file empty for none.
  NpzCalibrator(nvinfer1::CalibrationAlgoType algorithm, int batch_size, std::string folder,
                std::string cache_file);

  /// Before a build: the inputs of its network, which have the shapes of a batch. Throws Error when
  /// there are neither samples nor a cache.
  void start(const nvinfer1::INetworkDefinition& network, const session::Shapes& batches,
             session::Memory::Kind memory);
  /// What ended a build, since it was forgotten.
  const std::optional<std::string>& error() const { return error_; }

  void forget_error() { error_.reset(); }

  int32_t getBatchSize() const noexcept override { return batch_size_; }
  nvinfer1::CalibrationAlgoType getAlgorithm() noexcept override { return algorithm_; }
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override;
  const void* readCalibrationCache(size_t& length) noexcept override;
  void writeCalibrationCache(const void* cache, size_t length) noexcept override;

 private:
  struct Input {
    session::Array batch;
    session::Memory memory;
    size_t filled = 0;  // bytes
  };

  bool fill_batch();
  void add_file(const std::string& file);

  nvinfer1::CalibrationAlgoType algorithm_;
  int batch_size_;
  std::string folder_, cache_file_;
  std::vector<std::string> files_;
  size_t next_file_ = 0;
  std::map<std::string, Input> inputs_;
  std::vector<std::byte> cache_;
  std::optional<std::string> error_;
};

}  // namespace tenon::serve
