// Reports as text and as JSON.
#include <fmt/format.h>
#include <tenon/printable.h>

#include <map>
#include <nlohmann/json.hpp>

#include "check/check.h"

namespace tenon::check {

using Json = nlohmann::ordered_json;

const char* name_of(Outcome outcome) {
  constexpr const char* kNames[] = {"passed", "failed", "not run"};
  return kNames[static_cast<size_t>(outcome)];
}

std::string text_of(const PluginReport& report) {
  std::string text = fmt::format(
      "{}{}: {} checks passed, {} failed, {} not run\n", printable(report.identity.text()),
      report.interface.empty() ? "" : " (" + printable(report.interface) + ")",
      report.count(Outcome::kPassed), report.count(Outcome::kFailed),
      report.count(Outcome::kNotRun));
  for (const Result& r : report.results)
    if (r.outcome == Outcome::kFailed)
      text += fmt::format("  FAILED {}{}: expected {}; found {}\n", r.check,
                          r.input.empty() ? "" : " (" + printable(r.input) + ")",
                          printable(r.expected), printable(r.found));
  std::map<std::pair<std::string, std::string>, int> reasons;
  for (const Result& r : report.results)
    if (r.outcome == Outcome::kNotRun && ++reasons[{r.check, r.found}] == 1)
      text +=
          fmt::format("  not run: {}, and what follows from it: {}\n", r.check, printable(r.found));
  return text;
}

std::string json_of(const std::vector<PluginReport>& reports) {
  Json list = Json::array();
  for (const PluginReport& report : reports) {
    Json checks = Json::array();
    for (const Result& r : report.results) {
      Json row = {{"check", r.check}, {"input", r.input}, {"outcome", name_of(r.outcome)}};
      if (r.outcome == Outcome::kFailed) row["expected"] = r.expected;
      if (r.outcome != Outcome::kPassed) row["found"] = r.found;
      checks.push_back(std::move(row));
    }
    list.push_back({{"name", report.identity.name},
                    {"version", report.identity.version},
                    {"namespace", report.identity.name_space},
                    {"interface", report.interface},
                    {"checks", checks}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenon::check
