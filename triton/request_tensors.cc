#include "request_tensors.h"

#include <model/datatype.h>
#include <model/tensor_memory.h>
#include <tenon/printable.h>
#include <tensor/on_gpu.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "api.h"

namespace tenon::triton {
namespace {

using serve::Shape;
using serve::Tensor;
using session::value_of;

// The protocol's names by Triton's numbers.
constexpr std::array<std::string_view, 15> kTypes = {"INVALID", "BOOL", "UINT8", "UINT16", "UINT32",
                                                     "UINT64",  "INT8", "INT16", "INT32",  "INT64",
                                                     "FP16",    "FP32", "FP64",  "BYTES",  "BF16"};

nvinfer1::DataType model_type(TRITONSERVER_DataType type) {
  const std::string_view name = type < kTypes.size() ? kTypes[type] : kTypes[0];
  if (const auto found = server::datatype_of(name)) return *found;
  throw Error{"has the datatype " + std::string(name) + ", which no model takes"};
}

// A part of an input or output, where Triton has it.
struct Buffer {
  void* data = nullptr;
  uint64_t bytes = 0;
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  int64_t id = 0;

  void check() const {
    if (memory == TRITONSERVER_MEMORY_GPU && !serve::is_on_gpu(data))
      throw Error{
          "lies in memory of a GPU, which this build of Tenon does not reach: expected "
          "memory of the host"};
  }
};

// Between the host and where a buffer is.
void copy(void* to, const void* from, size_t bytes, const Buffer& buffer, cudaMemcpyKind kind) {
  if (bytes == 0) return;
  if (buffer.memory != TRITONSERVER_MEMORY_GPU) {
    std::memcpy(to, from, bytes);
    return;
  }
  const serve::AutoDevice current(static_cast<int>(buffer.id));
  if (cudaMemcpy(to, from, bytes, kind) != cudaSuccess)
    throw Error{std::string("cannot be copied: ") + cudaGetErrorString(cudaGetLastError())};
}

Buffer input_buffer(TRITONBACKEND_Input* input, uint32_t index) {
  Buffer buffer;
  const void* data = nullptr;
  check(TRITONBACKEND_InputBuffer(input, index, &data, &buffer.bytes, &buffer.memory, &buffer.id));
  buffer.data = const_cast<void*>(data);  // it is only read
  buffer.check();
  return buffer;
}

Tensor read_tensor(TRITONBACKEND_Input* input, uint32_t buffers, uint64_t bytes, Shape shape,
                   nvinfer1::DataType type) {
  if (const size_t expected = server::tensor_bytes(shape, type); bytes != expected)
    throw Error{"has " + std::to_string(bytes) + " bytes; its shape " + session::shape_text(shape)
                + " takes " + std::to_string(expected)};
  if (buffers == 1 && bytes > 0) {
    const Buffer whole = input_buffer(input, 0);
    const bool is_aligned =
        reinterpret_cast<uintptr_t>(whole.data) % session::element_size(type) == 0;
    if (whole.memory != TRITONSERVER_MEMORY_GPU && whole.bytes == bytes && is_aligned)
      return server::tensor_over(std::move(shape), type, whole.data, nullptr);
  }
  Tensor tensor = server::unfilled_tensor(std::move(shape), type);
  auto* const to = static_cast<std::byte*>(value_of(tensor.cpu()));
  uint64_t at = 0;
  for (uint32_t i = 0; i < buffers; ++i) {
    const Buffer buffer = input_buffer(input, i);
    if (buffer.bytes > bytes - at)
      throw Error{"has buffers of more than the " + std::to_string(bytes)
                  + " bytes that it says it has"};
    copy(to + at, buffer.data, buffer.bytes, buffer, cudaMemcpyDeviceToHost);
    at += buffer.bytes;
  }
  if (at < bytes)
    throw Error{"has buffers of " + std::to_string(at) + " of the " + std::to_string(bytes)
                + " bytes that it says it has"};
  return tensor;
}

server::NamedTensor read_input(TRITONBACKEND_Input* input) {
  const char* name = nullptr;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  const int64_t* shape = nullptr;
  uint32_t rank = 0, buffers = 0;
  uint64_t bytes = 0;
  check(TRITONBACKEND_InputProperties(input, &name, &type, &shape, &rank, &bytes, &buffers));
  try {
    return {name, read_tensor(input, buffers, bytes, Shape(shape, shape + rank), model_type(type))};
  } catch (const Error& cause) {
    throw Error{"input '" + printable(name) + "' " + cause.text};
  }
}

}  // namespace

TRITONSERVER_DataType triton_type(nvinfer1::DataType type) {
  const auto found = std::ranges::find(kTypes, server::datatype_name(type));
  return static_cast<TRITONSERVER_DataType>(found - kTypes.begin());
}

server::InferRequest read_request(TRITONBACKEND_Request* request) {
  server::InferRequest made;
  const auto inputs = get(TRITONBACKEND_RequestInputCount, request);
  for (uint32_t i = 0; i < inputs; ++i) {
    TRITONBACKEND_Input* input = nullptr;
    check(TRITONBACKEND_RequestInputByIndex(request, i, &input));
    made.inputs.push_back(read_input(input));
  }
  const auto outputs = get(TRITONBACKEND_RequestOutputCount, request);
  for (uint32_t i = 0; i < outputs; ++i) {
    const char* name = nullptr;
    check(TRITONBACKEND_RequestOutputName(request, i, &name));
    made.outputs.emplace_back(name);
  }
  return made;
}

void write_output(TRITONBACKEND_Response* response, const std::string& name, Tensor& tensor) {
  TRITONBACKEND_Output* output = nullptr;
  check(TRITONBACKEND_ResponseOutput(response, &output, name.c_str(), triton_type(tensor.type()),
                                     tensor.shape().data(),
                                     static_cast<uint32_t>(tensor.shape().size())));
  Buffer buffer;
  buffer.bytes = tensor.bytes();
  check(TRITONBACKEND_OutputBuffer(output, &buffer.data, buffer.bytes, &buffer.memory, &buffer.id));
  if (buffer.bytes == 0) return;
  try {
    buffer.check();
    copy(buffer.data, value_of(tensor.cpu()), buffer.bytes, buffer, cudaMemcpyHostToDevice);
  } catch (const Error& cause) {
    throw Error{"output '" + printable(name) + "' " + cause.text};
  }
}

}  // namespace tenon::triton
