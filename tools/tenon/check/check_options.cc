#include "check/check_options.h"

#include <fmt/format.h>

namespace tenon::tool::check {

void Options::add_to(CLI::App& app) {
  app.add_option("library", library,
                 "The plugin library; without one, the plugins that come along are checked");
  app.add_option("--plugin", plugins, "Check the plugin of this name alone, repeatable")
      ->allow_extra_args(false);
  app.add_option("--shapes", trial.shapes, "Shapes of the inputs, as 2x3x8x8,5x4");
  app.add_option("--types", trial.types,
                 "Types of the inputs, as float32,int32 (default: all that it takes)");
  app.add_option("--fields", trial.fields, "A field, as pads=1,2 or mode=linear, repeatable")
      ->allow_extra_args(false);
  app.add_option("--cases", trial.cases,
                 "A file with fields, inputs and expected outputs of plugins, repeatable")
      ->allow_extra_args(false);
  app.add_option("--device", device, "Where enqueue() runs: cpu, or cuda for a GPU")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--cudart", cudart, "CUDA's runtime, for --device=cuda")->capture_default_str();
  app.add_option("--mode", mode,
                 "address, race: run under AddressSanitizer or ThreadSanitizer, which the library "
                 "is compiled with; order: compare the results of several orders of CUDA threads")
      ->check(CLI::IsMember({"address", "race", "order"}));
  app.add_option("--seeds", seeds, "Of --mode=order, how many of the orders are random")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--timeLimit", time_limit, "Seconds that one check may take")
      ->check(CLI::Range(1, 3600));
  app.add_flag("--json", json, "Print JSON, with every check");
  app.add_flag("--verbose", verbose, "Let the plugins print, too");
  app.add_option("--creator", creator)->group("");
  app.add_flag("--list", lists)->group("");
  app.add_option("--leave-out", left_out)->allow_extra_args(false)->group("");
}

std::vector<std::string> Options::arguments() const {
  std::vector<std::string> list = {"plugins", "check"};
  if (!library.empty()) list.push_back(library);
  if (!trial.shapes.empty()) list.push_back("--shapes=" + trial.shapes);
  if (!trial.types.empty()) list.push_back("--types=" + trial.types);
  for (const std::string& field : trial.fields) list.push_back("--fields=" + field);
  for (const std::string& path : trial.cases) list.push_back("--cases=" + path);
  if (wants_gpu()) list.insert(list.end(), {"--device=cuda", "--cudart=" + cudart});
  if (!mode.empty()) list.insert(list.end(), {"--mode=" + mode, fmt::format("--seeds={}", seeds)});
  if (verbose) list.emplace_back("--verbose");
  return list;
}

}  // namespace tenon::tool::check
