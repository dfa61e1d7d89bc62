#include "inference_service.h"

#include <fmt/format.h>
#include <tenon/printable.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "extensions.h"
#include "infer_calls.h"
#include "inference.grpc.pb.h"
#include "model_messages.h"
#include "token.h"
#include "work_thread.h"

namespace tenon::server {
namespace {

using grpc::Status;
using grpc::StatusCode;
using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

Status check_repository(const std::string& name) {
  if (name.empty()) return Status::OK;
  return {StatusCode::INVALID_ARGUMENT,
          fmt::format("repository_name: there is one repository, without a name; found '{}'",
                      printable(name))};
}

Status unsupported(const char* call) {
  return {StatusCode::UNIMPLEMENTED, fmt::format("{} is not supported yet", call)};
}

// Inference takes and gives bytes, so that tensors are not copied.
using Protocol = inference::GRPCInferenceService;
template <class Base>
using HealthCalls = Protocol::WithCallbackMethod_ServerLive<
    Protocol::WithCallbackMethod_ServerReady<Protocol::WithCallbackMethod_ModelReady<Base>>>;
template <class Base>
using MetadataCalls = Protocol::WithCallbackMethod_ServerMetadata<
    Protocol::WithCallbackMethod_ModelMetadata<Protocol::WithCallbackMethod_ModelConfig<
        Protocol::WithCallbackMethod_ModelStatistics<Base>>>>;
template <class Base>
using RawInferCalls = Protocol::WithRawCallbackMethod_ModelInfer<
    Protocol::WithRawCallbackMethod_ModelStreamInfer<Base>>;
template <class Base>
using RepositoryCalls =
    Protocol::WithCallbackMethod_RepositoryIndex<Protocol::WithCallbackMethod_RepositoryModelLoad<
        Protocol::WithCallbackMethod_RepositoryModelUnload<Base>>>;
template <class Base>
using SettingCalls =
    Protocol::WithCallbackMethod_TraceSetting<Protocol::WithCallbackMethod_LogSettings<Base>>;
template <class Base>
using SystemMemoryCalls = Protocol::WithCallbackMethod_SystemSharedMemoryStatus<
    Protocol::WithCallbackMethod_SystemSharedMemoryRegister<
        Protocol::WithCallbackMethod_SystemSharedMemoryUnregister<Base>>>;
template <class Base>
using CudaMemoryCalls = Protocol::WithCallbackMethod_CudaSharedMemoryStatus<
    Protocol::WithCallbackMethod_CudaSharedMemoryRegister<
        Protocol::WithCallbackMethod_CudaSharedMemoryUnregister<Base>>>;
using ServiceBase = HealthCalls<MetadataCalls<RawInferCalls<
    RepositoryCalls<SettingCalls<SystemMemoryCalls<CudaMemoryCalls<Protocol::Service>>>>>>>;

class InferenceService final : public ServiceBase {
 public:
  InferenceService(Models& models, const GrpcOptions& options)
      : models_(models),
        options_(options),
        expected_("Bearer " + options.token),
        limits_{options.max_tensors, options.max_stream_requests, options.memory,
                options.access_log} {}

  Reactor* ServerLive(Context* context, const inference::ServerLiveRequest*,
                      inference::ServerLiveResponse* response) override {
    return answer(context, [&] {
      response->set_live(true);
      return Status::OK;
    });
  }

  Reactor* ServerReady(Context* context, const inference::ServerReadyRequest*,
                       inference::ServerReadyResponse* response) override {
    return answer(context, [&] {
      response->set_ready(models_.is_ready());
      return Status::OK;
    });
  }

  Reactor* ModelReady(Context* context, const inference::ModelReadyRequest* request,
                      inference::ModelReadyResponse* response) override {
    return answer(context, [&] {
      response->set_ready(models_.find(request->name(), request->version()).index() == 0);
      return Status::OK;
    });
  }

  Reactor* ServerMetadata(Context* context, const inference::ServerMetadataRequest*,
                          inference::ServerMetadataResponse* response) override {
    return answer(context, [&] {
      response->set_name("tenon");
      response->set_version(options_.version);
      for (const std::string& extension : extensions(options_.memory != nullptr)) {
        response->add_extensions(extension);
      }
      return Status::OK;
    });
  }

  Reactor* ModelMetadata(Context* context, const inference::ModelMetadataRequest* request,
                         inference::ModelMetadataResponse* response) override {
    return answer_of_model(context, *request, [&](const Model& model) {
      describe(model.metadata(), models_.versions(request->name()), *response);
    });
  }

  Reactor* ModelConfig(Context* context, const inference::ModelConfigRequest* request,
                       inference::ModelConfigResponse* response) override {
    return answer_of_model(context, *request, [&](const Model& model) {
      describe(model.metadata(), *response->mutable_config());
    });
  }

  Reactor* ModelStatistics(Context* context, const inference::ModelStatisticsRequest* request,
                           inference::ModelStatisticsResponse* response) override {
    return answer(context, [&]() -> Status {
      for (const auto& model : loaded_models(models_, request->name(), request->version())) {
        describe(*model, *response->add_model_stats());
      }
      if (request->name().empty() || response->model_stats_size() > 0) return Status::OK;
      return status_of_model(request->name(), request->version());
    });
  }

  Reactor* RepositoryIndex(Context* context, const inference::RepositoryIndexRequest* request,
                           inference::RepositoryIndexResponse* response) override {
    return answer(context, [&] {
      const Status status = check_repository(request->repository_name());
      if (status.ok()) describe(models_.index(), request->ready(), *response);
      return status;
    });
  }

  Reactor* RepositoryModelLoad(Context* context,
                               const inference::RepositoryModelLoadRequest* request,
                               inference::RepositoryModelLoadResponse*) override {
    return control(context, *request,
                   [this, name = request->model_name()] { return models_.load(name); });
  }

  Reactor* RepositoryModelUnload(Context* context,
                                 const inference::RepositoryModelUnloadRequest* request,
                                 inference::RepositoryModelUnloadResponse*) override {
    const auto found = request->parameters().find("unload_dependents");
    const bool with_members = found != request->parameters().end() && found->second.bool_param();
    return control(context, *request, [this, name = request->model_name(), with_members] {
      return models_.unload(name, with_members);
    });
  }

  Reactor* TraceSetting(Context* context, const inference::TraceSettingRequest* request,
                        inference::TraceSettingResponse* response) override {
    return answer(context, [&]() -> Status {
      const std::string& model = request->model_name();
      if (const Status status = model.empty() ? Status::OK : status_of_model(model, "");
          !status.ok()) {
        return status;
      }
      if (const auto error = check_settings(settings_of(*request), trace_settings())) {
        return status_of(*error);
      }
      describe_settings(trace_settings(), *response);
      return Status::OK;
    });
  }

  Reactor* LogSettings(Context* context, const inference::LogSettingsRequest* request,
                       inference::LogSettingsResponse* response) override {
    return answer(context, [&]() -> Status {
      if (const auto error = check_settings(settings_of(*request), log_settings())) {
        return status_of(*error);
      }
      describe_settings(log_settings(), *response);
      return Status::OK;
    });
  }

  Reactor* SystemSharedMemoryStatus(
      Context* context, const inference::SystemSharedMemoryStatusRequest* request,
      inference::SystemSharedMemoryStatusResponse* response) override {
    return answer_of_memory(context, [&](SharedMemory& memory) -> std::optional<RequestError> {
      auto found = memory.regions(request->name());
      if (auto* error = std::get_if<RequestError>(&found)) return std::move(*error);
      for (const SharedMemoryRegion& region : std::get<0>(found)) {
        auto& to = (*response->mutable_regions())[region.name];
        to.set_name(region.name);
        to.set_key(region.key);
        to.set_offset(region.offset);
        to.set_byte_size(region.bytes);
      }
      return std::nullopt;
    });
  }

  Reactor* SystemSharedMemoryRegister(Context* context,
                                      const inference::SystemSharedMemoryRegisterRequest* request,
                                      inference::SystemSharedMemoryRegisterResponse*) override {
    return answer_of_memory(context, [&](SharedMemory& memory) {
      return memory.add({request->name(), request->key(), request->offset(), request->byte_size()});
    });
  }

  Reactor* SystemSharedMemoryUnregister(
      Context* context, const inference::SystemSharedMemoryUnregisterRequest* request,
      inference::SystemSharedMemoryUnregisterResponse*) override {
    return answer_of_memory(context,
                            [&](SharedMemory& memory) { return memory.remove(request->name()); });
  }

  Reactor* CudaSharedMemoryStatus(Context* context, const inference::CudaSharedMemoryStatusRequest*,
                                  inference::CudaSharedMemoryStatusResponse*) override {
    return answer(context, [] { return unsupported("CUDA shared memory"); });
  }

  Reactor* CudaSharedMemoryRegister(Context* context,
                                    const inference::CudaSharedMemoryRegisterRequest*,
                                    inference::CudaSharedMemoryRegisterResponse*) override {
    return answer(context, [] { return unsupported("CUDA shared memory"); });
  }

  Reactor* CudaSharedMemoryUnregister(Context* context,
                                      const inference::CudaSharedMemoryUnregisterRequest*,
                                      inference::CudaSharedMemoryUnregisterResponse*) override {
    return answer(context, [] { return unsupported("CUDA shared memory"); });
  }

  Reactor* ModelInfer(Context* context, const grpc::ByteBuffer* request,
                      grpc::ByteBuffer* response) override {
    // gRPC made the bytes for this call, and would keep them as long as it runs.
    grpc::ByteBuffer bytes;
    bytes.Swap(const_cast<grpc::ByteBuffer*>(request));
    return start_infer_call(models_, limits_, *context, authorize(*context), std::move(bytes),
                            response);
  }

  InferStream* ModelStreamInfer(Context* context) override {
    return start_infer_stream(models_, limits_, *context, authorize(*context));
  }

 private:
  Status authorize(const Context& context) const {
    if (options_.token.empty()) return Status::OK;
    const auto found = context.client_metadata().find("authorization");
    if (found == context.client_metadata().end()) {
      return {StatusCode::UNAUTHENTICATED,
              "the metadata 'authorization' is missing; expected 'Bearer ' and the server's token"};
    }
    if (!is_same_secret(expected_, {found->second.data(), found->second.size()})) {
      return {StatusCode::UNAUTHENTICATED,
              "the metadata 'authorization' is not 'Bearer ' and the server's token"};
    }
    return Status::OK;
  }

  static Reactor* finished(Context* context, const Status& status) {
    Reactor* const reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  // By the status that `work` returns, if the caller may know it.
  template <class Work> Reactor* answer(Context* context, Work work) const {
    const Status status = authorize(*context);
    return finished(context, status.ok() ? work() : status);
  }

  template <class Work> Reactor* answer_of_memory(Context* context, Work work) const {
    return answer(context, [&] {
      const std::optional<RequestError> error =
          options_.memory == nullptr ? no_shared_memory() : work(*options_.memory);
      return error ? status_of(*error) : Status::OK;
    });
  }

  // Why there is no such model.
  Status status_of_model(const std::string& name, const std::string& version) const {
    const auto found = models_.find(name, version);
    const auto* const error = std::get_if<RequestError>(&found);
    return error == nullptr ? Status::OK : status_of(*error);
  }

  template <class Request, class Work>
  Reactor* answer_of_model(Context* context, const Request& request, Work work) const {
    return answer(context, [&]() -> Status {
      const auto found = models_.find(request.name(), request.version());
      if (const auto* error = std::get_if<RequestError>(&found)) return status_of(*error);
      work(*std::get<std::shared_ptr<Model>>(found));
      return Status::OK;
    });
  }

  template <class Request> Status check_control(const Context& context, const Request& request) {
    if (const Status status = authorize(context); !status.ok()) return status;
    if (!options_.allows_model_control) {
      return {StatusCode::PERMISSION_DENIED,
              "loading and unloading is off: start the server with --model-control-mode=explicit"};
    }
    if (const Status status = check_repository(request.repository_name()); !status.ok()) {
      return status;
    }
    for (const auto& [name, value] : request.parameters()) {
      if (name == "unload_dependents") continue;
      return {StatusCode::INVALID_ARGUMENT,
              fmt::format("parameter '{}' is not supported yet", printable(name))};
    }
    return Status::OK;
  }

  template <class Request>
  Reactor* control(Context* context, const Request& request, std::function<Result<void>()> change) {
    if (const Status status = check_control(*context, request); !status.ok()) {
      return finished(context, status);
    }
    Reactor* const reactor = context->DefaultReactor();
    control_.post([this, reactor, change = std::move(change), name = request.model_name()] {
      const auto result = change();
      if (result) return reactor->Finish(Status::OK);
      const auto index = models_.index();
      const bool is_there = std::ranges::find(index, name, &ModelStatus::name) != index.end();
      reactor->Finish({is_there ? StatusCode::INTERNAL : StatusCode::NOT_FOUND, result.error()});
    });
    return reactor;
  }

  Models& models_;
  const GrpcOptions options_;
  const std::string expected_;
  const InferLimits limits_;
  WorkThread control_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_inference_service(Models& models, const GrpcOptions& options) {
  return std::make_unique<InferenceService>(models, options);
}

}  // namespace tenon::server
