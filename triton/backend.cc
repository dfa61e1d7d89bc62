// What Triton Inference Server calls: a backend of its backend interface.
#include <tenon/describe.h>
#include <tenon/printable.h>

#include <memory>

#include "api.h"
#include "backend_instance.h"

namespace tenon::triton {
namespace {

// What a message of the server's says, as JSON.
Json json_of(TRITONSERVER_Message* message) {
  const char* text = nullptr;
  size_t bytes = 0;
  check(TRITONSERVER_MessageSerializeToJson(message, &text, &bytes));
  return bytes == 0 ? Json::object() : Json::parse(text, text + bytes);
}

struct DeleteMessage {
  void operator()(TRITONSERVER_Message* message) const {
    or_log([&] { check(TRITONSERVER_MessageDelete(message)); });
  }
};
using OwnMessage = std::unique_ptr<TRITONSERVER_Message, DeleteMessage>;

template <class State, class Object>
State& state_of(TRITONSERVER_Error* (*state)(Object*, void**), Object* object) {
  return *static_cast<State*>(get(state, object));
}

// Of an object that was not initialized there is none.
template <class State, class Object>
TRITONSERVER_Error* delete_state(TRITONSERVER_Error* (*state)(Object*, void**),
                                 TRITONSERVER_Error* (*set_state)(Object*, void*), Object* object) {
  return guarded([&] {
    delete static_cast<State*>(get(state, object));
    check(set_state(object, nullptr));
  });
}

void check_version() {
  uint32_t major = 0, minor = 0;
  check(TRITONBACKEND_ApiVersion(&major, &minor));
  if (major != kApiMajor || minor < kApiMinor)
    throw Error{
        "Tenon's backend needs the backend interface 1.17, of Triton 23.12, or a later one "
        "of version 1; found "
        + std::to_string(major) + "." + std::to_string(minor)};
}

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend* backend) {
  return guarded([&] {
    check_version();
    auto options = std::make_unique<BackendOptions>(
        read_backend_options(json_of(get(TRITONBACKEND_BackendConfig, backend))));
    for (const std::string& key : options->unused)
      log(TRITONSERVER_LOG_WARN, "--backend-config=tenon," + printable(key) + " has no effect");
    if (options->threads > 0) set_threads(options->threads);
    load_plugins(options->plugins);
    check(TRITONBACKEND_BackendSetState(backend, options.get()));
    options.release();
  });
}

TRITONSERVER_Error* TRITONBACKEND_Finalize(TRITONBACKEND_Backend* backend) {
  return delete_state<BackendOptions>(TRITONBACKEND_BackendState, TRITONBACKEND_BackendSetState,
                                      backend);
}

// Without a GPU, or a build for it, groups without a kind are of the CPU.
TRITONSERVER_Error* TRITONBACKEND_GetBackendAttribute(TRITONBACKEND_Backend*,
                                                      TRITONBACKEND_BackendAttribute* attributes) {
  if (has_gpu()) return nullptr;
  return TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
      attributes, TRITONSERVER_INSTANCEGROUPKIND_CPU, 0, nullptr, 0);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return guarded([&] {
    const auto& options = state_of<BackendOptions>(TRITONBACKEND_BackendState,
                                                   get(TRITONBACKEND_ModelBackend, model));
    TRITONBACKEND_ArtifactType type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
    const char* folder = nullptr;
    check(TRITONBACKEND_ModelRepository(model, &type, &folder));
    if (type != TRITONBACKEND_ARTIFACT_FILESYSTEM)
      throw Error{"a model's files have to be in a folder"};
    TRITONSERVER_Message* message = nullptr;
    check(TRITONBACKEND_ModelConfig(model, kConfigVersion, &message));
    Json config = json_of(OwnMessage(message).get());
    auto state =
        std::make_unique<BackendModel>(options, folder, get(TRITONBACKEND_ModelVersion, model),
                                       config, get(TRITONBACKEND_ModelAutoCompleteConfig, model));
    if (state->is_completed()) {
      const std::string text = config.dump();
      check(TRITONSERVER_MessageNewFromSerializedJson(&message, text.data(), text.size()));
      check(TRITONBACKEND_ModelSetConfig(model, kConfigVersion, OwnMessage(message).get()));
    }
    check(TRITONBACKEND_ModelSetState(model, state.get()));
    state.release();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  return delete_state<BackendModel>(TRITONBACKEND_ModelState, TRITONBACKEND_ModelSetState, model);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance* instance) {
  return guarded([&] {
    auto& model = state_of<BackendModel>(TRITONBACKEND_ModelState,
                                         get(TRITONBACKEND_ModelInstanceModel, instance));
    auto state =
        std::make_unique<BackendInstance>(model, get(TRITONBACKEND_ModelInstanceKind, instance),
                                          get(TRITONBACKEND_ModelInstanceDeviceId, instance));
    check(TRITONBACKEND_ModelInstanceSetState(instance, state.get()));
    state.release();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
  return delete_state<BackendInstance>(TRITONBACKEND_ModelInstanceState,
                                       TRITONBACKEND_ModelInstanceSetState, instance);
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReady(TRITONBACKEND_ModelInstance* instance) {
  bool is_dead = false;
  TRITONSERVER_Error* const error = guarded([&] {
    is_dead = state_of<BackendInstance>(TRITONBACKEND_ModelInstanceState, instance).is_dead();
  });
  if (error != nullptr || !is_dead) return error;
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE,
                               "a fault of its GPU has ended the instance: load the model again");
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                       TRITONBACKEND_Request** requests,
                                                       const uint32_t request_count) {
  return guarded([&] {
    state_of<BackendInstance>(TRITONBACKEND_ModelInstanceState, instance)
        .execute(instance, {requests, request_count});
  });
}

}  // namespace tenon::triton
