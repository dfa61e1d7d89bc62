#include "session.h"

#include <algorithm>
#include <random>

#include "error.h"
#include "late_memory.h"

namespace tenon::tool {

using nvinfer1::OptProfileSelector;
using nvinfer1::TensorIOMode;

std::vector<int64_t> declared_shape(const nvinfer1::ICudaEngine& engine, const std::string& name) {
  return to_vector(engine.getTensorShape(name.c_str()));
}

Session::Session(nvinfer1::ICudaEngine& engine, Logger& logger, int32_t profile)
    : engine_(engine), logger_(logger), profile_(profile) {
  const int32_t count = engine.getNbOptimizationProfiles();
  if (profile < 0 || profile >= count)
    fail("--useProfile={}: the engine has {} profile{}, numbered from 0", profile, count,
         count == 1 ? "" : "s");
  context_.reset(engine.createExecutionContext());
  if (context_ == nullptr) fail_with_log(logger, "cannot make an execution context");
  check(cudaStreamCreate(&stream_), "cannot make a stream");
  if (!context_->setOptimizationProfileAsync(profile, stream_))
    fail_with_log(logger, "cannot set the optimization profile");
}

void* Session::Buffer::data() const {
  return late != nullptr ? late->data() : memory.data();
}

Session::~Session() {
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  context_.reset();
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

void Session::check(cudaError_t status, const char* what) const {
  if (status == cudaSuccess) return;
  // The stream passes on the failure of a layer, of which the engine has said more.
  fail_with_log(logger_, fmt::format("{}: {}", what, cudaGetErrorString(status)));
}

std::vector<std::string> Session::names(TensorIOMode mode) const {
  std::vector<std::string> names;
  for (int32_t i = 0; i < engine_.getNbIOTensors(); ++i) {
    const char* name = engine_.getIOTensorName(i);
    if (engine_.getTensorIOMode(name) == mode) names.emplace_back(name);
  }
  return names;
}

void Session::set_inputs(const Arrays& arrays, const ShapeMap& shapes) {
  const auto inputs = names(TensorIOMode::kINPUT);
  for (const auto& [name, array] : arrays) check_name(name, inputs, "input");
  for (const auto& [name, shape] : shapes) check_name(name, inputs, "input");

  buffers_.clear();
  inputs_.clear();
  outputs_.clear();
  zero_filled_.clear();
  for (const std::string& name : inputs) {
    std::vector<int64_t> shape = declared_shape(engine_, name);
    const bool decides_shapes = engine_.isShapeInferenceIO(name.c_str());
    const bool dynamic = std::find(shape.begin(), shape.end(), -1) != shape.end();
    const auto given = arrays.find(name);
    const auto wanted = decides_shapes ? shapes.end() : shapes.find(name);
    if (given != arrays.end() && wanted != shapes.end() && given->second.shape != wanted->second)
      fail(
          "input '{}' gets data of shape {}, and --shapes says {}: leave out --shapes, or change "
          "the data",
          name, shape_text(given->second.shape), shape_text(wanted->second));
    if (given != arrays.end())
      shape = given->second.shape;
    else if (wanted != shapes.end())
      shape = wanted->second;
    else if (dynamic)
      shape = to_vector(engine_.getProfileShape(name.c_str(), profile_, OptProfileSelector::kOPT));
    const auto type = engine_.getTensorDataType(name.c_str());
    if (!context_->setInputShape(name.c_str(), to_dims(shape))) refuse_shape(name, shape);
    if (given != arrays.end())
      inputs_[name] = convert(given->second, type, fmt::format("input '{}'", name));
    else if (decides_shapes)
      inputs_[name] =
          convert(shape_values(name, shape, shapes), type, fmt::format("input '{}'", name));
    else
      inputs_[name] = make_array(type, shape);
    if (given == arrays.end() && !decides_shapes) zero_filled_.push_back(name);
    if (decides_shapes) context_->setTensorAddress(name.c_str(), inputs_[name].bytes.data());
    buffers_.push_back(
        {name, true, decides_shapes, &inputs_[name], false, EngineMemory(engine_), nullptr});
  }
  for (const std::string& name : names(TensorIOMode::kOUTPUT)) {
    const auto shape = to_vector(context_->getTensorShape(name.c_str()));
    const auto type = engine_.getTensorDataType(name.c_str());
    const bool late = std::find(shape.begin(), shape.end(), -1) != shape.end();
    outputs_[name] = late ? Array{type, {0}, {}} : make_array(type, shape);
    buffers_.push_back({name, false, false, &outputs_[name], late, EngineMemory(engine_), nullptr});
  }
  for (Buffer& b : buffers_) {
    if (b.on_host) continue;
    if (b.is_late) {
      b.late = std::make_unique<LateMemory>(engine_);
      context_->setOutputAllocator(b.name.c_str(), b.late.get());
      continue;
    }
    check(b.memory.reserve(std::max<size_t>(b.host->bytes.size(), 1)), "cannot get device memory");
    context_->setTensorAddress(b.name.c_str(), b.memory.data());
  }
}

void Session::refuse_shape(const std::string& name, const std::vector<int64_t>& shape) const {
  std::string text = logger_.take_error();
  if (text.empty()) text = fmt::format("input '{}' cannot have shape {}", name, shape_text(shape));
  if (engine_.getNbOptimizationProfiles() > 1)
    text += fmt::format("; the engine has {} profiles, and --useProfile chooses one",
                        engine_.getNbOptimizationProfiles());
  throw Failure(text);
}

// The values of an input that decides shapes: as `shapes` has them, else the profile's optimum.
Array Session::shape_values(const std::string& name, const std::vector<int64_t>& shape,
                            const ShapeMap& shapes) const {
  Array values = make_array(nvinfer1::DataType::kINT64, shape);
  const auto given = shapes.find(name);
  if (given != shapes.end() && static_cast<int64_t>(given->second.size()) != values.count())
    fail("input '{}' takes {} values; {} were given", name, values.count(), given->second.size());
  const int64_t* from =
      given != shapes.end()
          ? given->second.data()
          : engine_.getProfileTensorValuesV2(name.c_str(), profile_, OptProfileSelector::kOPT);
  if (from != nullptr) std::copy_n(from, values.count(), values.as<int64_t>());
  return values;
}

void Session::fill_with_noise() {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> noise(0, 1);
  for (const std::string& name : zero_filled_) {
    Array& array = inputs_[name];
    if (array.type != nvinfer1::DataType::kFLOAT) continue;
    std::generate_n(array.as<float>(), array.count(), [&] { return noise(random); });
  }
}

std::vector<void*> Session::bindings() const {
  std::vector<void*> addresses;
  for (int32_t i = 0; i < engine_.getNbIOTensors(); ++i)
    for (const Buffer& b : buffers_)
      if (b.name == engine_.getIOTensorName(i))
        addresses.push_back(b.on_host ? static_cast<void*>(b.host->bytes.data()) : b.data());
  return addresses;
}

void Session::copy_in() {
  for (const Buffer& b : buffers_)
    if (b.is_input && !b.on_host && !b.host->bytes.empty())
      check(cudaMemcpyAsync(b.data(), b.host->bytes.data(), b.host->bytes.size(),
                            cudaMemcpyHostToDevice, stream_),
            "cannot copy an input");
}

void Session::enqueue() {
  if (!context_->enqueueV3(stream_)) fail_with_log(logger_, "the engine cannot run");
}

void Session::copy_out() {
  for (const Buffer& b : buffers_)
    if (b.is_late) {
      wait();
      *b.host = make_array(b.host->type, b.late->shape());
    }
  for (const Buffer& b : buffers_)
    if (!b.is_input && !b.host->bytes.empty())
      check(cudaMemcpyAsync(b.host->bytes.data(), b.data(), b.host->bytes.size(),
                            cudaMemcpyDeviceToHost, stream_),
            "cannot copy an output");
}

void Session::wait() {
  check(cudaStreamSynchronize(stream_), "the engine failed while it ran");
}

void Session::run() {
  copy_in();
  enqueue();
  copy_out();
  wait();
}

}  // namespace tenon::tool
