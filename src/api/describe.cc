// The C functions behind tenon/describe.h.
#include <flatbuffers/base.h>
#include <google/protobuf/stubs/common.h>
#include <tbb/version.h>
#include <tenon/describe.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/build.h"
#include "api/calibration.h"
#include "api/execution_context.h"
#include "api/host_memory.h"
#include "api/io_types.h"
#include "backend/targets.h"
#include "base/current_logger.h"
#include "base/parallel.h"
#include "import/import.h"
#include "optimize/optimize.h"
#include "plan/inspect.h"
#include "plan/plan_file.h"
#include "plan/streams.h"
#include "plan/work.h"

namespace {

nvinfer1::IHostMemory* memory_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return new tenon::HostMemory({bytes.begin(), bytes.end()});
}

std::string dump_at(const tenon::NetworkDefinition& network, const tenon::BuilderSettings& settings,
                    tenon::DumpStage stage, bool json) {
  if (stage == tenon::DumpStage::kPLAN) {
    const tenon::Plan plan = tenon::build(network, settings, 1, network.reporter());
    return json ? tenon::plan_json(plan) : tenon::plan_text(plan);
  }
  const auto copy = tenon::copy_to_build(network, 1);
  tenon::Scales scales = tenon::dynamic_ranges(network);
  tenon::quantize_borders(*copy, scales);
  copy->infer();
  if (stage == tenon::DumpStage::kOPTIMIZE) {
    const tenon::Target& target = tenon::target_of(settings);
    const tenon::Log& log = network.reporter().log();
    tenon::optimize(*copy, target, {log, tenon::precision_of(network, settings, target, log), {}});
  }
  return json ? tenon::dump_json(*copy) : tenon::dump(*copy);
}

const char* place_text(tenon::PlanTensor::Place place) {
  using Place = tenon::PlanTensor::Place;
  switch (place) {
    case Place::kInput:
      return "input";
    case Place::kOutput:
      return "output";
    case Place::kWeight:
    case Place::kNone:
      return "constant";
    case Place::kHost:
      return "host";
    case Place::kAlias:
      return "alias";
    default:
      return "arena";
  }
}

nlohmann::ordered_json tensors_json(const tenon::Plan& plan, std::span<const tenon::Shape> shapes) {
  auto tensors = nlohmann::ordered_json::array();
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const tenon::PlanTensor& tensor = plan.tensors[i];
    const auto index = static_cast<int32_t>(i);
    const tenon::Shape& shape = shapes[i];
    const bool is_known =
        std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent >= 0; });
    nlohmann::ordered_json row = {
        {"name", tensor.name},
        {"type", tenon::name_of(tensor.type)},
        {"layout", tenon::name_of(tensor.layout)},
        {"shape", std::vector<int64_t>(shape.begin(), shape.end())},
        {"bytes", is_known ? tenon::bytes_of_tensor(plan, index, shape) : 0},
        {"place", place_text(tensor.place)}};
    if (tensor.place == tenon::PlanTensor::Place::kAlias) row["shares"] = plan.root_of(index);
    tensors.push_back(row);
  }
  return tensors;
}

// Indices of tensors, without those of inputs that are left out.
std::vector<int32_t> given(std::vector<int32_t> tensors) {
  std::erase(tensors, -1);
  return tensors;
}

nlohmann::ordered_json work_json(const tenon::Plan& plan, const std::optional<tenon::Peaks>& peaks,
                                 std::span<const tenon::Shape> shapes) {
  auto layers = nlohmann::ordered_json::array();
  const tenon::Streams streams = tenon::streams_of(plan);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const tenon::PlanStep& step = plan.steps[i];
    const tenon::StepWork work = tenon::work_of(plan, step, shapes);
    layers.push_back({{"name", step.name},
                      {"kind", step.op},
                      {"kernel", step.kernel},
                      {"operations", work.operations},
                      {"bytes", work.bytes},
                      {"inputs", given(step.inputs)},
                      {"outputs", given(step.outputs)},
                      {"stream", streams.steps[i].stream}});
  }
  nlohmann::ordered_json json = {{"target", plan.target}, {"threads", tenon::thread_count()}};
  if (peaks) {
    json["operationsPerSecond"] = peaks->operations_per_second;
    json["bytesPerSecond"] = peaks->bytes_per_second;
  }
  json["tensors"] = tensors_json(plan, shapes);
  json["layers"] = layers;
  return json;
}

// What each target is here, or why there is none.
nlohmann::ordered_json targets() {
  nlohmann::ordered_json list;
  for (const std::string_view name : tenon::target_names()) try {
      list[std::string(name)] = tenon::target_named(name).fingerprint();
    } catch (const tenon::Error& e) {
      list[std::string(name)] = fmt::format("no: {}", e.what());
    }
  return list;
}

// What builds run on unless they are told otherwise, or why there is nothing.
std::string default_target_text() {
  try {
    return std::string(tenon::default_target().name());
  } catch (const tenon::Error& e) {
    return fmt::format("no: {}", e.what());
  }
}

// NVIDIA's driver is what programs on Linux see of a GPU.
std::string gpu_text() {
  std::ifstream driver("/proc/driver/nvidia/version");
  for (std::string word;
       driver >> word;)  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  ..."
    if (std::isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != std::string::npos)
      return fmt::format("NVIDIA, driver {}", word);
  return ::access("/dev/nvidiactl", F_OK) == 0 ? "NVIDIA" : "none found";
}

}  // namespace

extern "C" {

nvinfer1::IHostMemory* tenonDescribePlan(nvinfer1::ILogger* logger, const char* path,
                                         tenon::DumpFormat format) noexcept {
  const tenon::Reporter reporter(logger);
  return reporter.guard<nvinfer1::IHostMemory*>(nullptr, [&] {
    tenon::require(path != nullptr, "the path is null");
    const tenon::Plan plan = tenon::open_plan_file(path);
    return memory_of(format == tenon::DumpFormat::kJSON ? tenon::plan_json(plan)
                                                        : tenon::plan_text(plan));
  });
}

nvinfer1::IHostMemory* tenonDump(nvinfer1::INetworkDefinition* network,
                                 nvinfer1::IBuilderConfig* config, tenon::DumpStage stage,
                                 tenon::DumpFormat format) noexcept {
  const auto* ours = tenon::NetworkDefinition::find(network);
  const auto* settings = tenon::BuilderConfig::find(config);
  if (ours == nullptr || settings == nullptr) return nullptr;
  return ours->reporter().guard<nvinfer1::IHostMemory*>(nullptr, [&] {
    return memory_of(
        dump_at(*ours, settings->settings(), stage, format == tenon::DumpFormat::kJSON));
  });
}

nvinfer1::IHostMemory* tenonDescribeMachine() noexcept {
  return tenon::Reporter(tenon::current_logger()).guard<nvinfer1::IHostMemory*>(nullptr, [&] {
    const double gigabytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES))
                             * static_cast<double>(::sysconf(_SC_PAGE_SIZE)) / 1e9;
    const tenon::Target& host = tenon::target_named("cpu");
    nlohmann::ordered_json facts = {
        {"version", TENON_VERSION},
        {"interface",
         fmt::format("TensorRT {}.{}.{}", NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH)},
        {"target", default_target_text()},
        {"targets", targets()},
        {"processor", host.fingerprint()},
        {"instruction set", host.instruction_set()},
        {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
        {"threads", tenon::thread_count()},
        {"memory", fmt::format("{:.1f} GB", gigabytes)},
        {"GPU", gpu_text()},
        {"TBB", TBB_runtime_version()},
        {"protobuf",
         fmt::format("{}.{}.{}", GOOGLE_PROTOBUF_VERSION / 1'000'000,
                     GOOGLE_PROTOBUF_VERSION / 1000 % 1000, GOOGLE_PROTOBUF_VERSION % 1000)},
        {"flatbuffers", fmt::format("{}.{}.{}", FLATBUFFERS_VERSION_MAJOR,
                                    FLATBUFFERS_VERSION_MINOR, FLATBUFFERS_VERSION_REVISION)},
    };
    for (const tenon::LibraryVersion& library : host.libraries())
      facts[library.name] = library.version;
    return memory_of(facts.dump());
  });
}

nvinfer1::IHostMemory* tenonDescribeOperators() noexcept {
  return tenon::Reporter(tenon::current_logger()).guard<nvinfer1::IHostMemory*>(nullptr, [&] {
    auto rows = nlohmann::ordered_json::array();
    for (const tenon::OperatorRow& row : tenon::supported_operators())
      rows.push_back({{"name", row.name},
                      {"since", row.since},
                      {"restriction", row.restriction},
                      {"domain", row.domain}});
    const nlohmann::ordered_json table = {{"opsets", {tenon::kOldestOpset, tenon::kLatestOpset}},
                                          {"operators", rows}};
    return memory_of(table.dump());
  });
}

nvinfer1::IHostMemory* tenonDescribeWork(nvinfer1::IExecutionContext* context) noexcept {
  tenon::ContextView* ours = tenon::ContextView::find(context);
  if (ours == nullptr) return nullptr;
  return ours->reporter().guard<nvinfer1::IHostMemory*>(nullptr, [&] {
    const tenon::Plan& plan = ours->shared()->plan();
    const auto shapes = ours->shapes_of_last_run();
    tenon::require(!shapes.empty(),
                   "the context has not run, and its layers have no shapes: run it first");
    const auto json = work_json(plan, tenon::target_named(plan.target).measure_peaks(), shapes);
    return memory_of(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  });
}

void tenonSetThreads(int32_t threads) noexcept {
  tenon::Reporter(tenon::current_logger()).run([&] { tenon::set_thread_count(threads); });
}

int32_t tenonThreads() noexcept {
  return tenon::Reporter(tenon::current_logger()).guard<int32_t>(0, [] {
    return tenon::thread_count();
  });
}

}  // extern "C"
