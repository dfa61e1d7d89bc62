#include "onnx_writer.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>

namespace tenon::ort {
namespace {

// Numbers of fields, as onnx.proto has them.
namespace field {
constexpr uint32_t kModelIrVersion = 1, kModelGraph = 7, kModelOperatorSet = 8;
constexpr uint32_t kOperatorSetDomain = 1, kOperatorSetVersion = 2;
constexpr uint32_t kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11,
                   kGraphOutput = 12;
constexpr uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeOperator = 4, kNodeAttribute = 5,
                   kNodeDomain = 7;
constexpr uint32_t kAttributeName = 1, kAttributeFloat = 2, kAttributeInt = 3, kAttributeString = 4,
                   kAttributeTensor = 5, kAttributeFloats = 7, kAttributeInts = 8,
                   kAttributeStrings = 9, kAttributeType = 20;
constexpr uint32_t kTensorDims = 1, kTensorType = 2, kTensorName = 8, kTensorRaw = 9;
constexpr uint32_t kValueName = 1, kValueType = 2, kTypeTensor = 1, kTensorTypeElement = 1,
                   kTensorTypeShape = 2, kShapeDim = 1, kDimValue = 1, kDimName = 2;
}  // namespace field

// Numbers of AttributeProto.AttributeType.
enum { kFloat = 1, kInt = 2, kString = 3, kTensor = 4, kFloats = 6, kInts = 7, kStrings = 8 };
enum { kStringElement = 8 };

constexpr uint32_t kVarint = 0, kLengthDelimited = 2, kFixed32 = 5;  // wire types
constexpr const char* kUnknownDomain = "tenon.no.operator";

struct TypeAndShape {
  int type = 0;
  std::vector<int64_t> shape;
};

TypeAndShape type_and_shape(const Api& api, const OrtTensorTypeAndShapeInfo* info) {
  TypeAndShape made;
  made.type = api.get(&OrtApi::GetTensorElementType, info);
  made.shape.resize(api.get(&OrtApi::GetDimensionsCount, info));
  if (!made.shape.empty())
    api.check(api->GetDimensions(info, made.shape.data(), made.shape.size()));
  return made;
}

TypeAndShape type_and_shape(const Api& api, const OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = api.get(&OrtApi::GetTensorTypeAndShape, value);
  const auto release = [&](OrtTensorTypeAndShapeInfo* one) {
    api->ReleaseTensorTypeAndShapeInfo(one);
  };
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(release)> owner(info, release);
  return type_and_shape(api, info);
}

Message tensor_message(const Api& api, const OrtValue* value, const std::string& name) {
  const TypeAndShape made = type_and_shape(api, value);
  if (made.type == kStringElement) throw Error{"tensor '" + name + "' of strings"};
  Message tensor;
  for (const int64_t extent : made.shape)
    tensor.number(field::kTensorDims, static_cast<uint64_t>(extent));
  tensor.number(field::kTensorType, static_cast<uint64_t>(made.type));
  tensor.bytes(field::kTensorName, name);
  void* data = nullptr;  // it is only read
  api.check(api->GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  const size_t bytes = api.get(&OrtApi::GetTensorSizeInBytes, value);
  tensor.bytes(field::kTensorRaw, {static_cast<const char*>(data), bytes});
  return tensor;
}

// The elements of an attribute: asked for how many bytes they are, then for them.
template <class T>
std::vector<T> read_attribute(const Api& api, const OrtOpAttr* attribute, OrtOpAttrType type) {
  size_t bytes = 0;
  if (OrtStatus* status = api->ReadOpAttr(attribute, type, nullptr, 0, &bytes); status != nullptr)
    api->ReleaseStatus(status);  // there was not enough memory, of course
  std::vector<T> made(bytes / sizeof(T));
  if (bytes > 0) api.check(api->ReadOpAttr(attribute, type, made.data(), bytes, &bytes));
  return made;
}

void write_strings(Message& to, const std::vector<char>& text) {
  for (auto begin = text.begin(); begin != text.end();) {
    const auto end = std::find(begin, text.end(), '\0');
    to.bytes(field::kAttributeStrings, {&*begin, static_cast<size_t>(end - begin)});
    begin = end == text.end() ? end : end + 1;
  }
}

Message attribute_message(const Api& api, const OrtOpAttr* attribute) {
  Message made;
  const std::string name = api.get(&OrtApi::OpAttr_GetName, attribute);
  made.bytes(field::kAttributeName, name);
  const OrtOpAttrType type = api.get(&OrtApi::OpAttr_GetType, attribute);
  int written = 0;
  switch (type) {
    case kAttributeInt:
    case kAttributeInts:
      written = type == kAttributeInt ? kInt : kInts;
      for (const int64_t value : read_attribute<int64_t>(api, attribute, type))
        made.number(type == kAttributeInt ? field::kAttributeInt : field::kAttributeInts,
                    static_cast<uint64_t>(value));
      break;
    case kAttributeFloat:
    case kAttributeFloats:
      written = type == kAttributeFloat ? kFloat : kFloats;
      for (const float value : read_attribute<float>(api, attribute, type))
        made.real(type == kAttributeFloat ? field::kAttributeFloat : field::kAttributeFloats,
                  value);
      break;
    case kAttributeString: {
      written = kString;
      std::vector<char> text = read_attribute<char>(api, attribute, type);
      if (!text.empty() && text.back() == '\0') text.pop_back();
      made.bytes(field::kAttributeString, {text.data(), text.size()});
      break;
    }
    case kAttributeStrings:
      written = kStrings;
      write_strings(made, read_attribute<char>(api, attribute, type));
      break;
    case kAttributeTensor: {
      written = kTensor;
      const auto release = [&](OrtValue* one) { api->ReleaseValue(one); };
      const std::unique_ptr<OrtValue, decltype(release)> value(
          api.get(&OrtApi::OpAttr_GetTensorAttributeAsOrtValue, attribute), release);
      made.message(field::kAttributeTensor, tensor_message(api, value.get(), ""));
      break;
    }
    default:
      throw Error{"attribute '" + name + "' of kind " + std::to_string(type)};
  }
  made.number(field::kAttributeType, static_cast<uint64_t>(written));
  return made;
}

void write_names(Message& to, uint32_t number, const Api& api,
                 const std::vector<const OrtValueInfo*>& values) {
  for (const OrtValueInfo* value : values) to.bytes(number, api.name(value));
}

// A node, or one of an operator that nobody knows where it cannot be written.
Message node_message(const Api& api, const OrtNode* node) {
  Message made;
  write_names(made, field::kNodeInput, api,
              api.list(&OrtApi::Node_GetNumInputs, &OrtApi::Node_GetInputs, node));
  write_names(made, field::kNodeOutput, api,
              api.list(&OrtApi::Node_GetNumOutputs, &OrtApi::Node_GetOutputs, node));
  made.bytes(field::kNodeOperator, api.get(&OrtApi::Node_GetOperatorType, node));
  Message whole = made;
  try {
    if (api.get(&OrtApi::Node_GetNumSubgraphs, node) > 0) throw Error{"a body"};
    for (const OrtOpAttr* attribute :
         api.list(&OrtApi::Node_GetNumAttributes, &OrtApi::Node_GetAttributes, node))
      whole.message(field::kNodeAttribute, attribute_message(api, attribute));
    whole.bytes(field::kNodeDomain, api.get(&OrtApi::Node_GetDomain, node));
    return whole;
  } catch (const Error&) {
    made.bytes(field::kNodeDomain, kUnknownDomain);
    return made;
  }
}

GraphInput input_of(const Api& api, const OrtValueInfo* value) {
  GraphInput made;
  made.name = api.name(value);
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  if (const OrtTypeInfo* type = api.get(&OrtApi::GetValueInfoTypeInfo, value); type != nullptr)
    info = api.get(&OrtApi::CastTypeInfoToTensorInfo, type);
  if (info == nullptr) return made;  // a sequence, or the like
  TypeAndShape found = type_and_shape(api, info);
  made.type = found.type;
  made.shape = std::move(found.shape);
  // One without extents is a scalar, or of a rank that nobody knows: interface version 23 does not
  // say which.
  made.has_shape = !made.shape.empty();
  std::vector<const char*> names(made.shape.size());
  if (!names.empty()) api.check(api->GetSymbolicDimensions(info, names.data(), names.size()));
  made.names.assign(names.begin(), names.end());
  return made;
}

Message value_message(const GraphInput& input, bool has_shape) {
  Message value, type, tensor;
  tensor.number(field::kTensorTypeElement, static_cast<uint64_t>(input.type));
  if (has_shape) {
    Message shape;
    for (size_t axis = 0; axis < input.shape.size(); ++axis) {
      Message dim;
      if (input.shape[axis] >= 0)
        dim.number(field::kDimValue, static_cast<uint64_t>(input.shape[axis]));
      else
        dim.bytes(field::kDimName, axis < input.names.size() && !input.names[axis].empty()
                                       ? input.names[axis]
                                       : input.name + "." + std::to_string(axis));
      shape.message(field::kShapeDim, dim);
    }
    tensor.message(field::kTensorTypeShape, shape);
  }
  type.message(field::kTypeTensor, tensor);
  value.bytes(field::kValueName, input.name);
  value.message(field::kValueType, type);
  return value;
}

void write_operator_sets(const Api& api, const OrtGraph* graph, Message& model) {
  const size_t count = api.get(&OrtApi::Graph_GetNumOperatorSets, graph);
  std::vector<const char*> domains(count);
  std::vector<int64_t> versions(count);
  if (count > 0)
    api.check(api->Graph_GetOperatorSets(graph, domains.data(), versions.data(), count));
  const auto write = [&](const char* domain, int64_t version) {
    Message set;
    set.bytes(field::kOperatorSetDomain, domain);
    set.number(field::kOperatorSetVersion, static_cast<uint64_t>(version));
    model.message(field::kModelOperatorSet, set);
  };
  for (size_t i = 0; i < count; ++i) write(domains[i], versions[i]);
  write(kUnknownDomain, 1);
}

}  // namespace

void Message::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<char>(value | 0x80));
  text_.push_back(static_cast<char>(value));
}

void Message::number(uint32_t field, uint64_t value) {
  varint(field << 3 | kVarint);
  varint(value);
}

void Message::real(uint32_t field, float value) {
  varint(field << 3 | kFixed32);
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) text_.push_back(static_cast<char>(bits >> shift));
}

void Message::bytes(uint32_t field, std::string_view value) {
  varint(field << 3 | kLengthDelimited);
  varint(value.size());
  text_.append(value);
}

std::string GraphModel::bytes(const std::vector<GraphInput>& given) const {
  Message whole = graph;
  for (const GraphInput& input : given)
    whole.message(field::kGraphInput, value_message(input, input.has_shape));
  Message made = model;
  made.message(field::kModelGraph, whole);
  return made.text();
}

std::vector<int64_t> shape_of(const Api& api, const OrtValue* value) {
  return type_and_shape(api, value).shape;
}

GraphModel write_graph(const Api& api, const OrtGraph* graph,
                       const std::vector<std::string>& input_names) {
  GraphModel made;
  made.model.number(field::kModelIrVersion,
                    static_cast<uint64_t>(api.get(&OrtApi::Graph_GetOnnxIRVersion, graph)));
  write_operator_sets(api, graph, made.model);
  made.graph.bytes(field::kGraphName, "graph");
  for (const OrtNode* node : api.list(&OrtApi::Graph_GetNumNodes, &OrtApi::Graph_GetNodes, graph))
    made.graph.message(field::kGraphNode, node_message(api, node));

  std::map<std::string, GraphInput> inputs;
  std::vector<std::string> names;
  std::set<std::string> constants;
  for (const OrtValueInfo* value :
       api.list(&OrtApi::Graph_GetNumInitializers, &OrtApi::Graph_GetInitializers, graph)) {
    if (!api.get(&OrtApi::ValueInfo_IsConstantInitializer, value)) continue;
    const OrtValue* data = api.get(&OrtApi::ValueInfo_GetInitializerValue, value);
    if (data == nullptr) throw Error{"initializer '" + api.name(value) + "' has no value"};
    made.graph.message(field::kGraphInitializer, tensor_message(api, data, api.name(value)));
    constants.insert(api.name(value));
  }
  for (const OrtValueInfo* value :
       api.list(&OrtApi::Graph_GetNumInputs, &OrtApi::Graph_GetInputs, graph)) {
    if (constants.contains(api.name(value))) continue;
    names.push_back(api.name(value));
    inputs[names.back()] = input_of(api, value);
  }
  const std::vector<std::string>& ordered = input_names.empty() ? names : input_names;
  for (size_t i = 0; i < ordered.size(); ++i)
    if (const auto found = inputs.find(ordered[i]); found != inputs.end()) {
      made.inputs.push_back(found->second);
      made.inputs.back().index = i;
    }
  for (const OrtValueInfo* value :
       api.list(&OrtApi::Graph_GetNumOutputs, &OrtApi::Graph_GetOutputs, graph)) {
    made.outputs.push_back(api.name(value));
    made.graph.message(field::kGraphOutput, value_message(input_of(api, value), false));
  }
  return made;
}

}  // namespace tenon::ort
