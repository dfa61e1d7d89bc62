// A server for tests of the backend: Triton's functions, by what its headers say of them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi.h"
#include "config_json.h"

namespace tenon::triton {

struct TRITONSERVER_Error {
  TRITONSERVER_Error_Code code;
  std::string text;
};

struct TRITONSERVER_Message {
  std::string text;
};

struct TRITONBACKEND_Input {
  std::string name;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_FP32;
  std::vector<int64_t> shape;
  std::vector<std::string> buffers;
  size_t skip = 0;  ///< bytes of the first buffer that are not the input's
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
};

struct TRITONBACKEND_Output {
  std::string name;
  TRITONSERVER_DataType type = TRITONSERVER_TYPE_INVALID;
  std::vector<int64_t> shape;
  std::string bytes;
};

struct TRITONBACKEND_Response {
  TRITONBACKEND_Request* request = nullptr;
  std::vector<std::unique_ptr<TRITONBACKEND_Output>> outputs;
};

/// And what became of it.
struct TRITONBACKEND_Request {
  std::vector<TRITONBACKEND_Input> inputs;
  std::vector<std::string> outputs = {"y"};
  bool is_cancelled = false;

  int responses = 0, releases = 0, statistics = 0;
  bool is_success = false;
  uint64_t times[4] = {};
  TRITONSERVER_Error_Code code = TRITONSERVER_ERROR_UNKNOWN;
  std::string error;  ///< empty for success
  std::map<std::string, TRITONBACKEND_Output> answer;
};

struct TRITONBACKEND_Backend {
  TRITONSERVER_Message config;
  void* state = nullptr;
};

struct TRITONBACKEND_BackendAttribute {
  std::vector<TRITONSERVER_InstanceGroupKind> kinds;
};

struct TRITONBACKEND_Model {
  TRITONBACKEND_Backend* backend = nullptr;
  std::string folder;
  uint64_t version = 1;
  Json config;
  bool completes = true;
  void* state = nullptr;
};

struct TRITONBACKEND_ModelInstance {
  TRITONBACKEND_Model* model = nullptr;
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  int32_t device = 0;
  void* state = nullptr;
  std::vector<uint64_t> batches;  ///< the items of each run
};

/// The library, with a backend that it has initialized.
class Host {
 public:
  using Options = std::map<std::string, std::string>;

  /// @param options of the command line.
  explicit Host(const Options& options = {}, uint32_t major = 1, uint32_t minor = 19);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Why the backend was not initialized; empty if it was.
  const std::string& error() const { return error_; }
  /// The kinds that the backend prefers.
  std::vector<TRITONSERVER_InstanceGroupKind> preferred_kinds();

  /// A model with instances.
  class Model {
   public:
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    /// Why it was not loaded; empty if it was.
    const std::string& error() const { return error_; }
    /// As the backend has completed it.
    const Json& config() const { return model_.config; }
    TRITONBACKEND_ModelInstance& instance(size_t i = 0) { return *instances_[i]; }
    /// Runs the requests in one call, and checks that each was answered and released once.
    void execute(const std::vector<TRITONBACKEND_Request*>& requests, size_t instance = 0);
    bool is_ready(size_t instance = 0);

   private:
    friend class Host;
    explicit Model(Host& host) : host_(host) {}

    Host& host_;
    TRITONBACKEND_Model model_;
    std::vector<std::unique_ptr<TRITONBACKEND_ModelInstance>> instances_;
    std::string error_;
  };

  struct LoadOptions {
    Json config = Json::object();  ///< beside the name and what Triton adds
    bool completes = true;
    int instances = 1;
    TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  };
  /// @param folder REPOSITORY/NAME, with the folders of versions.
  std::unique_ptr<Model> load(const std::string& folder, const LoadOptions& options);

  /// Lines that the backend has logged.
  static std::vector<std::string> take_log();
  /// Errors and messages that nobody has freed.
  static int left_over();

 private:
  template <class Function> Function* function(const char* name) const;

  void* library_ = nullptr;
  TRITONBACKEND_Backend backend_;
  std::string error_;
};

}  // namespace tenon::triton
