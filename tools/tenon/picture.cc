#include "picture.h"

#include <csetjmp>
#include <cstdio>
// jpeglib.h needs cstdio first.
#include <jpeglib.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "error.h"
#include "npz.h"

namespace tenon::tool {
namespace {

// Larger pictures are refused before memory is taken for them.
constexpr int64_t kMostPixels = int64_t{1} << 28;

void check_size(const std::string& path, int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width * height > kMostPixels)
    fail("{}: a picture of {}x{} pixels is not supported", path, width, height);
}

bool ends_with(const std::string& path, std::string_view ending) {
  if (path.size() < ending.size()) return false;
  return std::equal(ending.rbegin(), ending.rend(), path.rbegin(), [](char a, char b) {
    return a == std::tolower(static_cast<unsigned char>(b));
  });
}

// libjpeg reports errors by a callback that must not return.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf out;
  char text[JMSG_LENGTH_MAX];
};

void on_jpeg_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->text);
  std::longjmp(errors->out, 1);
}

void ignore_jpeg_message(j_common_ptr, int) {}

// No object with a destructor is made between setjmp and longjmp: the picture is the caller's.
bool decode_jpeg(const std::vector<std::byte>& file, Picture& picture, JpegErrors& errors,
                 int64_t most_pixels) {
  jpeg_decompress_struct info;
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_jpeg_error;
  errors.manager.emit_message = ignore_jpeg_message;
  if (setjmp(errors.out) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  if (static_cast<int64_t>(info.output_width) * info.output_height > most_pixels
      || info.output_components != 3) {
    std::snprintf(errors.text, sizeof errors.text, "a picture of %ux%u pixels is not supported",
                  info.output_width, info.output_height);
    jpeg_destroy_decompress(&info);
    return false;
  }
  picture.width = static_cast<int>(info.output_width);
  picture.height = static_cast<int>(info.output_height);
  picture.pixels.resize(static_cast<size_t>(picture.width) * picture.height * 3);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row =
        picture.pixels.data()
        + static_cast<size_t>(info.output_scanline) * static_cast<size_t>(picture.width) * 3;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return true;
}

bool encode_jpeg(const Picture& picture, unsigned char** data, unsigned long* size,
                 JpegErrors& errors) {
  jpeg_compress_struct info;
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_jpeg_error;
  if (setjmp(errors.out) != 0) {
    jpeg_destroy_compress(&info);
    return false;
  }
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, data, size);
  info.image_width = static_cast<JDIMENSION>(picture.width);
  info.image_height = static_cast<JDIMENSION>(picture.height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row =
        const_cast<uint8_t*>(picture.pixels.data())
        + static_cast<size_t>(info.next_scanline) * static_cast<size_t>(picture.width) * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  return true;
}

Picture decode_png(const std::string& path, const std::vector<std::byte>& file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0)
    fail("{}: is not a readable PNG: {}", path, image.message);
  image.format = PNG_FORMAT_RGB;
  Picture picture;
  picture.width = static_cast<int>(image.width);
  picture.height = static_cast<int>(image.height);
  if (static_cast<int64_t>(image.width) * image.height > kMostPixels) png_image_free(&image);
  check_size(path, image.width, image.height);
  picture.pixels.resize(PNG_IMAGE_SIZE(image));
  const png_color white{255, 255, 255};  // what transparent pixels are laid on
  if (png_image_finish_read(&image, &white, picture.pixels.data(), 0, nullptr) == 0)
    fail("{}: is damaged: {}", path, image.message);
  return picture;
}

double channel_value(const std::vector<double>& values, int channel) {
  return values.size() == 1 ? values[0] : values[static_cast<size_t>(channel)];
}

}  // namespace

bool is_picture(const std::string& path) {
  return ends_with(path, ".jpg") || ends_with(path, ".jpeg") || ends_with(path, ".png");
}

Picture read_picture(const std::string& path) {
  const auto file = read_file(path);
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  if (file.size() >= 8 && png_sig_cmp(bytes, 0, 8) == 0) return decode_png(path, file);
  if (file.size() < 3 || bytes[0] != 0xff || bytes[1] != 0xd8)
    fail("{}: is neither a JPEG nor a PNG picture", path);
  Picture picture;
  JpegErrors errors;
  if (!decode_jpeg(file, picture, errors, kMostPixels))
    fail("{}: is not a readable JPEG: {}", path, errors.text);
  check_size(path, picture.width, picture.height);
  return picture;
}

void write_picture(const std::string& path, const Picture& picture) {
  if (ends_with(path, ".png")) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(picture.width);
    image.height = static_cast<png_uint_32>(picture.height);
    image.format = PNG_FORMAT_RGB;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    std::vector<std::byte> file(size);
    if (png_image_write_to_memory(&image, file.data(), &size, 0, picture.pixels.data(), 0, nullptr)
        == 0)
      fail("{}: cannot encode: {}", path, image.message);
    return write_file(path, file.data(), size);
  }
  if (!is_picture(path))
    fail("{}: the name must end in .png, .jpg or .jpeg to be written as a picture", path);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  JpegErrors errors;
  const bool good = encode_jpeg(picture, &data, &size, errors);
  const std::unique_ptr<unsigned char, decltype(&std::free)> owner(data, &std::free);
  if (!good) fail("{}: cannot encode: {}", path, errors.text);
  write_file(path, data, size);
}

Array to_tensor(const Picture& picture, const PictureOptions& options, int64_t channels) {
  if (channels != 1 && channels != 3)
    fail("the input has {} channels; pictures have 3, or 1 for grey", channels);
  const int64_t height = picture.height, width = picture.width;
  Array out = make_array(nvinfer1::DataType::kFLOAT,
                         options.channels_last ? std::vector<int64_t>{1, height, width, channels}
                                               : std::vector<int64_t>{1, channels, height, width});
  auto* to = out.as<float>();
  const int64_t plane = height * width;
  for (int64_t i = 0; i < plane; ++i) {
    const uint8_t* rgb = picture.pixels.data() + 3 * i;
    for (int c = 0; c < channels; ++c) {
      const double pixel = channels == 1 ? 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]
                                         : rgb[options.bgr ? 2 - c : c];
      const double value =
          (pixel - channel_value(options.mean, c)) * channel_value(options.scale, c);
      to[options.channels_last ? i * channels + c : c * plane + i] = static_cast<float>(value);
    }
  }
  return out;
}

Picture to_picture(const Array& tensor, const PictureOptions& options) {
  std::vector<int64_t> shape = tensor.shape;
  if (shape.size() == 4) shape.erase(shape.begin());
  if (shape.size() == 2) shape.insert(options.channels_last ? shape.end() : shape.begin(), 1);
  if (shape.size() != 3) fail("a tensor of shape {} is not a picture", shape_text(tensor.shape));
  const int64_t channels = options.channels_last ? shape[2] : shape[0];
  const int64_t height = options.channels_last ? shape[0] : shape[1];
  const int64_t width = options.channels_last ? shape[1] : shape[2];
  if ((channels != 1 && channels != 3) || height < 1 || width < 1 || height * width > kMostPixels
      || tensor.count() < channels * height * width)
    fail("a tensor of shape {} is not a picture of 1 or 3 channels{}", shape_text(tensor.shape),
         options.channels_last ? " (channels last)" : "");
  const Array values = convert(tensor, nvinfer1::DataType::kFLOAT);
  Picture picture{static_cast<int>(width), static_cast<int>(height), {}};
  picture.pixels.resize(static_cast<size_t>(3 * width * height));
  const int64_t plane = height * width;
  for (int64_t i = 0; i < plane; ++i)
    for (int k = 0; k < 3; ++k) {
      const int c = channels == 1 ? 0 : options.bgr ? 2 - k : k;
      const double value =
          values.as<float>()[options.channels_last ? i * channels + c : c * plane + i];
      const double pixel = value / channel_value(options.scale, c) + channel_value(options.mean, c);
      picture.pixels[static_cast<size_t>(3 * i + k)] =
          std::isnan(pixel) ? uint8_t{0}
                            : static_cast<uint8_t>(std::lround(std::clamp(pixel, 0.0, 255.0)));
    }
  return picture;
}

}  // namespace tenon::tool
