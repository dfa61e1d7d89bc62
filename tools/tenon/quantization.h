// From a float model to one with QuantizeLinear and DequantizeLinear.
#pragma once

#include <NvInfer.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "quantize_fallback.h"

namespace tenon::tool {

/// What is quantized and how, besides the samples or the cache, which are options of builds.
struct QuantizationOptions {
  std::vector<std::string> kept_float;            // names of nodes, and @FILE for those in it
  std::string exported;                           // a file for the names of all that stay in float
  LossBound loss{LossMetric::kRelative, -1, ""};  // below 0 for no bound
  bool equalizes = false, corrects_biases = false;
  std::string smoothing;  // alpha; "" for none

  void add_to(CLI::App& command);
  /// Whether one of them is on the command line.
  bool given() const;
  /// The nodes of `kept_float`, those of files among them. Throws Failure.
  std::vector<std::string> kept_nodes() const;

 private:
  std::vector<const CLI::Option*> options_;
};

/// The ONNX model at `path` in int8, by the samples or the calibration cache that `build` names.
/// Prints what stays in float for a bound to hold, and writes the file of --exportKeptFloat.
/// Throws Failure.
std::unique_ptr<nvinfer1::IHostMemory> quantized_model(const std::string& path,
                                                       const QuantizationOptions& quantization,
                                                       const BuildOptions& build, Logger& logger);

}  // namespace tenon::tool
