// `tenon report`: a run of a model as a page to look at.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tenon/describe.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "commands.h"
#include "error.h"
#include "files.h"
#include "inputs.h"
#include "layer_times.h"
#include "measure.h"
#include "model.h"
#include "npz.h"
#include "page/page.h"
#include "pages.h"
#include "performance.h"
#include "precision_report.h"
#include "roofline.h"

namespace tenon::tool {
namespace {

using nlohmann::ordered_json;

struct ReportOptions {
  std::string model, page, json, inputs, errors;
  int profile = 0;
  double duration_s = 1;
  CommonOptions common;
  BuildOptions build;
};

// What a measurement is of, and what came out.
struct Measured {
  Performance performance;
  std::vector<LayerTimes> times;  // of each layer, over several runs
  size_t median_run = 0;          // the run whose sum is the median
};

// First as it runs, then with each layer timed.
Measured measure_run(const ReportOptions& o, std::unique_ptr<session::Session>& session,
                     Logger& logger) {
  MeasureSettings settings;
  settings.duration_s = o.duration_s;
  const Measurement measurement = measure({&session, 1}, settings, nullptr, logger);
  LayerProfiler profiler;
  settings.iterations = static_cast<int>(std::min<size_t>(measurement.queries.size(), 50));
  settings.warm_up_ms = settings.duration_s = 0;
  measure({&session, 1}, settings, &profiler, logger);
  const double percentiles[] = {99};
  return {Performance(measurement, percentiles), profiler.rows(), profiler.median_run()};
}

std::vector<std::string> types_of(const ordered_json& work, const ordered_json& tensors) {
  std::vector<std::string> types;
  for (const auto& t : tensors) types.push_back(work["tensors"][t.get<size_t>()]["type"]);
  return types;
}

// The layers of describe_work() with their times and precisions.
ordered_json layers_of(const ordered_json& work, const Measured& measured) {
  ordered_json layers = timed_layers(work, measured.times);
  const bool is_quantized = std::any_of(layers.begin(), layers.end(), [](const auto& layer) {
    return multiplies_quantized(layer["kind"].template get<std::string>());
  });
  for (size_t i = 0; i < layers.size(); ++i) {
    ordered_json& layer = layers[i];
    const Precision precision =
        precision_of(layer["kind"], layer["kernel"], types_of(work, layer["inputs"]),
                     types_of(work, layer["outputs"]), is_quantized);
    layer["precision"] = precision.type;
    layer["why"] = precision.why;
    layer["ms"] = measured.times[i].median();
    layer["run"] = measured.times[i].ms[measured.median_run];
  }
  return layers;
}

// "cpu: Zen 5, ..., 2 threads": where the run was, as far as that can be told.
std::string machine_text(const ordered_json& work) {
  const std::string target = work["target"];
  const tenon::Text text = tenon::describe_machine();
  if (text == nullptr) return target;
  const auto machine = ordered_json::parse(
      std::string_view(static_cast<const char*>(text->data()), text->size()), nullptr, false);
  const auto targets = machine.value("targets", ordered_json::object());
  return fmt::format("{} ({})", target, targets.value(target, std::string()));
}

std::string mebibytes(int64_t bytes) {
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / (1 << 20));
}

// What the head of the page says of the run.
std::vector<std::string> facts_of(session::Session& session, const ordered_json& work,
                                  const Performance& performance) {
  std::vector<std::string> facts = {machine_text(work)};
  const int threads = work["threads"];
  facts.push_back(fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"));
  for (const std::string& name : session.input_names())
    facts.push_back(
        fmt::format("{} {}", name, session::shape_text(session.inputs().at(name).shape)));
  facts.push_back(fmt::format("median latency {:.4g} ms, 99 % within {:.4g} ms",
                              performance.latency.median,
                              performance.latency.percentiles.at(0).second));
  facts.push_back(fmt::format("{:.4g} runs/s", performance.queries_per_second));
  facts.push_back("memory of a context "
                  + mebibytes(session.context().engine().getDeviceMemorySizeV2()));
  return facts;
}

// Of a file that `tenon compare --exportJson` wrote: tensor -> its errors, for those of the plan.
ordered_json read_errors(const std::string& path, const ordered_json& work) {
  const std::vector<std::byte> bytes = read_file(path);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const auto report = ordered_json::parse(text, text + bytes.size(), nullptr, false);
  const auto is_error = [](const ordered_json& e) {
    for (const char* key : {"of_range", "rms", "cosine"})
      if (!e.is_object() || !e.contains(key) || !(e[key].is_number() || e[key].is_string()))
        return false;
    return true;
  };
  std::set<std::string> names;
  for (const auto& tensor : work["tensors"]) names.insert(tensor["name"].get<std::string>());
  std::map<std::string, ordered_json> errors;
  for (const char* list : {"outputs", "tensors"}) {
    if (!report.is_object() || !report.contains(list) || !report[list].is_array())
      fail(ErrorClass::kContent, "--errors: {}: is not what `tenon compare --exportJson` writes",
           path);
    for (const auto& row : report[list]) {
      if (!row.is_object() || !row.contains("tensor") || !row["tensor"].is_string()
          || !row.contains("total") || !is_error(row["total"])
          || (row.contains("own") && !is_error(row["own"])))
        fail(ErrorClass::kContent, "--errors: {}: is not what `tenon compare --exportJson` writes",
             path);
      if (const std::string name = row["tensor"]; names.contains(name))
        errors.insert_or_assign(name, row);
    }
  }
  if (errors.empty())
    fail(
        ErrorClass::kContent,
        "--errors: {}: none of its tensors is in this plan: compare the same model, built with the "
        "same options, with --layers",
        path);
  return errors;
}

ordered_json report_of(const ReportOptions& o, Logger& logger) {
  RunInputs known;
  known.shapes = known.values = parse_shapes("--shapes", o.build.shapes);
  const Arrays arrays = read_inputs(o.inputs, known);
  const LoadedModel model = load_model(o.model, o.build, known, logger, true);
  std::unique_ptr<session::Session> session =
      make_session(*model.engine, logger, {.profile = o.profile});
  set_inputs(*session, arrays, run_shapes(o.build, o.profile, model.plan != nullptr));
  fill_with_noise(*session);
  const Measured measured = measure_run(o, session, logger);
  const ordered_json work = work_of(session->context().get(), logger);
  ordered_json report = {{"model", o.model},
                         {"facts", facts_of(*session, work, measured.performance)},
                         {"latencyMs", to_json(measured.performance.latency)},
                         {"peaks", nullptr},
                         {"tensors", work["tensors"]},
                         {"layers", layers_of(work, measured)}};
  if (work.contains("operationsPerSecond"))
    report["peaks"] = {{"operationsPerSecond", work["operationsPerSecond"]},
                       {"bytesPerSecond", work["bytesPerSecond"]}};
  if (!o.errors.empty()) report["errors"] = read_errors(o.errors, work);
  return report;
}

void report(const ReportOptions& o, Logger& logger) {
  check_files({{"model", o.model}, {"--inputs", o.inputs}, {"--errors", o.errors}},
              {{"--output", o.page}, {"--exportJson", o.json}});
  o.common.apply(logger);
  const ordered_json json = report_of(o, logger);
  const auto text = [&](int indent) {
    return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
  };
  if (!o.json.empty()) {
    const std::string pretty = text(2) + "\n";
    write_file(o.json, pretty.data(), pretty.size());
  }
  const std::string page = filled_page(kReportPage, o.model, text(-1));
  write_file(o.page, page.data(), page.size());
  logger.say(fmt::format("{}: {} layers, {}", o.page, json["layers"].size(),
                         fmt::join(json["facts"].get<std::vector<std::string>>(), ", ")));
}

}  // namespace

void add_report(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand(
      "report", "Run a plan or an ONNX model, and write a page that shows where its time goes");
  command->add_option("model", o->model, "A plan, or an ONNX model, built as the options say")
      ->required();
  command->add_option("-o,--output", o->page, "The page: one HTML file")->required();
  command->add_option("--exportJson", o->json, "Write what the page shows as JSON, too");
  command->add_option("--inputs", o->inputs,
                      "Arrays for inputs: a NumPy .npz file (default: noise)");
  command->add_option("--errors", o->errors,
                      "Errors by layer: what `tenon compare --layers --exportJson` wrote");
  command->add_option("--useProfile", o->profile, "The profile to run in (default 0)");
  command->add_option("--duration", o->duration_s, "Seconds to measure for (default 1)")
      ->check(number_from(0, 3600));
  o->common.add_to(*command);
  o->build.add_to(*command);
  command->callback([o, &logger] { report(*o, logger); });
}

}  // namespace tenon::tool
