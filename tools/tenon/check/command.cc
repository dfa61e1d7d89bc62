#include "check/command.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "check/check_options.h"
#include "check/gpu.h"
#include "check/process.h"
#include "check/report.h"
#include "check/sanitizer.h"
#include "check/worker.h"
#include "error.h"
#include "options.h"

namespace tenon::tool {
namespace check {
namespace {

using Json = nlohmann::ordered_json;
using Outcome = Result::Outcome;

constexpr const char* kList = "--list";

struct PluginReport {
  Identity identity;
  std::string family;
  std::vector<Result> results;

  // A process makes the checks before a crash again: the first result counts, unless a later one is
  // worse.
  void keep(Result result) {
    const auto same = std::ranges::find_if(results, [&](const Result& r) {
      return r.check == result.check && r.input == result.input;
    });
    if (same == results.end())
      results.push_back(std::move(result));
    else if (same->outcome == Outcome::kPassed)
      *same = std::move(result);
  }
  auto count(Outcome outcome) const {
    return std::ranges::count(results, outcome, &Result::outcome);
  }
};

// What a process said of its end.
struct Talk {
  bool is_done = false;  // it had done all
  bool hung = false;
  Broken end;  // as a finding, if it had not
};

// The last line of the kernels' runtime, which says what hangs.
std::string kernel_in(const std::string& errors) {
  constexpr std::string_view kBegin = "tenon: kernel ";
  const auto at = errors.rfind(kBegin);
  return at == std::string::npos ? ""
                                 : ": " + errors.substr(at + 7, errors.find('\n', at) - at - 7);
}

// Calls on_message with what the process says.
Talk talk(const std::vector<std::string>& arguments, const Options& options,
          const std::function<void(const Json&)>& on_message) {
  Start start{arguments, options.wants_gpu() ? options.cudart : "", "", options.verbose};
  // Why a library cannot be loaded is printed by the registry.
  start.prints |= arguments.back() == kList;
  const Sanitizer* sanitizer = sanitizer_of(options.mode);
  if (sanitizer != nullptr) {
    start.preload = runtime_of(*sanitizer, options.library);
    start.environment = settings_of(*sanitizer);
  } else {
    require_no_sanitizer(options.library);
  }
  Talk talk;
  std::string failure;
  const Ending ending =
      run_again(start, std::chrono::seconds(options.time_limit), [&](const std::string& line) {
        const Json message = Json::parse(line, nullptr, false);
        if (!message.is_object()) return;
        if (message.contains("done")) talk.is_done = true;
        if (message.contains("failure")) failure = message["failure"];
        if (message.contains("lost")) talk.end = {message["expected"], message["found"]};
        on_message(message);
      });
  if (!failure.empty()) fail("{}", failure);
  talk.hung = ending.hung;
  const std::string fault = sanitizer == nullptr ? "" : fault_in(*sanitizer, ending.errors);
  if (!fault.empty())
    talk.end = {fmt::format("nothing that {} reports", sanitizer->name), fault};
  else if (talk.end.found.empty())
    talk.end = {"the plugin to come back",
                ending.text + (ending.hung ? kernel_in(ending.errors) : "")};
  return talk;
}

std::vector<Identity> list_creators(const Options& options) {
  auto arguments = options.arguments();
  arguments.emplace_back(kList);
  std::vector<Identity> list;
  const Talk said = talk(arguments, options, [&](const Json& message) {
    if (message.contains("creator"))
      list.push_back({message["creator"][0], message["creator"][1], message["creator"][2]});
  });
  if (!said.is_done)
    fail("{}: the process that loads it ends: {}", options.library, said.end.found);
  return list;
}

// The checks of one creator. A check that ends the process is a finding, and the others are made
// by another process.
PluginReport check_creator(const Options& options, size_t index, const Identity& identity) {
  constexpr int kMostCrashes = 8;  // of one kind of check
  PluginReport report{identity, "", {}};
  std::map<std::string, int> times;
  auto arguments = options.arguments();
  arguments.push_back(fmt::format("--creator={}", index));
  while (true) {
    std::optional<std::pair<std::string, std::string>> open;
    const Talk said = talk(arguments, options, [&](const Json& m) {
      if (m.contains("begin")) open = {m["begin"], m["input"]};
      if (m.contains("end")) open.reset();
      if (m.contains("family")) report.family = m["family"];
      if (m.contains("end") && m.contains("outcome"))
        report.keep(
            {m["end"], m["input"], static_cast<Outcome>(m["outcome"]), m["expected"], m["found"]});
    });
    if (said.is_done) break;
    if (!open) {
      report.keep(
          {"destruction", "", Outcome::kFailed, "plugins that can be destroyed", said.end.found});
      break;
    }
    const auto& [check, input] = *open;
    const bool is_attempt = check == Report::kAttempt;
    if (!is_attempt)
      report.keep({check, input, Outcome::kFailed, said.end.expected, said.end.found});
    const bool is_last = said.hung || (++times[check] == kMostCrashes && !is_attempt);
    arguments.push_back("--leave-out=" + Report::key(check, is_last ? Report::kAll : input));
  }
  return report;
}

void print(const PluginReport& report) {
  const auto failed = report.count(Outcome::kFailed), other = report.count(Outcome::kNotRun),
             passed = report.count(Outcome::kPassed);
  fmt::print("{}{}: {} checks passed, {} failed, {} not run\n", report.identity.text(),
             report.family.empty() ? "" : " (" + report.family + ")", passed, failed, other);
  for (const Result& r : report.results)
    if (r.outcome == Outcome::kFailed)
      fmt::print("  FAILED {}{}: expected {}; found {}\n", r.check,
                 r.input.empty() ? "" : " (" + r.input + ")", r.expected, r.found);
  std::map<std::pair<std::string, std::string>, int> reasons;
  for (const Result& r : report.results)
    if (r.outcome == Outcome::kNotRun && ++reasons[{r.check, r.found}] == 1)
      fmt::print("  not run: {}, and what follows from it: {}\n", r.check, r.found);
}

Json json_of(const PluginReport& report) {
  constexpr const char* kOutcomes[] = {"passed", "failed", "not run"};
  Json checks = Json::array();
  for (const Result& r : report.results) {
    Json row = {{"check", r.check},
                {"input", r.input},
                {"outcome", kOutcomes[static_cast<size_t>(r.outcome)]}};
    if (r.outcome == Outcome::kFailed) row["expected"] = r.expected;
    if (r.outcome != Outcome::kPassed) row["found"] = r.found;
    checks.push_back(std::move(row));
  }
  return {{"name", report.identity.name},
          {"version", report.identity.version},
          {"namespace", report.identity.name_space},
          {"interface", report.family},
          {"checks", checks}};
}

void check_library(const Options& options) {
  const std::vector<Identity> creators = list_creators(options);
  for (const std::string& name : options.plugins)
    if (std::ranges::find(creators, name, &Identity::name) == creators.end()) {
      std::vector<std::string> names;
      for (const Identity& id : creators) names.push_back(id.name);
      fail("--plugin: {} is not in {}; there are: {}", name,
           options.library.empty() ? "what comes along" : options.library, fmt::join(names, ", "));
    }
  Json list = Json::array();
  size_t checked = 0, broken = 0;
  for (size_t i = 0; i < creators.size(); ++i) {
    if (!options.plugins.empty()
        && std::ranges::find(options.plugins, creators[i].name) == options.plugins.end())
      continue;
    const PluginReport report = check_creator(options, i, creators[i]);
    ++checked;
    broken += report.count(Outcome::kFailed) > 0;
    if (options.json) {
      list.push_back(json_of(report));
    } else {
      print(report);
      std::fflush(stdout);
    }
  }
  if (options.json) fmt::print("{}\n", list.dump(2, ' ', false, Json::error_handler_t::replace));
  if (broken > 0) fail("{} of {} plugins break their contract", broken, checked);
}

}  // namespace
}  // namespace check

void add_check(CLI::App& plugins, Logger& logger) {
  auto o = std::make_shared<check::Options>();
  CLI::App* command = plugins.add_subcommand(
      "check", "Check that the plugins of a library keep TensorRT's contract");
  o->add_to(*command);
  command->callback([o, &logger] {
    o->library = library_path(o->library);
    if (o->lists || o->creator >= 0) check::work(*o, logger);
    if (!o->mode.empty() && o->wants_gpu())
      fail("--mode={}: kernels run on the CPU then; leave --device=cuda out", o->mode);
    if (!o->mode.empty() && o->library.empty())
      fail("--mode={}: say which library, one that tenon-nvcc compiled", o->mode);
    if (o->wants_gpu()) o->cudart = check::find_cuda_runtime(o->cudart);
    check::check_library(*o);
  });
}

}  // namespace tenon::tool
