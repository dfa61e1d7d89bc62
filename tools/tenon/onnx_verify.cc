#include "onnx_verify.h"

#include <fmt/format.h>
#include <tenon/onnx.h>
#include <tenon/session/session.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "compare/compare.h"
#include "error.h"
#include "inputs.h"
#include "model.h"

namespace tenon::tool {
namespace {

BuildOptions exact_options() {
  BuildOptions options;
  options.optimization_level = 0;
  return options;
}

bool is_dynamic(const session::Shape& shape) {
  return !session::is_known(shape);
}

// What dynamic extents are in the runs that nobody chose: batches of 1, 2 and 3, and 32 elsewhere.
session::Shape with_batch(session::Shape shape, int64_t batch) {
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] < 0) shape[axis] = axis == 0 ? batch : 32;
  return shape;
}

session::Shape declared_input(const session::Model& model, const std::string& name) {
  for (int32_t i = 0; i < model.network->getNbInputs(); ++i)
    if (name == model.network->getInput(i)->getName())
      return session::to_shape(model.network->getInput(i)->getDimensions());
  return {};
}

// How many elements the axes have that integer inputs index.
using Limits = std::map<std::string, int64_t>;

// Extents of constants in which an input chooses by Gather.
Limits indexed_extents(const std::string& path) {
  const edit::Model model = edit::Model::load(path);
  Limits limits;
  for (const edit::Value& input : model.inputs())
    for (const edit::NodeId id : model.users(model.graph(), input.name)) {
      const edit::Node node = model.node(id);
      if (node.op_type != "Gather" || node.inputs.size() != 2 || node.inputs[1] != input.name)
        continue;
      const auto data = model.constant(node.inputs[0]);
      if (!data || data->shape.empty()) continue;
      int64_t axis = 0;
      for (const auto& [name, value] : node.attributes)
        if (const auto* number = std::get_if<int64_t>(&value); number != nullptr && name == "axis")
          axis = *number;
      const auto rank = static_cast<int64_t>(data->shape.size());
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank || data->shape[static_cast<size_t>(axis)] <= 0) continue;
      const int64_t extent = data->shape[static_cast<size_t>(axis)];
      const auto found = limits.emplace(input.name, extent).first;
      found->second = std::min(found->second, extent);
    }
  return limits;
}

int64_t limit_of(const Limits& limits, const nvinfer1::ITensor& input) {
  if (input.getType() == nvinfer1::DataType::kBOOL) return 2;
  const auto found = limits.find(input.getName());
  // float32, in which noise is made, and the smallest integer type hold these.
  return found == limits.end()
             ? 10
             : std::min<int64_t>(found->second,
                                 input.getType() == nvinfer1::DataType::kINT8 ? 128 : 1 << 24);
}

// Shapes of the inputs that both models take.
std::vector<Shapes> chosen_shapes(const session::Model& a, const session::Model& b) {
  std::map<std::string, session::Shape> declared;
  bool varies = false;
  for (const session::Model* model : {&a, &b})
    for (int32_t i = 0; i < model->network->getNbInputs(); ++i) {
      const nvinfer1::ITensor& input = *model->network->getInput(i);
      const session::Shape shape = session::to_shape(input.getDimensions());
      const auto [known, is_new] = declared.emplace(input.getName(), shape);
      if (is_new || known->second.size() != shape.size()) continue;
      for (size_t axis = 0; axis < shape.size(); ++axis)
        if (known->second[axis] < 0) known->second[axis] = shape[axis];
    }
  for (const auto& [name, shape] : declared) varies |= is_dynamic(shape);
  std::vector<Shapes> runs;
  for (int64_t batch = 1; batch <= (varies ? 3 : 1); ++batch) {
    Shapes& shapes = runs.emplace_back();
    for (const auto& [name, shape] : declared) shapes[name] = with_batch(shape, batch);
  }
  return runs;
}

// Where a static first extent became open: shapes that only the model after can run.
std::vector<Shapes> other_batches(const session::Model& before, const session::Model& after,
                                  const Shapes& chosen) {
  std::vector<Shapes> runs;
  for (const int64_t factor : {1, 2}) {
    Shapes shapes = chosen;
    bool differs = false;
    for (int32_t i = 0; i < after.network->getNbInputs(); ++i) {
      const nvinfer1::ITensor& input = *after.network->getInput(i);
      const session::Shape now = session::to_shape(input.getDimensions());
      const auto was = declared_input(before, input.getName());
      if (now.empty() || was.size() != now.size() || now[0] >= 0 || was[0] < 0) continue;
      shapes[input.getName()][0] = factor * was[0] + 1;
      differs = true;
    }
    if (differs) runs.push_back(std::move(shapes));
  }
  return runs;
}

// Integers of a type that indexes an axis, and bools.
void fill_with_integers(Array& array, int64_t limit, std::mt19937& random) {
  std::uniform_int_distribution<int64_t> choose(0, limit - 1);
  std::generate_n(array.as<float>(), array.count(),
                  [&] { return static_cast<float>(choose(random)); });
}

Arrays noise(const session::Model& model, const Limits& limits, const Shapes& shapes,
             uint32_t seed) {
  std::mt19937 random(seed);
  Arrays arrays;
  for (int32_t i = 0; i < model.network->getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *model.network->getInput(i);
    const auto found = shapes.find(input.getName());
    if (found == shapes.end())
      fail(ErrorClass::kShape, "--verify: input '{}' has no shape: give it with --verifyShapes",
           input.getName());
    Array array = value_or_fail(session::make_array(nvinfer1::DataType::kFLOAT, found->second));
    const nvinfer1::DataType type = input.getType();
    if (type == nvinfer1::DataType::kFLOAT || type == nvinfer1::DataType::kHALF
        || type == nvinfer1::DataType::kBF16)
      fill_with_noise(array, random);
    else
      fill_with_integers(array, limit_of(limits, input), random);
    arrays.emplace(input.getName(), std::move(array));
  }
  return arrays;
}

// Those of the arrays that a model has inputs for.
RunInputs inputs_for(const session::Model& model, const Arrays& arrays) {
  RunInputs inputs;
  for (int32_t i = 0; i < model.network->getNbInputs(); ++i)
    if (const auto found = arrays.find(model.network->getInput(i)->getName());
        found != arrays.end())
      inputs.add(found->first, found->second);
  return inputs;
}

std::string shapes_text(const Arrays& arrays) {
  std::string text;
  for (const auto& [name, array] : arrays)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(name),
                        session::shape_text(array.shape));
  return text;
}

void list_missing_outputs(const session::Model& before, const session::Model& after) {
  std::set<std::string> names;
  for (int32_t i = 0; i < after.network->getNbOutputs(); ++i)
    names.insert(after.network->getOutput(i)->getName());
  for (int32_t i = 0; i < after.network->getNbInputs(); ++i)  // given to it, and not to compare
    names.insert(after.network->getInput(i)->getName());
  for (int32_t i = 0; i < before.network->getNbOutputs(); ++i)
    if (const char* name = before.network->getOutput(i)->getName(); !names.contains(name))
      fmt::print("verify: not compared: {}: the model after has no such output\n", printable(name));
}

int64_t volume(const session::Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies());
}

// An output that grows with the batch has an axis for it.
void check_batch(const session::Model& before, int64_t old, int64_t batch, const Arrays& outputs) {
  for (int32_t i = 0; i < before.network->getNbOutputs(); ++i) {
    const nvinfer1::ITensor& output = *before.network->getOutput(i);
    const session::Shape was = session::to_shape(output.getDimensions());
    const auto found = outputs.find(output.getName());
    if (found == outputs.end() || is_dynamic(was)) continue;
    const session::Shape& is = found->second.shape;
    bool follows = was.size() == is.size() && volume(was) == volume(is);
    for (size_t axis = 0; axis < was.size() && was.size() == is.size(); ++axis)
      follows |= was[axis] == old && is[axis] == batch;
    if (!follows)
      fail(ErrorClass::kVerdict,
           "--verify: output '{}' is {} with a batch of {}, and was {} with {}: it does not follow",
           output.getName(), session::shape_text(is), batch, session::shape_text(was), old);
  }
}

// The model after alone.
void run_at(const std::string& path, const session::Model& before, const session::Model& after,
            const Arrays& arrays, Logger& logger) {
  const LoadedModel model =
      load_model(path, exact_options(), inputs_for(after, arrays), logger, true);
  const auto session = value_or_fail(session::Session::make(*model.engine, logger));
  value_or_fail(session->set_inputs(arrays));
  value_or_fail(session->run());
  std::string text;
  for (const auto& [name, array] : session->outputs())
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", printable(name),
                        session::shape_text(array.shape));
  fmt::print("verify: {}: only the model after runs, and gives {}\n", shapes_text(arrays), text);
  for (const auto& [name, array] : arrays) {
    const session::Shape was = declared_input(before, name);
    if (was.empty() || was[0] < 0 || was[0] == array.shape[0]) continue;
    check_batch(before, was[0], array.shape[0], session->outputs());
    return;
  }
}

// Inputs of the model after that the one before computes.
void add_computed(const session::Model& after, nvinfer1::ICudaEngine& before, Arrays& arrays,
                  Logger& logger) {
  std::set<std::string> missing;
  for (int32_t i = 0; i < after.network->getNbInputs(); ++i)
    if (const char* name = after.network->getInput(i)->getName(); !arrays.contains(name))
      missing.insert(name);
  if (missing.empty()) return;
  const auto session = value_or_fail(session::Session::make(before, logger));
  Arrays given;
  for (const auto& [name, array] : arrays)
    if (before.getTensorIOMode(name.c_str()) == nvinfer1::TensorIOMode::kINPUT)
      given.emplace(name, array);
  value_or_fail(session->set_inputs(given));
  value_or_fail(session->run());
  for (const auto& [name, array] : session->outputs())
    if (missing.erase(name) > 0) arrays.emplace(name, array);
  if (!missing.empty())
    fail(
        ErrorClass::kNotInModel,
        "--verify: the model before has no tensor '{}', which is an input of the one after, so the "
        "two cannot be compared",
        *missing.begin());
}

}  // namespace

void verify_models(const std::string& before, const std::string& after,
                   const VerifyOptions& options, Logger& logger) {
  const BuildOptions exact = exact_options();
  const session::Model a = parse_model(before, exact, {}, logger, false);
  const session::Model b = parse_model(after, exact, {}, logger, false);
  std::vector<Arrays> runs, others;
  list_missing_outputs(a, b);
  if (!options.inputs.empty()) {
    runs.push_back(read_inputs(options.inputs));
  } else {
    const std::vector<Shapes> chosen = chosen_shapes(a, b);
    std::vector<Shapes> shapes;
    for (const std::string& text : options.shapes)
      shapes.push_back(parse_shapes("--verifyShapes", text));
    const Limits limits = indexed_extents(before);
    if (shapes.empty()) {
      shapes = chosen;
      for (const Shapes& each : other_batches(a, b, chosen[0]))
        others.push_back(noise(b, limits, each, 1));
    }
    for (Shapes& each : shapes) {
      each.insert(chosen[0].begin(), chosen[0].end());
      runs.push_back(noise(a, limits, each, static_cast<uint32_t>(runs.size() + 1)));
    }
  }
  double largest = 0;
  for (Arrays& arrays : runs) {
    const LoadedModel old = load_model(before, exact, inputs_for(a, arrays), logger, true);
    add_computed(b, *old.engine, arrays, logger);
    const LoadedModel fresh = load_model(after, exact, inputs_for(b, arrays), logger, true);
    const auto report =
        value_or_fail(compare::compare_outputs(*fresh.engine, *old.engine, arrays, logger));
    if (report.outputs.empty())
      fail(ErrorClass::kNotInModel, "--verify: the models have no output of the same name");
    for (const compare::TensorReport& output : report.outputs) {
      const double error = output.total.of_range();
      fmt::print("verify: {}: '{}' differs by {:.3g} of its range\n", shapes_text(arrays),
                 printable(output.tensor), error);
      if (!(error <= options.max_error))
        fail(ErrorClass::kVerdict,
             "--verify: output '{}' differs by {} of its range, and --verifyError allows {}",
             output.tensor, error, options.max_error);
      largest = std::max(largest, error);
    }
    for (const std::string& text : report.left_out)
      fmt::print("verify: not compared: {}\n", printable(text));
  }
  for (const Arrays& arrays : others) run_at(after, a, b, arrays, logger);
  fmt::print("verify: {} runs, largest difference {:.3g} of an output's range\n", runs.size(),
             largest);
}

}  // namespace tenon::tool
