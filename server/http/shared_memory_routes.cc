#include "shared_memory_routes.h"

#include <simdjson.h>
#include <tenon/printable.h>

#include <nlohmann/json.hpp>

#include "guard.h"
#include "rest_routes.h"

namespace tenon::server {
namespace {

using Json = nlohmann::ordered_json;
using simdjson::dom::object;

// {"key": "/frames", "offset": 0, "byte_size": 64}; the offset may be missing.
SharedMemoryRegion region_of(const Body& body, const std::string& name) {
  constexpr const char* kExpected =
      R"(expected {"key": "/frames", "offset": 0, "byte_size": 64}, of whole numbers from 0 on)";
  simdjson::dom::parser parser;
  object fields;
  std::string_view key;
  uint64_t offset = 0, bytes = 0;
  if (body.empty() || parser.parse(body.data(), body.size(), true).get(fields) != simdjson::SUCCESS
      || fields["key"].get(key) != simdjson::SUCCESS
      || fields["byte_size"].get(bytes) != simdjson::SUCCESS)
    throw Error{kExpected};
  const auto of_offset = fields["offset"].get(offset);
  if (of_offset != simdjson::SUCCESS && of_offset != simdjson::NO_SUCH_FIELD)
    throw Error{kExpected};
  return {name, std::string(key), offset, bytes};
}

RestResponse done(const std::optional<RequestError>& error) {
  return error ? error_response(*error) : json_response(Json::object());
}

RestResponse status_response(const SharedMemory& memory, const std::string& name) {
  const auto found = memory.regions(name);
  if (const auto* const error = std::get_if<RequestError>(&found)) return error_response(*error);
  Json items = Json::array();
  for (const SharedMemoryRegion& region : std::get<0>(found))
    items.push_back({{"name", region.name},
                     {"key", region.key},
                     {"offset", region.offset},
                     {"byte_size", region.bytes}});
  return json_response(items);
}

RestResponse register_response(SharedMemory& memory, const RestRequest& request,
                               const std::string& name) {
  const auto region = session::guard([&] { return region_of(*request.body, name); });
  return region ? done(memory.add(*region)) : error_response(400, region.error());
}

}  // namespace

// /v2/systemsharedmemory[/region/NAME]/status|register|unregister
RestResponse shared_memory_response(SharedMemory* memory, const RestRequest& request,
                                    const std::vector<std::string>& path) {
  if (path[1] == "cudasharedmemory")
    return error_response(501, "CUDA shared memory is not supported yet");
  const bool has_region = path.size() == 5 && path[2] == "region";
  const std::string& what = path.back();
  const bool is_known =
      what == "status" || what == "unregister" || (has_region && what == "register");
  if (path[1] != "systemsharedmemory" || (!has_region && path.size() != 3) || !is_known)
    return error_response(404, "there is nothing at '" + printable(request.target) + "'");
  const std::string method = what == "status" ? "GET" : "POST";
  if (request.method != method)
    return error_response(405, "expected " + method + ", found " + printable(request.method));
  if (memory == nullptr) return error_response(no_shared_memory());
  const std::string name = has_region ? path[3] : "";
  if (what == "status") return status_response(*memory, name);
  return what == "register" ? register_response(*memory, request, name)
                            : done(memory->remove(name));
}

}  // namespace tenon::server
