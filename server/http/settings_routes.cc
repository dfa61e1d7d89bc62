#include "settings_routes.h"

#include <simdjson.h>
#include <tenon/printable.h>

#include <nlohmann/json.hpp>

#include "guard.h"
#include "rest_routes.h"

namespace tenon::server {
namespace {

using Json = nlohmann::ordered_json;
using simdjson::dom::element;
using simdjson::dom::object;

std::string text_of(const element& value, const std::string& name) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) throw Error{setting_error(name, "expected a string")};
  return std::string(text);
}

// Null, and what Triton knows of: a flag, a number, a string or strings.
std::optional<SettingValue> value_of(const element& value, const std::string& name) {
  bool flag = false;
  if (value.get(flag) == simdjson::SUCCESS) return flag;
  uint64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS && number <= UINT32_MAX)
    return static_cast<uint32_t>(number);
  simdjson::dom::array values;
  if (value.get(values) != simdjson::SUCCESS)
    return value.is_null() ? std::optional<SettingValue>() : text_of(value, name);
  std::vector<std::string> texts;
  for (const element& one : values) texts.push_back(text_of(one, name));
  return texts.empty() ? std::optional<SettingValue>() : texts;
}

SettingChanges changes_of(const Body& body) {
  simdjson::dom::parser parser;
  object fields;
  if (body.empty() || parser.parse(body.data(), body.size(), true).get(fields) != simdjson::SUCCESS)
    throw Error{"expected an object of settings"};
  SettingChanges changes;
  for (const auto& [key, value] : fields) {
    const std::string name(key);
    changes[name] = value_of(value, name);
  }
  return changes;
}

Json json_of(const Settings& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings)
    std::visit([&, &name = name](const auto& known) { json[name] = known; }, value);
  return json;
}

// @param change takes changes, or says why not.
template <class Change, class Current>
RestResponse response_to(const RestRequest& request, Change change, Current current) {
  if (request.method != "GET" && request.method != "POST")
    return error_response(405, "expected GET or POST, found " + printable(request.method));
  if (request.method == "POST") {
    const auto wanted = session::guard([&] { return changes_of(*request.body); });
    if (!wanted) return error_response(400, wanted.error());
    if (const auto error = change(*wanted)) return error_response(*error);
  }
  return json_response(json_of(current()));
}

}  // namespace

RestResponse log_settings_response(ServerLog& log, const RestRequest& request) {
  return response_to(
      request, [&](const SettingChanges& wanted) { return log.change(wanted); },
      [&] { return log.settings(); });
}

RestResponse trace_settings_response(RequestTraces& traces, const std::string& model,
                                     const RestRequest& request) {
  return response_to(
      request, [&](const SettingChanges& wanted) { return traces.change(model, wanted); },
      [&] { return traces.settings(model); });
}

}  // namespace tenon::server
