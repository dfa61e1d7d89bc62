// Measures post-processing on request: reads a head from a tensor file, then answers each line
// "COUNT THRESHOLD" on standard input with the boxes that stay, and the least and the median
// microseconds of so many runs. bench/detect.py keeps such a process. Its arguments are the file
// and "v8" or "distributions".
#include <tenon/serve/raw_yolo.h>
#include <tenon/serve/tensor_file.h>
#include <tenon/serve/yolo.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace {

using tenon::serve::Box;
using tenon::serve::DetectOptions;
using tenon::serve::DistributionLevel;
using tenon::serve::View;
using Clock = std::chrono::steady_clock;

template <class T> T value_or_exit(tenon::session::Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "detect_worker: %s\n", result.error().c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: detect_worker v8 HEAD | distributions HEAD HEAD HEAD\n");
    return 1;
  }
  const bool is_raw = argv[1] == std::string_view("distributions");
  std::vector<tenon::serve::Tensor> tensors;
  std::vector<View> views;
  std::vector<DistributionLevel> levels;
  for (int i = 2; i < argc; ++i)
    tensors.push_back(value_or_exit(tenon::serve::load_from_file(argv[i])));
  for (auto& tensor : tensors) {
    views.push_back(value_or_exit(View::of_item(tensor, 0)));
    levels.push_back({views.back(), 8 << levels.size()});
  }
  int count = 0;
  DetectOptions options;
  options.nms.iou_threshold = 0.7F;
  while (std::cin >> count >> options.score_threshold) {
    std::vector<double> times;
    size_t boxes = 0;
    for (int i = 0; i < count; ++i) {
      const auto began = Clock::now();
      const auto found = value_or_exit(is_raw ? decode_distributions(levels, options)
                                              : decode_yolo_v8(views[0], options));
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
      boxes = found.size();
    }
    std::sort(times.begin(), times.end());
    std::printf("%zu %.1f %.1f\n", boxes, times.front(), times[times.size() / 2]);
    std::fflush(stdout);
  }
}
