#include "tenon/serve/image_layers.h"

#include <array>
#include <functional>

#include "guard.h"
#include "network_layers.h"
#include "plugin_layer.h"

namespace tenon::serve {
namespace {

using nvinfer1::INetworkDefinition;
using nvinfer1::ITensor;

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
    ITensor& input = chosen_tensor(options.input, "input", network.getNbInputs(),
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

}  // namespace tenon::serve
