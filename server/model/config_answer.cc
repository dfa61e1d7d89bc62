#include "config_answer.h"

#include <google/protobuf/message.h>

#include <map>
#include <nlohmann/json.hpp>

#include "datatype.h"
#include "model_config.pb.h"

namespace tenon::server {
namespace {

namespace pb = google::protobuf;
using Json = nlohmann::ordered_json;

// What the file says of a tensor stays, but for what the model knows better.
template <class Declared>
void describe(const std::vector<TensorMetadata>& tensors, bool has_batch,
              pb::RepeatedPtrField<Declared>& to) {
  std::map<std::string, Declared> declared;
  for (const Declared& tensor : to) declared[tensor.name()] = tensor;
  to.Clear();
  for (const TensorMetadata& tensor : tensors) {
    Declared& answer = *to.Add();
    answer = declared[tensor.name];
    answer.set_name(tensor.name);
    inference::DataType type = inference::TYPE_INVALID;
    inference::DataType_Parse("TYPE_" + std::string(datatype_name(tensor.type)), &type);
    answer.set_data_type(type);
    answer.mutable_dims()->Clear();
    answer.mutable_dims()->Add(tensor.shape.begin() + (has_batch ? 1 : 0), tensor.shape.end());
  }
}

inference::ModelConfig message_of(const ModelMetadata& metadata) {
  inference::ModelConfig message;
  (void)message.ParseFromString(metadata.config);  // which it was serialized from
  const bool has_batch = metadata.max_batch > 1;
  const bool is_ensemble = message.has_ensemble_scheduling();
  message.set_name(metadata.name);
  message.set_platform(metadata.platform);
  message.set_max_batch_size(has_batch ? static_cast<int32_t>(metadata.max_batch) : 0);
  describe(metadata.inputs, has_batch, *message.mutable_input());
  describe(metadata.outputs, has_batch, *message.mutable_output());
  if (message.version_policy().policy_choice_case()
      == inference::ModelVersionPolicy::POLICY_CHOICE_NOT_SET)
    message.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  if (is_ensemble) return message;
  if (message.backend().empty()) message.set_backend("tenon");
  if (message.instance_group().empty()) message.add_instance_group()->set_name(metadata.name);
  for (inference::ModelInstanceGroup& group : *message.mutable_instance_group())
    group.set_count(std::max(group.count(), 1));
  if (has_batch && !message.has_sequence_batching()) message.mutable_dynamic_batching();
  return message;
}

Json json_of(const pb::Message& message);

// @param index of a repeated field; -1 of one that is not.
Json json_of(const pb::Message& message, const pb::FieldDescriptor& field, int index) {
  const pb::Reflection& reflection = *message.GetReflection();
  const auto value = [&](auto single, auto repeated) -> Json {
    return index < 0 ? (reflection.*single)(message, &field)
                     : (reflection.*repeated)(message, &field, index);
  };
  using Reflection = pb::Reflection;
  using Field = pb::FieldDescriptor;
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return value(&Reflection::GetInt32, &Reflection::GetRepeatedInt32);
    case Field::CPPTYPE_INT64:
      return value(&Reflection::GetInt64, &Reflection::GetRepeatedInt64);
    case Field::CPPTYPE_UINT32:
      return value(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32);
    case Field::CPPTYPE_UINT64:
      return value(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64);
    case Field::CPPTYPE_DOUBLE:
      return value(&Reflection::GetDouble, &Reflection::GetRepeatedDouble);
    case Field::CPPTYPE_FLOAT:
      return value(&Reflection::GetFloat, &Reflection::GetRepeatedFloat);
    case Field::CPPTYPE_BOOL:
      return value(&Reflection::GetBool, &Reflection::GetRepeatedBool);
    case Field::CPPTYPE_STRING:
      return value(&Reflection::GetString, &Reflection::GetRepeatedString);
    case Field::CPPTYPE_ENUM:
      return (index < 0 ? reflection.GetEnum(message, &field)
                        : reflection.GetRepeatedEnum(message, &field, index))
          ->name();
    case Field::CPPTYPE_MESSAGE:
      return json_of(index < 0 ? reflection.GetMessage(message, &field)
                               : reflection.GetRepeatedMessage(message, &field, index));
  }
  return nullptr;
}

Json json_of(const pb::Message& message) {
  const pb::Reflection& reflection = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  Json json = Json::object();
  for (const pb::FieldDescriptor* const field : fields) {
    if (!field->is_repeated()) {
      json[field->name()] = json_of(message, *field, -1);
      continue;
    }
    Json& items = json[field->name()] = field->is_map() ? Json::object() : Json::array();
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      Json item = json_of(message, *field, i);
      if (!field->is_map())
        items.push_back(std::move(item));
      else
        items[item.value("key", "")] = item.value("value", Json());
    }
  }
  return json;
}

}  // namespace

std::string config_message(const ModelMetadata& metadata) {
  return message_of(metadata).SerializeAsString();
}

// Dims are there where they are empty, too, as clients read them.
Json config_json(const ModelMetadata& metadata) {
  Json json = json_of(message_of(metadata));
  for (const char* const list : {"input", "output"})
    for (Json& tensor : json[list])
      if (!tensor.contains("dims")) tensor["dims"] = Json::array();
  return json;
}

}  // namespace tenon::server
