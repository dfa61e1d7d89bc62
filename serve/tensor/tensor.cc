#include "tenon/serve/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "guard.h"

namespace tenon::serve {
namespace {

int bits_of(DataType type) {
  const size_t bytes = session::element_size(type);
  return bytes > 0 ? static_cast<int>(8 * bytes) : type == DataType::kE8M0 ? 8 : 4;
}

size_t bytes_of(DataType type, int64_t elements) {
  const auto bits = static_cast<size_t>(elements) * static_cast<size_t>(bits_of(type));
  return (bits + 7) / 8;
}

// A part of a tensor's memory, which stays as long as the part.
struct Part {
  Part(void* cpu, void* gpu, size_t size, std::shared_ptr<MixMemory> whole)
      : memory(cpu, size, gpu, size, whole->device_id()), whole(std::move(whole)) {}

  MixMemory memory;
  std::shared_ptr<MixMemory> whole;
};

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the caller knows
  throw Error{std::string(what) + ": " + cudaGetErrorString(status)};
}

void check_extents(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (extent < 0) throw Error{"shape " + session::shape_text(shape) + " has a negative extent"};
    if (__builtin_mul_overflow(elements, std::max<int64_t>(extent, 1), &elements)
        || elements > INT64_MAX / 16)
      throw Error{"shape " + session::shape_text(shape) + " has too many elements"};
  }
}

}  // namespace

Tensor::Tensor(DataType type, int device) : Tensor(Shape{0}, type, device) {}

Tensor::Tensor(Shape shape, DataType type, int device)
    : Tensor(std::move(shape), type, std::make_shared<MixMemory>(device)) {}

Tensor::Tensor(Shape shape, DataType type, std::shared_ptr<MixMemory> memory, DataHead head)
    : type_(type), shape_(std::move(shape)), memory_(std::move(memory)), head_(head) {}

Tensor::~Tensor() {
  set_stream(nullptr);
}

// Moving needs no memory: what is left has no shape either.
Tensor::Tensor(Tensor&& other) noexcept
    : type_(other.type_),
      shape_(std::move(other.shape_)),
      memory_(std::move(other.memory_)),
      workspace_(std::move(other.workspace_)),
      head_(std::exchange(other.head_, DataHead::kInit)),
      stream_(std::exchange(other.stream_, nullptr)),
      owns_stream_(std::exchange(other.owns_stream_, false)) {}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  std::destroy_at(this);
  return *std::construct_at(this, std::move(other));
}

Result<Tensor> Tensor::from(const Array& array) noexcept {
  return session::guard([&] {
    Tensor tensor(array.shape, array.type);
    session::value_of(tensor.copy_from_cpu(0, array.bytes.data(), array.count()));
    return tensor;
  });
}

Result<Tensor> Tensor::clone() const noexcept {
  return session::guard([&] {
    Tensor copy(shape_, type_, device());
    if (head_ == DataHead::kHost)
      session::value_of(copy.copy_from_cpu(0, memory_->cpu(), numel()));
    else if (head_ == DataHead::kDevice)
      session::value_of(copy.copy_from_gpu(0, memory_->gpu(), numel(), device()));
    session::value_of(copy.synchronize());
    return copy;
  });
}

Result<Array> Tensor::to_array() noexcept {
  return session::guard([&] {
    Array array = session::value_of(session::make_array(type_, shape_));
    const void* const data = session::value_of(cpu());
    if (!array.bytes.empty()) std::memcpy(array.bytes.data(), data, array.bytes.size());
    return array;
  });
}

int64_t Tensor::size(int axis) const {
  return axis >= 0 && axis < ndims() ? shape_[static_cast<size_t>(axis)] : 0;
}

int64_t Tensor::count(int axis) const {
  int64_t elements = memory_ == nullptr && ndims() == 0 ? 0 : 1;  // nothing is left of a moved one
  for (int i = std::max(axis, 0); i < ndims(); ++i) elements *= size(i);
  return elements;
}

size_t Tensor::element_size() const {
  const int bits = bits_of(type_);
  return bits < 8 ? 0 : static_cast<size_t>(bits) / 8;
}

size_t Tensor::bytes(int axis) const {
  return bytes_of(type_, count(axis));
}

std::vector<int64_t> Tensor::strides() const {
  std::vector<int64_t> strides;
  for (int i = 0; i < ndims() && element_size() > 0; ++i)
    strides.push_back(count(i + 1) * static_cast<int64_t>(element_size()));
  return strides;
}

Result<int64_t> Tensor::offset(std::initializer_list<int64_t> index) const noexcept {
  return session::guard([&] {
    if (index.size() > shape_.size())
      throw Error{std::to_string(index.size()) + " indices for a tensor of shape "
                  + shape_string()};
    int64_t offset = 0;
    int axis = 0;
    for (const int64_t i : index) {
      if (i < 0 || i >= size(axis))
        throw Error{"index " + std::to_string(i) + " of axis " + std::to_string(axis)
                    + " is outside a tensor of shape " + shape_string()};
      offset += i * count(++axis);
    }
    return offset;
  });
}

std::string Tensor::descriptor() const {
  const std::string where = head_ == DataHead::kInit   ? "without data"
                            : head_ == DataHead::kHost ? "on the host"
                                                       : "on device " + std::to_string(device());
  return session::type_name(type_) + " " + shape_string() + " " + where;
}

Result<void> Tensor::resize(const Shape& shape) noexcept {
  return session::guard([&] {
    Shape wanted = shape;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] != -1) continue;
      if (wanted.size() != shape_.size())
        throw Error{"an extent of -1 keeps the one of before, and shape " + shape_string() + " has "
                    + std::to_string(shape_.size()) + " dimensions, not "
                    + std::to_string(wanted.size())};
      wanted[i] = shape_[i];
    }
    check_extents(wanted);
    if (memory_ == nullptr) memory_ = std::make_shared<MixMemory>();
    shape_ = std::move(wanted);
    const size_t held = head_ == DataHead::kHost     ? memory_->cpu_size()
                        : head_ == DataHead::kDevice ? memory_->gpu_size()
                                                     : 0;
    if (bytes() > held) head_ = DataHead::kInit;
  });
}

Result<void> Tensor::resize_single_dim(int axis, int64_t extent) noexcept {
  return session::guard([&] {
    if (axis < 0 || axis >= ndims())
      throw Error{"axis " + std::to_string(axis) + " of a tensor of shape " + shape_string()};
    Shape wanted = shape_;
    wanted[static_cast<size_t>(axis)] = extent;
    session::value_of(resize(wanted));
  });
}

Result<void*> Tensor::to_cpu_data() noexcept {
  if (const auto done = to_cpu(); !done) return Error{done.error()};
  return memory_->cpu();
}

Result<void*> Tensor::to_gpu_data() noexcept {
  if (const auto done = to_gpu(); !done) return Error{done.error()};
  return memory_->gpu();
}

Result<void> Tensor::to_cpu(bool copy) noexcept {
  return session::guard(
      [&] { move_to(DataHead::kHost, &MixMemory::cpu, copy, "copying a tensor to the host"); });
}

Result<void> Tensor::to_gpu(bool copy) noexcept {
  return session::guard(
      [&] { move_to(DataHead::kDevice, &MixMemory::gpu, copy, "copying a tensor to the device"); });
}

void Tensor::move_to(DataHead head, Allocate allocate, bool copy, const char* what) {
  check_extents(shape_);
  if (memory_ == nullptr) memory_ = std::make_shared<MixMemory>();
  void* const to = session::value_of((memory_.get()->*allocate)(bytes()));
  if (copy && head_ != DataHead::kInit && head_ != head) {
    const bool to_host = head == DataHead::kHost;
    const AutoDevice current(device());
    check(cudaMemcpyAsync(to, to_host ? memory_->gpu() : memory_->cpu(), bytes(),
                          to_host ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, stream_),
          what);
    if (to_host) check(cudaStreamSynchronize(stream_), what);
  }
  head_ = head;
}

Result<void> Tensor::check_type(DataType type) const noexcept {
  return session::guard([&] {
    if (type != type_)
      throw Error{"the tensor is of " + session::type_name(type_) + ", and "
                  + session::type_name(type) + " is asked for"};
  });
}

void Tensor::check_range(int64_t offset, const void* from, int64_t count) const {
  if (element_size() == 0 && (offset != 0 || count != numel()))
    throw Error{"elements of " + session::type_name(type_) + " are only copied together"};
  if (offset < 0 || count < 0 || offset > numel() || count > numel() - offset)
    throw Error{std::to_string(count) + " elements from " + std::to_string(offset)
                + " on do not fit a tensor of shape " + shape_string()};
  if (from == nullptr && count > 0)
    throw Error{std::to_string(count) + " elements are copied from a null pointer"};
}

Result<void> Tensor::set_to(double value) noexcept {
  return session::guard([&] {
    const auto narrow = static_cast<float>(value);
    Array one = session::value_of(session::make_array(DataType::kFLOAT, {1}));
    one.as<float>()[0] = narrow;
    // Integers of more than 24 bits.
    const bool is_wide = static_cast<double>(narrow) != value && std::trunc(value) == value;
    if (is_wide && std::abs(value) < 0x1p63) {
      one = session::value_of(session::make_array(DataType::kINT64, {1}));
      one.as<int64_t>()[0] = static_cast<int64_t>(value);
    } else if (std::isinf(narrow) && !std::isinf(value)) {
      throw Error{"the number is too large for a tensor of " + session::type_name(type_)};
    }
    const Array converted = session::value_of(session::convert(one, type_));
    auto* const to = static_cast<std::byte*>(session::value_of(cpu()));
    const size_t size = converted.bytes.size();
    for (int64_t i = 0; i < numel(); ++i)
      std::memcpy(to + static_cast<size_t>(i) * size, converted.bytes.data(), size);
  });
}

Result<void> Tensor::convert_to(DataType type) noexcept {
  return session::guard([&] {
    const Array converted =
        session::value_of(session::convert(session::value_of(to_array()), type));
    type_ = type;
    head_ = DataHead::kInit;
    session::value_of(copy_from_cpu(0, converted.bytes.data(), converted.count()));
  });
}

Result<void> Tensor::copy_from_cpu(int64_t offset, const void* from, int64_t count) noexcept {
  return session::guard([&] {
    check_range(offset, from, count);
    session::value_of(to_cpu(count < numel()));  // what is all replaced need not be copied first
    auto* const to = static_cast<std::byte*>(memory_->cpu());
    const size_t size = bytes_of(type_, count);
    if (size > 0) std::memcpy(to + bytes_of(type_, offset), from, size);
  });
}

Result<void> Tensor::copy_from_gpu(int64_t offset, const void* from, int64_t count,
                                   int device) noexcept {
  return session::guard([&] {
    check_range(offset, from, count);
    auto* const to = static_cast<std::byte*>(session::value_of(gpu())) + bytes_of(type_, offset);
    const size_t size = bytes_of(type_, count);
    const AutoDevice current(this->device());
    const bool is_peer = device != kCurrentDevice && device != this->device();
    check(is_peer ? cudaMemcpyPeerAsync(to, this->device(), from, device, size, stream_)
                  : cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream_),
          "copying to a tensor on the device");
  });
}

Result<Tensor> Tensor::items(int64_t begin, int64_t count) noexcept {
  return session::guard([&] {
    if (begin < 0 || count < 0 || begin > size(0) || count > size(0) - begin)
      throw Error{std::to_string(count) + " items from " + std::to_string(begin)
                  + " on of a tensor of shape " + shape_string()};
    if (head_ == DataHead::kInit) throw Error{"the tensor has no data yet"};
    if (element_size() == 0)
      throw Error{"elements of " + session::type_name(type_) + " have no addresses"};
    const size_t bytes_of_item = bytes(1);
    const auto at = [&](void* data) {
      return static_cast<std::byte*>(data) + static_cast<size_t>(begin) * bytes_of_item;
    };
    const bool on_host = head_ == DataHead::kHost;
    auto part = std::make_shared<Part>(on_host ? at(memory_->cpu()) : nullptr,
                                       on_host ? nullptr : at(memory_->gpu()),
                                       static_cast<size_t>(count) * bytes_of_item, memory_);
    std::shared_ptr<MixMemory> memory(part, &part->memory);
    Shape shape = shape_;
    shape[0] = count;
    Tensor tensor(std::move(shape), type_, std::move(memory), head_);
    tensor.set_stream(stream_);
    return tensor;
  });
}

Result<Tensor> Tensor::item(int64_t index) noexcept {
  return session::guard([&] {
    if (index < 0 || index >= size(0))
      throw Error{"item " + std::to_string(index) + " of a tensor of shape " + shape_string()};
    Tensor tensor = session::value_of(items(index, 1));
    tensor.shape_.erase(tensor.shape_.begin());
    return tensor;
  });
}

void Tensor::set_stream(cudaStream_t stream, bool is_own) noexcept {
  if (owns_stream_ && stream_ != nullptr && stream_ != stream) cudaStreamDestroy(stream_);
  stream_ = stream;
  owns_stream_ = is_own;
}

Result<void> Tensor::synchronize() noexcept {
  return session::guard([&] {
    const AutoDevice current(device());
    check(cudaStreamSynchronize(stream_), "waiting for a tensor's stream");
  });
}

}  // namespace tenon::serve
