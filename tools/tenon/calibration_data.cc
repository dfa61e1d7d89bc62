#include "calibration_data.h"

#include <algorithm>
#include <filesystem>

#include "error.h"
#include "picture.h"
#include "picture_samples.h"

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

// All of one kind.
std::vector<std::string> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files, pictures;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string file = entry.path();
    if (is_picture(file)) pictures.push_back(file);
    if (entry.path().extension() == ".npz") files.push_back(file);
  }
  if (error) fail(ErrorClass::kFile, "--calibData: {}: {}", path, error.message());
  if (files.empty() && pictures.empty())
    fail(ErrorClass::kContent, "--calibData: {}: holds no .npz file, and no .jpg, .jpeg or .png",
         path);
  if (!files.empty() && !pictures.empty())
    fail(ErrorClass::kContent,
         "--calibData: {}: holds .npz files and pictures: keep those of one kind", path);
  files.insert(files.end(), pictures.begin(), pictures.end());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

bool holds_pictures(const std::string& path) {
  return is_picture(files_of(path).front());
}

CalibrationData::CalibrationData(const std::string& path,
                                 std::vector<const nvinfer1::ITensor*> inputs,
                                 session::Memory::Kind memory, const PictureSampleOptions& pictures)
    : path_(path),
      inputs_(std::move(inputs)),
      files_(files_of(path)),
      has_pictures_(is_picture(files_.front())),
      pictures_(pictures) {
  memory_.reserve(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) memory_.emplace_back(memory);
  if (!has_pictures_)
    open_next();
  else if (inputs_.size() != 1)
    fail(ErrorClass::kContent,
         "--calibData: {}: pictures fill a network's only input, and it has {}: give .npz files",
         path, inputs_.size());
}

session::Shape CalibrationData::sample_shape(const std::string& input) const {
  session::Shape shape =
      has_pictures_ ? session::to_shape(inputs_.front()->getDimensions()) : array(input).shape;
  if (!shape.empty()) shape[0] = 1;
  for (const int64_t extent : shape)
    if (extent < 0)
      fail(ErrorClass::kOptions,
           "--calibData: give the extents that pictures get in input '{}', which is {}, with "
           "--optShapesCalib={}:…",
           input, session::shape_text(shape), input);
  return shape;
}

void CalibrationData::set_shapes(session::Shapes shapes) {
  shapes_ = std::move(shapes);
  for (const auto& [name, shape] : shapes_) {
    if (shape.empty() || shape[0] < 1)
      fail(ErrorClass::kContent,
           "--calibData: input '{}' is {}: its first axis is the batch, of 1 sample or more", name,
           session::shape_text(shape));
    if (shape[0] != shapes_.begin()->second[0])
      fail(ErrorClass::kContent,
           "--calibData: the batch is the first axis of all inputs, and '{}' is {}, '{}' {}",
           shapes_.begin()->first, session::shape_text(shapes_.begin()->second), name,
           session::shape_text(shape));
  }
  if (has_pictures_) return;  // they are made as the shapes say
  for (const auto* input : inputs_) check(*input);
}

RunInputs CalibrationData::run_inputs() const {
  return {shapes_, {}};
}

const Array& CalibrationData::array(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end())
    fail(ErrorClass::kContent, "--calibData: {}: has no array '{}', which is an input",
         files_[opened_ - 1], name);
  return found->second;
}

void CalibrationData::open_next() {
  if (has_pictures_) {
    const auto& [name, shape] = *shapes_.begin();
    const size_t count = std::min(files_.size() - opened_, static_cast<size_t>(shape[0]));
    session::Shape sample = shape;
    sample[0] = 1;
    arrays_[name] = picture_batch(std::span(files_).subspan(opened_, count), *inputs_.front(),
                                  sample, pictures_);
    opened_ += count;
  } else {
    arrays_ = read_npz(files_[opened_++]);
  }
  check_rows();
}

void CalibrationData::check_rows() {
  rows_ = row_ = 0;
  for (const auto* input : inputs_) {
    const session::Shape& shape = array(input->getName()).shape;
    const int64_t rows = shape.empty() ? 0 : shape[0];
    if (input == inputs_.front()) rows_ = rows;
    if (rows < 1 || rows != rows_)
      fail(ErrorClass::kContent,
           "--calibData: {}: array '{}' has {} samples along its first axis; expected 1 or more, "
           "and as many as '{}' has",
           files_[opened_ - 1], input->getName(), rows, inputs_.front()->getName());
  }
}

void CalibrationData::check(const nvinfer1::ITensor& input) const {
  const std::string name = input.getName();
  const Array& found = array(name);
  const session::Shape& batch = shapes_.at(name);
  if (found.type != input.getType())
    fail(ErrorClass::kContent, "--calibData: {}: array '{}' is {}, and the input {}",
         files_[opened_ - 1], name, session::type_name(found.type),
         session::type_name(input.getType()));
  if (!std::equal(batch.begin() + 1, batch.end(), found.shape.begin() + 1, found.shape.end()))
    fail(ErrorClass::kContent,
         "--calibData: {}: array '{}' has the shape {}, and a batch of the input {}: all axes but "
         "the first must agree",
         files_[opened_ - 1], name, session::shape_text(found.shape), session::shape_text(batch));
}

std::optional<Arrays> CalibrationData::next() {
  const int64_t batch = shapes_.begin()->second[0];
  while (row_ + batch > rows_) {
    left_out_ += rows_ - row_;
    row_ = rows_;
    if (opened_ == files_.size()) {
      if (has_given_) return std::nullopt;
      fail(ErrorClass::kContent,
           "--calibData: {}: holds no whole batch of {} samples, for {} are there: give more, or a "
           "smaller shape with --optShapesCalib",
           path_, batch, left_out_);
    }
    open_next();
    for (const auto* input : inputs_) check(*input);
  }
  Arrays result;
  for (const auto* input : inputs_) {
    const Array& from = array(input->getName());
    const auto row_bytes = static_cast<std::ptrdiff_t>(from.bytes.size()) / rows_;
    const auto first = from.bytes.begin() + row_bytes * row_;
    result[input->getName()] = {from.type,
                                shapes_.at(input->getName()),
                                {first, first + row_bytes * batch},
                                from.was_rounded};
  }
  row_ += batch;
  has_given_ = true;
  return result;
}

bool CalibrationData::next(void** addresses) {
  const std::optional<Arrays> batch = next();
  if (!batch) return false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const std::vector<std::byte>& bytes = batch->at(inputs_[i]->getName()).bytes;
    if (memory_[i].reserve(bytes.size()) != cudaSuccess
        || cudaMemcpy(memory_[i].data(), bytes.data(), bytes.size(), cudaMemcpyDefault)
               != cudaSuccess)
      fail(ErrorClass::kMemory, "--calibData: no memory for {} bytes of input '{}'", bytes.size(),
           inputs_[i]->getName());
    addresses[i] = memory_[i].data();
  }
  return true;
}

}  // namespace tenon::tool
