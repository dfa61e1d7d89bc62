#include "backend_model.h"

#include <model/model_files.h>
#include <tenon/printable.h>
#include <tenon/session/tensor.h>
#include <tensor/on_gpu.h>

#include <algorithm>
#include <filesystem>

namespace tenon::triton {
namespace {

using server::ModelConfig;
using server::ModelMetadata;
using server::TensorMetadata;
using session::Error;

std::string model_file(const std::filesystem::path& folder, const std::string& file) {
  if (!file.empty()) return folder / file;
  for (const char* name : server::kModelFiles)
    if (std::filesystem::exists(folder / name)) return folder / name;
  throw Error{printable(folder.string())
              + ": expected model.plan, model.engine or model.onnx, or the file that "
                "default_model_filename names"};
}

bool all_tensors(const ModelMetadata& model, const auto& holds) {
  return std::ranges::all_of(model.inputs, holds) && std::ranges::all_of(model.outputs, holds);
}

// The kind and device of the first group: Triton has chosen them by now.
std::pair<TRITONSERVER_InstanceGroupKind, int> first_group(const Json& json) {
  const auto groups = json.find("instance_group");
  if (groups == json.end() || groups->empty())
    return {TRITONSERVER_INSTANCEGROUPKIND_MODEL, serve::kCurrentDevice};
  const Json& group = groups->front();
  const std::string kind = group.value("kind", "");
  if (kind == "KIND_CPU") return {TRITONSERVER_INSTANCEGROUPKIND_CPU, serve::kCurrentDevice};
  if (kind != "KIND_GPU") return {TRITONSERVER_INSTANCEGROUPKIND_MODEL, serve::kCurrentDevice};
  const auto gpus = group.find("gpus");
  const bool has_gpus = gpus != group.end() && !gpus->empty();
  return {TRITONSERVER_INSTANCEGROUPKIND_GPU, has_gpus ? gpus->front().get<int>() : 0};
}

}  // namespace

// The registry says on the standard error why it takes one not.
void load_plugins(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries)
    if (getPluginRegistry()->loadLibrary(std::filesystem::absolute(library).c_str()) == nullptr)
      throw Error{"cannot load " + printable(library) + ": expected a library of plugins"};
}

bool has_gpu() {
  return cudart::on_gpu != nullptr && cudart::on_gpu();
}

BackendModel::BackendModel(const BackendOptions& options, const std::string& folder,
                           uint64_t version, Json& json, bool completes)
    : config_(config_of(json, options)),
      path_(model_file(std::filesystem::path(folder) / std::to_string(version), config_.file)) {
  load_plugins(plugins_of(json));
  set_batch(options, std::to_string(version), json, completes);
  if (completes) is_completed_ = complete(json, metadata(), max_batch_);
  check_tensors(json, metadata(), max_batch_);
}

// Whether shapes have the axis of a batch, and how large batches are.
void BackendModel::set_batch(const BackendOptions& options, const std::string& version,
                             const Json& json, bool completes) {
  ModelConfig wanted = config_;
  const bool chooses = *wanted.max_batch_size == 0 && completes && options.default_max_batch > 0;
  if (chooses) wanted.max_batch_size.reset();
  // What an ONNX model is built for.
  if (*config_.max_batch_size == 0) config_.max_batch_size = options.default_max_batch;
  const auto [kind, device] = first_group(json);
  const auto engine_of_group = engine(kind, device);
  const nvinfer1::ICudaEngine& engine = engine_of_group->engine();
  description_ = server::describe_engine(engine, version, wanted);

  ModelMetadata& metadata = description_.metadata;
  const bool is_batched = all_tensors(metadata,
                                      [](const TensorMetadata& tensor) {
                                        return !tensor.shape.empty() && tensor.shape[0] == -1;
                                      })
                          && !metadata.inputs.empty() && !has_whole_shapes(config_, metadata);
  if (chooses && !is_batched) metadata.max_batch = 1;
  max_batch_ = chooses ? (is_batched ? static_cast<int32_t>(metadata.max_batch) : 0)
                       : wanted.max_batch_size.value_or(0);
  if (max_batch_ == 0) return;
  for (const session::Tensor& tensor : session::tensors_of(engine, 0)) {
    const session::Shape shape = session::to_shape(tensor.shape);
    const bool has_axis = !shape.empty() && (shape[0] == -1 || (shape[0] == 1 && max_batch_ == 1));
    if (has_axis && !tensor.decides_shapes) continue;
    throw Error{"max_batch_size: " + tensor.label() + " of shape " + session::shape_text(shape)
                + (tensor.decides_shapes ? ", whose values decide shapes," : "")
                + " has no axis of a batch; expected 0, found " + std::to_string(max_batch_)};
  }
}

std::shared_ptr<serve::EngineContext> BackendModel::engine(TRITONSERVER_InstanceGroupKind kind,
                                                           int device) {
  server::EnginePlace place;
  if (kind == TRITONSERVER_INSTANCEGROUPKIND_CPU) place.target = "cpu";
  if (kind == TRITONSERVER_INSTANCEGROUPKIND_GPU) place = {device, "cuda"};
  const std::lock_guard lock(mutex_);
  auto& engine = engines_[{place.target, place.device}];
  if (engine == nullptr) engine = server::open_engine(path_, config_, place);
  const bool on_cpu = engine->runs_on_cpu();
  if (place.target == (on_cpu ? "cuda" : "cpu"))
    throw Error{printable(path_) + " is a plan for the " + (on_cpu ? "CPU" : "GPU")
                + ", and an instance is of " + (on_cpu ? "KIND_GPU" : "KIND_CPU")
                + ": build the plan for the target " + place.target
                + ", or set the instance_group's kind to " + (on_cpu ? "KIND_CPU" : "KIND_GPU")};
  return engine;
}

}  // namespace tenon::triton
