#include "model_config.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <tenon/printable.h>

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

ModelConfigMessage parse(const std::string& text, bool is_json, std::vector<std::string>& unused) {
  ModelConfigMessage message;
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

void take_versions(const VersionPolicyMessage& from, ModelConfig& to) {
  if (from.has_all()) {
    to.version_policy = VersionPolicy::kAll;
  } else if (from.has_specific()) {
    to.version_policy = VersionPolicy::kSpecific;
    to.versions.assign(from.specific().versions().begin(), from.specific().versions().end());
  } else if (from.has_latest()) {
    to.latest_versions = std::max<uint32_t>(from.latest().num_versions(), 1);
  }
}

void take_instances(const ModelConfigMessage& from, ModelConfig& to) {
  for (const InstanceGroupMessage& group : from.instance_group()) {
    if (group.count() < 0 || group.count() > 1024)
      throw Error{"instance_group.count: expected 1 to 1024, found "
                  + std::to_string(group.count())};
    to.instances = std::max(group.count(), 1);
    to.devices.assign(group.gpus().begin(), group.gpus().end());
  }
  if (from.instance_group_size() > 1)
    to.unused.emplace_back("instance_group: all groups but the last");
}

void take_batching(const DynamicBatchingMessage& from, ModelConfig& to) {
  for (const int32_t size : from.preferred_batch_size()) {
    if (size < 1 || size > to.max_batch_size.value_or(size))
      throw Error{"preferred_batch_size: expected 1 to max_batch_size, found "
                  + std::to_string(size)};
    to.preferred_batch_sizes.push_back(static_cast<size_t>(size));
  }
  const auto microseconds = [](uint64_t count, const char* field) {
    constexpr uint64_t kMax = 3'600'000'000;
    if (count > kMax)
      throw Error{std::string(field) + ": expected at most an hour, " + std::to_string(kMax)
                  + ", found " + std::to_string(count)};
    return std::chrono::microseconds(count);
  };
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
  const QueuePolicyMessage& queue = from.default_queue_policy();
  if (queue.default_timeout_microseconds() > 0)
    to.default_timeout =
        microseconds(queue.default_timeout_microseconds(), "default_timeout_microseconds");
  if (queue.timeout_action() == QueuePolicyMessage::DELAY)
    to.unused.emplace_back("timeout_action: DELAY");
  if (from.preserve_ordering()) to.unused.emplace_back("preserve_ordering");
  to.max_queue_size = queue.max_queue_size();
}

void take_tensors(const pb::RepeatedPtrField<TensorMessage>& from, bool is_input, ModelConfig& to) {
  constexpr std::string_view kPrefix = "TYPE_";
  for (const TensorMessage& tensor : from) {
    std::string datatype;
    if (tensor.data_type() != TYPE_INVALID)
      datatype = DataTypeMessage_Name(tensor.data_type()).substr(kPrefix.size());
    to.tensors.push_back({is_input, tensor.name(), datatype});
  }
}

void take_parameters(const ModelConfigMessage& from, ModelConfig& to) {
  for (const auto& [key, value] : from.parameters()) {
    std::string* const field = key == "min_shapes"   ? &to.min_shapes
                               : key == "opt_shapes" ? &to.opt_shapes
                               : key == "max_shapes" ? &to.max_shapes
                               : key == "precision"  ? &to.precision
                                                     : nullptr;
    if (field == nullptr)
      to.unused.push_back("parameters: " + printable(key));
    else
      *field = value.string_value();
  }
  if (!to.precision.empty() && to.precision != "fp32" && to.precision != "fp16"
      && to.precision != "int8")
    throw Error{"precision: expected fp32, fp16 or int8, found '" + printable(to.precision) + "'"};
}

}  // namespace

Result<ModelConfig> parse_model_config(const std::string& text, bool is_json) noexcept {
  return session::guard([&] {
    ModelConfig config;
    const ModelConfigMessage message = parse(text, is_json, config.unused);
    config.name = message.name();
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
    take_tensors(message.input(), true, config);
    take_tensors(message.output(), false, config);
    take_parameters(message, config);
    return config;
  });
}

}  // namespace tenon::server
