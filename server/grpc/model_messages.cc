#include "model_messages.h"

#include <cmath>

#include "model/datatype.h"

namespace tenon::server {
namespace {

using inference::ModelStatistics;
using inference::StatisticDuration;
using serve::Histogram;
using serve::Stage;

inference::DataType config_type(DataType type) {
  inference::DataType found = inference::TYPE_INVALID;
  inference::DataType_Parse("TYPE_" + std::string(datatype_name(type)), &found);
  return found;
}

template <class To> void describe_tensor(const TensorMetadata& tensor, To& to) {
  to.set_name(tensor.name);
  to.set_datatype(std::string(datatype_name(tensor.type)));
  to.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
}

template <class To> void describe_config(const TensorMetadata& tensor, bool has_batch, To& to) {
  to.set_name(tensor.name);
  to.set_data_type(config_type(tensor.type));
  to.mutable_dims()->Add(tensor.shape.begin() + (has_batch ? 1 : 0), tensor.shape.end());
}

void set(uint64_t count, double seconds, StatisticDuration* to) {
  to->set_count(count);
  to->set_ns(static_cast<uint64_t>(std::llround(seconds * 1e9)));
}

void set(const Histogram& from, StatisticDuration* to) {
  set(from.count(), from.sum(), to);
}

const char* state_text(ModelState state) {
  switch (state) {
    case ModelState::kReady:
      return "READY";
    case ModelState::kLoading:
      return "LOADING";
    case ModelState::kUnloading:
      return "UNLOADING";
    case ModelState::kUnloaded:
    case ModelState::kFailed:
      break;
  }
  return "UNAVAILABLE";
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
  const bool has_batch = metadata.max_batch > 1;
  to.set_name(metadata.name);
  to.set_platform(metadata.platform);
  to.set_backend("tenon");
  to.set_max_batch_size(has_batch ? static_cast<int32_t>(metadata.max_batch) : 0);
  if (has_batch) to.mutable_dynamic_batching();
  for (const TensorMetadata& tensor : metadata.inputs) {
    describe_config(tensor, has_batch, *to.add_input());
  }
  for (const TensorMetadata& tensor : metadata.outputs) {
    describe_config(tensor, has_batch, *to.add_output());
  }
}

void describe(const ModelMetadata& metadata, const serve::Statistics& statistics,
              ModelStatistics& to) {
  to.set_name(metadata.name);
  to.set_version(metadata.version);
  to.set_inference_count(static_cast<uint64_t>(std::llround(statistics.batch.sum())));
  to.set_execution_count(statistics.batch.count());
  inference::InferStatistics& times = *to.mutable_inference_stats();
  set(statistics.succeeded, statistics.total.sum(), times.mutable_success());
  set(statistics.failures(), 0, times.mutable_fail());
  set(statistics.stage(Stage::kInfer).wait, times.mutable_queue());
  set(statistics.stage(Stage::kPreprocess).work, times.mutable_compute_input());
  set(statistics.stage(Stage::kInfer).work, times.mutable_compute_infer());
  set(statistics.stage(Stage::kPostprocess).work, times.mutable_compute_output());
}

void describe(const std::vector<ModelStatus>& index, bool only_ready,
              inference::RepositoryIndexResponse& to) {
  for (const ModelStatus& status : index) {
    if (only_ready && status.state != ModelState::kReady) continue;
    auto& model = *to.add_models();
    model.set_name(status.name);
    model.set_version(status.version);
    model.set_state(state_text(status.state));
    model.set_reason(status.reason);
  }
}

}  // namespace tenon::server
