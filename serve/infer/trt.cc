#include "tenon/serve/trt.h"

#include <tenon/printable.h>

#include <algorithm>
#include <new>
#include <utility>

#include "guard.h"
#include "npz_calibrator.h"

namespace tenon::serve {

using session::value_of;

namespace {

// The outputs become the named tensors.
void mark_outputs(nvinfer1::INetworkDefinition& network, const std::vector<std::string>& names) {
  const auto there = [](auto* found) {
    if (found == nullptr) throw std::bad_alloc();  // it has one of that number
    return found;
  };
  std::vector<nvinfer1::ITensor*> wanted(names.size(), nullptr);
  for (int32_t i = 0; i < network.getNbLayers(); ++i)
    for (int32_t j = 0; j < there(network.getLayer(i))->getNbOutputs(); ++j) {
      nvinfer1::ITensor* const tensor = there(network.getLayer(i)->getOutput(j));
      const auto at = std::find(names.begin(), names.end(), tensor->getName());
      if (at != names.end()) wanted[static_cast<size_t>(at - names.begin())] = tensor;
    }
  for (size_t i = 0; i < names.size(); ++i)
    if (wanted[i] == nullptr)
      throw Error{"the network has no tensor '" + printable(names[i]) + "' to be an output"};
  while (network.getNbOutputs() > 0) network.unmarkOutput(*there(network.getOutput(0)));
  for (nvinfer1::ITensor* const tensor : wanted) network.markOutput(*tensor);
}

}  // namespace

Result<void> Trt::SetInt8Calibrator(const std::string& type, int batch_size,
                                    const std::string& data_path,
                                    const std::string& cache_file) noexcept {
  return session::guard([&] {
    using nvinfer1::CalibrationAlgoType;
    CalibrationAlgoType algorithm = CalibrationAlgoType::kENTROPY_CALIBRATION_2;
    if (type == "MinMaxCalibrator")
      algorithm = CalibrationAlgoType::kMINMAX_CALIBRATION;
    else if (type == "EntropyCalibrator")
      algorithm = CalibrationAlgoType::kENTROPY_CALIBRATION;
    else if (type != "EntropyCalibratorV2")
      throw Error{"there is no calibrator '" + printable(type)
                  + "'; there are EntropyCalibratorV2, MinMaxCalibrator and EntropyCalibrator"};
    npz_calibrator_ = std::make_shared<NpzCalibrator>(algorithm, batch_size, data_path, cache_file);
  });
}

void Trt::SetInt8Calibrator(nvinfer1::IInt8Calibrator* calibrator) {
  calibrator_ = calibrator;
  npz_calibrator_.reset();
}

// Batches have the opt shapes of the profile; where there is none, compile()'s own has batch 1.
void Trt::start_calibration(const nvinfer1::INetworkDefinition& network) {
  session::Shapes batches;
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *network.getInput(i);
    session::Shape shape = session::to_shape(input.getDimensions());
    if (const auto range = ranges_.find(input.getName()); range != ranges_.end())
      shape = range->second.opt;
    else if (!shape.empty() && shape[0] < 0)
      shape[0] = 1;
    batches[input.getName()] = shape;
  }
  npz_calibrator_->start(network, batches, session::Memory::Kind::kManaged);
}

Result<void> Trt::BuildEngine(const std::string& onnx, const std::string& engine_file) noexcept {
  return session::guard([&] {
    CompileOptions options;
    if (!ranges_.empty()) options.profiles = {ranges_};
    options.calibrator = npz_calibrator_ != nullptr ? npz_calibrator_.get() : calibrator_;
    options.max_workspace_size = workspace_;
    options.hook = [&](nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig&) {
      if (!custom_outputs_.empty()) mark_outputs(network, custom_outputs_);
      if (npz_calibrator_ != nullptr) start_calibration(network);
    };
    CompileOutput output(engine_file);
    if (npz_calibrator_ != nullptr) npz_calibrator_->forget_error();
    const auto built = compile(mode_, onnx, output, options);
    if (npz_calibrator_ != nullptr && npz_calibrator_->error())
      throw Error{*npz_calibrator_->error()};
    value_of(built);
    if (!engine_file.empty()) return value_of(DeserializeEngine(engine_file));
    infer_ = value_of(load_infer_from_memory(output.data().data(), output.data().size()));
  });
}

Result<void> Trt::DeserializeEngine(const std::string& engine_file) noexcept {
  return session::guard([&] { infer_ = value_of(load_infer(engine_file)); });
}

std::shared_ptr<Tensor> Trt::binding(int index) const {
  if (infer_ == nullptr) return nullptr;
  const int inputs = infer_->num_input();
  return index < inputs ? infer_->input(index) : infer_->output(index - inputs);
}

std::shared_ptr<Tensor> Trt::checked(int index) const {
  if (infer_ == nullptr) throw Error{"there is no engine: call BuildEngine or DeserializeEngine"};
  auto tensor = binding(index);
  if (tensor == nullptr)
    throw Error{"there is no binding " + std::to_string(index) + " of "
                + std::to_string(GetNbInputBindings() + GetNbOutputBindings())};
  return tensor;
}

Result<void> Trt::Forward() noexcept {
  return session::guard([&] {
    if (infer_ == nullptr) throw Error{"there is no engine: call BuildEngine or DeserializeEngine"};
    value_of(infer_->forward());
  });
}

Result<void> Trt::SetBindingDimensions(const std::vector<int>& dims, int index) noexcept {
  return session::guard([&] {
    const auto tensor = checked(index);
    if (index >= GetNbInputBindings())
      throw Error{"binding " + std::to_string(index) + " is an output, whose shape follows"};
    value_of(tensor->resize(Shape(dims.begin(), dims.end())));
  });
}

Result<void> Trt::CopyFromHostToDevice(const std::vector<float>& values, int index) noexcept {
  return session::guard([&] {
    const auto tensor = checked(index);
    if (static_cast<int64_t>(values.size()) != tensor->numel())
      throw Error{std::to_string(values.size()) + " values for binding '" + GetBindingName(index)
                  + "' of shape " + tensor->shape_string()};
    Array array = value_of(session::make_array(DataType::kFLOAT, tensor->shape()));
    std::copy(values.begin(), values.end(), array.as<float>());
    const Array converted = value_of(session::convert(array, tensor->type()));
    value_of(tensor->copy_from_cpu(0, converted.bytes.data(), converted.count()));
  });
}

Result<void> Trt::CopyFromDeviceToHost(std::vector<float>& values, int index) noexcept {
  return session::guard([&] {
    const Array array =
        value_of(session::convert(value_of(checked(index)->to_array()), DataType::kFLOAT));
    values.assign(array.as<float>(), array.as<float>() + array.count());
  });
}

std::string Trt::GetBindingName(int index) const {
  if (binding(index) == nullptr) return {};
  const int inputs = infer_->num_input();
  return index < inputs ? infer_->get_input_name(index) : infer_->get_output_name(index - inputs);
}

nvinfer1::DataType Trt::GetBindingDataType(int index) const {
  const auto tensor = binding(index);
  return tensor == nullptr ? DataType::kFLOAT : tensor->type();
}

nvinfer1::Dims Trt::GetBindingDims(int index) const {
  const auto tensor = binding(index);
  const auto dims = session::to_dims(tensor == nullptr ? Shape() : tensor->shape());
  return dims && tensor != nullptr ? *dims : nvinfer1::Dims{-1, {}};
}

size_t Trt::GetBindingSize(int index) const {
  const auto tensor = binding(index);
  return tensor == nullptr ? 0 : tensor->bytes();
}

void* Trt::GetBindingPtr(int index) const {
  const auto tensor = binding(index);
  if (tensor == nullptr || tensor->memory() == nullptr) return nullptr;
  return tensor->head() == DataHead::kHost ? tensor->memory()->cpu() : tensor->memory()->gpu();
}

}  // namespace tenon::serve
