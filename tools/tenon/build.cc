// `tenon build`: an ONNX model in, a plan file out.
#include <fmt/format.h>

#include <chrono>

#include "commands.h"
#include "error.h"
#include "files.h"
#include "model.h"
#include "npz.h"

namespace tenon::tool {

void add_build(CLI::App& app, Logger& logger) {
  struct Options {
    std::string model, onnx, plan;
    CommonOptions common;
    BuildOptions build;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("build", "Build a plan from an ONNX model");
  command->add_option("model", o->model, "The ONNX model");
  command->add_option("--onnx", o->onnx, "The ONNX model, trtexec's way");
  command->add_option("-o,--saveEngine", o->plan, "The plan to write (default: the model's name)");
  o->common.add_to(*command);
  o->build.add_to(*command);
  add_ignored_options(*command, logger);
  command->callback([o, &logger] {
    const std::string model = only_model({{"model", o->model}, {"--onnx", o->onnx}});
    if (model.empty()) fail("build: name an ONNX model, as `tenon build model.onnx -o model.plan`");
    std::string path = o->plan;
    if (path.empty())
      path = (model.ends_with(".onnx") ? model.substr(0, model.size() - 5) : model) + ".plan";
    std::vector<NamedFile> read = named_files("--plugins", o->common.plugins);
    read.push_back({"model", model});
    check_files(read, {{"-o", path}, {"--timingCacheFile", o->build.timing_cache}});
    o->common.apply(logger);
    const auto start = std::chrono::steady_clock::now();
    const auto plan = build_plan(model, o->build, {}, logger, false);
    write_file(path, plan->data(), plan->size());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const size_t profiles = o->build.profiles.size();
    fmt::print("{} -> {}  ({:.2f} MiB{}, {:.2f} s)\n", model, path,
               static_cast<double>(plan->size()) / (1 << 20),
               profiles > 1 ? fmt::format(", {} profiles", profiles) : "", took.count());
  });
}

}  // namespace tenon::tool
