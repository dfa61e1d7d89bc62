// ONNX tensors as host tensors: every element type, every way of storing them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/file.h"
#include "base/log.h"
#include "base/tensor.h"
#include "onnx_model/model.h"

namespace tenon {

/// What tensors of one model share.
struct TensorSource {
  std::string model_path;  // its folder holds external data
  Log log;
  std::map<std::string, std::shared_ptr<const MappedFile>> files;  // mapped once each, by path
};

/// The type that stands for an ONNX element type: itself, or the next wider one that exists here
/// (double becomes float, uint16 becomes int32, …). Null for strings, complex numbers, and types
/// that have no counterpart.
std::optional<DataType> data_type_of(int32_t onnx_type);
/// True when data_type_of() is the same type, not a stand-in.
bool is_exact(int32_t onnx_type);
/// "float16", or "type 77" for an unknown number.
std::string onnx_type_name(int32_t onnx_type);

/// The tensor. It takes the bytes out of `proto` (which is left without them), lies in the mapped
/// external file, or gets memory of its own where values must be converted. `replacement` stands
/// for the stored bytes. Of a tensor of float64, `float64` (unless null) gets the bits, as int64.
/// Throws, naming the tensor, when anything about it is inconsistent.
Tensor make_tensor(onnx::TensorProto& proto, TensorSource& source,
                   std::optional<std::span<const std::byte>> replacement = std::nullopt,
                   std::optional<Tensor>* float64 = nullptr);

/// The bytes of a tensor that lives in a file of its own. They stay valid while `owner` lives.
struct ExternalBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};
/// Refuses locations outside the model's folder, whether by "..", by an absolute path or by a link.
/// @param size bytes that the tensor's type and shape need.
ExternalBytes read_external(const onnx::TensorProto& proto, TensorSource& source, size_t size);

}  // namespace tenon
