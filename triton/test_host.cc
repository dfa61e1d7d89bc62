#include "test_host.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace tenon::triton {
namespace {

std::mutex mutex;  // of the log, and of statistics
std::vector<std::string> lines;
std::atomic<int> living = 0;  // errors and messages
uint32_t api_major = 0, api_minor = 0;

// What a call of the backend's says; empty for success.
std::string text_of(TRITONSERVER_Error* error) {
  if (error == nullptr) return "";
  std::string text = TRITONSERVER_ErrorMessage(error);
  TRITONSERVER_ErrorDelete(error);
  return text;
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char* message) {
  ++living;
  return new TRITONSERVER_Error{code, message};
}
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) {
  EXPECT_NE(error, nullptr);
  --living;
  delete error;
}
const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) {
  return error->text.c_str();
}
TRITONSERVER_Error* TRITONSERVER_LogMessage(TRITONSERVER_LogLevel, const char*, const int,
                                            const char* message) {
  const std::lock_guard lock(mutex);
  lines.emplace_back(message);
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message** message,
                                                              const char* text, size_t bytes) {
  ++living;
  *message = new TRITONSERVER_Message{{text, bytes}};
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message) {
  --living;
  delete message;
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message,
                                                        const char** text, size_t* bytes) {
  *text = message->text.data();
  *bytes = message->text.size();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor) {
  *major = api_major;
  *minor = api_minor;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend* backend,
                                                TRITONSERVER_Message** config) {
  *config = &backend->config;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendState(TRITONBACKEND_Backend* backend, void** state) {
  *state = backend->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendSetState(TRITONBACKEND_Backend* backend, void* state) {
  backend->state = state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
    TRITONBACKEND_BackendAttribute* attributes, const TRITONSERVER_InstanceGroupKind kind,
    const uint64_t, const uint64_t*, const uint64_t) {
  attributes->kinds.push_back(kind);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model* model, uint64_t* version) {
  *version = model->version;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelRepository(TRITONBACKEND_Model* model,
                                                  TRITONBACKEND_ArtifactType* type,
                                                  const char** location) {
  *type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  *location = model->folder.c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model* model,
                                              const uint32_t config_version,
                                              TRITONSERVER_Message** config) {
  EXPECT_EQ(config_version, 1u);
  const std::string text = model->config.dump();
  return TRITONSERVER_MessageNewFromSerializedJson(config, text.data(), text.size());
}
TRITONSERVER_Error* TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model* model,
                                                          bool* completes) {
  *completes = model->completes;
  return nullptr;
}
// It takes these fields, and no others.
TRITONSERVER_Error* TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model* model,
                                                 const uint32_t config_version,
                                                 TRITONSERVER_Message* config) {
  EXPECT_EQ(config_version, 1u);
  EXPECT_TRUE(model->completes);
  const Json completed = Json::parse(config->text);
  for (const char* field : {"input", "output", "max_batch_size", "dynamic_batching"})
    if (completed.contains(field)) model->config[field] = completed[field];
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelBackend(TRITONBACKEND_Model* model,
                                               TRITONBACKEND_Backend** backend) {
  *backend = model->backend;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelState(TRITONBACKEND_Model* model, void** state) {
  *state = model->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelSetState(TRITONBACKEND_Model* model, void* state) {
  model->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance* instance,
                                                    TRITONSERVER_InstanceGroupKind* kind) {
  *kind = instance->kind;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance* instance,
                                                        int32_t* device) {
  *device = instance->device;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance* instance,
                                                     TRITONBACKEND_Model** model) {
  *model = instance->model;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance* instance,
                                                     void** state) {
  *state = instance->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance* instance,
                                                        void* state) {
  instance->state = state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request* request, const bool success,
    const uint64_t begin, const uint64_t compute_begin, const uint64_t compute_end,
    const uint64_t end) {
  EXPECT_EQ(request->releases, 0);
  ++request->statistics;
  request->is_success = success;
  const uint64_t times[] = {begin, compute_begin, compute_end, end};
  std::ranges::copy(times, request->times);
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    TRITONBACKEND_ModelInstance* instance, const uint64_t items, const uint64_t begin,
    const uint64_t compute_begin, const uint64_t compute_end, const uint64_t end) {
  EXPECT_TRUE(0 < begin && begin <= compute_begin && compute_begin <= compute_end
              && compute_end <= end);
  instance->batches.push_back(items);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request* request,
                                                     bool* is_cancelled) {
  *is_cancelled = request->is_cancelled;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request* request,
                                                    uint32_t* count) {
  *count = static_cast<uint32_t>(request->inputs.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request* request,
                                                      const uint32_t index,
                                                      TRITONBACKEND_Input** input) {
  *input = &request->inputs.at(index);
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request,
                                                     uint32_t* count) {
  *count = static_cast<uint32_t>(request->outputs.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request,
                                                    const uint32_t index, const char** name) {
  *name = request->outputs.at(index).c_str();
  return nullptr;
}
// The inputs are gone: whoever reads them reads freed memory.
TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request, uint32_t flags) {
  EXPECT_EQ(flags, TRITONSERVER_REQUEST_RELEASE_ALL);
  ++request->releases;
  request->inputs.clear();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char** name,
                                                  TRITONSERVER_DataType* type,
                                                  const int64_t** shape, uint32_t* rank,
                                                  uint64_t* bytes, uint32_t* buffer_count) {
  *name = input->name.c_str();
  *type = input->type;
  *shape = input->shape.data();
  *rank = static_cast<uint32_t>(input->shape.size());
  *bytes = 0;
  for (const std::string& buffer : input->buffers) *bytes += buffer.size();
  *bytes -= input->skip;
  *buffer_count = static_cast<uint32_t>(input->buffers.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input* input, const uint32_t index,
                                              const void** buffer, uint64_t* bytes,
                                              TRITONSERVER_MemoryType* memory_type,
                                              int64_t* memory_type_id) {
  EXPECT_EQ(*memory_type, TRITONSERVER_MEMORY_CPU);
  const size_t skip = index == 0 ? input->skip : 0;
  *buffer = input->buffers.at(index).data() + skip;
  *bytes = input->buffers[index].size() - skip;
  *memory_type = input->memory;
  *memory_type_id = 0;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response,
                                              TRITONBACKEND_Request* request) {
  ++living;
  *response = new TRITONBACKEND_Response{request, {}};
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response* response,
                                                 TRITONBACKEND_Output** output, const char* name,
                                                 const TRITONSERVER_DataType type,
                                                 const int64_t* shape, const uint32_t rank) {
  auto made = std::make_unique<TRITONBACKEND_Output>();
  *made = {name, type, {shape, shape + rank}, {}};
  *output = response->outputs.emplace_back(std::move(made)).get();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* output, void** buffer,
                                               const uint64_t bytes,
                                               TRITONSERVER_MemoryType* memory_type, int64_t*) {
  EXPECT_EQ(*memory_type, TRITONSERVER_MEMORY_CPU);
  output->bytes.resize(bytes);
  *buffer = bytes == 0 ? nullptr : output->bytes.data();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response,
                                               const uint32_t flags, TRITONSERVER_Error* error) {
  EXPECT_EQ(flags, TRITONSERVER_RESPONSE_COMPLETE_FINAL);
  const std::unique_ptr<TRITONBACKEND_Response> own(response);
  --living;
  TRITONBACKEND_Request& request = *response->request;
  EXPECT_EQ(request.releases, 0);
  ++request.responses;
  if (error != nullptr) {
    request.code = error->code;
    request.error = error->text;
  } else {
    for (const auto& output : response->outputs) request.answer[output->name] = *output;
  }
  return nullptr;
}

Host::Host(const Options& options, uint32_t major, uint32_t minor) {
  api_major = major;
  api_minor = minor;
  // As Triton does.
  library_ = dlopen(TENON_TRITON_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  backend_.config.text = Json{{"cmdline", options}}.dump();
  error_ =
      text_of(function<decltype(TRITONBACKEND_Initialize)>("TRITONBACKEND_Initialize")(&backend_));
}

// The library stays: what a sanitizer says of it is to have names.
Host::~Host() {
  EXPECT_EQ(
      text_of(function<decltype(TRITONBACKEND_Finalize)>("TRITONBACKEND_Finalize")(&backend_)), "");
  EXPECT_EQ(backend_.state, nullptr);
}

template <class Function> Function* Host::function(const char* name) const {
  void* const found = dlsym(library_, name);
  if (found == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<Function*>(found);
}

std::vector<TRITONSERVER_InstanceGroupKind> Host::preferred_kinds() {
  TRITONBACKEND_BackendAttribute attributes;
  EXPECT_EQ(text_of(function<decltype(TRITONBACKEND_GetBackendAttribute)>(
                "TRITONBACKEND_GetBackendAttribute")(&backend_, &attributes)),
            "");
  return attributes.kinds;
}

std::unique_ptr<Host::Model> Host::load(const std::string& folder, const LoadOptions& options) {
  std::unique_ptr<Model> loaded(new Model(*this));
  TRITONBACKEND_Model& model = loaded->model_;
  model.backend = &backend_;
  model.folder = folder;
  model.completes = options.completes;
  const char* const kind =
      options.kind == TRITONSERVER_INSTANCEGROUPKIND_GPU ? "KIND_GPU" : "KIND_CPU";
  model.config = {{"name", std::filesystem::path(folder).filename()},
                  {"backend", "tenon"},
                  {"max_batch_size", 0},
                  {"input", Json::array()},
                  {"output", Json::array()},
                  {"default_model_filename", ""},
                  {"instance_group", Json::array({Json{{"kind", kind}, {"gpus", Json::array()}}})}};
  model.config.merge_patch(options.config);
  loaded->error_ = text_of(
      function<decltype(TRITONBACKEND_ModelInitialize)>("TRITONBACKEND_ModelInitialize")(&model));
  for (int i = 0; i < options.instances && loaded->error_.empty(); ++i) {
    auto instance = std::make_unique<TRITONBACKEND_ModelInstance>();
    instance->model = &model;
    instance->kind = options.kind;
    loaded->error_ = text_of(function<decltype(TRITONBACKEND_ModelInstanceInitialize)>(
        "TRITONBACKEND_ModelInstanceInitialize")(instance.get()));
    loaded->instances_.push_back(std::move(instance));
  }
  return loaded;
}

Host::Model::~Model() {
  for (const auto& instance : instances_) {
    EXPECT_EQ(text_of(host_.function<decltype(TRITONBACKEND_ModelInstanceFinalize)>(
                  "TRITONBACKEND_ModelInstanceFinalize")(instance.get())),
              "");
    EXPECT_EQ(instance->state, nullptr);
  }
  EXPECT_EQ(text_of(host_.function<decltype(TRITONBACKEND_ModelFinalize)>(
                "TRITONBACKEND_ModelFinalize")(&model_)),
            "");
  EXPECT_EQ(model_.state, nullptr);
}

void Host::Model::execute(const std::vector<TRITONBACKEND_Request*>& requests, size_t instance) {
  std::vector<TRITONBACKEND_Request*> given = requests;
  EXPECT_EQ(text_of(host_.function<decltype(TRITONBACKEND_ModelInstanceExecute)>(
                "TRITONBACKEND_ModelInstanceExecute")(instances_[instance].get(), given.data(),
                                                      static_cast<uint32_t>(given.size()))),
            "");
  for (const TRITONBACKEND_Request* request : requests) {
    EXPECT_EQ(request->responses, 1);
    EXPECT_EQ(request->statistics, 1);
    EXPECT_EQ(request->releases, 1);
    EXPECT_EQ(request->is_success, request->error.empty()) << request->error;
    EXPECT_TRUE(!request->is_success
                || (0 < request->times[0] && std::ranges::is_sorted(request->times)));
  }
}

bool Host::Model::is_ready(size_t instance) {
  return text_of(host_.function<decltype(TRITONBACKEND_ModelInstanceReady)>(
                     "TRITONBACKEND_ModelInstanceReady")(instances_[instance].get()))
      .empty();
}

std::vector<std::string> Host::take_log() {
  const std::lock_guard lock(mutex);
  return std::exchange(lines, {});
}

int Host::left_over() {
  return living;
}

}  // namespace tenon::triton
