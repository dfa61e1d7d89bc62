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
using HealthCalls = Protocol::WithAsyncMethod_ServerLive<
    Protocol::WithAsyncMethod_ServerReady<Protocol::WithAsyncMethod_ModelReady<Base>>>;
template <class Base>
using MetadataCalls =
    Protocol::WithAsyncMethod_ServerMetadata<Protocol::WithAsyncMethod_ModelMetadata<
        Protocol::WithAsyncMethod_ModelConfig<Protocol::WithAsyncMethod_ModelStatistics<Base>>>>;
template <class Base>
using RawInferCalls =
    Protocol::WithRawMethod_ModelInfer<Protocol::WithRawMethod_ModelStreamInfer<Base>>;
template <class Base>
using RepositoryCalls =
    Protocol::WithAsyncMethod_RepositoryIndex<Protocol::WithAsyncMethod_RepositoryModelLoad<
        Protocol::WithAsyncMethod_RepositoryModelUnload<Base>>>;
template <class Base>
using SettingCalls =
    Protocol::WithAsyncMethod_TraceSetting<Protocol::WithAsyncMethod_LogSettings<Base>>;
template <class Base>
using SystemMemoryCalls = Protocol::WithAsyncMethod_SystemSharedMemoryStatus<
    Protocol::WithAsyncMethod_SystemSharedMemoryRegister<
        Protocol::WithAsyncMethod_SystemSharedMemoryUnregister<Base>>>;
template <class Base>
using CudaMemoryCalls = Protocol::WithAsyncMethod_CudaSharedMemoryStatus<
    Protocol::WithAsyncMethod_CudaSharedMemoryRegister<
        Protocol::WithAsyncMethod_CudaSharedMemoryUnregister<Base>>>;
using ServiceBase = HealthCalls<MetadataCalls<RawInferCalls<
    RepositoryCalls<SettingCalls<SystemMemoryCalls<CudaMemoryCalls<Protocol::Service>>>>>>>;

class InferenceService final : public CallService, public ServiceBase {
 public:
  InferenceService(Models& models, const GrpcOptions& options)
      : models_(models),
        options_(options),
        limits_{options.max_tensors, options.max_stream_requests, options.memory, options.records} {
  }

  grpc::Service& service() override { return *this; }

  void serve(CallQueues& queues) override {
    using Self = InferenceService;
    answer(queues, &Self::RequestServerLive, &Self::server_live);
    answer(queues, &Self::RequestServerReady, &Self::server_ready);
    answer(queues, &Self::RequestModelReady, &Self::model_ready);
    answer(queues, &Self::RequestServerMetadata, &Self::server_metadata);
    answer(queues, &Self::RequestModelMetadata, &Self::model_metadata);
    answer(queues, &Self::RequestModelConfig, &Self::model_config);
    answer(queues, &Self::RequestModelStatistics, &Self::model_statistics);
    answer(queues, &Self::RequestRepositoryIndex, &Self::repository_index);
    answer(queues, &Self::RequestTraceSetting, &Self::trace_setting);
    answer(queues, &Self::RequestLogSettings, &Self::log_settings_of);
    answer(queues, &Self::RequestSystemSharedMemoryStatus, &Self::system_memory_status);
    answer(queues, &Self::RequestSystemSharedMemoryRegister, &Self::register_system_memory);
    answer(queues, &Self::RequestSystemSharedMemoryUnregister, &Self::unregister_system_memory);
    answer(queues, &Self::RequestCudaSharedMemoryStatus, &Self::refuse_cuda_memory);
    answer(queues, &Self::RequestCudaSharedMemoryRegister, &Self::refuse_cuda_memory);
    answer(queues, &Self::RequestCudaSharedMemoryUnregister, &Self::refuse_cuda_memory);
    control(queues, &Self::RequestRepositoryModelLoad, [this](const auto& request) {
      std::optional<std::string> config;
      if (const auto found = request.parameters().find("config");
          found != request.parameters().end()) {
        config = found->second.string_param();
      }
      return [this, name = request.model_name(), config] { return models_.load(name, config); };
    });
    control(queues, &Self::RequestRepositoryModelUnload, [this](const auto& request) {
      const auto found = request.parameters().find("unload_dependents");
      const bool with_members = found != request.parameters().end() && found->second.bool_param();
      return [this, name = request.model_name(), with_members] {
        return models_.unload(name, with_members);
      };
    });
    serve_unary<grpc::ByteBuffer, grpc::ByteBuffer>(
        queues, *this, &Self::RequestModelInfer, [this](InferCall& call) {
          handle_infer_call(models_, limits_, authorize(call.context()), call);
        });
    serve_infer_streams(std::make_shared<const InferStreams>(
        InferStreams{models_, limits_, queues,
                     [this](auto* context, auto* stream, auto* queue, void* tag) {
                       RequestModelStreamInfer(context, stream, queue, queue, tag);
                     },
                     [this](const grpc::ServerContext& context) { return authorize(context); }}));
  }

 private:
  Status server_live(const inference::ServerLiveRequest&, inference::ServerLiveResponse& response) {
    response.set_live(true);
    return Status::OK;
  }

  Status server_ready(const inference::ServerReadyRequest&,
                      inference::ServerReadyResponse& response) {
    response.set_ready(models_.is_ready());
    return Status::OK;
  }

  Status model_ready(const inference::ModelReadyRequest& request,
                     inference::ModelReadyResponse& response) {
    response.set_ready(models_.find(request.name(), request.version()).index() == 0);
    return Status::OK;
  }

  Status server_metadata(const inference::ServerMetadataRequest&,
                         inference::ServerMetadataResponse& response) {
    response.set_name("tenon");
    response.set_version(options_.version);
    for (const std::string& extension : extensions(options_.memory != nullptr)) {
      response.add_extensions(extension);
    }
    return Status::OK;
  }

  Status model_metadata(const inference::ModelMetadataRequest& request,
                        inference::ModelMetadataResponse& response) {
    return with_model(request, [&](const Model& model) {
      describe(model.metadata(), models_.versions(request.name()), response);
    });
  }

  Status model_config(const inference::ModelConfigRequest& request,
                      inference::ModelConfigResponse& response) {
    return with_model(request, [&](const Model& model) {
      describe(model.metadata(), *response.mutable_config());
    });
  }

  Status model_statistics(const inference::ModelStatisticsRequest& request,
                          inference::ModelStatisticsResponse& response) {
    for (const auto& model : loaded_models(models_, request.name(), request.version())) {
      describe(*model, *response.add_model_stats());
    }
    if (request.name().empty() || response.model_stats_size() > 0) return Status::OK;
    return status_of_model(request.name(), request.version());
  }

  Status repository_index(const inference::RepositoryIndexRequest& request,
                          inference::RepositoryIndexResponse& response) {
    const Status status = check_repository(request.repository_name());
    if (status.ok()) describe(models_.index(), request.ready(), response);
    return status;
  }

  Status trace_setting(const inference::TraceSettingRequest& request,
                       inference::TraceSettingResponse& response) {
    const std::string& model = request.model_name();
    if (const Status status = model.empty() ? Status::OK : status_of_model(model, "");
        !status.ok()) {
      return status;
    }
    RequestTraces& traces = options_.settings->traces;
    if (const auto error = traces.change(model, changes_of(request))) return status_of(*error);
    describe_settings(traces.settings(model), response);
    return Status::OK;
  }

  Status log_settings_of(const inference::LogSettingsRequest& request,
                         inference::LogSettingsResponse& response) {
    ServerLog& log = options_.settings->log;
    if (const auto error = log.change(changes_of(request))) return status_of(*error);
    describe_settings(log.settings(), response);
    return Status::OK;
  }

  Status system_memory_status(const inference::SystemSharedMemoryStatusRequest& request,
                              inference::SystemSharedMemoryStatusResponse& response) {
    return with_memory([&](SharedMemory& memory) -> std::optional<RequestError> {
      auto found = memory.regions(request.name());
      if (auto* error = std::get_if<RequestError>(&found)) return std::move(*error);
      for (const SharedMemoryRegion& region : std::get<0>(found)) {
        auto& to = (*response.mutable_regions())[region.name];
        to.set_name(region.name);
        to.set_key(region.key);
        to.set_offset(region.offset);
        to.set_byte_size(region.bytes);
      }
      return std::nullopt;
    });
  }

  Status register_system_memory(const inference::SystemSharedMemoryRegisterRequest& request,
                                inference::SystemSharedMemoryRegisterResponse&) {
    return with_memory([&](SharedMemory& memory) {
      return memory.add({request.name(), request.key(), request.offset(), request.byte_size()});
    });
  }

  Status unregister_system_memory(const inference::SystemSharedMemoryUnregisterRequest& request,
                                  inference::SystemSharedMemoryUnregisterResponse&) {
    return with_memory([&](SharedMemory& memory) { return memory.remove(request.name()); });
  }

  template <class Request, class Response> Status refuse_cuda_memory(const Request&, Response&) {
    return unsupported("CUDA shared memory");
  }

  Status authorize(const grpc::ServerContext& context) const {
    if (options_.token.empty()) return Status::OK;
    const auto found = context.client_metadata().find("authorization");
    if (found == context.client_metadata().end()) {
      return {StatusCode::UNAUTHENTICATED,
              "the metadata 'authorization' is missing; expected 'Bearer ' and the server's token"};
    }
    if (!is_bearer({found->second.data(), found->second.size()}, options_.token)) {
      return {StatusCode::UNAUTHENTICATED,
              "the metadata 'authorization' is not 'Bearer ' and the server's token"};
    }
    return Status::OK;
  }

  // Calls that are answered at once, if the caller may know.
  template <class Base, class Request, class Response>
  void answer(CallQueues& queues,
              void (Base::*ask)(grpc::ServerContext*, Request*,
                                grpc::ServerAsyncResponseWriter<Response>*, grpc::CompletionQueue*,
                                grpc::ServerCompletionQueue*, void*),
              Status (InferenceService::*method)(const Request&, Response&)) {
    serve_unary<Request, Response>(queues, *this, ask, [this, method](auto& call) {
      const Status status = authorize(call.context());
      call.finish(status.ok() ? (this->*method)(call.request(), call.response()) : status);
    });
  }

  template <class Work> Status with_memory(Work work) const {
    const std::optional<RequestError> error =
        options_.memory == nullptr ? no_shared_memory() : work(*options_.memory);
    return error ? status_of(*error) : Status::OK;
  }

  // Why there is no such model.
  Status status_of_model(const std::string& name, const std::string& version) const {
    const auto found = models_.find(name, version);
    const auto* const error = std::get_if<RequestError>(&found);
    return error == nullptr ? Status::OK : status_of(*error);
  }

  template <class Request, class Work> Status with_model(const Request& request, Work work) const {
    const auto found = models_.find(request.name(), request.version());
    if (const auto* error = std::get_if<RequestError>(&found)) return status_of(*error);
    work(*std::get<std::shared_ptr<Model>>(found));
    return Status::OK;
  }

  template <class Request>
  Status check_control(const grpc::ServerContext& context, const Request& request) {
    if (const Status status = authorize(context); !status.ok()) return status;
    if (!options_.allows_model_control) {
      return {StatusCode::PERMISSION_DENIED,
              "loading and unloading is off: start the server with --model-control-mode=explicit"};
    }
    if (const Status status = check_repository(request.repository_name()); !status.ok()) {
      return status;
    }
    for (const auto& [name, value] : request.parameters()) {
      if (name == "unload_dependents" || (name == "config" && value.has_string_param())) continue;
      return {StatusCode::INVALID_ARGUMENT, load_parameter_error(name)};
    }
    return Status::OK;
  }

  // Calls that wait in a thread of their own. @param change_of makes a request a change of models.
  template <class Base, class Request, class Response, class ChangeOf>
  void control(CallQueues& queues,
               void (Base::*ask)(grpc::ServerContext*, Request*,
                                 grpc::ServerAsyncResponseWriter<Response>*, grpc::CompletionQueue*,
                                 grpc::ServerCompletionQueue*, void*),
               ChangeOf change_of) {
    serve_unary<Request, Response>(queues, *this, ask, [this, change_of](auto& call) {
      if (const Status status = check_control(call.context(), call.request()); !status.ok()) {
        return call.finish(status);
      }
      control_.post([this, &call, change = change_of(call.request())] {
        const Result<void> result = change();
        if (result) return call.finish(Status::OK);
        const auto index = models_.index();
        const bool is_there =
            std::ranges::find(index, call.request().model_name(), &ModelStatus::name)
            != index.end();
        call.finish({is_there ? StatusCode::INTERNAL : StatusCode::NOT_FOUND, result.error()});
      });
    });
  }

  Models& models_;
  const GrpcOptions options_;
  const InferLimits limits_;
  WorkThread control_;
};

}  // namespace

std::unique_ptr<CallService> make_inference_service(Models& models, const GrpcOptions& options) {
  return std::make_unique<InferenceService>(models, options);
}

}  // namespace tenon::server
