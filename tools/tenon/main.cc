// The command line of Tenon.
#include <NvInferVersion.h>
#include <fmt/format.h>

#include <new>

#include "commands.h"
#include "error.h"

namespace {

int run(int argc, char** argv) {
  using namespace tenon::tool;
  Logger logger;
  CLI::App app{"Tenon: build and run neural networks through TensorRT's interface"};
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("tenon " TENON_VERSION " (TensorRT {}.{}.{} interface)",
                                   NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH));
  app.get_formatter()->column_width(34);
  for (const auto add : {add_build, add_run, add_bench, add_dump, add_inspect, add_plugins,
                         add_operators, add_new_plugin, add_doctor})
    add(app, logger);
  try {
    const auto named = [&](CLI::App* command) { return command->check_name(argv[1]); };
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty())
      fail("there is no command '{}': run `tenon --help` for those there are", argv[1]);
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "tenon: {}\nRun `tenon --help` or `tenon COMMAND --help`.\n", e.what());
  } catch (const Failure& e) {
    fmt::print(stderr, "tenon: {}\n", e.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "tenon: out of memory\n");
  } catch (const std::exception& e) {
    fmt::print(stderr, "tenon: {}\n", e.what());
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv);
}
