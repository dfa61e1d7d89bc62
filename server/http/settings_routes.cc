#include "settings_routes.h"

#include <simdjson.h>
#include <tenon/printable.h>

#include <nlohmann/json.hpp>

#include "guard.h"
#include "model/settings.h"
#include "rest_routes.h"

namespace tenon::server {
namespace {

using Json = nlohmann::ordered_json;
using simdjson::dom::element;
using simdjson::dom::object;

std::string text_of(const element& value, const std::string& where) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) throw Error{where + ": expected a string"};
  return std::string(text);
}

// Of traces all values are strings, one or several.
SettingValue trace_value(const element& value, const std::string& where) {
  simdjson::dom::array values;
  if (value.get(values) != simdjson::SUCCESS)
    return std::vector<std::string>{text_of(value, where)};
  std::vector<std::string> texts;
  for (const element& one : values) texts.push_back(text_of(one, where));
  return texts;
}

SettingValue log_value(const element& value, const std::string& where) {
  bool flag = false;
  if (value.get(flag) == simdjson::SUCCESS) return flag;
  uint64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS && number <= UINT32_MAX)
    return static_cast<uint32_t>(number);
  return text_of(value, where);
}

Settings settings_of(const Body& body,
                     SettingValue (*value_of)(const element&, const std::string&)) {
  simdjson::dom::parser parser;
  object fields;
  if (body.empty() || parser.parse(body.data(), body.size(), true).get(fields) != simdjson::SUCCESS)
    throw Error{"expected an object of settings"};
  Settings settings;
  for (const auto& [key, value] : fields) {
    const std::string name(key);
    // Null asks for what the server does by itself.
    if (!value.is_null()) settings[name] = value_of(value, "setting '" + printable(name) + "'");
  }
  return settings;
}

Json json_of(const Settings& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings)
    std::visit([&, &name = name](const auto& known) { json[name] = known; }, value);
  return json;
}

RestResponse response_to(const RestRequest& request, const Settings& current,
                         SettingValue (*value_of)(const element&, const std::string&)) {
  if (request.method != "GET" && request.method != "POST")
    return error_response(405, "expected GET or POST, found " + printable(request.method));
  if (request.method == "POST") {
    const auto wanted = session::guard([&] { return settings_of(*request.body, value_of); });
    if (!wanted) return error_response(400, wanted.error());
    if (const auto error = check_settings(*wanted, current)) return error_response(*error);
  }
  return json_response(json_of(current));
}

}  // namespace

RestResponse log_settings_response(const RestRequest& request) {
  return response_to(request, log_settings(), log_value);
}

RestResponse trace_settings_response(const RestRequest& request) {
  return response_to(request, trace_settings(), trace_value);
}

}  // namespace tenon::server
