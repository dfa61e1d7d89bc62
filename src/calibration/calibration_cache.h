// TensorRT's calibration cache: a text with the scale of each tensor.
#pragma once

#include <NvInfer.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

/// Line 1 is "TRT-<version>-<kind>", where the kind is EntropyCalibration2, EntropyCalibration,
/// MinMaxCalibration or LegacyCalibration. Each line behind it is "<tensor>: <scale>", the scale as
/// the hexadecimal bits of a float32; the tensor's name may contain colons and spaces.
struct CalibrationCache {
  nvinfer1::CalibrationAlgoType kind = nvinfer1::CalibrationAlgoType::kENTROPY_CALIBRATION_2;
  std::string version;  // TensorRT's that wrote it, as "101600"
  /// Real numbers per step of int8, above 0; in the order of the lines.
  std::vector<std::pair<std::string, float>> scales;
  /// Tensors whose scale is 0, which is none.
  std::vector<std::string> without_scale;
};

/// The name of a kind in line 1.
std::string_view name_of(nvinfer1::CalibrationAlgoType kind);

/// Throws Error, naming the line, for a text that is no such cache, a scale that is negative,
/// infinite or NaN, and a name that comes twice.
CalibrationCache read_calibration_cache(std::string_view text);

/// The text, with scales of 0 for tensors without one.
std::string write_calibration_cache(const CalibrationCache& cache);

}  // namespace tenon
