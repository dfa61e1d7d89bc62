#include "tenon/serve/dlpack.h"

#include <memory>
#include <utility>

#include "guard.h"
#include "on_gpu.h"

namespace tenon::serve {
namespace {

constexpr uint8_t kBool = 6;  // kDLBool of later versions

struct TypeRow {
  DataType type;
  DLDataType dl;
};
constexpr TypeRow kTypes[] = {
    {DataType::kFLOAT, {kDLFloat, 32, 1}}, {DataType::kHALF, {kDLFloat, 16, 1}},
    {DataType::kBF16, {kDLBfloat, 16, 1}}, {DataType::kINT8, {kDLInt, 8, 1}},
    {DataType::kINT32, {kDLInt, 32, 1}},   {DataType::kINT64, {kDLInt, 64, 1}},
    {DataType::kUINT8, {kDLUInt, 8, 1}},   {DataType::kBOOL, {kBool, 8, 1}}};

DataType type_from(const DLDataType& dl) {
  for (const TypeRow& row : kTypes)
    if (row.dl.code == dl.code && row.dl.bits == dl.bits && row.dl.lanes == dl.lanes)
      return row.type;
  throw Error{"TensorRT has no type for DLPack's type " + std::to_string(dl.code) + " of "
              + std::to_string(dl.bits) + " bits and " + std::to_string(dl.lanes) + " lanes"};
}

DLDataType dl_type(DataType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row.dl;
  throw Error{"DLPack has no type for " + session::type_name(type)};
}

// What a DLManagedTensor points to.
struct Shared {
  std::shared_ptr<MixMemory> memory;
  Shape shape;
  DLManagedTensor managed{};
};

// Another library's memory, given back at the end.
struct Foreign {
  Foreign(void* cpu, size_t cpu_size, void* gpu, size_t gpu_size, int device)
      : memory(cpu, cpu_size, gpu, gpu_size, device) {}
  ~Foreign() {
    if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
  }
  Foreign(const Foreign&) = delete;

  MixMemory memory;
  DLManagedTensor* managed = nullptr;
};

bool has_rows(const DLTensor& t) {
  if (t.strides == nullptr) return true;
  int64_t stride = 1;
  for (int axis = t.ndim - 1; axis >= 0; --axis) {
    if (t.shape[axis] != 1 && t.strides[axis] != stride) return false;
    stride *= t.shape[axis];
  }
  return true;
}

}  // namespace

Result<DLManagedTensor*> to_dlpack(Tensor& tensor) noexcept {
  return session::guard([&] {
    if (tensor.head() == DataHead::kInit) throw Error{"the tensor has no data yet"};
    const bool on_device = tensor.head() == DataHead::kDevice;
    auto shared = std::make_unique<Shared>(Shared{tensor.memory(), tensor.shape()});
    void* const data = on_device ? shared->memory->gpu() : shared->memory->cpu();
    DLTensor& t = shared->managed.dl_tensor;
    t.data = data;
    const bool on_gpu = on_device && is_on_gpu(data);
    t.device = {on_gpu ? kDLCUDA : kDLCPU, on_gpu ? tensor.device() : 0};
    t.ndim = tensor.ndims();
    t.dtype = dl_type(tensor.type());
    t.shape = shared->shape.data();
    shared->managed.manager_ctx = shared.get();
    shared->managed.deleter = [](DLManagedTensor* managed) {
      delete static_cast<Shared*>(managed->manager_ctx);
    };
    return &shared.release()->managed;
  });
}

Result<Tensor> from_dlpack(DLManagedTensor* managed) noexcept {
  return session::guard([&] {
    if (managed == nullptr) throw Error{"there is no tensor"};
    const DLTensor& t = managed->dl_tensor;
    const DataType type = type_from(t.dtype);
    const Shape shape(t.shape, t.shape + t.ndim);
    if (!has_rows(t))
      throw Error{"the elements of a tensor of shape " + session::shape_text(shape)
                  + " are no rows one behind the other: make it contiguous"};
    const bool on_gpu = t.device.device_type == kDLCUDA;
    if (!on_gpu && t.device.device_type != kDLCPU && t.device.device_type != kDLCUDAHost)
      throw Error{"memory of DLPack's device type "
                  + std::to_string(static_cast<int>(t.device.device_type)) + " is not supported"};
    void* const data = static_cast<std::byte*>(t.data) + t.byte_offset;
    const size_t bytes = Tensor(shape, type).bytes();
    const int device = on_gpu ? t.device.device_id : kCurrentDevice;
    auto holder = std::make_shared<Foreign>(on_gpu ? nullptr : data, on_gpu ? 0 : bytes,
                                            on_gpu ? data : nullptr, on_gpu ? bytes : 0, device);
    std::shared_ptr<MixMemory> shared(holder, &holder->memory);
    Tensor tensor(shape, type, std::move(shared), on_gpu ? DataHead::kDevice : DataHead::kHost);
    holder->managed = managed;  // nothing fails any more
    return tensor;
  });
}

}  // namespace tenon::serve
