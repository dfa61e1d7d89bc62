// JPEG and PNG pictures for programs that run networks on them. Needs libjpeg and libpng: in CMake,
// link tenon::picture. Works beside any library of TensorRT's interface.
#ifndef TENON_PICTURE_H
#define TENON_PICTURE_H

#include <csetjmp>
#include <cstdint>
#include <cstdio>
// jpeglib.h needs cstdio first.
#include <jpeglib.h>
#include <png.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tenon {

/// 8-bit RGB, rows first.
struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;  ///< 3 * width * height

  uint8_t* at(int x, int y) { return pixels.data() + offset(x, y); }
  const uint8_t* at(int x, int y) const { return pixels.data() + offset(x, y); }

 private:
  size_t offset(int x, int y) const {
    return (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 3;
  }
};

/// A picture of one grey.
inline Picture grey_picture(int width, int height, uint8_t value) {
  return {width, height,
          std::vector<uint8_t>(size_t{3} * static_cast<size_t>(width) * static_cast<size_t>(height),
                               value)};
}

/// The picture in the bytes of a JPEG or PNG file; grey and transparent ones become RGB. Throws
/// std::runtime_error, with `name` in front, when they are damaged, cut short, or hold more than
/// 2^28 pixels.
Picture decode_picture(const void* data, size_t size, const std::string& name);
/// The bytes of a PNG file, or of a JPEG file (quality 95), by the ending of `name`: .png, .jpg or
/// .jpeg in any case. Throws std::runtime_error.
std::vector<uint8_t> encode_picture(const Picture& picture, const std::string& name);
/// Whether the name ends like a picture's.
bool is_picture(const std::string& name);

/// As above, from and to a file.
Picture read_picture(const std::string& path);
void write_picture(const std::string& path, const Picture& picture);

/// The colour at (x, y), in pixels from the middle of the first; bilinear, and outside the colour
/// of the edge.
void sample(const Picture& picture, float x, float y, float* rgb);
/// The picture in another size; each new pixel is the mean of what it covers.
Picture resized(const Picture& picture, int width, int height);
/// A line of the colour given, three pixels wide; parts outside are left out.
void draw_line(Picture& picture, float x0, float y0, float x1, float y1, const uint8_t (&rgb)[3]);

namespace detail {

constexpr int64_t kMostPixels = int64_t{1} << 28;

inline void check_picture_size(const std::string& name, int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width * height > kMostPixels)
    throw std::runtime_error(name + ": a picture of " + std::to_string(width) + "x"
                             + std::to_string(height) + " pixels is not supported");
}

inline bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() >= ending.size()
         && std::equal(ending.rbegin(), ending.rend(), text.rbegin(), [](char a, char b) {
              return a == std::tolower(static_cast<unsigned char>(b));
            });
}

// libjpeg reports errors by a callback that must not return.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf out;
  char text[JMSG_LENGTH_MAX];
};

inline void on_jpeg_error(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  info->err->format_message(info, errors->text);
  std::longjmp(errors->out, 1);
}

inline void ignore_jpeg_message(j_common_ptr, int) {}

// Level -1 is a warning: the data are damaged or cut, and libjpeg would make up the rest.
inline void on_jpeg_message(j_common_ptr info, int level) {
  if (level < 0) on_jpeg_error(info);
}

// No object with a destructor is made between setjmp and longjmp: the picture is the caller's.
inline bool decode_jpeg(const void* data, size_t size, Picture& picture, JpegErrors& errors) {
  jpeg_decompress_struct info;
  info.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_jpeg_error;
  errors.manager.emit_message = ignore_jpeg_message;
  if (setjmp(errors.out) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, static_cast<const unsigned char*>(data), size);
  jpeg_read_header(&info, TRUE);
  errors.manager.emit_message = on_jpeg_message;  // what is odd in a header does no harm
  info.out_color_space = JCS_RGB;
  jpeg_calc_output_dimensions(&info);
  if (static_cast<int64_t>(info.output_width) * info.output_height > kMostPixels
      || info.output_components != 3) {
    std::snprintf(errors.text, sizeof errors.text, "a picture of %ux%u pixels is not supported",
                  info.output_width, info.output_height);
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_start_decompress(&info);
  picture.width = static_cast<int>(info.output_width);
  picture.height = static_cast<int>(info.output_height);
  picture.pixels.resize(size_t{3} * info.output_width * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = picture.at(0, static_cast<int>(info.output_scanline));
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return true;
}

inline bool encode_jpeg(const Picture& picture, unsigned char** data, unsigned long* size,
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
    JSAMPROW row = const_cast<uint8_t*>(picture.at(0, static_cast<int>(info.next_scanline)));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  return true;
}

inline Picture decode_png(const void* data, size_t size, const std::string& name) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, data, size) == 0)
    throw std::runtime_error(name + ": is not a readable PNG: " + image.message);
  image.format = PNG_FORMAT_RGB;
  if (static_cast<int64_t>(image.width) * image.height > kMostPixels) png_image_free(&image);
  check_picture_size(name, image.width, image.height);
  Picture picture = grey_picture(static_cast<int>(image.width), static_cast<int>(image.height), 0);
  const png_color white{255, 255, 255};  // what transparent pixels are laid on
  if (png_image_finish_read(&image, &white, picture.pixels.data(), 0, nullptr) == 0)
    throw std::runtime_error(name + ": is damaged: " + image.message);
  return picture;
}

inline std::vector<uint8_t> encode_png(const Picture& picture, const std::string& name) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<uint8_t> file(size);
  if (png_image_write_to_memory(&image, file.data(), &size, 0, picture.pixels.data(), 0, nullptr)
      == 0)
    throw std::runtime_error(name + ": cannot encode: " + image.message);
  file.resize(size);
  return file;
}

// How much of each old pixel lies in new pixel i, along one axis: from old pixel `first` on.
struct Cover {
  int first = 0;
  std::vector<float> parts;
};
inline Cover cover_of(int i, int from, int to) {
  const double scale = static_cast<double>(from) / to;
  if (scale <= 1) {  // enlarged: between the two nearest
    const double at = std::clamp((i + 0.5) * scale - 0.5, 0.0, from - 1.0);
    const int first = std::min(static_cast<int>(at), std::max(from - 2, 0));
    const auto part = static_cast<float>(at - first);
    return {first, from > 1 ? std::vector<float>{1 - part, part} : std::vector<float>{1}};
  }
  const double begin = i * scale, end = begin + scale;
  Cover cover{static_cast<int>(begin), {}};
  for (int k = cover.first; k < from && k < end; ++k)
    cover.parts.push_back(
        static_cast<float>((std::min(end, k + 1.0) - std::max(begin, double(k))) / scale));
  return cover;
}

}  // namespace detail

inline bool is_picture(const std::string& name) {
  return detail::ends_with(name, ".jpg") || detail::ends_with(name, ".jpeg")
         || detail::ends_with(name, ".png");
}

inline Picture decode_picture(const void* data, size_t size, const std::string& name) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  if (size >= 8 && png_sig_cmp(bytes, 0, 8) == 0) return detail::decode_png(data, size, name);
  if (size < 3 || bytes[0] != 0xff || bytes[1] != 0xd8)
    throw std::runtime_error(name + ": is neither a JPEG nor a PNG picture");
  Picture picture;
  detail::JpegErrors errors;
  if (!detail::decode_jpeg(data, size, picture, errors))
    throw std::runtime_error(name + ": is not a readable JPEG: " + errors.text);
  detail::check_picture_size(name, picture.width, picture.height);
  return picture;
}

inline std::vector<uint8_t> encode_picture(const Picture& picture, const std::string& name) {
  if (detail::ends_with(name, ".png")) return detail::encode_png(picture, name);
  if (!is_picture(name))
    throw std::runtime_error(
        name + ": the name must end in .png, .jpg or .jpeg to be written as a picture");
  unsigned char* data = nullptr;
  unsigned long size = 0;
  detail::JpegErrors errors;
  const bool good = detail::encode_jpeg(picture, &data, &size, errors);
  const std::unique_ptr<unsigned char, decltype(&std::free)> owner(data, &std::free);
  if (!good) throw std::runtime_error(name + ": cannot encode: " + errors.text);
  return std::vector<uint8_t>(data, data + size);
}

inline Picture read_picture(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  return decode_picture(bytes.data(), bytes.size(), path);
}

inline void write_picture(const std::string& path, const Picture& picture) {
  const std::vector<uint8_t> bytes = encode_picture(picture, path);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

inline void sample(const Picture& picture, float x, float y, float* rgb) {
  x = std::clamp(x, 0.f, static_cast<float>(picture.width - 1));
  y = std::clamp(y, 0.f, static_cast<float>(picture.height - 1));
  const int left = static_cast<int>(x), top = static_cast<int>(y);
  const int right = std::min(left + 1, picture.width - 1);
  const int bottom = std::min(top + 1, picture.height - 1);
  const float u = x - static_cast<float>(left), v = y - static_cast<float>(top);
  for (int c = 0; c < 3; ++c) {
    const float above = picture.at(left, top)[c] * (1 - u) + picture.at(right, top)[c] * u;
    const float below = picture.at(left, bottom)[c] * (1 - u) + picture.at(right, bottom)[c] * u;
    rgb[c] = above * (1 - v) + below * v;
  }
}

inline Picture resized(const Picture& picture, int width, int height) {
  detail::check_picture_size("resized()", width, height);
  std::vector<detail::Cover> columns;
  for (int x = 0; x < width; ++x) columns.push_back(detail::cover_of(x, picture.width, width));
  Picture result = grey_picture(width, height, 0);
  for (int y = 0; y < height; ++y) {
    const detail::Cover rows = detail::cover_of(y, picture.height, height);
    for (int x = 0; x < width; ++x) {
      const detail::Cover& across = columns[static_cast<size_t>(x)];
      float sum[3] = {};
      for (size_t j = 0; j < rows.parts.size(); ++j)
        for (size_t i = 0; i < across.parts.size(); ++i) {
          const uint8_t* rgb =
              picture.at(across.first + static_cast<int>(i), rows.first + static_cast<int>(j));
          for (int c = 0; c < 3; ++c) sum[c] += rgb[c] * rows.parts[j] * across.parts[i];
        }
      for (int c = 0; c < 3; ++c)
        result.at(x, y)[c] = static_cast<uint8_t>(std::clamp(sum[c] + 0.5f, 0.f, 255.f));
    }
  }
  return result;
}

inline void draw_line(Picture& picture, float x0, float y0, float x1, float y1,
                      const uint8_t (&rgb)[3]) {
  constexpr float kMost = 1 << 20;  // farther away there is no picture
  for (float* v : {&x0, &y0, &x1, &y1}) *v = std::isfinite(*v) ? std::clamp(*v, -kMost, kMost) : 0;
  const int steps = static_cast<int>(std::ceil(std::max(std::abs(x1 - x0), std::abs(y1 - y0)))) + 1;
  for (int i = 0; i <= steps; ++i) {
    const float t = static_cast<float>(i) / static_cast<float>(steps);
    const int x = static_cast<int>(std::lround(x0 + t * (x1 - x0)));
    const int y = static_cast<int>(std::lround(y0 + t * (y1 - y0)));
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        if (x + dx >= 0 && x + dx < picture.width && y + dy >= 0 && y + dy < picture.height)
          std::copy(rgb, rgb + 3, picture.at(x + dx, y + dy));
  }
}

}  // namespace tenon

#endif  // TENON_PICTURE_H
