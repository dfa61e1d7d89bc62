#include "model_config.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <tenon/printable.h>

#include "datatype.h"
#include "engine_file.h"
#include "guard.h"
#include "model_config.pb.h"

namespace tenon::server {
namespace {

namespace pb = google::protobuf;

// The first error, with its place; what only says that a field is not known goes to a list.
class Errors final : public pb::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (first.empty())
      first = "line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ": "
              + printable(message);
  }
  void AddWarning(int, int, const std::string& message) override { unused.push_back(message); }

  std::string first;
  std::vector<std::string> unused;
};

inference::ModelConfig parse(const std::string& text, bool is_json,
                             std::vector<std::string>& unused) {
  inference::ModelConfig message;
  if (is_json) {
    pb::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;
    const auto status = pb::util::JsonStringToMessage(text, &message, options);
    if (!status.ok()) throw Error{printable(status.message().ToString())};
    return message;
  }
  Errors errors;
  pb::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(32);
  parser.RecordErrorsTo(&errors);
  if (!parser.ParseFromString(text, &message))
    throw Error{errors.first.empty() ? "is not a text of fields" : errors.first};
  unused = std::move(errors.unused);
  return message;
}

// By their numbers, proto3 takes any.
void check_enumerators(const pb::Message& message) {
  const pb::Reflection& reflection = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* const field : fields) {
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_ENUM) {
      const int number = reflection.GetEnumValue(message, field);
      if (field->enum_type()->FindValueByNumber(number) != nullptr) continue;
      throw Error{field->name() + ": expected one of "
                  + std::to_string(field->enum_type()->value_count()) + " names, as "
                  + field->enum_type()->value(0)->name() + ", found " + std::to_string(number)};
    }
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) check_enumerators(reflection.GetMessage(message, field));
    for (int i = 0; field->is_repeated() && i < reflection.FieldSize(message, field); ++i)
      check_enumerators(reflection.GetRepeatedMessage(message, field, i));
  }
}

void take_versions(const inference::ModelVersionPolicy& from, ModelConfig& to) {
  if (from.has_all()) {
    to.version_policy = VersionPolicy::kAll;
  } else if (from.has_specific()) {
    to.version_policy = VersionPolicy::kSpecific;
    to.versions.assign(from.specific().versions().begin(), from.specific().versions().end());
  } else if (from.has_latest()) {
    to.latest_versions = std::max<uint32_t>(from.latest().num_versions(), 1);
  }
}

void take_instances(const inference::ModelConfig& from, ModelConfig& to) {
  for (const inference::ModelInstanceGroup& group : from.instance_group()) {
    if (group.count() < 0 || group.count() > 1024)
      throw Error{"instance_group.count: expected 1 to 1024, found "
                  + std::to_string(group.count())};
    to.instances = std::max(group.count(), 1);
    to.devices.assign(group.gpus().begin(), group.gpus().end());
  }
  if (from.instance_group_size() > 1)
    to.unused.emplace_back("instance_group: all groups but the last");
}

std::chrono::microseconds microseconds(uint64_t count, const char* field) {
  constexpr uint64_t kMax = 3'600'000'000;
  if (count > kMax)
    throw Error{std::string(field) + ": expected at most an hour, " + std::to_string(kMax)
                + ", found " + std::to_string(count)};
  return std::chrono::microseconds(count);
}

void take_batching(const inference::ModelDynamicBatching& from, ModelConfig& to) {
  for (const int32_t size : from.preferred_batch_size()) {
    if (size < 1 || size > to.max_batch_size.value_or(size))
      throw Error{"preferred_batch_size: expected 1 to max_batch_size, found "
                  + std::to_string(size)};
    to.preferred_batch_sizes.push_back(static_cast<size_t>(size));
  }
  if (from.max_queue_delay_microseconds() > 0)
    to.max_queue_delay =
        microseconds(from.max_queue_delay_microseconds(), "max_queue_delay_microseconds");
  to.priority_levels = static_cast<uint32_t>(std::min<uint64_t>(from.priority_levels(), 1 << 20));
  to.default_priority =
      static_cast<uint32_t>(std::min<uint64_t>(from.default_priority_level(), 1 << 20));
  if (from.default_priority_level() > from.priority_levels())
    throw Error{"default_priority_level: expected at most priority_levels, "
                + std::to_string(from.priority_levels()) + ", found "
                + std::to_string(from.default_priority_level())};
  const inference::ModelQueuePolicy& queue = from.default_queue_policy();
  if (queue.default_timeout_microseconds() > 0)
    to.default_timeout =
        microseconds(queue.default_timeout_microseconds(), "default_timeout_microseconds");
  if (queue.timeout_action() == inference::ModelQueuePolicy::DELAY)
    to.unused.emplace_back("timeout_action: DELAY");
  if (from.preserve_ordering()) to.unused.emplace_back("preserve_ordering");
  to.max_queue_size = queue.max_queue_size();
}

// "FP32"; empty for TYPE_INVALID.
std::string datatype_text(inference::DataType type) {
  constexpr std::string_view kPrefix = "TYPE_";
  return type == inference::TYPE_INVALID ? ""
                                         : inference::DataType_Name(type).substr(kPrefix.size());
}

DataType tensor_type(inference::DataType type, const std::string& where) {
  const auto found = datatype_of(datatype_text(type));
  if (!found) throw Error{where + ": data_type: models take no " + inference::DataType_Name(type)};
  return *found;
}

template <class Declared>
ModelConfig::DeclaredTensor declared_of(const Declared& tensor, bool is_input) {
  return {is_input,
          tensor.name(),
          datatype_text(tensor.data_type()),
          Shape(tensor.dims().begin(), tensor.dims().end()),
          {}};
}

void take_tensors(const inference::ModelConfig& from, ModelConfig& to) {
  for (const inference::ModelInput& input : from.input())
    to.tensors.push_back(declared_of(input, true));
  for (const inference::ModelOutput& output : from.output()) {
    const std::string& labels = output.label_filename();
    if (labels.find('/') != std::string::npos)
      throw Error{"label_filename: expected a name without '/', found '" + printable(labels) + "'"};
    to.tensors.push_back(declared_of(output, false));
    to.tensors.back().label_file = labels;
  }
}

void take_steps(const inference::ModelEnsembling& from, ModelConfig& to) {
  constexpr int kMaxSteps = 256;
  if (from.step_size() < 1 || from.step_size() > kMaxSteps)
    throw Error{"ensemble_scheduling.step: expected 1 to " + std::to_string(kMaxSteps) + ", found "
                + std::to_string(from.step_size())};
  for (const inference::ModelEnsembling::Step& step : from.step())
    to.steps.push_back({step.model_name(),
                        step.model_version() > 0 ? step.model_version() : -1,
                        {step.input_map().begin(), step.input_map().end()},
                        {step.output_map().begin(), step.output_map().end()}});
}

SequenceConfig::Control control_of(const std::string& input,
                                   const inference::ModelSequenceBatching::Control& from) {
  const std::string where = "sequence_batching.control_input '" + printable(input) + "'";
  SequenceConfig::Control control{input, static_cast<SequenceControl>(from.kind())};
  if (control.kind == SequenceControl::kId) {
    control.type = tensor_type(from.data_type(), where);
    if (control.type != DataType::kINT32 && control.type != DataType::kINT64)
      throw Error{where + ": data_type: expected TYPE_INT32 or TYPE_INT64, found "
                  + inference::DataType_Name(from.data_type())};
    return control;
  }
  const auto take = [&](const auto& values, DataType type) {
    if (values.empty()) return;
    if (values.size() != 2)
      throw Error{where + ": expected two values, for false and true, found "
                  + std::to_string(values.size())};
    control.type = type;
    control.values[0] = values[0];
    control.values[1] = values[1];
  };
  take(from.int32_false_true(), DataType::kINT32);
  take(from.fp32_false_true(), DataType::kFLOAT);
  take(from.bool_false_true(), DataType::kBOOL);
  return control;
}

SequenceConfig::State state_of(const inference::ModelSequenceBatching::State& from) {
  const std::string where = "sequence_batching.state '" + printable(from.input_name()) + "'";
  SequenceConfig::State state{from.input_name(),
                              from.output_name(),
                              tensor_type(from.data_type(), where),
                              Shape(from.dims().begin(), from.dims().end()),
                              {}};
  if (from.initial_state_size() > 1)
    throw Error{where + ": initial_state: expected one, found "
                + std::to_string(from.initial_state_size())};
  for (const auto& initial : from.initial_state()) {
    state.initial_file = initial.data_file();
    if (state.initial_file.find('/') != std::string::npos)
      throw Error{where + ": data_file: expected a name without '/', found '"
                  + printable(state.initial_file) + "'"};
    // Its extents stand in for those that vary.
    for (int axis = 0; axis < initial.dims_size(); ++axis)
      if (const auto at = static_cast<size_t>(axis); at < state.dims.size() && state.dims[at] < 0)
        state.dims[at] = initial.dims(axis);
  }
  for (const int64_t extent : state.dims)
    if (extent < 0) throw Error{where + ": dims: extents of -1 need the dims of an initial_state"};
  return state;
}

void take_sequence(const inference::ModelSequenceBatching& from, ModelConfig& to) {
  SequenceConfig& sequence = to.sequence.emplace();
  for (const auto& input : from.control_input())
    for (const auto& control : input.control())
      sequence.controls.push_back(control_of(input.name(), control));
  for (const auto& state : from.state()) sequence.states.push_back(state_of(state));
  if (from.max_sequence_idle_microseconds() > 0)
    sequence.max_idle =
        microseconds(from.max_sequence_idle_microseconds(), "max_sequence_idle_microseconds");
  if (from.has_oldest()) {
    if (from.oldest().max_candidate_sequences() < 0)
      throw Error{"max_candidate_sequences: expected 0 or more, found "
                  + std::to_string(from.oldest().max_candidate_sequences())};
    constexpr size_t kMany = 1024;
    const auto most = static_cast<size_t>(from.oldest().max_candidate_sequences());
    sequence.max_sequences = most > 0 ? most : kMany;
  }
  const uint64_t delay = from.has_oldest() ? from.oldest().max_queue_delay_microseconds()
                                           : from.direct().max_queue_delay_microseconds();
  if (delay > 0) to.max_queue_delay = microseconds(delay, "max_queue_delay_microseconds");
  if (from.direct().minimum_slot_utilization() > 0)
    to.unused.emplace_back("minimum_slot_utilization");
}

void take_parameters(const inference::ModelConfig& from, ModelConfig& to) {
  for (const auto& [key, value] : from.parameters()) to.parameters[key] = value.string_value();
  take_engine_parameters(to.parameters, to);
  if (to.is_stage()) return;
  for (const auto& [key, value] : to.parameters)
    to.unused.push_back("parameters: " + printable(key));
}

}  // namespace

Result<ModelConfig> parse_model_config(const std::string& text, bool is_json) noexcept {
  return session::guard([&] {
    ModelConfig config;
    const inference::ModelConfig message = parse(text, is_json, config.unused);
    check_enumerators(message);
    config.message = message.SerializeAsString();
    if (!inference::ModelConfig().ParseFromString(config.message))
      throw Error{"expected UTF-8 in all strings"};
    config.name = message.name();
    config.backend = message.backend();
    config.file = message.default_model_filename();
    if (config.file.find('/') != std::string::npos)
      throw Error{"default_model_filename: expected a name without '/', found '"
                  + printable(config.file) + "'"};
    if (message.has_max_batch_size()) {
      if (message.max_batch_size() < 0)
        throw Error{"max_batch_size: expected 0 or more, found "
                    + std::to_string(message.max_batch_size())};
      config.max_batch_size = message.max_batch_size();
    }
    take_versions(message.version_policy(), config);
    take_instances(message, config);
    take_batching(message.dynamic_batching(), config);
    take_tensors(message, config);
    take_parameters(message, config);
    if (message.has_ensemble_scheduling()) take_steps(message.ensemble_scheduling(), config);
    if (message.platform() == "ensemble" && config.steps.empty())
      throw Error{"platform: an ensemble needs ensemble_scheduling with its steps"};
    if (message.has_sequence_batching()) take_sequence(message.sequence_batching(), config);
    config.caches_responses = message.response_cache().enable();
    if (config.caches_responses && config.sequence)
      throw Error{
          "response_cache: a model with sequences answers the same request differently; "
          "expected sequence_batching or response_cache, found both"};
    if (!config.steps.empty() && config.sequence)
      throw Error{"sequence_batching: expected in the members of an ensemble, found in itself"};
    return config;
  });
}

}  // namespace tenon::server
