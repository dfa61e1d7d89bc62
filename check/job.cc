#include "check/job.h"

#include <nlohmann/json.hpp>

#include "check/error.h"

namespace tenon::check {

using nlohmann::json;

// How nlohmann::json writes and reads options.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Options, library, plugins, fields, shapes, types, cases, device,
                                   cudart, mode, seeds, time_limit, prints)

std::string Job::argument() const {
  json job;
  job["options"] = options;
  job["left out"] = left_out;
  if (creator) job["creator"] = *creator;
  return job.dump(-1, ' ', false, json::error_handler_t::replace);
}

Job Job::read(const std::string& argument) try {
  const json job = json::parse(argument);
  Job read{job.at("options").get<Options>(), std::nullopt, job.at("left out")};
  if (job.contains("creator")) read.creator = job["creator"].get<size_t>();
  return read;
} catch (const json::exception& e) {
  fail("this program was started to check plugins, and not told what: {}", e.what());
}

}  // namespace tenon::check
