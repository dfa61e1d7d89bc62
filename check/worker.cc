// The process that loads the library: it lists the creators, or checks one.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "check/checks.h"
#include "check/error.h"
#include "check/gpu.h"
#include "check/job.h"
#include "check/library.h"
#include "check/orders.h"
#include "check/process.h"
#include "check/sanitizer.h"

namespace tenon::check {
namespace {

// What plugins and the registry say, as it comes.
class Printer final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "tenon: %s\n", text);
  }
};

std::unique_ptr<Creator> known(nvinfer1::IPluginCreatorInterface& creator) {
  // TensorRT 8's creators answer their version number here, and have other slots behind it.
  const auto language = static_cast<int32_t>(creator.getAPILanguage());
  return language == 0 || language == 1 ? make_creator(creator) : nullptr;
}

void work_on(const Job& job, Report& report) {
  const Options& options = job.options;
  if (wants_gpu(options)) use_gpu(options.cudart);
  // Plugins speak through getLogger(), which has one once there is an engine.
  Printer printer;
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(printer));
  const auto creators = creators_of(options.library);
  if (options.mode == "address") use_closed_memory();
  if (options.mode == "order") use_orders(options.seeds, options.library);
  if (!job.creator) {
    for (auto* one : creators) {
      const auto creator = known(*one);
      report.creator(creator == nullptr ? Identity{} : creator->identity());
    }
    return;
  }
  const auto creator = known(*creators.at(*job.creator));
  if (creator == nullptr)
    fail(ErrorClass::kPluginLibrary,
         "{}: a creator is of no known kind, or was built for TensorRT 8", options.library);
  check_plugin(*creator, options, report);
}

}  // namespace

void work(const std::string& argument) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  try {
    const Job job = Job::read(argument);
    Report report(kReportDescriptor, job.left_out);
    try {
      work_on(job, report);
      report.done();
    } catch (const std::exception& e) {
      report.failure(with_code(e.what(), class_of(e)));
    }
  } catch (const Failure& e) {
    Report(kReportDescriptor, {}).failure(with_code(e.what(), e.error_class()));
  }
  _exit(0);
}

}  // namespace tenon::check
