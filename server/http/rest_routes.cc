#include "rest_routes.h"

#include <tenon/printable.h>

#include <optional>
#include <utility>

#include "extensions.h"
#include "guard.h"
#include "model/config_answer.h"
#include "model/datatype.h"
#include "settings_routes.h"
#include "shared_memory_routes.h"
#include "short_text.h"
#include "statistics_json.h"
#include "status_page.h"

namespace tenon::server {

using session::value_of;

namespace {

using ModelOrError = std::variant<std::shared_ptr<Model>, RequestError>;

// Segments of a path with %41 decoded; nothing for one that is none.
std::optional<std::vector<std::string>> segments_of(std::string_view target) {
  target = target.substr(0, target.find('?'));
  if (target.empty() || target[0] != '/') return std::nullopt;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
  };
  std::vector<std::string> segments;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == '/') {
      segments.emplace_back();
    } else if (target[i] != '%') {
      segments.back() += target[i];
    } else {
      if (i + 2 >= target.size() || digit(target[i + 1]) < 0 || digit(target[i + 2]) < 0)
        return std::nullopt;
      segments.back() += static_cast<char>(digit(target[i + 1]) * 16 + digit(target[i + 2]));
      i += 2;
    }
  }
  if (segments.size() > 1 && segments.back().empty()) segments.pop_back();
  return segments;
}

int status_of(Failure failure) {
  switch (failure) {
    case Failure::kInvalid:
      return 400;
    case Failure::kNotFound:
      return 404;
    case Failure::kFull:
      return 429;
    case Failure::kUnavailable:
      return 503;
    case Failure::kExpired:
      return 504;
    case Failure::kCancelled:
      return 499;
    case Failure::kInternal:
      break;
  }
  return 500;
}

using Json = nlohmann::ordered_json;

Json tensors_json(const std::vector<TensorMetadata>& tensors) {
  Json items = Json::array();
  for (const TensorMetadata& tensor : tensors)
    items.push_back(
        {{"name", tensor.name}, {"datatype", datatype_name(tensor.type)}, {"shape", tensor.shape}});
  return items;
}

Json metadata_json(const Model& model, const std::vector<std::string>& versions) {
  const ModelMetadata& metadata = model.metadata();
  return {{"name", metadata.name},
          {"versions", versions},
          {"platform", metadata.platform},
          {"inputs", tensors_json(metadata.inputs)},
          {"outputs", tensors_json(metadata.outputs)}};
}

Json server_json(bool has_shared_memory) {
  return {
      {"name", "tenon"}, {"version", TENON_VERSION}, {"extensions", extensions(has_shared_memory)}};
}

RestResponse not_found(const std::string& target) {
  return error_response(404, "there is nothing at '" + printable(target) + "'");
}

}  // namespace

RestResponse json_response(const Json& value) {
  RestResponse response;
  response.text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

RestResponse error_response(int status, const std::string& text) {
  RestResponse response = json_response({{"error", short_text(text)}});
  response.status = status;
  response.may_retry = status == 429 || status == 503;
  return response;
}

RestResponse error_response(const RequestError& error) {
  return error_response(status_of(error.failure), error.text);
}

bool RestRoutes::is_slow(const RestRequest& request) {
  const auto path = segments_of(request.target);
  return path && path->size() > 2 && (*path)[1] == "repository" && (*path)[2] == "models";
}

RestResponse RestRoutes::index_response() {
  Json items = Json::array();
  for (const ModelStatus& model : models_.index())
    items.push_back({{"name", model.name},
                     {"version", model.version},
                     {"state", name_of(model.state)},
                     {"reason", model.reason}});
  return json_response(items);
}

// /v2/repository/index, /v2/repository/models/NAME/load
RestResponse RestRoutes::repository_response(const RestRequest& request,
                                             const std::vector<std::string>& path) {
  if (path.size() == 3 && path[2] == "index") return index_response();
  const bool is_load = path.back() == "load";
  if (path.size() != 5 || path[2] != "models" || (!is_load && path.back() != "unload"))
    return error_response(404, "the repository has index, models/NAME/load and models/NAME/unload");
  if (!options_.allows_model_control)
    return error_response(
        403, "loading and unloading is off: start the server with --model-control-mode=explicit");
  const Result<void> done = session::guard([&] {
    value_of(is_load ? models_.load(path[3], value_of(parse_load_config(*request.body)))
                     : models_.unload(path[3], unloads_members(*request.body)));
  });
  return done ? json_response(Json::object()) : error_response(400, done.error());
}

RestResponse RestRoutes::statistics_response(const std::string& name, const std::string& version) {
  Json items = Json::array();
  for (const auto& model : loaded_models(models_, name, version))
    items.push_back(statistics_json(*model));
  if (items.empty() && !name.empty()) {
    // A model that came meanwhile has done nothing yet.
    const ModelOrError found = models_.find(name, version);
    if (const auto* const error = std::get_if<RequestError>(&found)) return error_response(*error);
    items.push_back(statistics_json(*std::get<std::shared_ptr<Model>>(found)));
  }
  return json_response({{"model_stats", std::move(items)}});
}

// /v2/models/NAME[/versions/VERSION][/ready|/stats|/config]
RestResponse RestRoutes::model_response(const RestRequest& request,
                                        const std::vector<std::string>& path) {
  const bool has_version = path.size() > 4 && path[3] == "versions";
  const std::string& name = path[2];
  const std::string version = has_version ? path[4] : "";
  const size_t rest = has_version ? 5 : 3;
  if (path.size() > rest + 1) return not_found(request.target);
  const std::string what = path.size() > rest ? path[rest] : "";
  if (what == "stats") return statistics_response(name, version);
  const ModelOrError found = models_.find(name, version);
  if (const auto* const error = std::get_if<RequestError>(&found)) {
    RestResponse response = error_response(*error);
    if (what == "ready") response.status = 503;  // so that probes see it
    return response;
  }
  const Model& model = *std::get<std::shared_ptr<Model>>(found);
  if (what.empty()) return json_response(metadata_json(model, models_.versions(name)));
  if (what == "ready") return json_response({{"name", name}, {"ready", true}});
  if (what == "config") return json_response(config_json(model.metadata()));
  return not_found(request.target);
}

RestResponse RestRoutes::response_to(const RestRequest& request,
                                     const std::vector<std::string>& path) {
  const bool is_post = request.method == "POST";
  if (path.size() >= 2 && path[0] == "v2" && path[1] == "repository") {
    if (!is_post) return error_response(405, "expected POST, found " + printable(request.method));
    return repository_response(request, path);
  }
  if (path.size() >= 2 && path[0] == "v2" && path[1].ends_with("sharedmemory"))
    return shared_memory_response(options_.memory, request, path);
  if (path.size() == 2 && path[0] == "v2" && path[1] == "logging")
    return log_settings_response(options_.settings->log, request);
  if (path.size() == 3 && path[0] == "v2" && path[1] == "trace" && path[2] == "setting")
    return trace_settings_response(options_.settings->traces, "", request);
  if (path.size() == 5 && path[0] == "v2" && path[1] == "models" && path[3] == "trace"
      && path[4] == "setting") {
    const ModelOrError found = models_.find(path[2], "");
    const auto* const error = std::get_if<RequestError>(&found);
    return error == nullptr ? trace_settings_response(options_.settings->traces, path[2], request)
                            : error_response(*error);
  }
  if (request.method != "GET" && request.method != "HEAD")
    return error_response(405, "expected GET, found " + printable(request.method));
  if (options_.has_status_page)
    if (auto page = status_page_response(models_, request)) return *std::move(page);
  if (path.size() == 1 && path[0] == "v2")
    return json_response(server_json(options_.memory != nullptr));
  if (path.size() == 3 && path[0] == "v2" && path[1] == "health") {
    if (path[2] == "live") return json_response({{"live", true}});
    if (path[2] == "ready") {
      const bool is_ready = models_.is_ready();
      RestResponse response = json_response({{"ready", is_ready}});
      if (!is_ready) response.status = 503;
      return response;
    }
  }
  if (path.size() == 3 && path[0] == "v2" && path[1] == "models" && path[2] == "stats"
      && models_.versions("stats").empty())
    return statistics_response("", "");
  if (path.size() >= 3 && path[0] == "v2" && path[1] == "models")
    return model_response(request, path);
  return not_found(request.target);
}

void RestRoutes::infer(RestRequest request, const std::string& name, const std::string& version,
                       Respond respond) {
  const auto served = std::make_shared<ServedRequest>(ServedRequest{name, version, "", {}});
  respond = [respond = std::move(respond), served](RestResponse response) {
    if (response.served.model.empty()) response.served = *served;
    respond(std::move(response));
  };
  ModelOrError found = models_.find(name, version);
  if (const auto* const error = std::get_if<RequestError>(&found))
    return respond(error_response(*error));
  auto parsed = parse_infer_request(request.body, request.json_length, options_.limits);
  if (!parsed) return respond(error_response(400, parsed.error()));
  InferRequest wanted = std::move(parsed->request);
  served->id = wanted.id;
  wanted.stop = request.stop;
  wanted.trace = std::move(request.trace);
  wanted.bytes = request.body->size();
  if (const auto error = prepare_inputs(parsed->wanted, options_.memory, wanted))
    return respond(error_response(*error));
  // This call holds it, too: the answer may come and go before infer() returns.
  const auto model = std::get<std::shared_ptr<Model>>(std::move(found));
  model->infer(std::move(wanted),
               [model, format = std::move(parsed->format), tensors = std::move(parsed->wanted),
                memory = options_.memory, respond = std::move(respond)](InferAnswer answer) {
                 if (const auto* const error = std::get_if<RequestError>(&answer))
                   return respond(error_response(*error));
                 auto prepared = prepare_outputs(tensors, model->metadata(), memory,
                                                 std::get<InferResponse>(std::move(answer)));
                 if (const auto* const error = std::get_if<RequestError>(&prepared))
                   return respond(error_response(*error));
                 auto& made = std::get<OutputResponse>(prepared);
                 ServedRequest served{made.model, made.version, made.id, made.times};
                 auto response = infer_response(std::move(made), format);
                 if (response) response->served = std::move(served);
                 respond(response ? *std::move(response) : error_response(500, response.error()));
               });
}

void RestRoutes::handle(RestRequest request, Respond respond) {
  const auto path = segments_of(request.target);
  if (!path)
    return respond(
        error_response(400, "the target '" + printable(request.target) + "' is no path"));
  const bool has_version = path->size() == 6 && (*path)[3] == "versions";
  if ((path->size() == 4 || has_version) && (*path)[0] == "v2" && (*path)[1] == "models"
      && path->back() == "infer") {
    if (request.method != "POST")
      return respond(error_response(405, "expected POST, found " + printable(request.method)));
    return infer(std::move(request), (*path)[2], has_version ? (*path)[4] : "", std::move(respond));
  }
  respond(response_to(request, *path));
}

}  // namespace tenon::server
