#include "npz_calibrator.h"

#include <tenon/printable.h>
#include <tenon/replace_file.h>
#include <tenon/session/npz.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "guard.h"
#include "read_file.h"

namespace tenon::serve {

using session::Array;
using session::Error;
using session::value_of;

namespace {

namespace fs = std::filesystem;

std::vector<std::string> npz_files(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".npz") files.push_back(entry->path());
  if (error) throw Error{printable(folder) + ": cannot be read: " + error.message()};
  if (files.empty()) throw Error{printable(folder) + ": holds no .npz file to calibrate with"};
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

NpzCalibrator::NpzCalibrator(nvinfer1::CalibrationAlgoType algorithm, int batch_size,
                             std::string folder, std::string cache_file)
    : algorithm_(algorithm),
      batch_size_(batch_size),
      folder_(std::move(folder)),
      cache_file_(std::move(cache_file)) {}

void NpzCalibrator::start(const nvinfer1::INetworkDefinition& network,
                          const session::Shapes& batches, session::Memory::Kind memory) {
  next_file_ = 0;
  cache_.clear();
  files_.clear();
  inputs_.clear();
  std::error_code unknown;
  if (!cache_file_.empty() && fs::exists(cache_file_, unknown))
    cache_ = session::read_file(cache_file_);
  else
    files_ = npz_files(folder_);
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *network.getInput(i);
    session::Shape shape = session::to_shape(input.getDimensions());
    if (const auto given = batches.find(input.getName()); given != batches.end())
      shape = given->second;
    inputs_.emplace(input.getName(), Input{value_of(session::make_array(input.getType(), shape)),
                                           session::Memory(memory)});
  }
}

void NpzCalibrator::add_file(const std::string& file) {
  const session::Arrays arrays = value_of(session::read_npz(file));
  for (auto& [name, input] : inputs_) {
    const std::string where = printable(file) + ": array '" + printable(name) + "'";
    const auto found = arrays.find(name);
    if (found == arrays.end()) throw Error{where + ", which is an input, is missing"};
    const Array sample = value_of(session::convert(found->second, input.batch.type, where));
    if (sample.bytes.size() > input.batch.bytes.size() - input.filled)
      throw Error{where + " has the shape " + session::shape_text(sample.shape)
                  + ", and a batch of the input " + session::shape_text(input.batch.shape)
                  + ", which whole files must fill"};
    if (!sample.bytes.empty())
      std::memcpy(input.batch.bytes.data() + input.filled, sample.bytes.data(),
                  sample.bytes.size());
    input.filled += sample.bytes.size();
  }
}

// False when there is none.
bool NpzCalibrator::fill_batch() {
  const auto is_full = [](const auto& entry) {
    return entry.second.filled == entry.second.batch.bytes.size();
  };
  for (auto& [name, input] : inputs_) input.filled = 0;
  while (std::none_of(inputs_.begin(), inputs_.end(), is_full)) {
    if (next_file_ == files_.size()) return false;
    add_file(files_[next_file_++]);
  }
  for (const auto& entry : inputs_)
    if (!is_full(entry))
      throw Error{printable(files_[next_file_ - 1]) + ": array '" + printable(entry.first)
                  + "' has fewer samples than those of the other inputs"};
  return true;
}

bool NpzCalibrator::getBatch(void* bindings[], const char* names[], int32_t count) noexcept {
  const auto filled = session::guard([&] {
    if (!fill_batch()) return false;
    for (int32_t i = 0; i < count; ++i) {
      const auto at = inputs_.find(names[i]);
      if (at == inputs_.end())
        throw Error{"calibration asks for '" + printable(names[i]) + "', which is no input"};
      auto& [batch, memory, size] = at->second;
      if (memory.reserve(size) != cudaSuccess
          || cudaMemcpy(memory.data(), batch.bytes.data(), size, cudaMemcpyDefault) != cudaSuccess)
        throw Error{"no memory for a calibration batch of '" + printable(names[i]) + "'"};
      bindings[i] = memory.data();
    }
    return true;
  });
  if (filled) return *filled;
  error_ = filled.error();
  std::fill_n(bindings, count, nullptr);  // ends the build
  return true;
}

const void* NpzCalibrator::readCalibrationCache(size_t& length) noexcept {
  length = cache_.size();
  return cache_.empty() ? nullptr : cache_.data();
}

void NpzCalibrator::writeCalibrationCache(const void* cache, size_t length) noexcept {
  if (cache_file_.empty() || !cache_.empty()) return;
  try {
    replace_file(cache_file_, cache, length);
  } catch (const std::exception& cause) {
    error_ = cause.what();
  }
}

}  // namespace tenon::serve
