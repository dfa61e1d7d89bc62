#include "onnx_writer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

namespace tenon::ort {
namespace {

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

edit::TensorValue tensor_value(const Api& api, const OrtValue* value) {
  const TypeAndShape made = type_and_shape(api, value);
  void* data = nullptr;  // it is only read
  api.check(api->GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  const size_t bytes = api.get(&OrtApi::GetTensorSizeInBytes, value);
  return {made.type, made.shape, {static_cast<const char*>(data), bytes}};
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

std::vector<std::string> split_texts(const std::vector<char>& texts) {
  std::vector<std::string> made;
  for (auto begin = texts.begin(); begin != texts.end();) {
    const auto end = std::find(begin, texts.end(), '\0');
    made.emplace_back(begin, end);
    begin = end == texts.end() ? end : end + 1;
  }
  return made;
}

edit::AttributeValue attribute_value(const Api& api, const OrtOpAttr* attribute) {
  const OrtOpAttrType type = api.get(&OrtApi::OpAttr_GetType, attribute);
  switch (type) {
    case kAttributeInt:
      return read_attribute<int64_t>(api, attribute, type).at(0);
    case kAttributeInts:
      return read_attribute<int64_t>(api, attribute, type);
    case kAttributeFloat:
      return read_attribute<float>(api, attribute, type).at(0);
    case kAttributeFloats:
      return read_attribute<float>(api, attribute, type);
    case kAttributeString: {
      std::vector<char> text = read_attribute<char>(api, attribute, type);
      if (!text.empty() && text.back() == '\0') text.pop_back();
      return std::string(text.begin(), text.end());
    }
    case kAttributeStrings:
      return split_texts(read_attribute<char>(api, attribute, type));
    case kAttributeTensor: {
      const auto release = [&](OrtValue* one) { api->ReleaseValue(one); };
      const std::unique_ptr<OrtValue, decltype(release)> value(
          api.get(&OrtApi::OpAttr_GetTensorAttributeAsOrtValue, attribute), release);
      return tensor_value(api, value.get());
    }
    default:
      throw Error{"an attribute of kind " + std::to_string(type)};
  }
}

std::vector<std::string> names_of(const Api& api, const std::vector<const OrtValueInfo*>& values) {
  std::vector<std::string> names;
  for (const OrtValueInfo* value : values) names.push_back(api.name(value));
  return names;
}

// A node, or one of an operator that nobody knows where it cannot be written.
void insert_node(const Api& api, const OrtNode* node, edit::Model& model) {
  edit::Node made;
  made.inputs = names_of(api, api.list(&OrtApi::Node_GetNumInputs, &OrtApi::Node_GetInputs, node));
  made.outputs =
      names_of(api, api.list(&OrtApi::Node_GetNumOutputs, &OrtApi::Node_GetOutputs, node));
  made.op_type = api.get(&OrtApi::Node_GetOperatorType, node);
  edit::Node unknown = made;
  unknown.domain = kUnknownDomain;
  const auto write = [&] {
    if (api.get(&OrtApi::Node_GetNumSubgraphs, node) > 0) throw Error{"a body"};
    made.domain = api.get(&OrtApi::Node_GetDomain, node);
    for (const OrtOpAttr* attribute :
         api.list(&OrtApi::Node_GetNumAttributes, &OrtApi::Node_GetAttributes, node))
      made.attributes.emplace_back(api.get(&OrtApi::OpAttr_GetName, attribute),
                                   attribute_value(api, attribute));
    model.insert_node(model.graph(), made);
  };
  try {
    write();
  } catch (const Error&) {
    model.insert_node(model.graph(), unknown);
  } catch (const std::runtime_error&) {  // a tensor of texts
    model.insert_node(model.graph(), unknown);
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

edit::Value value_of(const GraphInput& input, bool has_shape) {
  edit::TensorType type{input.type, has_shape, {}};
  for (size_t axis = 0; has_shape && axis < input.shape.size(); ++axis) {
    const bool has_name = axis < input.names.size() && !input.names[axis].empty();
    if (input.shape[axis] >= 0)
      type.shape.push_back({input.shape[axis], ""});
    else
      type.shape.push_back(
          {-1, has_name ? input.names[axis] : input.name + "." + std::to_string(axis)});
  }
  return {input.name, std::move(type)};
}

edit::Model empty_model(const Api& api, const OrtGraph* graph) {
  const size_t count = api.get(&OrtApi::Graph_GetNumOperatorSets, graph);
  std::vector<const char*> domains(count);
  std::vector<int64_t> versions(count);
  if (count > 0)
    api.check(api->Graph_GetOperatorSets(graph, domains.data(), versions.data(), count));
  edit::Model model = edit::Model::make(1);
  for (size_t i = 0; i < count; ++i) model.set_opset(versions[i], domains[i]);
  model.set_opset(1, kUnknownDomain);
  return model;
}

}  // namespace

std::string GraphModel::bytes(const std::vector<GraphInput>& given) {
  std::vector<edit::Value> values;
  for (const GraphInput& input : given) values.push_back(value_of(input, input.has_shape));
  model.set_inputs(values);
  return model.serialize();
}

std::vector<int64_t> shape_of(const Api& api, const OrtValue* value) {
  return type_and_shape(api, value).shape;
}

GraphModel write_graph(const Api& api, const OrtGraph* graph,
                       const std::vector<std::string>& input_names) {
  GraphModel made{empty_model(api, graph), {}, {}};
  for (const OrtNode* node : api.list(&OrtApi::Graph_GetNumNodes, &OrtApi::Graph_GetNodes, graph))
    insert_node(api, node, made.model);

  std::map<std::string, GraphInput> inputs;
  std::vector<std::string> names;
  std::set<std::string> constants;
  for (const OrtValueInfo* value :
       api.list(&OrtApi::Graph_GetNumInitializers, &OrtApi::Graph_GetInitializers, graph)) {
    if (!api.get(&OrtApi::ValueInfo_IsConstantInitializer, value)) continue;
    const OrtValue* data = api.get(&OrtApi::ValueInfo_GetInitializerValue, value);
    if (data == nullptr) throw Error{"initializer '" + api.name(value) + "' has no value"};
    made.model.set_constant(api.name(value), tensor_value(api, data));
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
  std::vector<edit::Value> outputs;
  for (const OrtValueInfo* value :
       api.list(&OrtApi::Graph_GetNumOutputs, &OrtApi::Graph_GetOutputs, graph)) {
    made.outputs.push_back(api.name(value));
    outputs.push_back(value_of(input_of(api, value), false));
  }
  made.model.set_outputs(outputs);
  return made;
}

}  // namespace tenon::ort
