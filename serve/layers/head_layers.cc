#include "tenon/serve/head_layers.h"

#include <algorithm>

#include "guard.h"
#include "network_layers.h"

namespace tenon::serve {
namespace {

using nvinfer1::INetworkDefinition;
using Format = YoloLayerOptions::Format;

// What an output must be: extents, or kAny; the batch is any.
constexpr int64_t kAny = -1;

// An output in float32; throws Error unless it has those extents behind the batch.
Term head_of(INetworkDefinition& network, const std::string& name, const Shape& extents,
             const std::string& expected) {
  nvinfer1::ITensor& tensor = chosen_output(network, name);
  const nvinfer1::Dims dims = tensor.getDimensions();
  bool fits = dims.nbDims == static_cast<int32_t>(extents.size()) + 1;
  for (size_t i = 0; fits && i < extents.size(); ++i)
    fits = dims.d[i + 1] > 0 && (extents[i] == kAny || extents[i] == dims.d[i + 1]);
  if (!fits)
    throw Error{std::string("output '") + tensor.getName() + "' is of shape " + dims_text(dims)
                + ": expected (N, " + expected + ")"};
  return Term(network, tensor).cast(DataType::kFLOAT);
}

void check_stride(int stride) {
  if (stride < 1) throw Error{"a stride of " + std::to_string(stride) + ": expected 1 or more"};
}

template <class Levels> void check_levels(const Levels& levels) {
  if (levels.empty()) throw Error{"no level of outputs: expected one or more"};
}

std::string pixels_text(int64_t width, int64_t height) {
  return "an input of " + std::to_string(width) + "x" + std::to_string(height) + " pixels";
}

void check_input(int64_t width, int64_t height) {
  constexpr int64_t kMaxSide = 1 << 14;
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide)
    throw Error{pixels_text(width, height) + ": expected 1 to 16384 a side"};
}

int64_t cells_along(int64_t side, int stride) {
  return (side + stride - 1) / stride;
}

// The outputs are no longer the network's, but the boxes are.
YoloLayerOptions replaced(INetworkDefinition& network, const std::vector<std::string>& outputs,
                          const Term& boxes, Format format) {
  std::vector<nvinfer1::ITensor*> old;
  for (const std::string& name : outputs) old.push_back(&chosen_output(network, name));
  YoloLayerOptions options;
  options.output = "undecoded boxes";
  options.format = format;
  replace_outputs(network, old, {{options.output, &boxes.tensor()}});
  return options;
}

template <class Levels> std::vector<std::string> names_of(const Levels& levels) {
  std::vector<std::string> names;
  for (const auto& level : levels) names.push_back(level.name);
  return names;
}

// (…, 2) and (…, 2) as centres and extents, of the upper left and the lower right corner.
std::pair<Term, Term> centres_of(const Term& first, const Term& last) {
  return {(first + last) * 0.5F, last - first};
}

// (N, anchors * cells, 5 + classes) of a level with anchors.
Term rows_of(INetworkDefinition& network, const AnchorOutput& level, AnchorCoding coding) {
  check_stride(level.stride);
  const auto anchors = static_cast<int64_t>(level.anchors.size());
  if (anchors == 0) throw Error{"level '" + level.name + "' has no anchors: expected one or more"};
  const std::string expected = std::to_string(anchors) + " * (5 + classes), height, width";
  const Term head = head_of(network, level.name, {kAny, kAny, kAny}, expected);
  const int64_t channels = head.size(1) / anchors, height = head.size(2), width = head.size(3);
  if (head.size(1) % anchors != 0 || channels < 6)
    throw Error{"output '" + level.name + "' has " + std::to_string(head.size(1))
                + " channels: expected " + expected};
  const Term t = head.reshape({0, anchors, channels, height * width}).permute({0, 1, 3, 2});
  std::vector<float> widths, heights;
  for (const auto& [w, h] : level.anchors) {
    widths.push_back(w);
    heights.push_back(h);
  }
  const Shape each{1, anchors, 1, 1};
  const Term anchor =
      Term::concat({Term::of(network, widths, each), Term::of(network, heights, each)}, 3);
  const Term cell = cells_of(network, width, height, 4, 2);
  const auto stride = static_cast<float>(level.stride);
  const Term offset = t.slice(3, 0, 2).sigmoid(), extent = t.slice(3, 2, 2);
  const Term twice = extent.sigmoid() * 2.F;
  const bool is_v3 = coding == AnchorCoding::kV3;
  const Term centre = ((is_v3 ? offset : offset * 2.F + -0.5F) + cell) * stride;
  const Term extents = (is_v3 ? extent.exp() : twice * twice) * anchor;
  return Term::concat({centre, extents, t.slice(3, 4, channels - 4).sigmoid()}, 3)
      .reshape({0, anchors * height * width, channels});
}

// (N, cells, 4 + classes) of a level of distributions.
Term rows_of(INetworkDefinition& network, const DistributionOutput& level, int64_t bins) {
  check_stride(level.stride);
  const std::string expected = "4 * " + std::to_string(bins) + " + classes, height, width";
  const Term head = head_of(network, level.name, {kAny, kAny, kAny}, expected);
  const int64_t channels = head.size(1), height = head.size(2), width = head.size(3);
  if (channels <= 4 * bins)
    throw Error{"output '" + level.name + "' has " + std::to_string(channels)
                + " channels: expected " + expected};
  const int64_t cells = height * width;
  const Term t = head.reshape({0, channels, cells}).permute({0, 2, 1});
  const Term shares = t.slice(2, 0, 4 * bins).reshape({0, cells, 4, bins}).softmax(3);
  const Term distance = (shares * Term::count_up(network, {1, 1, 1, bins})).sum_over(3);
  const Term middle = cells_of(network, width, height, 3, 1) + 0.5F;
  const auto stride = static_cast<float>(level.stride);
  const auto [centre, extents] = centres_of((middle - distance.slice(2, 0, 2)) * stride,
                                            (middle + distance.slice(2, 2, 2)) * stride);
  return Term::concat({centre, extents, t.slice(2, 4 * bins, channels - 4 * bins).sigmoid()}, 2);
}

// A face's numbers in the order of append_yolo: (N, rows, 15) to (N, 15, rows).
YoloLayerOptions faces_of(INetworkDefinition& network, const std::vector<std::string>& outputs,
                          std::span<const Term> rows) {
  YoloLayerOptions options =
      replaced(network, outputs, Term::concat(rows, 1).permute({0, 2, 1}), Format::kV8);
  options.keypoints = 5;
  options.keypoint_numbers = 2;
  return options;
}

// x and y of each of five landmarks, from two numbers that count for all of them.
Term five_times(const Term& pair) {
  return Term::concat({pair, pair, pair, pair, pair}, pair.rank() - 1);
}

}  // namespace

Result<YoloLayerOptions> append_anchors(INetworkDefinition& network,
                                        std::span<const AnchorOutput> levels,
                                        AnchorCoding coding) noexcept {
  return session::guard([&] {
    check_levels(levels);
    std::vector<Term> rows;
    for (const AnchorOutput& level : levels) rows.push_back(rows_of(network, level, coding));
    return replaced(network, names_of(levels), Term::concat(rows, 1), Format::kV5);
  });
}

Result<YoloLayerOptions> append_distributions(INetworkDefinition& network,
                                              std::span<const DistributionOutput> levels,
                                              int64_t bins) noexcept {
  return session::guard([&] {
    check_levels(levels);
    if (bins < 1 || bins > 1 << 10)
      throw Error{std::to_string(bins) + " bins of a distance: expected 1 to 1024"};
    std::vector<Term> rows;
    for (const DistributionOutput& level : levels) rows.push_back(rows_of(network, level, bins));
    return replaced(network, names_of(levels), Term::concat(rows, 1).permute({0, 2, 1}),
                    Format::kV8);
  });
}

Result<YoloLayerOptions> append_yolox(INetworkDefinition& network, const std::string& output,
                                      std::span<const int> strides, int64_t input_width,
                                      int64_t input_height) noexcept {
  return session::guard([&] {
    check_levels(strides);
    check_input(input_width, input_height);
    std::vector<Term> cells, steps;
    int64_t count = 0;
    for (const int stride : strides) {
      check_stride(stride);
      if (input_width % stride != 0 || input_height % stride != 0)
        throw Error{pixels_text(input_width, input_height)
                    + ": expected multiples of its strides, as " + std::to_string(stride)};
      const int64_t width = input_width / stride, height = input_height / stride;
      const auto step = static_cast<float>(stride);
      cells.push_back(cells_of(network, width, height, 3, 1) * step);
      steps.push_back(Term::count_up(network, {1, width * height, 1}) * 0.F + step);
      count += width * height;
    }
    const std::string expected = std::to_string(count) + ", 5 + classes";
    const Term t = head_of(network, output, {count, kAny}, expected);
    if (t.size(2) < 6) throw Error{"rows of fewer than 6 numbers: expected (N, " + expected + ")"};
    const Term stride = Term::concat(steps, 1);
    const Term centre = t.slice(2, 0, 2) * stride + Term::concat(cells, 1);
    const Term extents = t.slice(2, 2, 2).exp() * stride;
    return replaced(network, {output},
                    Term::concat({centre, extents, t.slice(2, 4, t.size(2) - 4)}, 2), Format::kV5);
  });
}

Result<YoloLayerOptions> append_retina_face(INetworkDefinition& network,
                                            const RetinaFaceOutputs& outputs, int64_t input_width,
                                            int64_t input_height,
                                            std::span<const PriorLevel> priors) noexcept {
  return session::guard([&] {
    check_levels(priors);
    check_input(input_width, input_height);
    std::vector<Term> middles, squares;
    int64_t count = 0;
    for (const PriorLevel& level : priors) {
      check_stride(level.stride);
      const auto sides = static_cast<int64_t>(level.sides.size());
      if (sides == 0) throw Error{"a level of no priors: expected one side or more"};
      const int64_t width = cells_along(input_width, level.stride);
      const int64_t height = cells_along(input_height, level.stride);
      const Term cell = cells_of(network, width, height, 4, 1);
      const Term none = Term::count_up(network, {1, width * height, 1, 1}) * 0.F;
      const Term side = Term::of(network, level.sides, {1, 1, sides, 1});
      const Term middle = (cell + 0.5F) * static_cast<float>(level.stride) + side * 0.F;
      middles.push_back(middle.reshape({0, width * height * sides, 2}));
      squares.push_back((none + side).reshape({0, width * height * sides, 1}));
      count += width * height * sides;
    }
    const auto head = [&](const std::string& name, int64_t numbers) {
      return head_of(network, name, {count, numbers},
                     std::to_string(count) + ", " + std::to_string(numbers));
    };
    const Term boxes = head(outputs.boxes, 4), scores = head(outputs.scores, 2);
    const Term landmarks = head(outputs.landmarks, 10);
    const Term middle = Term::concat(middles, 1), side = Term::concat(squares, 1);
    const Term tenth = side * 0.1F;  // SSD's variances are a tenth and a fifth
    const Term centre = boxes.slice(2, 0, 2) * tenth + middle;
    const Term extents = (boxes.slice(2, 2, 2) * 0.2F).exp() * side;
    const Term points = landmarks * tenth + five_times(middle);
    const Term rows = Term::concat({centre, extents, scores.slice(2, 1, 1), points}, 2);
    return faces_of(network, {outputs.boxes, outputs.scores, outputs.landmarks},
                    std::span(&rows, 1));
  });
}

Result<YoloLayerOptions> append_scrfd(INetworkDefinition& network,
                                      std::span<const ScrfdOutput> levels, int64_t input_width,
                                      int64_t input_height) noexcept {
  return session::guard([&] {
    check_levels(levels);
    check_input(input_width, input_height);
    std::vector<Term> rows;
    std::vector<std::string> names;
    for (const ScrfdOutput& level : levels) {
      check_stride(level.stride);
      const int64_t width = cells_along(input_width, level.stride);
      const int64_t height = cells_along(input_height, level.stride), cells = width * height;
      const auto head = [&](const std::string& name, int64_t numbers) {
        nvinfer1::ITensor& tensor = chosen_output(network, name);
        const nvinfer1::Dims dims = tensor.getDimensions();
        const int first = dims.nbDims - 2;
        if (first < 0 || first > 1 || dims.d[first + 1] != numbers || dims.d[first] < 1
            || dims.d[first] % cells != 0)
          throw Error{"output '" + name + "' is of shape " + dims_text(dims)
                      + ": expected ([N,] a multiple of " + std::to_string(cells)
                      + " anchors for stride " + std::to_string(level.stride) + ", "
                      + std::to_string(numbers) + ")"};
        const int64_t each = dims.d[first] / cells;
        return Term(network, tensor)
            .cast(DataType::kFLOAT)
            .reshape({first == 0 ? 1 : 0, cells, each, numbers});
      };
      const Term boxes = head(level.boxes, 4), scores = head(level.scores, 1);
      const Term landmarks = head(level.landmarks, 10);
      const Term cell = cells_of(network, width, height, 4, 1);
      const auto stride = static_cast<float>(level.stride);
      const auto [centre, extents] = centres_of((cell - boxes.slice(3, 0, 2)) * stride,
                                                (cell + boxes.slice(3, 2, 2)) * stride);
      const Term points = (landmarks + five_times(cell)) * stride;
      rows.push_back(Term::concat({centre, extents, scores, points}, 3)
                         .reshape({0, cells * scores.size(2), 15}));
      names.insert(names.end(), {level.boxes, level.scores, level.landmarks});
    }
    return faces_of(network, names, rows);
  });
}

namespace {

// (N, planes, height, width) as (N, cells, planes).
Term rows_of_planes(INetworkDefinition& network, const std::string& name, int64_t planes,
                    int64_t height, int64_t width) {
  const std::string expected =
      std::to_string(planes) + ", " + std::to_string(height) + ", " + std::to_string(width);
  return head_of(network, name, {planes, height, width}, expected)
      .reshape({0, planes, height * width})
      .permute({0, 2, 1});
}

}  // namespace

Result<YoloLayerOptions> append_center_net(INetworkDefinition& network,
                                           const CenterNetOutputs& outputs) noexcept {
  return session::guard([&] {
    check_stride(outputs.stride);
    const Term given = head_of(network, outputs.heat, {kAny, kAny, kAny}, "classes, height, width");
    const int64_t classes = given.size(1), height = given.size(2), width = given.size(3);
    const int64_t cells = height * width;
    if (outputs.max_peaks < 1 || outputs.max_peaks > 3840 || outputs.max_peaks > classes * cells)
      throw Error{std::to_string(outputs.max_peaks) + " peaks: expected 1 to "
                  + std::to_string(std::min<int64_t>(3840, classes * cells))};
    const Term heat = outputs.is_logit ? given.sigmoid() : given;
    const auto [score, index] = heat.where_equal(heat.highest_around())
                                    .reshape({0, classes * cells})
                                    .best(outputs.max_peaks);
    const Term kind = index.floor_divided(static_cast<float>(cells));
    const Term cell = index - kind * static_cast<float>(cells);
    const Term row = cell.floor_divided(static_cast<float>(width));
    const auto column = [&](const Term& numbers) {
      return numbers.cast(DataType::kFLOAT).reshape({0, outputs.max_peaks, 1});
    };
    const Term at = cell.reshape({0, 1, outputs.max_peaks});
    const auto pair = [&](const std::string& name) {
      return rows_of_planes(network, name, 2, height, width)
          .permute({0, 2, 1})
          .gather_last(Term::concat({at, at}, 1))
          .permute({0, 2, 1});
    };
    const auto stride = static_cast<float>(outputs.stride);
    const Term corner =
        Term::concat({column(cell - row * static_cast<float>(width)), column(row)}, 2);
    const Term centre = (corner + pair(outputs.offsets)) * stride;
    const Term half = pair(outputs.extents) * (0.5F * stride);
    return replaced(network, {outputs.heat, outputs.extents, outputs.offsets},
                    Term::concat({centre - half, centre + half, column(score), column(kind)}, 2),
                    Format::kV10);
  });
}

Result<YoloLayerOptions> append_center_face(INetworkDefinition& network,
                                            const CenterFaceOutputs& outputs) noexcept {
  return session::guard([&] {
    check_stride(outputs.stride);
    const Term heat = head_of(network, outputs.heat, {1, kAny, kAny}, "1, height, width");
    const int64_t height = heat.size(2), width = heat.size(3);
    const auto rows = [&](const std::string& name, int64_t planes) {
      return rows_of_planes(network, name, planes, height, width);
    };
    // Rows come before columns there.
    const auto swapped = [](const Term& numbers, int64_t pair) {
      return Term::concat({numbers.slice(2, 2 * pair + 1, 1), numbers.slice(2, 2 * pair, 1)}, 2);
    };
    const auto stride = static_cast<float>(outputs.stride);
    const Term cell = cells_of(network, width, height, 3, 1) + 0.5F;
    const Term centre = (cell + swapped(rows(outputs.offsets, 2), 0)) * stride;
    const Term extents = swapped(rows(outputs.extents, 2).exp() * stride, 0);
    const Term corner = centre - extents * 0.5F, points = rows(outputs.landmarks, 10);
    std::vector<Term> numbers{centre, extents, heat.reshape({0, height * width, 1})};
    for (int64_t k = 0; k < 5; ++k) numbers.push_back(corner + swapped(points, k) * extents);
    const Term all = Term::concat(numbers, 2);
    return faces_of(network, {outputs.heat, outputs.extents, outputs.offsets, outputs.landmarks},
                    std::span(&all, 1));
  });
}

}  // namespace tenon::serve
