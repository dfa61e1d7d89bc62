#include "rest_routes.h"

#include <tenon/printable.h>

#include <optional>
#include <utility>

#include "model/datatype.h"
#include "statistics_json.h"

namespace tenon::server {
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

RestResponse json_response(std::string text) {
  RestResponse response;
  response.text = std::move(text);
  return response;
}

std::string json_list(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += (text.size() > 1 ? "," : "") + item;
  return text + "]";
}

std::string tensors_json(const std::vector<TensorMetadata>& tensors) {
  std::vector<std::string> items;
  for (const TensorMetadata& tensor : tensors) {
    std::vector<std::string> extents;
    for (const int64_t extent : tensor.shape) extents.push_back(std::to_string(extent));
    items.push_back(R"({"name":)" + json_string(tensor.name) + R"(,"datatype":")"
                    + std::string(datatype_name(tensor.type)) + R"(","shape":)" + json_list(extents)
                    + "}");
  }
  return json_list(items);
}

std::string metadata_json(const Model& model, const std::vector<std::string>& versions) {
  const ModelMetadata& metadata = model.metadata();
  std::vector<std::string> quoted;
  for (const std::string& version : versions) quoted.push_back(json_string(version));
  return R"({"name":)" + json_string(metadata.name) + R"(,"versions":)" + json_list(quoted)
         + R"(,"platform":)" + json_string(metadata.platform) + R"(,"inputs":)"
         + tensors_json(metadata.inputs) + R"(,"outputs":)" + tensors_json(metadata.outputs) + "}";
}

const std::string kVersion = TENON_VERSION;

std::string server_json() {
  return R"({"name":"tenon","version":)" + json_string(kVersion)
         + R"(,"extensions":["binary_tensor_data","model_repository","statistics"]})";
}

RestResponse not_found(const std::string& target) {
  return error_response(404, "there is nothing at '" + printable(target) + "'");
}

}  // namespace

RestResponse error_response(int status, const std::string& text) {
  // Names and elements of requests may be of any length.
  constexpr size_t kLongest = 1000;
  const std::string shown = text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
  RestResponse response = json_response(R"({"error":)" + json_string(shown) + "}");
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
  std::vector<std::string> items;
  for (const ModelStatus& model : models_.index())
    items.push_back(R"({"name":)" + json_string(model.name) + R"(,"version":)"
                    + json_string(model.version) + R"(,"state":")" + name_of(model.state)
                    + R"(","reason":)" + json_string(model.reason) + "}");
  return json_response(json_list(items));
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
  if (is_load && has_load_parameters(*request.body))
    return error_response(
        400, "parameters of load: a model is what its folder says; others are not supported yet");
  const Result<void> done =
      is_load ? models_.load(path[3]) : models_.unload(path[3], unloads_members(*request.body));
  return done ? json_response("{}") : error_response(400, done.error());
}

RestResponse RestRoutes::statistics_response(const std::string& name, const std::string& version) {
  std::vector<std::string> items;
  for (const auto& model : loaded_models(models_, name, version))
    items.push_back(statistics_json(*model));
  if (items.empty() && !name.empty()) {
    // A model that came meanwhile has done nothing yet.
    const ModelOrError found = models_.find(name, version);
    if (const auto* const error = std::get_if<RequestError>(&found)) return error_response(*error);
    items.push_back(statistics_json(*std::get<std::shared_ptr<Model>>(found)));
  }
  return json_response(R"({"model_stats":)" + json_list(items) + "}");
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
  if (what == "ready")
    return json_response(R"({"name":)" + json_string(name) + R"(,"ready":true})");
  if (what == "config")
    return json_response(
        R"({"name":)" + json_string(name) + R"(,"platform":)"
        + json_string(model.metadata().platform) + R"(,"max_batch_size":)"
        + std::to_string(model.metadata().max_batch > 1 ? model.metadata().max_batch : 0) + "}");
  return not_found(request.target);
}

RestResponse RestRoutes::response_to(const RestRequest& request,
                                     const std::vector<std::string>& path) {
  const bool is_post = request.method == "POST";
  if (path.size() >= 2 && path[0] == "v2" && path[1] == "repository") {
    if (!is_post) return error_response(405, "expected POST, found " + printable(request.method));
    return repository_response(request, path);
  }
  if (request.method != "GET" && request.method != "HEAD")
    return error_response(405, "expected GET, found " + printable(request.method));
  if (path.size() == 1 && path[0] == "v2") return json_response(server_json());
  if (path.size() == 3 && path[0] == "v2" && path[1] == "health") {
    if (path[2] == "live") return json_response(R"({"live":true})");
    if (path[2] == "ready") {
      RestResponse response =
          json_response(models_.is_ready() ? R"({"ready":true})" : R"({"ready":false})");
      if (!models_.is_ready()) response.status = 503;
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
  ModelOrError found = models_.find(name, version);
  if (const auto* const error = std::get_if<RequestError>(&found))
    return respond(error_response(*error));
  auto parsed = parse_infer_request(request.body, request.json_length, options_.limits);
  if (!parsed) return respond(error_response(400, parsed.error()));
  InferRequest wanted = std::move(parsed->request);
  wanted.stop = request.stop;
  wanted.trace = std::move(request.trace);
  wanted.bytes = request.body->size();
  auto model = std::get<std::shared_ptr<Model>>(std::move(found));
  Model& running = *model;
  running.infer(std::move(wanted), [model = std::move(model), format = std::move(parsed->format),
                                    respond = std::move(respond)](InferAnswer answer) {
    if (const auto* const error = std::get_if<RequestError>(&answer))
      return respond(error_response(*error));
    auto response = infer_response(std::get<InferResponse>(std::move(answer)), format);
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
