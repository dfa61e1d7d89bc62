// The order of the checks, and inputs for plugins that nothing is known of.
#include <algorithm>

#include "check/checks.h"

namespace tenon::check {
namespace {

std::unique_ptr<Subject> must_create(const Creator& creator, const Trial& trial) {
  auto plugin = creator.create(fields_of(trial));
  if (plugin == nullptr)
    throw Broken{
        fmt::format("a plugin from createPlugin() with {} fields", trial.test.fields().size()),
        "null" + plugin_log()};
  return plugin;
}

void check_trial(const Creator& creator, const Trial& trial, std::set<std::string>& seen_fields,
                 Report& report) {
  const std::string label = trial.name.empty() ? "" : "case " + trial.name;
  std::unique_ptr<Subject> plugin;
  const bool is_made = report.check("create", label, [&] {
    plugin = must_create(creator, trial);
    if (plugin->identity() != creator.identity())
      throw Broken{
          fmt::format("a plugin that is {}, as its creator says", creator.identity().text()),
          plugin->identity().text()};
  });
  if (plugin == nullptr || !is_made) return;
  report.family(plugin->family());
  check_wrong_fields(creator, trial, seen_fields, report);
  check_copies(creator, *plugin, label, report);
  const std::vector<Setup> setups = check_formats(*plugin, trial, label, report);
  std::map<DataType, kit::testing::PluginCase> linear;
  for (const Setup& setup : setups) check_runs(creator, *plugin, setup, linear, report);
  if (!setups.empty()) check_empty(*plugin, setups[0], report);
  report.check("destruction", label, [&] { plugin.reset(); });
}

std::string label_of(const Trial& trial) {
  return fmt::format("{} with {} fields", describe(trial, DataType::kFLOAT),
                     trial.test.fields().size());
}

bool is_accepted(const Creator& creator, const Trial& trial, bool runs) {
  const auto plugin = must_create(creator, trial);
  for (const DataType t : types_of(trial)) {
    const auto setup = make_setup(*plugin, trial, dims_of(trial), t, nullptr);
    if (!setup) continue;
    plugin->configure(setup->inputs, setup->outputs);
    const auto context = plugin->attach(setup->inputs, setup->outputs);
    if (!runs) return true;
    Buffers buffers(*setup, plugin->workspace_bytes(setup->inputs, setup->outputs));
    buffers.reset(0);
    try {
      buffers.enqueue(*context, nullptr);
    } catch (const NotRun&) {}
    return true;
  }
  return false;
}

// The first inputs that the plugin runs, else the first that it does not refuse.
std::vector<Trial> accepted_trial(const Creator& creator, const Options& options, Report& report) {
  constexpr size_t kMaxAccepted = 6;
  std::vector<Trial> accepted;
  for (Trial& trial : guessed_trials(creator, options)) {
    if (accepted.size() < kMaxAccepted
        && report.attempt(label_of(trial), [&] { return is_accepted(creator, trial, false); }))
      accepted.push_back(std::move(trial));
  }
  for (const Trial& trial : accepted)
    if (report.attempt("run " + label_of(trial), [&] { return is_accepted(creator, trial, true); }))
      return {trial};
  accepted.resize(std::min<size_t>(accepted.size(), 1), Trial{"", kit::testing::PluginCase("")});
  return accepted;
}

}  // namespace

void check_plugin(const Creator& creator, const Options& options, Report& report) {
  check_fields(creator, report);
  std::vector<Trial> trials = given_trials(creator, options);
  if (trials.empty()) trials = accepted_trial(creator, options, report);
  if (trials.empty())
    report.check("create", "", [&] {
      throw NotRun{fmt::format(
          "no inputs were found that it takes: say what it takes with --shapes, "
          "--types and --fields, or with --cases{}{}",
          report.refusals().empty() ? "" : "; it said: ", fmt::join(report.refusals(), "; "))};
    });
  std::set<std::string> seen_fields;
  for (const Trial& trial : trials) check_trial(creator, trial, seen_fields, report);
}

}  // namespace tenon::check
