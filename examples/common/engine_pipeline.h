// An ONNX model with a pipeline around it, for the examples.
#ifndef EXAMPLES_COMMON_ENGINE_PIPELINE_H
#define EXAMPLES_COMMON_ENGINE_PIPELINE_H

#include <tenon/picture.h>
#include <tenon/serve/compile.h>
#include <tenon/serve/engine_instances.h>
#include <tenon/serve/image.h>
#include <tenon/serve/matrix.h>
#include <tenon/serve/preprocess.h>
#include <tenon/serve/view.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace examples {

/// The value of a Result or an Answer; throws what it says otherwise.
template <class T> T value_of(tenon::serve::Result<T> result) {
  if (!result) throw std::runtime_error(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}
template <class T> const T& value_of(const tenon::serve::Answer<T>& answer) {
  if (!answer) throw std::runtime_error(answer.error().text());
  return *answer;
}

inline tenon::serve::Image view(const tenon::Picture& picture) {
  return tenon::serve::Image::packed(tenon::serve::PixelFormat::kRGB, picture.pixels.data(),
                                     picture.width, picture.height);
}

/// The picture in an input (1, 3, height, width) whose extents are multiples of 32 from `least` to
/// `most`, for networks that halve it five times: about as large, or with `most` on its longer
/// side.
inline tenon::serve::Tensors tensor_of(const tenon::Picture& picture, int64_t least, int64_t most,
                                       const tenon::serve::Norm& norm) {
  const double scale = std::min(1.0, double(most) / std::max(picture.width, picture.height));
  const auto extent = [&](int side) {
    return std::clamp<int64_t>(std::llround(side * scale / 32) * 32, least, most);
  };
  tenon::serve::Tensors tensors;
  tensors.emplace_back(tenon::serve::Shape{1, 3, extent(picture.height), extent(picture.width)});
  value_of(tenon::serve::resize_bilinear_and_normalize(view(picture), {tensors[0]}, norm));
  return tensors;
}

/// From pixels of an input of these extents to those of the picture that fills it.
inline tenon::serve::Matrix23 to_picture(const tenon::Picture& picture, int64_t width,
                                         int64_t height) {
  return {float(picture.width) / float(width), 0, 0, 0, float(picture.height) / float(height), 0};
}

/// Output `index` of a job, without the batch; throws when the model has fewer.
inline tenon::serve::View output(tenon::serve::Tensors& outputs, size_t index) {
  if (index >= outputs.size())
    throw std::runtime_error("expected a model of " + std::to_string(index + 1)
                             + " outputs or more, found " + std::to_string(outputs.size()));
  return value_of(tenon::serve::View::of_item(outputs[index], 0));
}

/// The map between pixels, whose middles are at whole numbers, that a map between positions is:
/// there, a picture of one pixel goes from 0 to 1.
inline tenon::serve::Matrix23 between_pixels(const tenon::serve::Matrix23& m) {
  return {m[0], m[1], m[2] + (m[0] + m[1] - 1) / 2, m[3], m[4], m[5] + (m[3] + m[4] - 1) / 2};
}

/// A pipeline of an instance of the engine, with batches of as many jobs as `options` say.
template <class Input, class Output, class Preprocess, class Postprocess>
std::unique_ptr<tenon::serve::Pipeline<Input, Output>> start(
    const std::shared_ptr<tenon::serve::EngineContext>& engine,
    const tenon::serve::PipelineOptions& options, Preprocess preprocess, Postprocess postprocess) {
  using namespace tenon::serve;
  EngineInstanceOptions of_instances;
  of_instances.max_batch = options.max_batch;
  Stages<Input, Output, Tensors, Tensors> stages;
  stages.preprocess = std::move(preprocess);
  stages.instances = value_of(engine_instances(engine, of_instances));
  stages.batch_key = shape_key;
  stages.postprocess = std::move(postprocess);
  return value_of(Pipeline<Input, Output>::start(options, std::move(stages)));
}

/// The same of a model, whose input is called `input`; building its engine takes a moment.
template <class Input, class Output, class Preprocess, class Postprocess>
std::unique_ptr<tenon::serve::Pipeline<Input, Output>> start(const std::string& model,
                                                             const std::string& input,
                                                             const tenon::session::Range& range,
                                                             Preprocess preprocess,
                                                             Postprocess postprocess) {
  using namespace tenon::serve;
  CompileOptions build;
  build.profiles = {{{input, range}}};
  CompileOutput plan;
  if (const auto built = compile(Mode::FP32, model, plan, build); !built)
    throw std::runtime_error(model + ", with input '" + input + "': " + built.error());
  PipelineOptions options;
  options.model = model;
  options.max_batch = static_cast<size_t>(range.max[0]);
  return start<Input, Output>(value_of(EngineContext::load(plan.data())), options,
                              std::move(preprocess), std::move(postprocess));
}

}  // namespace examples

#endif  // EXAMPLES_COMMON_ENGINE_PIPELINE_H
