// The command line of Tenon.
#include <NvInferVersion.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "commands.h"
#include "error.h"
#include "trtexec.h"
#include "usage_error.h"

namespace {

using tenon::ErrorClass;

int run(int argc, char** argv, tenon::tool::Logger& logger) {
  using namespace tenon::tool;
  CLI::App app{"Tenon: build and run neural networks through TensorRT's interface"};
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("tenon " TENON_VERSION " (TensorRT {}.{}.{} interface)",
                                   NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH));
  app.get_formatter()->column_width(34);
  for (const auto add :
       {add_build, add_run, add_bench, add_dump, add_inspect, add_plugins, add_operators,
        add_options, add_new_plugin, add_quantize, add_compare, add_report, add_onnx, add_serve,
        add_load, add_doctor, add_migrate, add_explain, add_completion})
    add(app, logger);
  try {
    const std::string unknown = argc > 1 ? unknown_command(app, argv[1]) : "";
    if (!unknown.empty()) throw Failure(ErrorClass::kOptions, unknown);
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "tenon: {}\n", printed(usage_error(app, e), ErrorClass::kOptions));
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "tenon: {}\n", printed("out of memory", ErrorClass::kMemory));
  } catch (const std::exception& e) {
    fmt::print(stderr, "tenon: {}\n", printed(e.what(), tenon::class_of(e)));
  }
  return 1;
}

// Whether all that the command printed has arrived: what is buffered still may meet a full disk.
bool is_printed() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  const std::string reason = errno != 0 ? fmt::format(": {}", std::strerror(errno)) : "";
  fmt::print(stderr, "tenon: {}\n",
             with_code("standard output cannot be written" + reason, ErrorClass::kFile));
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  tenon::tool::Logger logger;
  const int code = argc > 0 && tenon::tool::is_trtexec(argv[0])
                       ? tenon::tool::run_trtexec(argc, argv, logger)
                       : run(argc, argv, logger);
  return is_printed() ? code : 1;
}
