#include "check_plugins.h"

#include <fmt/format.h>
#include <tenon/build.h>

#include <cstdio>

#include "check/check.h"
#include "error.h"
#include "options.h"

namespace tenon::tool {
namespace {

struct CheckOptions : check::Options {
  bool json = false;
  std::string job;  // of a process that this command started
};

void add_options(CLI::App& app, CheckOptions& o) {
  app.add_option("library", o.library,
                 "The plugin library; without one, the plugins that come along are checked");
  app.add_option("--plugin", o.plugins, "Check the plugin of this name alone, repeatable")
      ->allow_extra_args(false);
  app.add_option("--shapes", o.shapes, "Shapes of the inputs, as 2x3x8x8,5x4");
  app.add_option("--types", o.types,
                 "Types of the inputs, as float32,int32 (default: all that it takes)");
  app.add_option("--fields", o.fields, "A field, as pads=1,2 or mode=linear, repeatable")
      ->allow_extra_args(false);
  app.add_option("--cases", o.cases,
                 "A file with fields, inputs and expected outputs of plugins, repeatable")
      ->allow_extra_args(false);
  app.add_option("--device", o.device, "Where enqueue() runs: cpu, or cuda for a GPU")
      ->check(CLI::IsMember(tenon::known_targets()))
      ->capture_default_str();
  app.add_option("--cudart", o.cudart, "CUDA's runtime, for --device=cuda")->capture_default_str();
  app.add_option("--mode", o.mode,
                 "address, race: run under AddressSanitizer or ThreadSanitizer, which the library "
                 "is compiled with; order: compare the results of several orders of CUDA threads")
      ->check(CLI::IsMember({"address", "race", "order"}));
  app.add_option("--seeds", o.seeds, "Of --mode=order, how many of the orders are random")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--timeLimit", o.time_limit, "Seconds that one check may take")
      ->check(CLI::Range(1, 3600));
  app.add_flag("--json", o.json, "Print JSON, with every check");
  app.add_flag("--verbose", o.prints, "Let the plugins print, too");
  app.add_option("--worker", o.job)->group("");
}

void check_library(const CheckOptions& o) {
  const auto print = [&](const check::PluginReport& report) {
    if (o.json) return;
    fmt::print("{}", check::text_of(report));
    std::fflush(stdout);
  };
  const auto reports = check::check_plugins(o, print);
  if (o.json) fmt::print("{}\n", check::json_of(reports));
  const auto broken = std::ranges::count_if(reports, [](const check::PluginReport& report) {
    return report.count(check::Outcome::kFailed) > 0;
  });
  if (broken > 0)
    fail(ErrorClass::kVerdict, "{} of {} plugins break their contract", broken, reports.size());
}

}  // namespace

void add_check(CLI::App& plugins) {
  auto o = std::make_shared<CheckOptions>();
  CLI::App* command = plugins.add_subcommand(
      "check", "Check that the plugins of a library keep TensorRT's contract");
  add_options(*command, *o);
  command->callback([o] {
    if (!o->job.empty()) check::work(o->job);
    o->library = library_path(o->library);
    o->worker = {"/proc/self/exe", "plugins", "check", "--worker"};
    check_library(*o);
  });
}

}  // namespace tenon::tool
