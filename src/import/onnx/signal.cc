// Fourier transforms, windows and the mel scale.
#include <cmath>
#include <numbers>

#include "base/half.h"
#include "import/node.h"
#include "ops/fourier.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

constexpr int64_t kMaxBins = 1 << 24;

// (…, 1) for a real signal without that axis.
Value& with_parts(NodeContext& n, Value& x) {
  if (n.rank(x) != 2) return x;
  return n.rearrange(x, {0, 1, -1});
}

void import_dft(NodeContext& n, int64_t axis) {
  auto op = std::make_unique<Fourier>();
  op->axis = axis;
  op->inverse = n.flag("inverse", false);
  op->one_sided = n.flag("onesided", false);
  std::vector<Value*> inputs{&n.input(0)};
  if (n.has_input(1)) {
    n.host_elements(1, "the length of the transform");
    inputs.push_back(&n.input(1));
  }
  n.set_output(0, n.add(std::move(op), std::move(inputs)));
}

DataType output_type(NodeContext& n) {
  const auto type = data_type_of(static_cast<int32_t>(n.integer("output_datatype", 1)));
  if (!type)
    fail_import(Code::kUNSUPPORTED_NODE_DATATYPE,
                "attribute 'output_datatype' is {}, which is not supported yet",
                onnx_type_name(static_cast<int32_t>(n.integer("output_datatype", 1))));
  return *type;
}

Value& numbers(NodeContext& n, const Shape& shape, const std::vector<float>& values) {
  n.charge(values.size() * sizeof(float));
  return n.cast(n.constant(Tensor::of<float>(DataType::kFLOAT, shape, values)), output_type(n));
}

double number(NodeContext& n, int i, const char* what) {
  const auto values = n.numbers_of(i, what);
  require(values.size() == 1, "{} has {} elements; expected 1", what, values.size());
  return values[0];
}

int64_t count(NodeContext& n, int i, const char* what, int64_t min) {
  const double value = number(n, i, what);
  require(value >= static_cast<double>(min) && value <= static_cast<double>(kMaxBins),
          "{} is {}; expected {} to {}", what, value, min, kMaxBins);
  return static_cast<int64_t>(value);
}

// a - b cos(2 pi k / size) + c cos(4 pi k / size)
void import_window(NodeContext& n, double a, double b, double c) {
  n.expect_inputs(1, 1);
  const int64_t size = count(n, 0, "the size of the window", 0);
  const int64_t period = n.flag("periodic", true) ? size : std::max<int64_t>(size - 1, 1);
  std::vector<float> values;
  for (int64_t k = 0; k < size; ++k) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(period);
    values.push_back(static_cast<float>(a - b * std::cos(angle) + c * std::cos(2 * angle)));
  }
  n.set_output(0, numbers(n, Shape{size}, values));
}

// The bins at which the triangles of the mel scale begin, peak and end.
std::vector<int64_t> mel_points(int64_t bands, int64_t length, double rate, double low,
                                double high) {
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double first = mel(low), step = (mel(high) - first) / static_cast<double>(bands + 2);
  std::vector<int64_t> points;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (first + static_cast<double>(i) * step) / 2595) - 1);
    const double point = std::floor(static_cast<double>(length + 1) * hertz / rate);
    require(point >= 0 && point <= static_cast<double>(length / 2),
            "a frequency of {} Hz has no bin in a transform of {} elements at {} Hz", hertz, length,
            rate);
    points.push_back(static_cast<int64_t>(point));
  }
  return points;
}

}  // namespace

TENON_IMPORT(DFT, 17, "") {
  n.expect_inputs(1, 2);
  import_dft(n, n.integer("axis", 1));
}

TENON_IMPORT(DFT, 20, "the axis must be constant") {
  n.expect_inputs(1, 3);
  int64_t axis = -2;
  if (n.has_input(2)) {
    const auto given = n.integers_of(2, "the axis");
    require(given.size() == 1, "{} axes are given; expected 1", given.size());
    axis = given[0];
  }
  import_dft(n, axis);
}

TENON_IMPORT(STFT, 17, "step and length of frames must be constant") {
  n.expect_inputs(2, 4);
  auto op = std::make_unique<Fourier>();
  op->frame_step = count(n, 1, "the step between frames", 1);
  if (n.has_input(3)) {
    op->frame_length = count(n, 3, "the length of a frame", 1);
  } else {
    const Value& like = n.has_input(2) ? n.input(2) : n.input(0);
    const Dim length = like.dims.at(n.has_input(2) ? 0 : 1);
    if (!length->is_integer_constant())
      fail_import(Code::kUNSUPPORTED_NODE_DYNAMIC, "the length of a frame must be constant");
    op->frame_length = length->value.integer;
  }
  op->one_sided = n.flag("onesided", true);
  std::vector<Value*> inputs{&with_parts(n, n.input(0))};
  if (n.has_input(2)) {
    inputs.push_back(nullptr);
    inputs.push_back(&n.input(2));
  }
  n.set_output(0, n.add(std::move(op), std::move(inputs)));
}

TENON_IMPORT(HannWindow, 17, "the size must be constant") {
  import_window(n, 0.5, 0.5, 0);
}
TENON_IMPORT(HammingWindow, 17, "the size must be constant") {
  import_window(n, 25.0 / 46, 21.0 / 46, 0);
}
TENON_IMPORT(BlackmanWindow, 17, "the size must be constant") {
  import_window(n, 0.42, 0.5, 0.08);
}

TENON_IMPORT(MelWeightMatrix, 17, "inputs must be constant") {
  n.expect_inputs(5, 5);
  const int64_t bands = count(n, 0, "the number of mel bands", 1);
  const int64_t length = count(n, 1, "the length of the transform", 1);
  const double rate = number(n, 2, "the sample rate");
  require(rate > 0, "the sample rate is {}", rate);
  const auto points = mel_points(bands, length, rate, number(n, 3, "the lower frequency"),
                                 number(n, 4, "the upper frequency"));
  const int64_t bins = length / 2 + 1;
  require(bins <= kMaxBins / bands, "a matrix of {}x{} is too large", bins, bands);
  std::vector<float> matrix(static_cast<size_t>(bins * bands));
  const auto set = [&](int64_t bin, int64_t band, int64_t part, int64_t whole) {
    matrix[static_cast<size_t>(bin * bands + band)] =
        static_cast<float>(static_cast<double>(part) / static_cast<double>(whole));
  };
  for (int64_t i = 0; i < bands; ++i) {
    const auto k = static_cast<size_t>(i);
    const int64_t left = points[k], centre = points[k + 1], right = points[k + 2];
    if (left == centre) set(centre, i, 1, 1);
    for (int64_t j = left; j <= centre && left != centre; ++j) set(j, i, j - left, centre - left);
    for (int64_t j = centre; j < right; ++j) set(j, i, right - j, right - centre);
  }
  n.set_output(0, numbers(n, Shape{bins, bands}, matrix));
}

}  // namespace tenon
