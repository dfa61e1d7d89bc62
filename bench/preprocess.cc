// Measures pre-processing on request: for each line "run SECONDS CASE" on standard input it answers
// with a JSON list of milliseconds, one per image. bench/preprocess.py keeps one such process.
// Arguments: files of serve::save_to_file's, for the image (H, W, 3) of BGR, for NV12 (H * 3 / 2,
// W), and a folder for results.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tenon/serve/preprocess.h>
#include <tenon/serve/tensor_file.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <vector>

namespace {

using namespace tenon::serve;
using Clock = std::chrono::steady_clock;

template <class T> T value_or_exit(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  Tensor bgr = value_or_exit(load_from_file(argv[1]));
  Tensor yuv = value_or_exit(load_from_file(argv[2]));
  const int64_t height = bgr.size(0), width = bgr.size(1);
  const Image image =
      Image::packed(PixelFormat::kBGR, value_or_exit(bgr.cpu<uint8_t>()), width, height);
  const Image nv12 = Image::nv12(value_or_exit(yuv.cpu<uint8_t>()), width, height);
  const Letterbox box = value_or_exit(Letterbox::ultralytics(width, height, 640, 640));
  const Letterbox centred = value_or_exit(Letterbox::centred(width, height, 640, 640));
  const Norm norm = Norm::alpha_beta(1 / 255.F, 0, ChannelType::Invert);
  Tensor planes({1, 3, 640, 640}), half({1, 3, 640, 640}, DataType::kHALF);
  Tensor face({1, 3, 112, 112});
  // A quarter of a right angle, and a third of the size.
  const Matrix23 turned = {2.77F, -1.15F, 300, 1.15F, 2.77F, -200};
  std::vector<uint8_t> converted(static_cast<size_t>(width * height * 3));
  struct Case {
    std::function<Result<void>()> run;
    Tensor* result;
  };
  const std::map<std::string, Case> cases = {
      {"letterbox", {[&] { return letterbox(image, box, {planes}, norm); }, &planes}},
      {"letterbox_half", {[&] { return letterbox(image, box, {half}, norm); }, &half}},
      {"letterbox_centred", {[&] { return letterbox(image, centred, {planes}, norm); }, &planes}},
      {"letterbox_nv12", {[&] { return letterbox(nv12, box, {planes}, norm); }, &planes}},
      {"warp_affine", {[&] { return warp_affine(image, turned, {planes}, norm); }, &planes}},
      {"face", {[&] { return warp_affine(image, turned, {face}, norm); }, &face}},
      {"nv12_to_bgr", {[&] { return convert_nv12_to_bgr(nv12, converted.data()); }, nullptr}}};
  double seconds = 0;
  for (std::string word, name; std::cin >> word >> seconds >> name;) {
    const auto found = cases.find(name);
    if (word != "run" || found == cases.end()) return 2;
    std::vector<double> times;
    for (const auto start = Clock::now(); milliseconds_since(start) < seconds * 1000;) {
      const auto begin = Clock::now();
      value_or_exit(found->second.run());
      times.push_back(milliseconds_since(begin));
    }
    if (found->second.result != nullptr)
      value_or_exit(
          save_to_file(*found->second.result, std::string(argv[3]) + "/" + name + ".tensor"));
    fmt::print("[{:.4f}]\n", fmt::join(times, ", "));
    std::fflush(stdout);
  }
  return 0;
}
