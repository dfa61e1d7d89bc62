// An ONNX file as bytes, parsed and checked before anything is made of it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

// The schema's messages; .cc files that look into them include <onnx_schema.pb.h>.
namespace google::protobuf {
template <class T> class RepeatedPtrField;
}
namespace tenon_onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class OperatorSetIdProto;
class TensorProto;
}  // namespace tenon_onnx

namespace tenon {

namespace onnx = ::tenon_onnx;

/// Opsets of the standard domain that are known.
constexpr int64_t kOldestOpset = 1, kLatestOpset = 28;

/// Parses and checks versions and the header. Throws for anything that is not a usable model.
std::unique_ptr<onnx::ModelProto> parse_model(std::span<const std::byte> bytes,
                                              const std::string& path);

/// The opset that a model or function imports for the standard domain. Throws when it is missing,
/// given twice, or outside what the importer knows.
int64_t standard_opset(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

/// The standard domain has two names.
bool is_standard(const std::string& domain);

/// True for text that is valid UTF-8.
bool is_utf8(const std::string& text);

}  // namespace tenon
