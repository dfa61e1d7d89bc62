#include "tenon/serve/infer.h"

#include <tenon/printable.h>

#include <algorithm>
#include <new>
#include <utility>

#include "guard.h"
#include "tenon/session/memory.h"
#include "tenon/session/output.h"

namespace tenon::serve {

using session::value_of;

namespace {

// Whoever runs an Infer runs it alone.
class Alone {
 public:
  explicit Alone(std::atomic<bool>& is_used) : is_used_(is_used) {
    if (is_used_.exchange(true))
      throw Error{"an Infer is run by two threads at once: make one for each thread"};
  }
  ~Alone() { is_used_ = false; }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  std::atomic<bool>& is_used_;
};

void check_device(const AutoDevice& device, int number) {
  if (device.status() != cudaSuccess)
    throw Error{"device " + std::to_string(number) + ": " + cudaGetErrorString(device.status())};
}

void check_type(const session::Tensor& info, const Tensor& tensor) {
  if (tensor.type() != info.type)
    throw Error{info.label() + " is of " + session::type_name(info.type) + ", and its tensor of "
                + session::type_name(tensor.type())};
}

}  // namespace

template <class Open>
Result<std::shared_ptr<EngineContext>> EngineContext::make(int device, const Open& open) noexcept {
  return session::guard([&] {
    std::shared_ptr<EngineContext> context(new EngineContext);
    context->device_ = MixMemory(device).device_id();
    const AutoDevice current(context->device_);
    check_device(current, context->device_);
    context->engine_ = value_of(open(context->log_));
    context->runs_on_cpu_ = session::runs_on_cpu(context->engine());
    return context;
  });
}

Result<std::shared_ptr<EngineContext>> EngineContext::open(const std::string& path,
                                                           int device) noexcept {
  return make(device, [&](session::ErrorLog& log) { return session::Engine::open(path, log); });
}

Result<std::shared_ptr<EngineContext>> EngineContext::load(std::span<const std::byte> plan,
                                                           int device) noexcept {
  return make(device, [&](session::ErrorLog& log) { return session::Engine::load(plan, log); });
}

Result<std::vector<std::byte>> EngineContext::serial_engine() const noexcept {
  return session::guard([&] {
    const std::unique_ptr<nvinfer1::IHostMemory> plan(engine().serialize());
    if (plan == nullptr) throw Error{"the engine cannot be serialized"};
    const auto* const bytes = static_cast<const std::byte*>(plan->data());
    return std::vector<std::byte>(bytes, bytes + plan->size());
  });
}

// Gives an output the memory of its tensor, once the run says how much it needs.
class Infer::GivenOutput final : public session::Output {
 public:
  GivenOutput(const Infer& infer, const Port& port) : infer_(infer), port_(port) {}

 private:
  void* own_memory(size_t bytes, size_t) noexcept override {
    MixMemory& memory = *port_.tensor->memory();
    const auto data = infer_.is_on_host(port_) ? memory.cpu(bytes) : memory.gpu(bytes);
    return data ? *data : nullptr;
  }

  const Infer& infer_;
  const Port& port_;
};

Infer::Infer(std::shared_ptr<EngineContext> engine, const Options& options)
    : engine_(std::move(engine)), options_(options) {}

Infer::~Infer() {
  const AutoDevice current(device());
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  graph_.reset();
  context_.reset();
  if (stream_ == nullptr || options_.stream != nullptr) return;
  for (const Ports* const ports : {&inputs_, &outputs_})  // others may still have the tensors
    for (const Port& port : *ports)
      if (port.tensor->stream() == stream_) port.tensor->set_stream(nullptr);
  cudaStreamDestroy(stream_);
}

Result<std::shared_ptr<Infer>> Infer::make(std::shared_ptr<EngineContext> engine,
                                           const Options& options) noexcept {
  return session::guard([&] {
    if (engine == nullptr) throw Error{"there is no engine: the pointer is null"};
    std::shared_ptr<Infer> infer(new Infer(std::move(engine), options));
    EngineContext& shared = *infer->engine_;
    const AutoDevice current(shared.device());
    check_device(current, shared.device());
    infer->stream_ = options.stream;
    // One that work of other threads in the default stream does not wait for: while it is captured,
    // that would be an error, or worse.
    if (options.stream == nullptr)
      infer->check(cudaStreamCreateWithFlags(&infer->stream_, cudaStreamNonBlocking),
                   "cannot make a stream");
    using Strategy = nvinfer1::ExecutionContextAllocationStrategy;
    infer->context_ = value_of(session::Context::make(
        shared.engine(), options.profile, infer->stream_, &shared.log(),
        options.layer_memory != nullptr ? Strategy::kUSER_MANAGED : Strategy::kSTATIC));
    const auto& tensors = infer->context_->tensors();
    infer->inputs_.reserve(tensors.size());  // outputs refer to their ports
    infer->outputs_.reserve(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) infer->add_port(i);
    return infer;
  });
}

void Infer::add_port(size_t number) {
  const session::Tensor& info = context_->tensors()[number];
  const bool is_packed = !info.format.is_linear();
  Shape shape = session::to_shape(
      info.is_input ? (session::is_known(info.shape) ? info.shape : info.opt) : info.shape);
  if (!session::is_known(shape)) shape = {0};  // of an output, until it is computed
  Port port{number, std::make_shared<Tensor>(std::move(shape), info.type, device()), nullptr,
            is_packed ? std::make_unique<MixMemory>(device()) : nullptr};
  port.tensor->set_stream(stream_);
  (info.is_input ? inputs_ : outputs_).push_back(std::move(port));
}

void Infer::check(cudaError_t status, const char* what) const {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw engine_->log().failure(std::string(what) + ": " + cudaGetErrorString(status));
}

const session::Tensor& Infer::info(const Ports& ports, int i) const {
  return context_->tensors()[ports[static_cast<size_t>(i)].number];
}

int Infer::find(const Ports& ports, const std::string& name) const {
  for (int i = 0; i < static_cast<int>(ports.size()); ++i)
    if (info(ports, i).name == name) return i;
  return -1;
}

std::shared_ptr<Tensor> Infer::tensor_of(const Ports& ports, int i) const {
  return i >= 0 && i < static_cast<int>(ports.size()) ? ports[static_cast<size_t>(i)].tensor
                                                      : nullptr;
}

std::shared_ptr<Tensor> Infer::tensor(const std::string& name) const {
  const auto found = tensor_of(inputs_, find(inputs_, name));
  return found != nullptr ? found : tensor_of(outputs_, find(outputs_, name));
}

bool Infer::is_on_host(const Port& port) const {
  return engine_->runs_on_cpu() || context_->tensors()[port.number].is_on_host;
}

void Infer::replace(Ports& ports, int i, std::shared_ptr<Tensor> tensor, const char* kind) {
  if (i < 0 || i >= static_cast<int>(ports.size()))
    throw Error{std::string(kind) + " " + std::to_string(i) + " of an engine with "
                + std::to_string(ports.size())};
  const session::Tensor& wanted = info(ports, i);
  if (tensor == nullptr) throw Error{wanted.label() + ": the tensor is null"};
  check_type(wanted, *tensor);
  ports[static_cast<size_t>(i)].tensor = std::move(tensor);
}

Result<void> Infer::set_input(int i, std::shared_ptr<Tensor> tensor) noexcept {
  return session::guard([&] { replace(inputs_, i, std::move(tensor), "input"); });
}

Result<void> Infer::set_output(int i, std::shared_ptr<Tensor> tensor) noexcept {
  return session::guard([&] { replace(outputs_, i, std::move(tensor), "output"); });
}

void* Infer::data_of(Port& port, bool copy) {
  Tensor& tensor = *port.tensor;
  const bool on_host = is_on_host(port);
  if (!on_host && tensor.device() != device())
    throw Error{context_->tensors()[port.number].label() + " is on device "
                + std::to_string(device()) + ", and its tensor on device "
                + std::to_string(tensor.device())};
  value_of(on_host ? tensor.to_cpu(copy) : tensor.to_gpu(copy));
  // A copy was put into the tensor's stream.
  if (!on_host && tensor.stream() != stream_) value_of(tensor.synchronize());
  return on_host ? tensor.memory()->cpu() : tensor.memory()->gpu();
}

// Memory in the format of the engine; `copy` also fills it with the tensor's elements.
void* Infer::packed_data_of(Port& port, bool copy) {
  const session::Tensor& info = context_->tensors()[port.number];
  const size_t bytes = value_of(info.format.bytes(info.type, port.tensor->shape()));
  void* const on_host = value_of(port.packed->cpu(bytes));
  if (copy)
    value_of(info.format.pack(value_of(port.tensor->to_array()), static_cast<std::byte*>(on_host)));
  if (is_on_host(port)) return on_host;
  void* const on_device = value_of(port.packed->gpu(bytes));
  if (copy)
    check(cudaMemcpyAsync(on_device, on_host, bytes, cudaMemcpyHostToDevice, stream_),
          "cannot copy an input");
  return on_device;
}

// Once the stream has come so far.
void Infer::unpack_outputs() {
  for (Port& port : outputs_) {
    if (port.packed == nullptr) continue;
    const session::Tensor& info = context_->tensors()[port.number];
    Tensor& tensor = *port.tensor;
    const size_t bytes = value_of(info.format.bytes(info.type, tensor.shape()));
    if (!is_on_host(port))
      check(cudaMemcpy(port.packed->cpu(), port.packed->gpu(), bytes, cudaMemcpyDeviceToHost),
            "cannot copy an output");
    Array array = value_of(session::make_array(info.type, tensor.shape()));
    value_of(info.format.unpack(static_cast<const std::byte*>(port.packed->cpu()), array));
    value_of(tensor.copy_from_cpu(0, array.bytes.data(), array.count()));
  }
}

void Infer::set_inputs() {
  for (Port& port : inputs_) {
    const session::Tensor& info = context_->tensors()[port.number];
    Tensor& tensor = *port.tensor;
    check_type(info, tensor);  // it may have been converted
    if (tensor.head() == DataHead::kInit && !tensor.empty())
      throw Error{info.label() + " has no data: write to its tensor before forward()"};
    value_of(context_->set_shape(port.number, value_of(session::to_dims(tensor.shape()))));
    void* const data = port.packed ? packed_data_of(port, true) : data_of(port, true);
    value_of(context_->set_address(port.number, data));
    addresses_.push_back(data);
    bindings_[port.number] = data;
    shapes_.push_back(tensor.shape());
  }
}

void Infer::set_outputs() {
  for (Port& port : outputs_) {
    if (context_->is_data_dependent(port.number)) {
      if (port.packed != nullptr)
        throw Error{context_->tensors()[port.number].label()
                    + " has a data-dependent shape and another format than kLINEAR, which Infer "
                      "does not support yet"};
      if (port.output == nullptr) {
        port.output = std::make_unique<GivenOutput>(*this, port);
        value_of(context_->set_output(port.number, port.output.get()));
      }
      port.output->use_own();
      continue;
    }
    value_of(port.tensor->resize(value_of(context_->known_shape(port.number))));
    void* const data = port.packed ? packed_data_of(port, false) : data_of(port, false);
    value_of(context_->set_address(port.number, data));
    addresses_.push_back(data);
    bindings_[port.number] = data;
  }
}

// What only the run could tell.
void Infer::take_outputs() {
  for (Port& port : outputs_) {
    if (port.output == nullptr) continue;
    const Shape shape = session::to_shape(port.output->shape());
    value_of(port.tensor->resize(shape));
    data_of(port, false);
  }
}

void Infer::set_layer_memory() {
  if (options_.layer_memory == nullptr) return;
  const size_t bytes = get_device_memory_size();
  MixMemory& memory = *options_.layer_memory;
  void* const data = value_of(engine_->runs_on_cpu() ? memory.cpu(bytes) : memory.gpu(bytes));
  context_->get().setDeviceMemoryV2(data, static_cast<int64_t>(bytes));
  addresses_.push_back(data);
}

// In this thread: to hand the run to that of the stream, and to wait for it, wakes up two threads,
// which takes longer than many a network.
void Infer::run_here() {
  check(cudaStreamSynchronize(stream_), "work in the stream before the run failed");
  if (!context_->get().executeV2(bindings_.data()))
    throw engine_->log().failure("the engine cannot be run");
}

// The first run of some shapes and memory prepares the context, the second is captured.
void Infer::run() {
  const auto enqueue = [&] { return context_->get().enqueueV3(stream_); };
  const bool is_again = addresses_ == last_addresses_ && shapes_ == last_shapes_;
  const bool has_graph = options_.cuda_graph && !engine_->runs_on_cpu() && is_again
                         && std::all_of(outputs_.begin(), outputs_.end(),
                                        [](const Port& port) { return port.output == nullptr; });
  if (!is_again) graph_.reset();
  last_addresses_.clear();  // until the run succeeds
  if (has_graph && (graph_.is_there() || graph_.capture(stream_, enqueue)))
    check(graph_.launch(stream_), "cannot launch the graph");
  else if (!enqueue())
    throw engine_->log().failure("the engine cannot be run");
  // What needs memory could fail now, and the run would go on.
  std::swap(last_addresses_, addresses_);
  std::swap(last_shapes_, shapes_);
}

Result<void> Infer::forward(bool sync) noexcept {
  return session::guard([&] {
    const Alone alone(is_used_);
    const AutoDevice current(device());
    check_device(current, device());
    engine_->log().take_error();  // of others
    addresses_.clear();
    bindings_.assign(context_->tensors().size(), nullptr);
    shapes_.clear();
    set_inputs();
    set_outputs();
    set_layer_memory();
    if (sync && engine_->runs_on_cpu())
      run_here();
    else
      run();
    try {
      take_outputs();
    } catch (...) {  // after an error nothing may still read and write the tensors
      cudaStreamSynchronize(stream_);
      throw;
    }
    const auto is_packed = [](const Port& port) { return port.packed != nullptr; };
    const bool has_packed = std::any_of(inputs_.begin(), inputs_.end(), is_packed)
                            || std::any_of(outputs_.begin(), outputs_.end(), is_packed);
    if (sync || has_packed) check(cudaStreamSynchronize(stream_), "the engine failed");
    unpack_outputs();
  });
}

Result<void> Infer::synchronize() noexcept {
  return session::guard([&] {
    const AutoDevice current(device());
    check(cudaStreamSynchronize(stream_), "the engine failed");
  });
}

int64_t Infer::get_max_batch_size() const {
  int64_t batch = INT64_MAX;
  for (const Port& port : inputs_) {
    const nvinfer1::Dims& max = context_->tensors()[port.number].max;
    if (max.nbDims > 0) batch = std::min<int64_t>(batch, max.d[0]);
  }
  return batch == INT64_MAX ? 1 : batch;
}

size_t Infer::get_device_memory_size() const {
  return static_cast<size_t>(engine_->engine().getDeviceMemorySizeForProfileV2(options_.profile));
}

std::string Infer::describe() const {
  std::string text;
  for (const Ports* const ports : {&inputs_, &outputs_})
    for (const Port& port : *ports) {
      const session::Tensor& info = context_->tensors()[port.number];
      text += info.label() + ": " + session::type_name(info.type) + " "
              + session::shape_text(session::to_shape(info.shape));
      if (info.is_input && !session::is_known(info.shape))
        text += ", from " + session::shape_text(session::to_shape(info.min)) + " to "
                + session::shape_text(session::to_shape(info.max));
      text += "\n";
    }
  return text;
}

Result<std::shared_ptr<Infer>> load_infer(const std::string& path) noexcept {
  auto engine = EngineContext::open(path);
  if (!engine) return Error{engine.error()};
  return Infer::make(*std::move(engine));
}

Result<std::shared_ptr<Infer>> load_infer_from_memory(const void* plan, size_t size) noexcept {
  auto engine = EngineContext::load({static_cast<const std::byte*>(plan), size});
  if (!engine) return Error{engine.error()};
  return Infer::make(*std::move(engine));
}

}  // namespace tenon::serve
