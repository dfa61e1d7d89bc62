// An ONNX file as bytes, parsed and checked before anything is made of it.
#pragma once

#include <onnx_schema.pb.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tenon {

namespace onnx = ::tenon_onnx;

/// Parses and checks versions and the header. Throws for anything that is not a usable model.
std::unique_ptr<onnx::ModelProto> parse_model(std::span<const std::byte> bytes,
                                              const std::string& path);

/// The opset that a model or function imports for the standard domain. Throws when it is missing,
/// given twice, or outside what the importer knows.
int64_t standard_opset(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

/// True for text that is valid UTF-8.
bool is_utf8(const std::string& text);

}  // namespace tenon
