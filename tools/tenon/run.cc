// `tenon run`: pictures or arrays in, pictures or arrays out.
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "commands.h"
#include "error.h"
#include "files.h"
#include "inputs.h"
#include "npz.h"
#include "picture.h"
#include "profiles.h"
#include "trtexec_options.h"

namespace tenon::tool {
namespace {

using Clock = std::chrono::steady_clock;

struct RunOptions {
  std::string model;
  std::vector<std::string> images, saves, load_inputs;
  std::string inputs, outputs;
  int profile = 0;
  PictureOptions picture;
  CommonOptions common;
  BuildOptions build;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void print_outputs(const Arrays& outputs) {
  for (const auto& [name, array] : outputs) {
    const auto values = value_or_fail(session::numbers(array));
    double low = INFINITY, high = -INFINITY, sum = 0;
    size_t nans = 0;
    for (double v : values) {
      if (std::isnan(v)) {
        ++nans;
        continue;
      }
      low = std::min(low, v);
      high = std::max(high, v);
      sum += v;
    }
    const size_t others = values.size() - nans;
    fmt::print("  {}  {} {}", printable(name), session::type_name(array.type),
               session::shape_text(array.shape));
    if (others > 0)
      fmt::print("  min {:.6g}, mean {:.6g}, max {:.6g}", low, sum / static_cast<double>(others),
                 high);
    if (nans > 0) fmt::print("  NaN in {} of {}", nans, values.size());
    fmt::print("\n");
  }
}

// Pictures are read before the engine is there: a model built from ONNX takes its shapes from them.
Arrays read_arrays(const RunOptions& o, const std::map<std::string, Picture>& pictures,
                   const nvinfer1::ICudaEngine& engine, const std::vector<std::string>& inputs,
                   const Shapes& shapes) {
  Arrays arrays;
  if (!o.inputs.empty()) arrays = read_inputs(o.inputs);
  for (const auto& [given, picture] : pictures) {
    const std::string name = name_or_only(given, inputs, "--image", "input");
    const auto shape = declared_shape(engine, name);
    const size_t axis = o.picture.channels_last ? 3 : 1;
    if (shape.size() != 4)
      fail(ErrorClass::kContent,
           "--image: input '{}' has shape {}; pictures go to inputs of 4 dimensions", name,
           session::shape_text(shape));
    arrays[name] = to_tensor(picture, o.picture, shape[axis] < 0 ? 3 : shape[axis]);
    for (size_t i = 0; i < 4; ++i)
      if (shape[i] >= 0 && shape[i] != arrays[name].shape[i])
        fail(ErrorClass::kContent,
             "--image: input '{}' takes {} and the picture gives {}: scale the picture, or export "
             "the "
             "model with dynamic sizes",
             name, session::shape_text(shape), session::shape_text(arrays[name].shape));
  }
  for (auto& [name, array] : read_raw_inputs(o.load_inputs, engine, inputs, shapes))
    arrays[name] = std::move(array);
  return arrays;
}

void check_all_files(const RunOptions& o) {
  std::vector<NamedFile> read{{"model", o.model}, {"--inputs", o.inputs}};
  for (const auto& files :
       {named_files("--image", o.images), named_files("--loadInputs", o.load_inputs),
        named_files("--plugins", o.common.plugins)})
    read.insert(read.end(), files.begin(), files.end());
  std::vector<NamedFile> written = named_files("--save", o.saves);
  written.insert(written.end(),
                 {{"--outputs", o.outputs}, {"--timingCacheFile", o.build.timing_cache}});
  check_files(read, written);
}

void run(RunOptions& o, Logger& logger) {
  check_all_files(o);
  o.common.apply(logger);

  const auto start_inputs = Clock::now();
  std::map<std::string, Picture> pictures;
  Shapes shapes = parse_shapes("--shapes", o.build.shapes);
  RunInputs known{shapes, shapes};
  for (const std::string& text : o.images) {
    const auto [name, path] = split_file(text);
    const Picture& p = pictures[name] = load_picture(path);
    const auto height = static_cast<int64_t>(p.height), width = static_cast<int64_t>(p.width);
    if (!name.empty())
      known.shapes[name] = o.picture.channels_last ? session::Shape{1, height, width, 3}
                                                   : session::Shape{1, 3, height, width};
  }
  if (!o.inputs.empty() && !is_plan(o.model))
    for (const auto& [name, array] : read_inputs(o.inputs)) known.add(name, array);
  double input_seconds = seconds_since(start_inputs);

  BuildOptions build = o.build;
  if (!is_plan(o.model) && !build.has_profile()) build.shapes.clear();
  const LoadedModel model = load_model(o.model, build, known, logger, true);
  const auto session = make_session(*model.engine, logger, {.profile = o.profile});
  const auto start_tensors = Clock::now();
  Arrays arrays = read_arrays(o, pictures, *model.engine, session->input_names(), shapes);
  set_inputs(*session, arrays, shapes);
  input_seconds += seconds_since(start_tensors);

  const auto start_run = Clock::now();
  value_or_fail(session->run());
  const double run_seconds = seconds_since(start_run);

  const auto start_save = Clock::now();
  for (const std::string& text : o.saves) {
    const auto [given, path] = split_file(text);
    const std::string name = name_or_only(given, session->output_names(), "--save", "output");
    save_picture(path, to_picture(session->outputs().at(name), o.picture));
  }
  if (!o.outputs.empty()) write_npz(o.outputs, session->outputs());
  const double save_seconds = seconds_since(start_save);

  for (const std::string& name : session->zero_filled())
    fmt::print("  {}  no data given: zeros of shape {}\n", printable(name),
               session::shape_text(session->inputs().at(name).shape));
  print_outputs(session->outputs());
  fmt::print("  {}\n", profile_text(*model.engine, o.profile));
  fmt::print("{} {:.1f} ms, read inputs {:.1f} ms, run {:.1f} ms, write outputs {:.1f} ms\n",
             model.plan != nullptr ? "build" : "open plan", model.seconds * 1e3,
             input_seconds * 1e3, run_seconds * 1e3, save_seconds * 1e3);
}

}  // namespace

void add_run(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Run a plan or an ONNX model on pictures or arrays");
  command->add_option("model", o->model, "A plan or an ONNX model")->required();
  command->add_option("--image", o->images, "Picture for an input, as input:photo.jpg");
  command->add_option("--save", o->saves, "Write an output as a picture, as output:big.png");
  o->picture.add_to(*command, "--");
  command->add_option("--inputs", o->inputs, "Arrays for inputs: a NumPy .npz file");
  command->add_option("--outputs", o->outputs, "Write all outputs to a NumPy .npz file");
  add_trtexec_option(*command, "--useProfile", o->profile);
  add_trtexec_option(*command, "--loadInputs", o->load_inputs)->delimiter(',');
  o->common.add_to(*command);
  o->build.add_to(*command);
  command->callback([o, &logger] { run(*o, logger); });
}

}  // namespace tenon::tool
