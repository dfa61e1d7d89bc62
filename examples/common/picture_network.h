// ONNX models that take pictures, as engines, for the examples.
#ifndef EXAMPLES_COMMON_PICTURE_NETWORK_H
#define EXAMPLES_COMMON_PICTURE_NETWORK_H

#include <tenon/session/tensor.h>

#include <string>
#include <vector>

#include "common/engine_pipeline.h"

namespace examples {

/// An engine with one input: pictures in planes, (batch, 3, height, width).
struct PictureNetwork {
  std::shared_ptr<tenon::serve::EngineContext> engine;
  tenon::session::Tensor input;
  std::vector<tenon::session::Tensor> outputs;

  int64_t most() const { return input.max.d[0]; }  ///< pictures in a batch
  int64_t height() const { return input.max.d[2]; }
  int64_t width() const { return input.max.d[3]; }
  /// "outputs 1x84x8400, 1x2", for messages; -1 is a batch of any size.
  std::string outputs_text() const {
    std::string text = "outputs";
    for (const auto& output : outputs)
      text += (text.size() > 7 ? ", " : " ")
              + tenon::session::shape_text(tenon::session::to_shape(output.shape));
    return text;
  }
};

/// Builds the model at `path`, which takes a moment. A height and a width that the model leaves
/// open become those given, and batches have 1 to `batch` pictures, if it takes more than one.
/// Throws when it cannot be built, or has other inputs.
inline PictureNetwork build_picture_network(const std::string& path, int64_t batch, int64_t height,
                                            int64_t width) {
  using namespace tenon::serve;
  CompileOptions options;
  options.max_batch_size = batch;
  options.hook = [&](nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig&) {
    nvinfer1::ITensor* const input = network.getInput(0);
    auto shape = input != nullptr ? input->getDimensions() : nvinfer1::Dims{};
    if (network.getNbInputs() != 1 || shape.nbDims != 4 || (shape.d[1] != 3 && shape.d[1] != -1))
      throw std::runtime_error(
          path + ": expected one input, pictures of (batch, 3, height, width); found "
          + std::to_string(network.getNbInputs()) + ", the first "
          + tenon::session::shape_text(tenon::session::to_shape(shape)));
    shape.d[1] = 3;
    if (shape.d[2] < 0) shape.d[2] = height;
    if (shape.d[3] < 0) shape.d[3] = width;
    input->setDimensions(shape);
  };
  CompileOutput plan;
  value_of(compile(Mode::FP32, path, plan, options));
  PictureNetwork made{value_of(EngineContext::load(plan.data())), {}, {}};
  for (const auto& tensor : tenon::session::tensors_of(made.engine->engine(), 0))
    if (tensor.is_input)
      made.input = tensor;
    else
      made.outputs.push_back(tensor);
  return made;
}

}  // namespace examples

#endif  // EXAMPLES_COMMON_PICTURE_NETWORK_H
