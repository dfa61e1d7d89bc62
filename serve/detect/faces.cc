#include "tenon/serve/faces.h"

#include "candidates.h"
#include "tenon/kernels/nms.h"

namespace tenon::serve {
namespace {

constexpr std::string_view kRetina = "RetinaFace", kScrfd = "SCRFD", kCenterFace = "CenterFace";

void require_face_options(std::string_view who, const DetectOptions& options, int64_t input_width,
                          int64_t input_height) {
  require_options(who, options);
  require_classes(who, options.classes, 1);
  constexpr int64_t kMaxSide = 1 << 24;  // sums of cells are exact, and as floats too
  if (input_width < 1 || input_height < 1 || input_width > kMaxSide || input_height > kMaxSide)
    fail(who, "an input of 1 to 2^24 pixels a side",
         std::to_string(input_width) + "x" + std::to_string(input_height));
}

void require_rows(std::string_view who, std::string_view what, const View& view, int64_t rows,
                  int64_t numbers) {
  if (view.rank() != 2 || view.size(0) != rows || view.size(1) != numbers)
    fail(who, std::string(what) + " of shape " + session::shape_text({rows, numbers}), view.text());
}

void require_planes(std::string_view what, const View& view, const Shape& shape) {
  if (view.shape() != shape)
    fail(kCenterFace, std::string(what) + " of shape " + session::shape_text(shape), view.text());
}

// The faces of boxes that were kept; landmark_at(index, k) gives one in pixels of the input.
template <class F>
std::vector<Face> faces_of(const std::vector<Box>& boxes, const DetectOptions& options,
                           const F& landmark_at) {
  std::vector<Face> faces;
  for (const Box& box : boxes) {
    Face face{box, {}};
    for (int k = 0; k < 5; ++k)
      face.landmarks[static_cast<size_t>(k)] =
          mapped(options.to_picture, landmark_at(box.index, k));
    faces.push_back(face);
  }
  return faces;
}

// Cells of an input, level by level, and what each of them has several of.
struct FaceCells {
  int64_t end, across, each;
  int stride;

  static FaceCells of(std::string_view who, int64_t begin, int64_t width, int64_t height,
                      int stride, int64_t each) {
    if (stride < 1) fail(who, "a stride of 1 or more", std::to_string(stride));
    const int64_t across = (width + stride - 1) / stride, down = (height + stride - 1) / stride;
    return {begin + across * down * each, across, each, stride};
  }
};

struct FaceCell {
  size_t level;
  int64_t x, y, which;
  int64_t index;  // within the level
};

FaceCell cell_at(const std::vector<FaceCells>& levels, int64_t index) {
  int64_t begin = 0;
  size_t level = 0;
  while (index >= levels[level].end) begin = levels[level++].end;
  const auto& [end, across, each, stride] = levels[level];
  const int64_t cell = (index - begin) / each;
  return {level, cell % across, cell / across, (index - begin) % each, index - begin};
}

}  // namespace

std::vector<PriorLevel> retina_face_priors() {
  return {{8, {16, 32}}, {16, {64, 128}}, {32, {256, 512}}};
}

Result<std::vector<Face>> decode_retina_face(const View& boxes, const View& scores,
                                             const View& landmarks, int64_t input_width,
                                             int64_t input_height,
                                             std::span<const PriorLevel> priors,
                                             const DetectOptions& options) noexcept {
  return session::guard([&] {
    require_face_options(kRetina, options, input_width, input_height);
    if (priors.empty()) fail(kRetina, "one level of priors or more", "none");
    std::vector<FaceCells> levels;
    int64_t count = 0;
    for (const PriorLevel& level : priors) {
      if (level.sides.empty() || level.sides.size() > 1 << 10)
        fail(kRetina, "1 to 1024 sides of priors in each level",
             std::to_string(level.sides.size()));
      levels.push_back(FaceCells::of(kRetina, count, input_width, input_height, level.stride,
                                     static_cast<int64_t>(level.sides.size())));
      count = levels.back().end;
    }
    require_rows(kRetina, "boxes", boxes, count, 4);
    require_rows(kRetina, "scores", scores, count, 2);
    require_rows(kRetina, "landmarks", landmarks, count, 10);

    const Floats offsets(boxes), likelihoods(scores), points(landmarks);
    Candidates candidates(options);
    for (int64_t i = 0; i < count; ++i) candidates.add(likelihoods.data()[2 * i + 1], 0, i);
    struct Prior {
      float x, y, side;
    };
    const auto prior_at = [&](int64_t index) {
      const FaceCell cell = cell_at(levels, index);
      const PriorLevel& level = priors[cell.level];
      const auto stride = static_cast<float>(level.stride);
      return Prior{(static_cast<float>(cell.x) + 0.5F) * stride,
                   (static_cast<float>(cell.y) + 0.5F) * stride,
                   level.sides[static_cast<size_t>(cell.which)]};
    };
    constexpr float kCentre = 0.1F, kExtent = 0.2F;  // SSD's variances
    const auto kept = kept_boxes(std::move(candidates), options, [&](const Candidate& candidate) {
      const Prior prior = prior_at(candidate.index);
      const float* const t = offsets.data() + candidate.index * 4;
      return around(prior.x + t[0] * kCentre * prior.side, prior.y + t[1] * kCentre * prior.side,
                    prior.side * std::exp(t[2] * kExtent), prior.side * std::exp(t[3] * kExtent));
    });
    return faces_of(kept, options, [&](int64_t index, int k) {
      const Prior prior = prior_at(index);
      const float* const t = points.data() + index * 10 + 2L * k;
      return Point{prior.x + t[0] * kCentre * prior.side, prior.y + t[1] * kCentre * prior.side};
    });
  });
}

Result<std::vector<Face>> decode_scrfd(std::span<const ScrfdLevel> levels, int64_t input_width,
                                       int64_t input_height,
                                       const DetectOptions& options) noexcept {
  return session::guard([&] {
    require_face_options(kScrfd, options, input_width, input_height);
    if (levels.empty()) fail(kScrfd, "one level or more", "none");
    std::vector<FaceCells> cells;
    struct Numbers {
      Floats boxes, landmarks;
    };
    std::vector<Numbers> numbers;
    Candidates candidates(options);
    int64_t begin = 0;
    for (const ScrfdLevel& level : levels) {
      const auto one = FaceCells::of(kScrfd, 0, input_width, input_height, level.stride, 1);
      const int64_t anchors = level.scores.count();
      const bool is_column = level.scores.rank() == 2 && level.scores.size(1) == 1;
      if ((level.scores.rank() != 1 && !is_column) || anchors == 0 || anchors % one.end != 0)
        fail(kScrfd,
             "scores of shape (anchors, 1) with a multiple of " + std::to_string(one.end)
                 + " anchors for stride " + std::to_string(level.stride),
             level.scores.text());
      require_rows(kScrfd, "boxes", level.boxes, anchors, 4);
      require_rows(kScrfd, "landmarks", level.landmarks, anchors, 10);
      const Floats scores(level.scores);
      kernels::for_each_above(scores.data(), anchors, options.score_threshold,
                              [&](int64_t i, float score) { candidates.add(score, 0, begin + i); });
      begin += anchors;
      cells.push_back({begin, one.across, anchors / one.end, level.stride});
      numbers.push_back({Floats(level.boxes), Floats(level.landmarks)});
    }
    const auto kept = kept_boxes(std::move(candidates), options, [&](const Candidate& candidate) {
      const FaceCell cell = cell_at(cells, candidate.index);
      const float* const t = numbers[cell.level].boxes.data() + cell.index * 4;
      const auto stride = static_cast<float>(cells[cell.level].stride);
      const auto x = static_cast<float>(cell.x), y = static_cast<float>(cell.y);
      return Box{.left = (x - t[0]) * stride,
                 .top = (y - t[1]) * stride,
                 .right = (x + t[2]) * stride,
                 .bottom = (y + t[3]) * stride};
    });
    return faces_of(kept, options, [&](int64_t index, int k) {
      const FaceCell cell = cell_at(cells, index);
      const float* const t = numbers[cell.level].landmarks.data() + cell.index * 10 + 2L * k;
      const auto stride = static_cast<float>(cells[cell.level].stride);
      return Point{(static_cast<float>(cell.x) + t[0]) * stride,
                   (static_cast<float>(cell.y) + t[1]) * stride};
    });
  });
}

Result<std::vector<Face>> decode_center_face(const View& heat, const View& extents,
                                             const View& offsets, const View& landmarks,
                                             const DetectOptions& options, int stride) noexcept {
  return session::guard([&] {
    require_options(kCenterFace, options);
    require_classes(kCenterFace, options.classes, 1);
    if (stride < 1) fail(kCenterFace, "a stride of 1 or more", std::to_string(stride));
    const int64_t height = heat.size(1), width = heat.size(2), cells = height * width;
    if (heat.rank() != 3 || heat.size(0) != 1)
      fail(kCenterFace, "heat of shape (1, height, width)", heat.text());
    require_planes("extents", extents, {2, height, width});
    require_planes("offsets", offsets, {2, height, width});
    require_planes("landmarks", landmarks, {10, height, width});

    const Floats heats(heat), logarithms(extents), shifts(offsets), points(landmarks);
    Candidates candidates(options);
    kernels::for_each_above(heats.data(), cells, options.score_threshold,
                            [&](int64_t cell, float score) { candidates.add(score, 0, cell); });
    const auto box_at = [&](int64_t cell) {
      const auto step = static_cast<float>(stride);
      const float x = static_cast<float>(cell % width) + shifts.data()[cells + cell] + 0.5F;
      const float y = static_cast<float>(cell / width) + shifts.data()[cell] + 0.5F;
      return around(x * step, y * step, std::exp(logarithms.data()[cells + cell]) * step,
                    std::exp(logarithms.data()[cell]) * step);
    };
    const auto kept = kept_boxes(std::move(candidates), options, [&](const Candidate& candidate) {
      return box_at(candidate.index);
    });
    return faces_of(kept, options, [&](int64_t cell, int k) {
      const Box box = box_at(cell);
      const float* const y = points.data() + 2L * k * cells + cell;
      return Point{box.left + y[cells] * (box.right - box.left),
                   box.top + y[0] * (box.bottom - box.top)};
    });
  });
}

}  // namespace tenon::serve
