// The process that starts the workers, and puts together what they say.
#include "check/check.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "check/error.h"
#include "check/gpu.h"
#include "check/job.h"
#include "check/process.h"
#include "check/report.h"
#include "check/sanitizer.h"

namespace tenon::check {
namespace {

using Json = nlohmann::json;

// A process makes the checks before a crash again: the first result counts, unless a later one is
// worse.
void keep(std::vector<Result>& results, Result result) {
  const auto same = std::ranges::find_if(
      results, [&](const Result& r) { return r.check == result.check && r.input == result.input; });
  if (same == results.end())
    results.push_back(std::move(result));
  else if (same->outcome == Outcome::kPassed)
    *same = std::move(result);
}

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

Start start_of(const Job& job, const Sanitizer* sanitizer) {
  const Options& options = job.options;
  Start start{options.worker, wants_gpu(options) ? options.cudart : "", "", options.prints};
  start.command.push_back(job.argument());
  // Why a library cannot be loaded is printed by the registry.
  start.prints |= !job.creator;
  if (sanitizer != nullptr) {
    start.preload = runtime_of(*sanitizer, options.library);
    start.environment = settings_of(*sanitizer);
  } else {
    require_no_sanitizer(options.library);
  }
  return start;
}

// Calls on_message with what the process says.
Talk talk(const Job& job, const std::function<void(const Json&)>& on_message) {
  const Sanitizer* sanitizer = sanitizer_of(job.options.mode);
  Talk talk;
  std::string failure;
  const Ending ending =
      run_process(start_of(job, sanitizer), std::chrono::seconds(job.options.time_limit),
                  [&](const std::string& line) {
                    const Json message = Json::parse(line, nullptr, false);
                    if (!message.is_object()) return;
                    if (message.contains("done")) talk.is_done = true;
                    if (message.contains("failure")) failure = message["failure"];
                    if (message.contains("lost"))
                      talk.end = {message["expected"], message["found"]};
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
  std::vector<Identity> list;
  const Talk reply = talk({options, std::nullopt, {}}, [&](const Json& message) {
    if (message.contains("creator"))
      list.push_back({message["creator"][0], message["creator"][1], message["creator"][2]});
  });
  if (!reply.is_done)
    fail(ErrorClass::kPluginLibrary, "{}: the process that loads it ends: {}", options.library,
         reply.end.found);
  return list;
}

// The checks of one creator. A check that ends the process is a finding, and the others are made
// by another process.
PluginReport check_creator(const Options& options, size_t index, const Identity& identity) {
  constexpr int kMaxCrashes = 8;  // of one kind of check
  PluginReport report{identity, "", {}};
  std::map<std::string, int> times;
  Job job{options, index, {}};
  while (true) {
    std::optional<std::pair<std::string, std::string>> open;
    const Talk reply = talk(job, [&](const Json& m) {
      if (m.contains("begin")) open = {m["begin"], m["input"]};
      if (m.contains("end")) open.reset();
      if (m.contains("family")) report.interface = m["family"];
      if (m.contains("end") && m.contains("outcome"))
        keep(report.results,
             {m["end"], m["input"], static_cast<Outcome>(m["outcome"]), m["expected"], m["found"]});
    });
    if (reply.is_done) break;
    if (!open) {
      keep(report.results,
           {"destruction", "", Outcome::kFailed, "plugins that can be destroyed", reply.end.found});
      break;
    }
    const auto& [check, input] = *open;
    const bool is_attempt = check == Report::kAttempt;
    if (!is_attempt)
      keep(report.results, {check, input, Outcome::kFailed, reply.end.expected, reply.end.found});
    const bool is_last = reply.hung || (++times[check] == kMaxCrashes && !is_attempt);
    job.left_out.insert(Report::key(check, is_last ? Report::kAll : input));
  }
  return report;
}

// The options with files as they are found; throws for those that do not go together.
Options resolved(Options options) {
  if (!options.mode.empty() && wants_gpu(options))
    fail(ErrorClass::kOptions, "--mode={}: kernels run on the CPU then; leave --device={} out",
         options.mode, options.device);
  if (!options.mode.empty() && options.library.empty())
    fail(ErrorClass::kOptions, "--mode={}: say which library, one that tenon-nvcc compiled",
         options.mode);
  if (wants_gpu(options)) options.cudart = find_cuda_runtime(options.cudart);
  return options;
}

bool is_wanted(const Options& options, const std::string& name) {
  return options.plugins.empty()
         || std::ranges::find(options.plugins, name) != options.plugins.end();
}

}  // namespace

std::vector<PluginReport> check_plugins(const Options& given,
                                        const std::function<void(const PluginReport&)>& on_plugin) {
  const Options options = resolved(given);
  const std::vector<Identity> creators = list_creators(options);
  for (const std::string& name : options.plugins)
    if (std::ranges::find(creators, name, &Identity::name) == creators.end()) {
      std::vector<std::string> names;
      for (const Identity& id : creators) names.push_back(id.name);
      fail(ErrorClass::kNotInModel, "--plugin: {} is not in {}; there are: {}", name,
           options.library.empty() ? "what comes along" : options.library, fmt::join(names, ", "));
    }
  std::vector<PluginReport> reports;
  for (size_t i = 0; i < creators.size(); ++i) {
    if (!is_wanted(options, creators[i].name)) continue;
    reports.push_back(check_creator(options, i, creators[i]));
    if (on_plugin) on_plugin(reports.back());
  }
  return reports;
}

}  // namespace tenon::check
