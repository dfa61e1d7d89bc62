#include "picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "error.h"
#include "npz.h"

namespace tenon::tool {
namespace {

Picture gradient(int width, int height) {
  Picture p{width, height, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        p.pixels.push_back(static_cast<uint8_t>((c == 0 ? x * 7 : c == 1 ? y * 5 : 100) % 256));
  return p;
}

TEST(Picture, PngKeepsEveryPixel) {
  const std::string path = ::testing::TempDir() + "/a.png";
  const Picture p = gradient(31, 17);
  save_picture(path, p);
  const Picture again = load_picture(path);
  EXPECT_EQ(again.width, 31);
  EXPECT_EQ(again.height, 17);
  EXPECT_EQ(again.pixels, p.pixels);
}

TEST(Picture, JpegIsClose) {
  const std::string path = ::testing::TempDir() + "/a.JPG";
  const Picture p{16, 16, std::vector<uint8_t>(16 * 16 * 3, 90)};
  save_picture(path, p);
  const Picture again = load_picture(path);
  ASSERT_EQ(again.pixels.size(), p.pixels.size());
  for (uint8_t v : again.pixels) EXPECT_NEAR(v, 90, 2);
}

TEST(Picture, ResizesByMeans) {
  const Picture p = gradient(30, 20);
  EXPECT_EQ(resized(p, 30, 20).pixels, p.pixels);
  const Picture half = resized(p, 15, 10);
  for (int c = 0; c < 3; ++c)
    EXPECT_NEAR(half.at(4, 3)[c],
                (p.at(8, 6)[c] + p.at(9, 6)[c] + p.at(8, 7)[c] + p.at(9, 7)[c]) / 4.0, 0.51);
  const Picture flat = resized(grey_picture(7, 5, 90), 40, 3);
  EXPECT_EQ(flat.pixels, std::vector<uint8_t>(40 * 3 * 3, 90));
  // Twice as large: pixel 5 lies a quarter of the way from old pixel 2 to 3.
  EXPECT_NEAR(resized(p, 60, 40).at(5, 0)[0], 0.75 * p.at(2, 0)[0] + 0.25 * p.at(3, 0)[0], 0.51);
}

TEST(Picture, SamplesBetweenPixels) {
  const Picture p = gradient(30, 20);
  float rgb[3];
  sample(p, 2.5f, 3, rgb);
  EXPECT_FLOAT_EQ(rgb[0], 17.5f);
  EXPECT_FLOAT_EQ(rgb[1], 15);
  sample(p, -4, 99, rgb);
  EXPECT_FLOAT_EQ(rgb[0], 0);
  EXPECT_FLOAT_EQ(rgb[1], 95);
}

TEST(Picture, DrawsWhatLiesInside) {
  Picture p = grey_picture(20, 10, 0);
  const uint8_t red[3] = {255, 0, 0};
  draw_line(p, -50, 5, 1e30f, 5, red);
  draw_line(p, std::nanf(""), 0, 0, 0, red);
  EXPECT_EQ(p.at(19, 6)[0], 255);
  EXPECT_EQ(p.at(10, 8)[0], 0);
}

TEST(Picture, TensorsRoundTripInEveryLayoutAndOrder) {
  const Picture p = gradient(5, 4);
  for (bool last : {false, true})
    for (bool bgr : {false, true}) {
      PictureOptions options;
      options.channels_last = last;
      options.bgr = bgr;
      options.scale = {0.01, 0.02, 0.04};
      options.mean = {120, 110, 100};
      const Array t = to_tensor(p, options, 3);
      EXPECT_EQ(t.shape,
                (last ? std::vector<int64_t>{1, 4, 5, 3} : std::vector<int64_t>{1, 3, 4, 5}));
      EXPECT_EQ(to_picture(t, options).pixels, p.pixels);
    }
  // The first channel of an RGB tensor is red: pixel (x=2, y=0) is 14.
  EXPECT_FLOAT_EQ(to_tensor(p, {}, 3).as<float>()[2], 14.f / 255);
}

TEST(Picture, ClampsAndMapsNanToZero) {
  Array t = value_or_fail(session::make_array(nvinfer1::DataType::kFLOAT, {1, 1, 1, 3}));
  t.as<float>()[0] = 2;
  t.as<float>()[1] = -1;
  t.as<float>()[2] = NAN;
  const Picture p = to_picture(t, {});
  EXPECT_EQ(p.pixels[0], 255);
  EXPECT_EQ(p.pixels[3], 0);
  EXPECT_EQ(p.pixels[6], 0);
}

TEST(Picture, RefusesWhatIsNotOne) {
  const std::string path = ::testing::TempDir() + "/fake.jpg";
  const auto refused = [&](const std::string& content) {
    write_file(path, content.data(), content.size());
    EXPECT_THROW(load_picture(path), Failure) << content;
  };
  refused("");
  refused("hello");
  refused("\xff\xd8\xff\xe0 truncated at once");
  refused(std::string("\x89PNG\r\n\x1a\n", 8) + "nothing more");
  EXPECT_THROW(save_picture(::testing::TempDir() + "/x.gif", gradient(2, 2)), Failure);
}

TEST(Picture, EveryTruncationIsAnError) {
  // Behind a PNG's pixels is a chunk of 12 bytes that only says so; libpng does not read it.
  for (const auto& [name, end] : {std::pair{"/t.png", 12u}, std::pair{"/t.jpg", 0u}}) {
    const std::string path = ::testing::TempDir() + name;
    save_picture(path, gradient(20, 20));
    const auto good = read_file(path);
    for (size_t n = 0; n + end < good.size(); n += 3) {
      write_file(path, good.data(), n);
      EXPECT_THROW(load_picture(path), Failure) << name << " cut to " << n;
    }
  }
}

}  // namespace
}  // namespace tenon::tool
