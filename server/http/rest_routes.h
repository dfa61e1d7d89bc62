// The REST protocol: KServe's version 2 with Triton's extensions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "json_infer.h"
#include "model/models.h"
#include "model/server_settings.h"
#include "rest.h"

namespace tenon::server {

struct RestOptions {
  bool allows_model_control = false;  ///< loading and unloading
  JsonLimits limits;
  SharedMemory* memory = nullptr;  ///< outlives the routes; null for none
  bool has_status_page = false;    ///< GET / and GET /metrics, as status_page.h says
  std::shared_ptr<ServerSettings> settings = std::make_shared<ServerSettings>();
};

/// Answers what a target of the protocol asks for.
class RestRoutes {
 public:
  /// @param models outlives this, and every answer.
  RestRoutes(Models& models, RestOptions options) : models_(models), options_(options) {}

  /// Calls `respond` once, in any thread. What waits, as loading a model does, waits in the calling
  /// one: is_slow() tells.
  void handle(RestRequest request, Respond respond);
  static bool is_slow(const RestRequest& request);

 private:
  RestResponse response_to(const RestRequest& request, const std::vector<std::string>& path);
  RestResponse model_response(const RestRequest& request, const std::vector<std::string>& path);
  RestResponse repository_response(const RestRequest& request,
                                   const std::vector<std::string>& path);
  RestResponse index_response();
  RestResponse statistics_response(const std::string& name, const std::string& version);
  void infer(RestRequest request, const std::string& name, const std::string& version,
             Respond respond);

  Models& models_;
  const RestOptions options_;
};

RestResponse json_response(const nlohmann::ordered_json& value);
/// What the protocol says of an error: its status, and {"error": text}.
RestResponse error_response(int status, const std::string& text);
RestResponse error_response(const RequestError& error);

}  // namespace tenon::server
