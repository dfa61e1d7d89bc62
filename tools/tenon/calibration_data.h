// Samples to calibrate with, from .npz files or pictures.
#pragma once

#include <NvInfer.h>
#include <tenon/session/memory.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model.h"
#include "npz.h"
#include "picture_options.h"

namespace tenon::tool {

/// Whether a file, or all files of a folder, are pictures. Throws Failure as CalibrationData does.
bool holds_pictures(const std::string& path);

/// Batches of a network's inputs from an .npz file, or from all of a folder in the order of their
/// names. Arrays have the inputs' names, and their first axis counts samples; what does not fill a
/// batch at the end of a file is left out. One file is in memory at a time.
/// Or batches of a network's only input from pictures, JPEG or PNG, each a sample; one batch is in
/// memory at a time.
class CalibrationData {
 public:
  /// Throws Failure when there is no such file, none in the folder, or files of both kinds.
  /// @param inputs of the network, which outlives this.
  CalibrationData(const std::string& path, std::vector<const nvinfer1::ITensor*> inputs,
                  session::Memory::Kind memory, const PictureSampleOptions& pictures);

  /// The extents of a sample of the input in the current file, with 1 for the first axis; of a
  /// picture, those of the input. Throws Failure where the input does not say them.
  session::Shape sample_shape(const std::string& input) const;
  /// The extents of a batch, by input. Throws Failure when inputs differ in their first one.
  void set_shapes(session::Shapes shapes);

  /// What a profile for batches is made of.
  RunInputs run_inputs() const;

  /// The next batch, by input; nothing when there is none. Throws Failure, naming file and array,
  /// when an array is missing or does not fit, and where there is no batch at all.
  std::optional<Arrays> next();
  /// The same, copied to where it then tells it to lie, input by input; false when there is none.
  bool next(void** addresses);
  /// Samples that were left out so far.
  int64_t left_out() const { return left_out_; }

 private:
  const Array& array(const std::string& name) const;
  void open_next();
  void check_rows();
  void check(const nvinfer1::ITensor& input) const;

  std::string path_;
  std::vector<const nvinfer1::ITensor*> inputs_;
  session::Shapes shapes_;
  std::vector<std::string> files_;
  bool has_pictures_ = false;
  PictureSampleOptions pictures_;
  size_t opened_ = 0;
  Arrays arrays_;  // of the file opened last
  int64_t rows_ = 0, row_ = 0, left_out_ = 0;
  bool has_given_ = false;               // a batch
  std::vector<session::Memory> memory_;  // by input
};

}  // namespace tenon::tool
