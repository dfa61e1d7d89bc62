// `tenon compare`: how far one build is from another, and which layer is at fault.
#include "compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "calibration.h"
#include "commands.h"
#include "error.h"
#include "files.h"
#include "inputs.h"
#include "model.h"
#include "npz.h"

namespace tenon::tool {
namespace {

struct CompareOptions {
  std::string model, other, inputs, json, page;
  bool layers = false, bisect = false;
  double max_error = -1;
  CommonOptions common;
  BuildOptions build;

  bool wants_tensors() const { return layers || bisect || !page.empty(); }
  /// What --bisect looks for.
  double bound() const { return max_error >= 0 ? max_error : 1e-3; }
};

// The other build is exact: float32 without TF32, by kernels that are not timed.
BuildOptions exact(const BuildOptions& options) {
  BuildOptions other;
  other.shapes = options.shapes;
  other.profiles = options.profiles;
  other.target = options.target;
  other.prefers_plugins = options.prefers_plugins;
  other.optimization_level = 0;
  return other;
}

// Noise from 0 to 1 for inputs of floats, zeros for others.
Arrays noise_for(const session::Model& model, const Shapes& shapes) {
  std::mt19937 random(1);
  Arrays arrays;
  for (int32_t i = 0; i < model.network->getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *model.network->getInput(i);
    const auto given = shapes.find(input.getName());
    if (input.isShapeTensor()) continue;
    session::Shape shape =
        given != shapes.end() ? given->second : session::to_shape(input.getDimensions());
    if (!session::is_known(shape))
      fail(ErrorClass::kShape,
           "input '{}' is dynamic: give its data with --inputs, or its shape with --shapes={}:…",
           input.getName(), input.getName());
    Array array = value_or_fail(session::make_array(nvinfer1::DataType::kFLOAT, shape));
    if (compare::is_float(input.getType())) fill_with_noise(array, random);
    arrays.emplace(input.getName(), std::move(array));
  }
  return arrays;
}

// The other build of a model keeps the types that the model itself has.
void warn_of_own_types(const session::Model& model, Logger& logger) {
  for (int32_t i = 0; i < model.network->getNbLayers(); ++i)
    for (int32_t k = 0; k < model.network->getLayer(i)->getNbOutputs(); ++k) {
      const nvinfer1::ITensor& tensor = *model.network->getLayer(i)->getOutput(k);
      const nvinfer1::DataType type = tensor.getType();
      if (type != nvinfer1::DataType::kHALF && type != nvinfer1::DataType::kBF16
          && type != nvinfer1::DataType::kINT8 && type != nvinfer1::DataType::kUINT8)
        continue;
      logger.log(
          nvinfer1::ILogger::Severity::kWARNING,
          fmt::format("tensor '{}' is {} in the model itself, and in both builds: name the float "
                      "model behind this one to see what that costs",
                      tensor.getName(), session::type_name(type))
              .c_str());
      return;
    }
}

compare::Report report_of(const CompareOptions& o, Logger& logger) {
  if (o.inputs.empty() && is_plan(o.model))
    fail(ErrorClass::kOptions, "--inputs: a plan is compared on data: give an .npz file");
  std::optional<session::Model> model;
  if (!is_plan(o.model) && (o.inputs.empty() || o.other.empty()))
    model = parse_model(o.model, o.build, {}, logger, false);
  if (model && o.other.empty()) warn_of_own_types(*model, logger);
  const Arrays arrays = o.inputs.empty()
                            ? noise_for(*model, parse_shapes("--shapes", o.build.shapes))
                            : read_inputs(o.inputs);
  RunInputs known;
  for (const auto& [name, array] : arrays) known.add(name, array);
  const std::string& other = o.other.empty() ? o.model : o.other;
  if (!o.wants_tensors()) {
    const LoadedModel a = load_model(o.model, o.build, known, logger, true);
    const LoadedModel b = load_model(other, exact(o.build), known, logger, true);
    return value_or_fail(compare::compare_outputs(*a.engine, *b.engine, arrays, logger));
  }
  for (const std::string& path : {o.model, other})
    if (is_plan(path))
      fail(ErrorClass::kOptions,
           "{}: is a plan, whose layers have no tensors left to compare: give the ONNX model",
           path);
  std::vector<std::unique_ptr<Calibration>> calibrations;  // which live until all is built
  const auto parse = [&](const std::string& path, const BuildOptions& options) {
    return [&, path, options]() -> session::Result<session::Model> {
      try {
        session::Model parsed = parse_model(path, options, known, logger);
        calibrations.push_back(std::make_unique<Calibration>(parsed, options, logger));
        return parsed;
      } catch (const Failure& failure) {
        return session::Error{with_code(failure.what(), failure.error_class())};
      }
    };
  };
  return value_or_fail(compare::compare_tensors(parse(o.model, o.build),
                                                parse(other, exact(o.build)), arrays, logger));
}

void print_first(const compare::Report& report, double bound) {
  const compare::TensorReport* const first = report.first_over(bound);
  if (first == nullptr) {
    fmt::print("no layer adds more than {:g} of its tensor's range\n", bound);
    return;
  }
  fmt::print(
      "the first to add more than {:g} of its tensor's range: '{}', by which tensor '{}' is off by "
      "{:.3g}{}\n",
      bound, printable(fmt::format("{}", fmt::join(first->layers, "', '"))),
      printable(first->tensor), first->added(),
      first->cause.empty() ? "" : "; " + printable(first->cause));
}

void compare_models(const CompareOptions& o, Logger& logger) {
  check_files({{"model", o.model}, {"other", o.other}, {"--inputs", o.inputs}},
              {{"--exportJson", o.json}, {"--exportHtml", o.page}});
  o.common.apply(logger);
  const compare::Report report = report_of(o, logger);
  if (!o.json.empty()) {
    const std::string json = compare::json_of(report);
    write_file(o.json, json.data(), json.size());
  }
  const std::string against = o.other.empty() ? "itself in float32" : o.other;
  if (!o.page.empty()) {
    const std::string page =
        compare::page_of(report, fmt::format("{} against {}", o.model, against));
    write_file(o.page, page.data(), page.size());
  }
  fmt::print("{} against {}\n{}", printable(o.model), printable(against),
             compare::text_of(report, o.layers));
  if (o.bisect) print_first(report, o.bound());
  if (o.max_error < 0) return;
  for (const compare::TensorReport& output : report.outputs)
    if (const double error = output.total.of_range(); !(error <= o.max_error))
      fail(ErrorClass::kVerdict, "output '{}' is off by {} of its range, and --maxError allows {}",
           output.tensor, error, o.max_error);
}

}  // namespace

void add_compare(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare",
      "Compare a build with float32, or with another model, and find the layer at fault");
  command->add_option("model", o->model, "An ONNX model, built as the options say, or a plan")
      ->required();
  command->add_option("other", o->other,
                      "An ONNX model, built in float32, or a plan (default: the same model)");
  command->add_option("--inputs,--data", o->inputs,
                      "Arrays for inputs: a NumPy .npz file (default: noise)");
  command->add_flag("--layers", o->layers,
                    "Print the error of each tensor that no kernel fuses away");
  command->add_flag("--bisect", o->bisect,
                    "Name the first layer that adds more than --maxError (default 0.001)");
  command
      ->add_option("--maxError", o->max_error,
                   "Largest error of an output, in parts of its range; more ends with exit code 1")
      ->check(number_from(0, 1e30));
  command->add_option("--exportJson", o->json, "Write the report as JSON");
  command->add_option("--exportHtml", o->page,
                      "Write a page with the graph in the colours of its errors");
  o->common.add_to(*command);
  o->build.add_to(*command);
  command->callback([o, &logger] { compare_models(*o, logger); });
}

}  // namespace tenon::tool
