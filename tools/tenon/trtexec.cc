#include "trtexec.h"

#include <NvInferVersion.h>
#include <fmt/format.h>
#include <tenon/printable.h>

#include <filesystem>

#include "bench.h"
#include "error.h"

namespace tenon::tool {
namespace {

// "&&&& PASSED TensorRT.trtexec [TensorRT v101600] [b0] # trtexec --onnx=model.onnx": what scripts
// look for.
void print_state(const char* state, int argc, char** argv) {
  constexpr int kVersion = NV_TENSORRT_MAJOR * 10'000 + NV_TENSORRT_MINOR * 100 + NV_TENSORRT_PATCH;
  fmt::print("&&&& {} TensorRT.trtexec [TensorRT v{}] [b{}] #", state, kVersion, NV_TENSORRT_BUILD);
  for (int i = 0; i < argc; ++i) fmt::print(" {}", printable(argv[i]));
  fmt::print("\n");
  std::fflush(stdout);
}

// What differs from `tenon bench`: TF32 is TensorRT's default, and extents that no option gives
// are 1.
void follow_trtexec(BuildOptions& options) {
  options.has_default_tf32 = !options.no_tf32;
  options.unknown_extents_are_one = true;
}

void print_error(const std::string& text, ErrorClass error_class) {
  fmt::print(stderr, "{}{}\n", line_prefix('E'), printed(text, error_class));
}

bool succeeds(CLI::App& app, BenchOptions& options, int argc, char** argv, Logger& logger) {
  try {
    app.parse(argc, argv);
    follow_trtexec(options.build);
    bench(options, logger);
    return true;
  } catch (const CLI::ExtrasError& e) {
    fmt::print("{}", app.help());
    for (const std::string& option : app.remaining())
      print_error("Unknown option: " + option, ErrorClass::kOptions);
  } catch (const CLI::ParseError& e) {
    fmt::print("{}", app.help());
    print_error(e.what(), ErrorClass::kOptions);
  } catch (const std::bad_alloc&) {
    print_error("out of memory", ErrorClass::kMemory);
  } catch (const std::exception& e) {
    print_error(e.what(), class_of(e));
  }
  return false;
}

}  // namespace

bool is_trtexec(const std::string& program) {
  return std::filesystem::path(program).filename() == "trtexec";
}

int run_trtexec(int argc, char** argv, Logger& logger) {
  print_state("RUNNING", argc, argv);
  CLI::App app{"trtexec: builds engines and measures them, by Tenon", "trtexec"};
  app.get_formatter()->column_width(34);
  BenchOptions options;
  options.add_to(app, true);
  for (int i = 1; i < argc; ++i)
    if (const std::string argument = argv[i]; argument == "--help" || argument == "-h") {
      fmt::print("{}", app.help());
      return 0;
    }
  if (argc == 1) fmt::print("{}", app.help());
  const bool passes = argc == 1 || succeeds(app, options, argc, argv, logger);
  print_state(passes ? "PASSED" : "FAILED", argc, argv);
  return passes ? 0 : 1;
}

}  // namespace tenon::tool
