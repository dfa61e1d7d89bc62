#include "tenon/serve/image_layers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>

#include "guard.h"

namespace tenon::serve {
namespace {

using nvinfer1::INetworkDefinition;
using nvinfer1::ITensor;
using nvinfer1::PluginField;
using nvinfer1::PluginFieldType;

// Attributes of a plugin, which live as long as this.
class Fields {
 public:
  void set(const char* name, const char* text) {
    fields_.push_back({name, text, PluginFieldType::kCHAR,
                       static_cast<int32_t>(std::char_traits<char>::length(text))});
  }
  void set(const char* name, int32_t value) {
    integers_.push_back(value);
    fields_.push_back({name, &integers_.back(), PluginFieldType::kINT32, 1});
  }
  void set(const char* name, float value) { set(name, std::array{value, value, value}, 1); }
  void set(const char* name, const std::array<float, 3>& values, int32_t count = 3) {
    floats_.push_back(values);
    fields_.push_back({name, floats_.back().data(), PluginFieldType::kFLOAT32, count});
  }
  nvinfer1::PluginFieldCollection collection() const {
    return {static_cast<int32_t>(fields_.size()), fields_.data()};
  }

 private:
  std::deque<int32_t> integers_;
  std::deque<std::array<float, 3>> floats_;
  std::vector<PluginField> fields_;
};

// A layer of the plugin; throws Error where there is none, or it refuses its attributes.
nvinfer1::IPluginV3Layer& add_plugin(INetworkDefinition& network, const char* name,
                                     const Fields& fields, std::vector<ITensor*> inputs) {
  auto* const found = getPluginRegistry()->getCreator(name, "1", "");
  if (found == nullptr || found->getInterfaceInfo().kind != std::string("PLUGIN CREATOR_V3ONE"))
    throw Error{std::string("the plugin ") + name
                + " is not registered: libtenon brings it; elsewhere load a library that has it"};
  auto* const creator = static_cast<nvinfer1::IPluginCreatorV3One*>(found);
  const auto collection = fields.collection();
  const std::unique_ptr<nvinfer1::IPluginV3> plugin(
      creator->createPlugin(name, &collection, nvinfer1::TensorRTPhase::kBUILD));
  auto* const layer = plugin == nullptr
                          ? nullptr
                          : network.addPluginV3(inputs.data(), static_cast<int32_t>(inputs.size()),
                                                nullptr, 0, *plugin);
  if (layer == nullptr)
    throw Error{std::string("the plugin ") + name
                + " refuses its attributes or inputs; the logger has said why"};
  layer->setName(name);
  return *layer;
}

// The tensor of that name, or the only one.
ITensor& chosen(const std::string& name, const char* what, int32_t count,
                const std::function<ITensor*(int32_t)>& at) {
  std::string names;
  for (int32_t i = 0; i < count; ++i) {
    ITensor& tensor = *at(i);
    if (name == tensor.getName() || (name.empty() && count == 1)) return tensor;
    names += (i == 0 ? "'" : ", '") + std::string(tensor.getName()) + "'";
  }
  throw Error{name.empty() ? std::string("the network has several ") + what
                                 + "s: expected the name of one of " + names
                           : std::string("the network has no ") + what + " '" + name
                                 + "': expected one of " + names};
}

std::string dims_text(const nvinfer1::Dims& dims) {
  return session::shape_text(session::to_shape(dims));
}

// How PreprocessImages names a format, and what it has for a pixel; planes have no channels.
struct FormatOfImages {
  const char* pixels;
  int64_t channels, columns, lines;  // extents are multiples of these
};
FormatOfImages format_of(PixelFormat format) {
  switch (format) {
    case PixelFormat::kGrey:
      return {"packed", 1, 1, 1};
    case PixelFormat::kRGB:
    case PixelFormat::kBGR:
      return {"packed", 3, 1, 1};
    case PixelFormat::kRGBA:
    case PixelFormat::kBGRA:
      return {"packed", 4, 1, 1};
    case PixelFormat::kNV12:
      return {"nv12", 0, 2, 2};
    case PixelFormat::kI420:
      return {"i420", 0, 2, 2};
    case PixelFormat::kYUYV:
      return {"yuyv", 2, 2, 1};
  }
  throw Error{"images of an unknown format are no input of a network"};
}

nvinfer1::Dims dims_of_images(const ImageLayerOptions& options, int64_t batch) {
  const FormatOfImages format = format_of(options.format);
  const auto check = [&](int64_t extent, int64_t multiple) {
    if (extent != -1 && (extent < 1 || extent % multiple != 0))
      throw Error{"images of " + std::to_string(options.width) + "x"
                  + std::to_string(options.height) + " pixels of " + format_name(options.format)
                  + ": expected " + (multiple > 1 ? "even extents" : "extents of 1 or more")
                  + ", or -1"};
  };
  check(options.width, format.columns);
  check(options.height, format.lines);
  if (format.channels > 0)
    return nvinfer1::Dims4(batch, options.height, options.width, format.channels);
  return nvinfer1::Dims3(batch, options.height < 0 ? -1 : options.height / 2 * 3, options.width);
}

// Throws Error unless images can fill it.
void check_input(const ITensor& input, const ImageLayerOptions& options) {
  const nvinfer1::Dims dims = input.getDimensions();
  const int64_t channels = options.format == PixelFormat::kGrey ? 1 : 3;
  const bool is_of_floats =
      input.getType() == nvinfer1::DataType::kFLOAT || input.getType() == nvinfer1::DataType::kHALF;
  if (!is_of_floats || dims.nbDims != 4 || dims.d[1] != channels || dims.d[2] < 1 || dims.d[3] < 1)
    throw Error{std::string("input '") + input.getName() + "' is of shape " + dims_text(dims)
                + ": images fill one of float32 or float16 (N, " + std::to_string(channels)
                + ", height, width) whose height and width are known"};
}

// Throws Error unless it can be decoded.
void check_head(const ITensor& head, const YoloLayerOptions& options) {
  using Format = YoloLayerOptions::Format;
  const nvinfer1::Dims dims = head.getDimensions();
  const bool is_v8 = options.format == Format::kV8, has_class = options.format == Format::kV10;
  const int64_t others = int64_t{options.keypoints} * options.keypoint_numbers
                         + options.coefficients + (options.is_oriented ? 1 : 0);
  const int64_t channels = dims.nbDims == 3 ? dims.d[is_v8 ? 1 : 2] : 0;
  const int64_t classes = channels - others - (is_v8 ? 4 : has_class ? 6 : 5);
  if (channels == -1 || (has_class ? classes == 0 : classes > 0)) return;
  const std::string more = others == 0 ? "" : " + " + std::to_string(others);
  throw Error{std::string("output '") + head.getName() + "' is of shape " + dims_text(dims)
              + ": DecodeYolo takes "
              + (is_v8       ? "(N, 4 + classes" + more + ", boxes)"
                 : has_class ? "(N, boxes, 6" + more + ")"
                             : "(N, boxes, 5 + classes" + more + ")")};
}

Fields fields_of(const ImageLayerOptions& options, const nvinfer1::Dims& input) {
  using Fit = ImageLayerOptions::Fit;
  Fields fields;
  fields.set("height", static_cast<int32_t>(input.d[2]));
  fields.set("width", static_cast<int32_t>(input.d[3]));
  fields.set("fit", options.fit == Fit::kCentred   ? "centred"
                    : options.fit == Fit::kStretch ? "stretch"
                                                   : "letterbox");
  fields.set("pixels", format_of(options.format).pixels);
  fields.set("swap_rb", options.norm.channel_type == ChannelType::Invert ? 1 : 0);
  fields.set("border", int32_t{options.border});
  fields.set("scale", 1.F);
  // (x - mean) / std is x * scale + shift.
  std::array<float, 3> mean, deviation;
  for (size_t c = 0; c < 3; ++c) {
    deviation[c] = 1 / options.norm.scale[c];
    mean[c] = -options.norm.shift[c] / options.norm.scale[c];
  }
  fields.set("mean", mean);
  fields.set("std", deviation);
  return fields;
}

// The plugin on a new input; when it throws, the network is as it was, after `undo`.
nvinfer1::IPluginV3Layer& add_preprocessing(INetworkDefinition& network, const std::string& name,
                                            const nvinfer1::Dims& dims, const char* plugin,
                                            const Fields& fields,
                                            const std::function<void()>& undo) {
  ITensor* const images = network.addInput(name.c_str(), nvinfer1::DataType::kUINT8, dims);
  try {
    if (images == nullptr)
      throw Error{"the network cannot have the input '" + name
                  + "': expected a name that no other has"};
    return add_plugin(network, plugin, fields, {images});
  } catch (...) {
    if (images != nullptr) network.removeTensor(*images);
    undo();
    throw;
  }
}

void replace_uses(INetworkDefinition& network, const ITensor& old, ITensor& by) {
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    nvinfer1::ILayer& layer = *network.getLayer(i);
    for (int32_t k = 0; k < layer.getNbInputs(); ++k)
      if (layer.getInput(k) == &old) layer.setInput(k, by);
  }
}

}  // namespace

Result<ITensor*> prepend_images(INetworkDefinition& network,
                                const ImageLayerOptions& options) noexcept {
  return session::guard([&]() -> ITensor* {
    ITensor& input = chosen(options.input, "input", network.getNbInputs(),
                            [&](int32_t i) { return network.getInput(i); });
    check_input(input, options);
    if (input.isNetworkOutput())
      throw Error{std::string("input '") + input.getName() + "' is an output, too"};
    const nvinfer1::Dims dims = input.getDimensions();
    const Fields fields = fields_of(options, dims);
    const nvinfer1::Dims of_images = dims_of_images(options, dims.d[0]);
    const std::string name = input.getName();
    if (name == options.name) input.setName((name + " before").c_str());
    const bool is_half = input.getType() == nvinfer1::DataType::kHALF;
    auto& layer = add_preprocessing(network, options.name, of_images,
                                    is_half ? "PreprocessImagesHalf" : "PreprocessImages", fields,
                                    [&] { input.setName(name.c_str()); });
    replace_uses(network, input, *layer.getOutput(0));
    layer.getOutput(0)->setName((name + " of images").c_str());
    network.removeTensor(input);
    return layer.getOutput(1);
  });
}

Result<void> append_yolo(INetworkDefinition& network, const YoloLayerOptions& options,
                         ITensor* to_image) noexcept {
  return session::guard([&] {
    ITensor& head = chosen(options.output, "output", network.getNbOutputs(),
                           [&](int32_t i) { return network.getOutput(i); });
    check_head(head, options);
    Fields fields;
    using Format = YoloLayerOptions::Format;
    fields.set("format", options.format == Format::kV8   ? "v8"
                         : options.format == Format::kV5 ? "v5"
                                                         : "v10");
    fields.set("score_threshold", options.score_threshold);
    fields.set("iou_threshold", options.iou_threshold);
    fields.set("max_output_boxes", options.max_boxes);
    fields.set("class_agnostic", int32_t{options.class_agnostic});
    fields.set("keypoints", options.keypoints);
    fields.set("keypoint_numbers", options.keypoint_numbers);
    fields.set("coefficients", options.coefficients);
    fields.set("oriented", int32_t{options.is_oriented});
    std::vector<ITensor*> inputs{&head};
    if (to_image != nullptr) inputs.push_back(to_image);
    auto& layer = add_plugin(network, "DecodeYolo", fields, std::move(inputs));
    network.unmarkOutput(head);
    const std::array names = {
        "num_detections", "detection_boxes", "detection_scores", "detection_classes",
        options.keypoints > 0 ? "detection_keypoints" : "detection_coefficients"};
    for (int32_t i = 0; i < layer.getNbOutputs(); ++i) {
      layer.getOutput(i)->setName(names[static_cast<size_t>(i)]);
      network.markOutput(*layer.getOutput(i));
    }
  });
}

namespace {

// What append_yolo gives of one job.
struct Detections {
  int64_t count, rows;
  const float *boxes, *scores;
  const int32_t* classes;
};

// Throws Error for other tensors than append_yolo makes, with so many numbers of a box.
Detections checked_detections(std::vector<Tensor>& outputs, int64_t numbers) {
  const auto is_of = [&](size_t i, DataType type, int rank) {
    return outputs[i].type() == type && outputs[i].ndims() == rank && outputs[i].size(0) == 1;
  };
  if (outputs.size() < 4 || !is_of(0, DataType::kINT32, 2) || !is_of(1, DataType::kFLOAT, 3)
      || !is_of(2, DataType::kFLOAT, 2) || !is_of(3, DataType::kINT32, 2)
      || outputs[1].size(2) != numbers || outputs[1].size(1) != outputs[2].size(1)
      || outputs[2].size(1) != outputs[3].size(1))
    throw Error{"detections are num_detections (1, 1), detection_boxes (1, rows, "
                + std::to_string(numbers)
                + "), detection_scores (1, rows) and detection_classes (1, rows), as append_yolo "
                  "makes them: found "
                + std::to_string(outputs.size()) + " other tensors"};
  const int64_t rows = outputs[2].size(1);
  const int32_t count = *session::value_of(outputs[0].cpu<int32_t>());
  return {std::clamp<int64_t>(count, 0, rows), rows, session::value_of(outputs[1].cpu<float>()),
          session::value_of(outputs[2].cpu<float>()), session::value_of(outputs[3].cpu<int32_t>())};
}

Box box_at(const Detections& found, int64_t i) {
  const float* const box = found.boxes + i * 4;
  return {.left = box[0],
          .top = box[1],
          .right = box[2],
          .bottom = box[3],
          .score = found.scores[i],
          .class_label = found.classes[i],
          .index = i};
}

}  // namespace

Result<std::vector<Box>> detections_of(std::vector<Tensor>& outputs) noexcept {
  return session::guard([&] {
    const Detections found = checked_detections(outputs, 4);
    std::vector<Box> boxes;
    for (int64_t i = 0; i < found.count; ++i) boxes.push_back(box_at(found, i));
    return boxes;
  });
}

Result<std::vector<Pose>> poses_of(std::vector<Tensor>& outputs) noexcept {
  return session::guard([&] {
    const Detections found = checked_detections(outputs, 4);
    if (outputs.size() < 5 || outputs[4].type() != DataType::kFLOAT || outputs[4].ndims() != 4
        || outputs[4].size(0) != 1 || outputs[4].size(1) != found.rows
        || (outputs[4].size(3) != 2 && outputs[4].size(3) != 3))
      throw Error{
          "poses have detection_keypoints (1, rows, keypoints, 2 or 3) as the fifth output"};
    const int64_t keypoints = outputs[4].size(2), numbers = outputs[4].size(3);
    const float* point = session::value_of(outputs[4].cpu<float>());
    std::vector<Pose> poses;
    for (int64_t i = 0; i < found.count; ++i) {
      Pose& pose = poses.emplace_back(Pose{box_at(found, i), {}});
      for (int64_t k = 0; k < keypoints; ++k, point += numbers)
        pose.keypoints.push_back({point[0], point[1], numbers == 3 ? point[2] : 1.0F});
    }
    return poses;
  });
}

Result<std::vector<RotatedBox>> oriented_boxes_of(std::vector<Tensor>& outputs) noexcept {
  return session::guard([&] {
    const Detections found = checked_detections(outputs, 5);
    std::vector<RotatedBox> boxes;
    for (int64_t i = 0; i < found.count; ++i) {
      const float* const box = found.boxes + i * 5;
      boxes.push_back({.x = box[0],
                       .y = box[1],
                       .width = box[2],
                       .height = box[3],
                       .angle = box[4],
                       .score = found.scores[i],
                       .class_label = found.classes[i],
                       .index = i});
    }
    return boxes;
  });
}

}  // namespace tenon::serve
