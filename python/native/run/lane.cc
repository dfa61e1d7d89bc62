#include "lane.h"

#include <algorithm>
#include <cstdlib>

#include "engine_call.h"
#include "messages.h"

namespace tenon::python {

using nvinfer1::Dims;

namespace {

// Results below this come by a copy that needs no pinned memory, which is taken in pages.
constexpr size_t kLeastPinned = 16 << 10;
// What kernels on a GPU want at most. Parts of arrays may begin anywhere.
constexpr uintptr_t kLaneAlignment = 16;

size_t bytes_of(const Port& port, const Dims& shape) {
  size_t bytes = port.element->bytes;
  for (int i = 0; i < shape.nbDims; ++i) bytes *= static_cast<size_t>(shape.d[i]);
  return bytes;
}

Memory host_memory(size_t bytes, GpuPools& pools) {
  if (bytes >= kLeastPinned) return pools.pinned->take(bytes, nullptr);
  Memory memory(std::malloc(std::max<size_t>(bytes, 1)));
  if (memory == nullptr) throw Error("out of memory");
  return memory;
}

GpuResult make_result(const Port& port, const Dims& shape, const Call& call, GpuPools& pools,
                      cudaStream_t stream) {
  if (call.framework->is_torch) return make_tensor(shape, *port.element, pools.gpu);
  return make_gpu_array(pools.device->take(bytes_of(port, shape), stream), shape, *port.element,
                        pools.gpu, stream);
}

void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes > 0) check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream), "copying an array");
}

// A run on a GPU; ends with the object, however that comes.
class GpuRun {
 public:
  GpuRun(Lane& lane, const Ports& ports, const Call& call, GpuPools& pools, std::vector<Made>& made)
      : lane_(lane), ports_(ports), call_(call), pools_(pools), made_(made), current_(pools.gpu) {
    lane_.gpu->begin(stream_of(call.bound), call.bound);
  }
  ~GpuRun() {
    try {
      if (!ended_) lane_.gpu->end(false);
    } catch (const Error&) {  // another one is on its way
    }
  }
  GpuRun(const GpuRun&) = delete;
  GpuRun& operator=(const GpuRun&) = delete;

  bool run();

 private:
  void set_inputs();
  void set_outputs();
  bool enqueue();
  void copy_in();
  void copy_out();
  void finish_results();
  // Whether the engine reads a copy of the array, in the GPU's memory.
  static bool is_copied(const Port& port, const ArrayView& view) {
    return !port.is_on_host
           && (!view.on_gpu() || reinterpret_cast<uintptr_t>(view.data()) % kLaneAlignment != 0);
  }
  // Whether output i goes to the host.
  bool goes_out(size_t i) const {
    return call_.out[i] != nullptr ? !call_.out[i]->on_gpu() : !call_.results_on_gpu;
  }
  cudaStream_t stream() const { return lane_.gpu->stream(); }

  Lane& lane_;
  const Ports& ports_;
  const Call& call_;
  GpuPools& pools_;
  std::vector<Made>& made_;
  const OnGpu current_;
  bool has_data_dependent_ = false;  // an output whose size the run tells
  bool waits_ = false;
  bool ended_ = false;
};

void GpuRun::set_inputs() {
  GpuWork& work = *lane_.gpu;
  for (size_t i = 0; i < call_.inputs.size(); ++i) {
    const ArrayView& view = *call_.inputs[i];
    const Port& port = ports_.input(i);
    void* data = view.data();
    if (port.is_on_host && view.on_gpu()) {
      auto& elements = work.on_host(i);
      elements.resize(std::max<size_t>(view.bytes(), 1));
      data = elements.data();
      into_engine([&] {
        copy(data, view.data(), view.bytes(), cudaMemcpyDeviceToHost, stream());
        check_cuda(cudaStreamSynchronize(stream()), "copying an array");
      });
    } else if (is_copied(port, view)) {
      if (!view.on_gpu() && work.is_captured())
        raise(PyExc_ValueError, port.label() + ": a CUDA graph captures no array of the host");
      if (work.buffer(i).reserve(view.bytes()) != cudaSuccess)
        throw Error("out of GPU memory: " + std::to_string(view.bytes()) + " bytes for "
                    + port.label());
      data = work.buffer(i).data();
    }
    if (const auto set = lane_.context->set_address(ports_.index_of_input(i), data); !set)
      throw Error(set.error());
  }
}

void GpuRun::set_outputs() {
  for (size_t i = 0; i < call_.out.size(); ++i) {
    const Port& port = ports_.output(i);
    Output& output = *lane_.outputs[i];
    const ArrayView* const given = call_.out[i];
    const size_t index = ports_.index_of_output(i);
    const bool is_data_dependent = lane_.context->is_data_dependent(index);
    const bool out = goes_out(i);
    waits_ = waits_ || out;
    if (out && lane_.gpu->is_captured())
      raise(PyExc_ValueError, port.label() + ": a CUDA graph captures no array of the host");
    if (given != nullptr && given->on_gpu()) {
      output.use(given->data(), given->bytes());
      continue;
    }
    output.use_own();
    if (is_data_dependent) {
      has_data_dependent_ = true;
    } else if (!out) {
      const Dims shape = lane_.context->shape(index);
      const GpuResult result = make_result(port, shape, call_, pools_, stream());
      output.use(result.data, bytes_of(port, shape));
      made_[i].array = result.array;
    }
  }
}

void GpuRun::copy_in() {
  bool is_read_later = false;
  for (size_t i = 0; i < call_.inputs.size(); ++i) {
    const ArrayView& view = *call_.inputs[i];
    if (!is_copied(ports_.input(i), view)) continue;
    copy(lane_.gpu->buffer(i).data(), view.data(), view.bytes(),
         view.on_gpu() ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, stream());
    if (view.on_gpu()) continue;
    // Of ordinary memory the runtime takes a copy before it returns.
    cudaPointerAttributes attributes = {};
    if (!waits_ && cudaPointerGetAttributes(&attributes, view.data()) == cudaSuccess)
      is_read_later = is_read_later || attributes.type != cudaMemoryTypeUnregistered;
  }
  if (is_read_later) check_cuda(cudaStreamSynchronize(stream()), "copying an array");
}

void GpuRun::copy_out() {
  for (size_t i = 0; i < call_.out.size(); ++i) {
    if (!goes_out(i)) continue;
    const Output& output = *lane_.outputs[i];
    void* to = nullptr;
    if (const ArrayView* const given = call_.out[i]; given != nullptr) {
      if (!given->has_shape(output.shape())) continue;  // the caller is told
      to = given->data();
    } else {
      made_[i].memory = host_memory(bytes_of(ports_.output(i), output.shape()), pools_);
      to = made_[i].memory.get();
    }
    copy(to, output.on_gpu(), bytes_of(ports_.output(i), output.shape()), cudaMemcpyDeviceToHost,
         stream());
  }
}

bool GpuRun::enqueue() {
  copy_in();
  if (!lane_.context->get().enqueueV3(stream())) return false;
  if (has_data_dependent_) check_cuda(cudaStreamSynchronize(stream()), "the run");
  if (!waits_) return true;
  copy_out();
  check_cuda(cudaStreamSynchronize(stream()), "the run");
  return true;
}

// Results on the GPU whose size the run told.
void GpuRun::finish_results() {
  for (size_t i = 0; i < call_.out.size(); ++i) {
    if (call_.out[i] != nullptr || goes_out(i) || made_[i].array.is_valid()) continue;
    const Output& output = *lane_.outputs[i];
    const Port& port = ports_.output(i);
    const GpuResult result = make_result(port, output.shape(), call_, pools_, stream());
    copy(result.data, output.on_gpu(), bytes_of(port, output.shape()), cudaMemcpyDeviceToDevice,
         stream());
    made_[i].array = result.array;
  }
}

bool GpuRun::run() {
  set_inputs();
  set_outputs();
  const bool fine = into_engine([&] { return enqueue(); });
  if (fine && has_data_dependent_) finish_results();
  ended_ = true;
  lane_.gpu->end(fine && waits_ && !(has_data_dependent_ && call_.results_on_gpu));
  return fine;
}

}  // namespace

void* Output::own_memory(size_t bytes, size_t alignment) noexcept {
  if (on_gpu_) return buffer_.reserve(bytes) == cudaSuccess ? buffer_.data() : nullptr;
  memory_.reset(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
  return memory_.get();
}

bool run_on_host(Lane& lane, const Ports& ports, const Call& call, std::vector<Made>& made) {
  for (size_t i = 0; i < call.inputs.size(); ++i)
    lane.bindings[ports.index_of_input(i)] = call.inputs[i]->data();
  for (size_t i = 0; i < call.out.size(); ++i) {
    if (call.out[i] != nullptr)
      lane.outputs[i]->use(call.out[i]->data(), call.out[i]->bytes());
    else
      lane.outputs[i]->use_own();
  }
  if (!into_engine([&] { return lane.context->get().executeV2(lane.bindings.data()); }))
    return false;
  for (size_t i = 0; i < call.out.size(); ++i) made[i].memory = lane.outputs[i]->take();
  return true;
}

bool run_on_gpu(Lane& lane, const Ports& ports, const Call& call, GpuPools& pools,
                std::vector<Made>& made) {
  return GpuRun(lane, ports, call, pools, made).run();
}

}  // namespace tenon::python
