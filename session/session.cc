#include "tenon/session/session.h"

#include <tenon/error_codes.h>
#include <tenon/printable.h>

#include <algorithm>
#include <utility>

#include "guard.h"

namespace tenon::session {

using nvinfer1::DataType;

Result<std::unique_ptr<Session>> Session::make(nvinfer1::ICudaEngine& engine, ErrorLog& log,
                                               const SessionOptions& options) noexcept {
  using Strategy = nvinfer1::ExecutionContextAllocationStrategy;
  return guard([&] {
    std::unique_ptr<Session> session(new Session(log, options));
    session->check(cudaStreamCreate(&session->stream_), "cannot make a stream");
    const bool is_ours = options.layer_memory != SessionOptions::LayerMemory::kAnyProfile;
    session->context_ =
        value_of(Context::make(engine, options.profile, session->stream_, &log,
                               is_ours ? Strategy::kUSER_MANAGED : Strategy::kSTATIC));
    return session;
  });
}

Session::~Session() {
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  context_.reset();
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

// The stream passes on the failure of a layer, of which the engine has said more.
void Session::check(cudaError_t status, const char* what) const {
  if (status != cudaSuccess)
    throw log_.failure(std::string(what) + ": " + cudaGetErrorString(status));
}

std::vector<std::string> Session::names(bool inputs) const {
  std::vector<std::string> names;
  for (const Tensor& tensor : context_->tensors())
    if (tensor.is_input == inputs) names.push_back(tensor.name);
  return names;
}

void Session::check_names(const std::vector<std::string>& names) const {
  constexpr size_t kMaxListed = 20;
  for (const std::string& name : names) {
    const int known = context_->find(name);
    if (known >= 0 && context_->tensors()[static_cast<size_t>(known)].is_input) continue;
    const auto inputs = input_names();
    std::string list;
    for (size_t i = 0; i < std::min(inputs.size(), kMaxListed); ++i)
      list += (list.empty() ? "" : ", ") + printable(inputs[i]);
    if (inputs.size() > kMaxListed)
      list += " and " + std::to_string(inputs.size() - kMaxListed) + " more";
    throw Error{
        with_code("the model has no input '" + printable(name) + "'; its inputs are: " + list,
                  ErrorClass::kNotInModel)};
  }
}

Result<void> Session::set_inputs(const Arrays& arrays, const Shapes& shapes) noexcept {
  return guard([&] {
    Shapes wanted;
    for (const auto& [name, shape] : shapes) {
      check_names({name});
      const auto& tensor = context_->tensors()[static_cast<size_t>(context_->find(name))];
      if (!tensor.decides_shapes) wanted[name] = shape;
    }
    for (const auto& [name, array] : arrays) {
      const auto [entry, is_new] = wanted.try_emplace(name, array.shape);
      if (!is_new && entry->second != array.shape)
        throw Error{with_code("input '" + printable(name) + "' gets data of shape "
                                  + shape_text(array.shape) + ", and its shape is to be "
                                  + shape_text(entry->second),
                              ErrorClass::kShape)};
    }
    value_of(set_shapes(wanted));
    value_of(set_values(arrays, shapes));
  });
}

Result<void> Session::set_shapes(const Shapes& shapes) noexcept {
  return guard([&] {
    for (const auto& [name, shape] : shapes) check_names({name});
    const auto& tensors = context_->tensors();
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].is_input) continue;
      const auto given = shapes.find(tensors[i].name);
      value_of(context_->set_shape(i, given != shapes.end() ? value_of(to_dims(given->second))
                                      : is_known(tensors[i].shape) ? tensors[i].shape
                                                                   : tensors[i].opt));
    }
  });
}

Result<void> Session::set_values(const Arrays& arrays, const Shapes& values) noexcept {
  return guard([&] {
    for (const auto& [name, array] : arrays) check_names({name});
    for (const auto& [name, list] : values) check_names({name});
    value_of(wait());  // for work that uses the memory
    const auto& tensors = context_->tensors();
    ports_.clear();
    inputs_.clear();
    outputs_.clear();
    zero_filled_.clear();
    for (const Tensor& tensor : tensors) {
      Port& port = ports_.emplace_back(memory_of(tensor));
      port.is_in_host = tensor.is_input && tensor.is_on_host;
      port.format = tensor.format;
    }
    for (size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].is_input) set_input(i, arrays, values);
    for (size_t i = 0; i < tensors.size(); ++i)
      if (!tensors[i].is_input) set_output(i);
    reserve_for_layers();
  });
}

Memory Session::memory_of(const Tensor& tensor) const {
  if (tensor.is_on_host) return Memory(Memory::Kind::kPinned);
  if (options_.is_managed && !runs_on_cpu(context_->engine()))
    return Memory(Memory::Kind::kManaged);
  return Memory(context_->engine());
}

void Session::reserve_for_layers() {
  using LayerMemory = SessionOptions::LayerMemory;
  if (options_.layer_memory == LayerMemory::kAnyProfile) return;
  const int64_t bytes =
      options_.layer_memory == LayerMemory::kProfile
          ? context_->engine().getDeviceMemorySizeForProfileV2(options_.profile)
          : static_cast<int64_t>(context_->get().updateDeviceMemorySizeForShapes());
  if (layer_memory_ == nullptr) layer_memory_ = std::make_unique<Memory>(context_->engine());
  check(layer_memory_->reserve(static_cast<size_t>(bytes)), "cannot get memory for the layers");
  context_->get().setDeviceMemoryV2(layer_memory_->data(), bytes);
}

void Session::set_input(size_t i, const Arrays& arrays, const Shapes& values) {
  const Tensor& tensor = context_->tensors()[i];
  const Shape shape = value_of(context_->known_shape(i));
  Array& array = inputs_[tensor.name];
  if (const auto given = arrays.find(tensor.name); given != arrays.end()) {
    if (given->second.shape != shape)
      throw Error{with_code(tensor.label() + " has shape " + shape_text(shape) + ", its data "
                                + shape_text(given->second.shape),
                            ErrorClass::kShape)};
    array = value_of(convert(given->second, tensor.type, tensor.label()));
  } else if (tensor.decides_shapes) {
    array = value_of(convert(shape_values(tensor, shape, values), tensor.type, tensor.label()));
  } else {
    array = value_of(make_array(tensor.type, shape));
    zero_filled_.push_back(tensor.name);
  }
  Port& port = ports_[i];
  port.host = &array;
  if (port.is_in_host && !array.bytes.empty())
    return value_of(context_->set_address(i, array.bytes.data()));
  reserve(i);
  port.is_stale = !port.format.is_linear();
}

// The values of an input that decides shapes: the caller's, else the profile's optimum.
Array Session::shape_values(const Tensor& tensor, const Shape& shape, const Shapes& values) const {
  Array array = value_of(make_array(DataType::kINT64, shape));
  const auto given = values.find(tensor.name);
  if (given != values.end() && static_cast<int64_t>(given->second.size()) != array.count())
    throw Error{with_code(tensor.label() + " takes " + std::to_string(array.count()) + " values; "
                              + std::to_string(given->second.size()) + " were given",
                          ErrorClass::kShape)};
  const int64_t* from = given != values.end() ? given->second.data()
                                              : context_->engine().getProfileTensorValuesV2(
                                                    tensor.name.c_str(), context_->profile(),
                                                    nvinfer1::OptProfileSelector::kOPT);
  if (from != nullptr) std::copy_n(from, array.count(), array.as<int64_t>());
  return array;
}

void Session::set_output(size_t i) {
  const Tensor& tensor = context_->tensors()[i];
  const bool known = !context_->is_data_dependent(i);
  Port& port = ports_[i];
  port.host = &outputs_[tensor.name];
  *port.host =
      value_of(make_array(tensor.type, known ? value_of(context_->known_shape(i)) : Shape{0}));
  if (!known) port.output = std::make_unique<GrowingOutput>(std::move(port.memory));
  value_of(context_->set_output(i, port.output.get()));
  if (known) reserve(i);
}

void Session::reserve(size_t i) {
  Port& port = ports_[i];
  check(port.memory.reserve(port.bytes()), "cannot get device memory");
  if (!port.format.is_linear())
    check(port.packed.reserve(port.bytes()), "cannot get pinned memory of the host");
  value_of(context_->set_address(i, port.memory.data()));
}

size_t Session::Port::bytes() const {
  return format.is_linear() ? host->bytes.size() : value_of(format.bytes(host->type, host->shape));
}

std::byte* Session::Port::transferred() const {
  return format.is_linear() ? host->bytes.data() : static_cast<std::byte*>(packed.data());
}

const void* Session::Port::data() const {
  if (is_in_host && !host->bytes.empty()) return host->bytes.data();
  return output != nullptr ? output->data() : memory.data();
}

Result<void> Session::copy_in(cudaStream_t stream) noexcept {
  return guard([&] {
    for (size_t i = 0; i < ports_.size(); ++i) {
      Port& port = ports_[i];
      if (!context_->tensors()[i].is_input || port.is_in_host || port.host->bytes.empty()) continue;
      if (std::exchange(port.is_stale, false))
        value_of(port.format.pack(*port.host, port.transferred()));
      check(cudaMemcpyAsync(port.memory.data(), port.transferred(), port.bytes(),
                            cudaMemcpyHostToDevice, stream),
            "cannot copy an input");
    }
  });
}

Result<void> Session::enqueue() noexcept {
  return guard([&] {
    if (!context_->get().enqueueV3(stream_)) throw log_.failure("the engine cannot run");
  });
}

Result<void> Session::execute() noexcept {
  return guard([&] {
    std::vector<void*> addresses;
    for (const Port& port : ports_)
      addresses.push_back(port.output != nullptr ? nullptr : const_cast<void*>(port.data()));
    if (!context_->get().executeV2(addresses.data())) throw log_.failure("the engine cannot run");
  });
}

Result<void> Session::copy_out(cudaStream_t stream) noexcept {
  return guard([&] {
    for (Port& port : ports_)
      if (port.output != nullptr) {
        value_of(wait());
        *port.host = value_of(make_array(port.host->type, to_shape(port.output->shape())));
        if (!port.format.is_linear())
          check(port.packed.reserve(port.bytes()), "cannot get pinned memory of the host");
      }
    for (size_t i = 0; i < ports_.size(); ++i) {
      Port& port = ports_[i];
      if (context_->tensors()[i].is_input || port.host->bytes.empty()) continue;
      check(cudaMemcpyAsync(port.transferred(), port.data(), port.bytes(), cudaMemcpyDeviceToHost,
                            stream),
            "cannot copy an output");
      port.is_stale = !port.format.is_linear();
    }
  });
}

Arrays& Session::inputs() {
  for (size_t i = 0; i < ports_.size(); ++i)
    if (context_->tensors()[i].is_input) ports_[i].is_stale = !ports_[i].format.is_linear();
  return inputs_;
}

const Arrays& Session::outputs() {
  for (size_t i = 0; i < ports_.size(); ++i) {
    Port& port = ports_[i];
    if (context_->tensors()[i].is_input || !std::exchange(port.is_stale, false)) continue;
    // It fits: the copy has found the same shape and format.
    [[maybe_unused]] const auto done = port.format.unpack(port.transferred(), *port.host);
  }
  return outputs_;
}

Result<void> Session::wait() noexcept {
  return guard([&] { check(cudaStreamSynchronize(stream_), "the engine failed while it ran"); });
}

Result<void> Session::run() noexcept {
  return guard([&] {
    value_of(copy_in());
    value_of(enqueue());
    value_of(copy_out());
    value_of(wait());
  });
}

}  // namespace tenon::session
