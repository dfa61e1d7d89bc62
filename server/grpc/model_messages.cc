#include "model_messages.h"

#include <cmath>

#include "model/config_answer.h"
#include "model/datatype.h"
#include "model/inference_statistics.h"

namespace tenon::server {
namespace {

using inference::ModelStatistics;
using inference::StatisticDuration;

template <class To> void describe_tensor(const TensorMetadata& tensor, To& to) {
  to.set_name(tensor.name);
  to.set_datatype(std::string(datatype_name(tensor.type)));
  to.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
}

void set(const InferenceStatistics::Duration& from, StatisticDuration* to) {
  to->set_count(from.count);
  to->set_ns(static_cast<uint64_t>(std::llround(from.seconds * 1e9)));
}

}  // namespace

void describe(const ModelMetadata& metadata, const std::vector<std::string>& versions,
              inference::ModelMetadataResponse& to) {
  to.set_name(metadata.name);
  for (const std::string& version : versions) to.add_versions(version);
  to.set_platform(metadata.platform);
  for (const TensorMetadata& tensor : metadata.inputs) describe_tensor(tensor, *to.add_inputs());
  for (const TensorMetadata& tensor : metadata.outputs) describe_tensor(tensor, *to.add_outputs());
}

void describe(const ModelMetadata& metadata, inference::ModelConfig& to) {
  to.ParseFromString(config_message(metadata));
}

void describe(const Model& model, ModelStatistics& to) {
  to.set_name(model.metadata().name);
  to.set_version(model.metadata().version);
  const InferenceStatistics all = inference_statistics(model);
  to.set_inference_count(all.inferences);
  to.set_execution_count(all.executions);
  inference::InferStatistics& times = *to.mutable_inference_stats();
  set(all.success, times.mutable_success());
  set(all.failure, times.mutable_fail());
  set(all.queue, times.mutable_queue());
  set(all.compute_input, times.mutable_compute_input());
  set(all.compute_infer, times.mutable_compute_infer());
  set(all.compute_output, times.mutable_compute_output());
  set(all.cache_hit, times.mutable_cache_hit());
  set(all.cache_miss, times.mutable_cache_miss());
}

SettingChanges changes_of(const inference::TraceSettingRequest& request) {
  SettingChanges changes;
  for (const auto& [name, from] : request.settings()) {
    std::vector<std::string> values(from.value().begin(), from.value().end());
    if (values.empty())
      changes[name] = std::nullopt;
    else
      changes[name] = std::move(values);
  }
  return changes;
}

SettingChanges changes_of(const inference::LogSettingsRequest& request) {
  using Value = inference::LogSettingsRequest::SettingValue;
  SettingChanges changes;
  for (const auto& [name, from] : request.settings()) {
    switch (from.parameter_choice_case()) {
      case Value::kBoolParam:
        changes[name] = from.bool_param();
        break;
      case Value::kUint32Param:
        changes[name] = from.uint32_param();
        break;
      case Value::kStringParam:
        changes[name] = from.string_param();
        break;
      case Value::PARAMETER_CHOICE_NOT_SET:
        changes[name] = std::nullopt;
        break;
    }
  }
  return changes;
}

void describe_settings(const Settings& settings, inference::TraceSettingResponse& to) {
  for (const auto& [name, value] : settings) {
    auto& values = *(*to.mutable_settings())[name].mutable_value();
    if (const auto* const text = std::get_if<std::string>(&value)) *values.Add() = *text;
    if (const auto* const texts = std::get_if<std::vector<std::string>>(&value))
      values.Add(texts->begin(), texts->end());
  }
}

void describe_settings(const Settings& settings, inference::LogSettingsResponse& to) {
  for (const auto& [name, value] : settings) {
    auto& setting = (*to.mutable_settings())[name];
    if (const auto* flag = std::get_if<bool>(&value)) setting.set_bool_param(*flag);
    if (const auto* number = std::get_if<uint32_t>(&value)) setting.set_uint32_param(*number);
    if (const auto* text = std::get_if<std::string>(&value)) setting.set_string_param(*text);
  }
}

void describe(const std::vector<ModelStatus>& index, bool only_ready,
              inference::RepositoryIndexResponse& to) {
  for (const ModelStatus& status : index) {
    if (only_ready && status.state != ModelState::kReady) continue;
    auto& model = *to.add_models();
    model.set_name(status.name);
    model.set_version(status.version);
    model.set_state(name_of(status.state));
    model.set_reason(status.reason);
  }
}

}  // namespace tenon::server
