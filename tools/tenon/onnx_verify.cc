#include "onnx_verify.h"

#include <fmt/format.h>
#include <tenon/onnx.h>

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

Arrays noise(const session::Model& model, const Shapes& shapes, uint32_t seed) {
  std::mt19937 random(seed);
  Arrays arrays;
  for (int32_t i = 0; i < model.network->getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *model.network->getInput(i);
    const auto found = shapes.find(input.getName());
    if (found == shapes.end())
      fail("--verify: input '{}' has no shape: give it with --verifyShapes", input.getName());
    Array array = value_or_fail(session::make_array(nvinfer1::DataType::kFLOAT, found->second));
    const nvinfer1::DataType type = input.getType();
    if (type == nvinfer1::DataType::kFLOAT || type == nvinfer1::DataType::kHALF
        || type == nvinfer1::DataType::kBF16)
      fill_with_noise(array, random);
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

}  // namespace

void verify_models(const std::string& before, const std::string& after,
                   const VerifyOptions& options, Logger& logger) {
  const BuildOptions exact = exact_options();
  const session::Model a = parse_model(before, exact, {}, logger, false);
  const session::Model b = parse_model(after, exact, {}, logger, false);
  std::vector<Arrays> runs;
  if (!options.inputs.empty()) {
    runs.push_back(read_inputs(options.inputs));
  } else {
    const std::vector<Shapes> chosen = chosen_shapes(a, b);
    std::vector<Shapes> shapes;
    for (const std::string& text : options.shapes)
      shapes.push_back(parse_shapes("--verifyShapes", text));
    if (shapes.empty()) shapes = chosen;
    for (Shapes& each : shapes) {
      each.insert(chosen[0].begin(), chosen[0].end());
      runs.push_back(noise(a, each, static_cast<uint32_t>(runs.size() + 1)));
    }
  }
  double largest = 0;
  for (const Arrays& arrays : runs) {
    const LoadedModel old = load_model(before, exact, inputs_for(a, arrays), logger, true);
    const LoadedModel fresh = load_model(after, exact, inputs_for(b, arrays), logger, true);
    const auto report =
        value_or_fail(compare::compare_outputs(*fresh.engine, *old.engine, arrays, logger));
    if (report.outputs.empty()) fail("--verify: the models have no output of the same name");
    for (const compare::TensorReport& output : report.outputs) {
      const double error = output.total.of_range();
      fmt::print("verify: {}: '{}' differs by {:.3g} of its range\n", shapes_text(arrays),
                 printable(output.tensor), error);
      if (!(error <= options.max_error))
        fail("--verify: output '{}' differs by {} of its range, and --verifyError allows {}",
             output.tensor, error, options.max_error);
      largest = std::max(largest, error);
    }
    for (const std::string& text : report.left_out)
      fmt::print("verify: not compared: {}\n", printable(text));
  }
  fmt::print("verify: {} runs, largest difference {:.3g} of an output's range\n", runs.size(),
             largest);
}

}  // namespace tenon::tool
