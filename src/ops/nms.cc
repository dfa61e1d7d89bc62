#include "ops/nms.h"

#include <algorithm>
#include <bit>

#include "ops/support/infer.h"
#include "ops/support/read_integer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Nms);

void Nms::visit(FieldVisitor& v) {
  v("format", format);
  v("top_k_box_limit", top_k_box_limit);
  v("indices_type", indices_type);
  v("classes_first", classes_first);
}

namespace {

// Boxes of one class and their scores; the steps count floats from one to the next.
struct ScoredBoxes {
  const float* boxes = nullptr;
  int64_t box_step = 4;
  const float* scores = nullptr;
  int64_t score_step = 1;
  int64_t count = 0;  // below 2^32
};

// Integers that order as (score, lower index first) do.
uint64_t sort_key(float score, int64_t index) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 becomes 0
  const uint32_t ordered = bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
  return uint64_t{ordered} << 32 | (0xffffffffu - static_cast<uint32_t>(index));
}

uint32_t index_of(uint64_t key) {
  return 0xffffffffu - static_cast<uint32_t>(key);
}

std::vector<uint64_t> candidates(const ScoredBoxes& boxes, float min_score) {
  std::vector<uint64_t> keys;
  for (int64_t i = 0; i < boxes.count; ++i) {
    const float score = boxes.scores[i * boxes.score_step];
    if (score > min_score) keys.push_back(sort_key(score, i));
  }
  return keys;
}

struct Corners {
  float x1, y1, x2, y2;
  float area() const { return (x2 - x1) * (y2 - y1); }
};

Corners corners_of(const float* b, BoundingBoxFormat format) {
  if (format == BoundingBoxFormat::kCENTER_SIZES)
    return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

// Boxes kept so far, an array per coordinate so that a box is compared with many at a time.
class KeptBoxes {
 public:
  void add(const Corners& b) {
    x1_.push_back(b.x1);
    y1_.push_back(b.y1);
    x2_.push_back(b.x2);
    y2_.push_back(b.y2);
    area_.push_back(b.area());
  }

  bool overlap(const Corners& b, float threshold) const {
    constexpr size_t kBlock = 32;
    for (size_t begin = 0; begin < area_.size(); begin += kBlock)
      if (overlap(b, threshold, begin, std::min(begin + kBlock, area_.size()))) return true;
    return false;
  }

 private:
  bool overlap(const Corners& b, float threshold, size_t begin, size_t end) const {
    const float area = b.area();
    int found = 0;
    for (size_t i = begin; i < end; ++i) {
      const float width = std::min(x2_[i], b.x2) - std::max(x1_[i], b.x1);
      const float height = std::min(y2_[i], b.y2) - std::max(y1_[i], b.y1);
      const float common = width * height;
      const float ratio = common / (area_[i] + area - common);
      found |= static_cast<int>(width > 0) & static_cast<int>(height > 0)
               & static_cast<int>(ratio > threshold);
    }
    return found != 0;
  }

  std::vector<float> x1_, y1_, x2_, y2_, area_;
};

// The indices of the boxes that are kept, best first; of equal scores the lower index comes first.
// Boxes with a NaN score are not kept.
std::vector<uint32_t> suppress(const ScoredBoxes& boxes, const Suppression& rule) {
  std::vector<uint32_t> indices;
  if (rule.max_boxes <= 0) return indices;
  std::vector<uint64_t> keys = candidates(boxes, rule.min_score);
  const int64_t considered =
      std::min(static_cast<int64_t>(keys.size()), std::max<int64_t>(rule.considered, 0));
  KeptBoxes kept;
  // Only as many of the best are sorted as are looked at.
  int64_t end = 0;
  for (int64_t begin = 0; begin < considered; begin = end) {
    end = std::min(considered, std::max<int64_t>(256, begin * 4));
    const auto first = keys.begin() + begin, last = keys.begin() + end;
    if (last != keys.end()) std::nth_element(first, last, keys.end(), std::greater<>());
    std::sort(first, last, std::greater<>());
    for (auto key = first; key != last; ++key) {
      const uint32_t index = index_of(*key);
      const Corners b = corners_of(boxes.boxes + int64_t{index} * boxes.box_step, rule.format);
      if (kept.overlap(b, rule.overlap)) continue;
      indices.push_back(index);
      if (static_cast<int64_t>(indices.size()) == rule.max_boxes) return indices;
      kept.add(b);
    }
  }
  return indices;
}

void require_equal(Dim a, Dim b, const char* what) {
  require(!a->is_constant() || !b->is_constant() || a == b,
          "expected boxes and scores of the same {}, found {} and {}", what, text_of(a),
          text_of(b));
}

void check_shapes(const Nms& op, const Inference& c) {
  const Dims &boxes = c.dims(0), &scores = c.dims(1);
  require((boxes.size() == 3 || boxes.size() == 4)
              && (!boxes.back()->is_constant() || boxes.back()->value.integer == 4),
          "expected boxes (input 0) of shape (N, boxes, 4) or (N, boxes, classes, 4), found {}",
          text_of(boxes));
  require(scores.size() == 3, "expected scores (input 1) of 3 dimensions, found {}",
          text_of(scores));
  require_equal(boxes[0], scores[0], "batch size");
  require_equal(boxes[1], scores[op.classes_first ? 2 : 1], "number of boxes");
  if (boxes.size() == 3 || (boxes[2]->is_constant() && boxes[2]->value.integer == 1)) return;
  require_equal(boxes[2], scores[op.classes_first ? 1 : 2], "number of classes");
}

// What an input of one number says.
float number_of(std::span<const TensorView> inputs, size_t i, const char* what, float otherwise) {
  if (i >= inputs.size() || inputs[i].data == nullptr) return otherwise;
  require(inputs[i].shape.volume() == 1, "expected one number in {} (input {}), found {}", what, i,
          inputs[i].shape);
  return Floats(inputs[i])[0];
}

template <class T>
void write_indices(T* to, const std::vector<std::vector<uint32_t>>& kept, int64_t classes) {
  for (size_t i = 0; i < kept.size(); ++i)
    for (uint32_t box : kept[i]) {
      *to++ = static_cast<T>(static_cast<int64_t>(i) / classes);
      *to++ = static_cast<T>(static_cast<int64_t>(i) % classes);
      *to++ = static_cast<T>(box);
    }
}

}  // namespace

Suppression Nms::rule_of(std::span<const TensorView> inputs) const {
  require(inputs[2].shape.volume() == 1,
          "expected one number of boxes per class (input 2), found {}", inputs[2].shape.volume());
  Suppression rule;
  rule.max_boxes = read_integer(inputs[2]);
  rule.considered = top_k_box_limit;
  rule.format = format;
  rule.overlap = number_of(inputs, 3, "the largest overlap", 0);
  require(rule.overlap >= 0 && rule.overlap <= 1,
          "expected a largest overlap (input 3) of 0 to 1, found {}", rule.overlap);
  rule.min_score = number_of(inputs, 4, "the score threshold", -INFINITY);
  require(!std::isnan(rule.min_score), "the score threshold (input 4) is NaN");
  return rule;
}

Nms::Sizes Nms::sizes_of(const Shape& boxes, const Shape& scores) const {
  const Sizes sizes{scores[0], scores[classes_first ? 2 : 1], scores[classes_first ? 1 : 2],
                    boxes.rank() == 4 ? boxes[2] : 1};
  require(boxes[0] == sizes.batches && boxes[1] == sizes.boxes && boxes.back() == 4
              && (sizes.box_classes == 1 || sizes.box_classes == sizes.classes),
          "boxes {} do not fit scores {}", boxes, scores);
  require(sizes.boxes <= UINT32_MAX, "{} boxes are more than {}", sizes.boxes, UINT32_MAX);
  return sizes;
}

void Nms::infer(Inference& c) const {
  require_inputs(c, 3, 5);
  require(format == BoundingBoxFormat::kCORNER_PAIRS || format == BoundingBoxFormat::kCENTER_SIZES,
          "expected a BoundingBoxFormat (0 to 1), found {}", static_cast<int32_t>(format));
  require(indices_type == DataType::kINT32 || indices_type == DataType::kINT64,
          "expected indices of type int32 or int64, found {}", name_of(indices_type));
  require(top_k_box_limit > 0, "expected at least one box to look at per class, found {}",
          top_k_box_limit);
  require_float(c, 0, "the boxes");
  require_float(c, 1, "the scores");
  require_index(c, 2, "the number of boxes per class");
  require_count(c, 2, "the number of boxes per class", 1);
  if (c.has_input(3)) require_float(c, 3, "the largest overlap");
  if (c.has_input(4)) require_float(c, 4, "the score threshold");
  check_shapes(*this, c);
  ExprPool& pool = c.pool();
  const Dims& scores = c.dims(1);
  Dim each = pool.min(scores[classes_first ? 2 : 1], pool.constant(top_k_box_limit));
  if (const Content* max_boxes = c.content(2); max_boxes != nullptr && max_boxes->size() == 1)
    each = pool.min(each, pool.max(pool.constant(0), (*max_boxes)[0]));
  const Dim all = pool.mul(pool.mul(scores[0], scores[classes_first ? 1 : 2]), each);
  c.set_output(0, indices_type, {c.data_dependent_extent(0, 0, all), pool.constant(3)});
  c.set_output(1, DataType::kINT32, {});
}

void Nms::reference(const ReferenceCall& call) const {
  const Sizes sizes = sizes_of(call.inputs[0].shape, call.inputs[1].shape);
  const Suppression rule = rule_of(call.inputs);
  const Floats boxes(call.inputs[0]), scores(call.inputs[1]);
  std::vector<std::vector<uint32_t>> kept;
  int64_t total = 0;
  for (int64_t batch = 0; batch < sizes.batches; ++batch)
    for (int64_t kind = 0; kind < sizes.classes; ++kind) {
      ScoredBoxes list;
      list.count = sizes.boxes;
      list.box_step = 4 * sizes.box_classes;
      list.boxes = boxes.data() + batch * sizes.boxes * list.box_step
                   + (sizes.box_classes > 1 ? 4 * kind : 0);
      list.score_step = classes_first ? 1 : sizes.classes;
      list.scores = scores.data() + batch * sizes.boxes * sizes.classes
                    + kind * (classes_first ? sizes.boxes : 1);
      kept.push_back(suppress(list, rule));
      total += static_cast<int64_t>(kept.back().size());
    }
  require(total <= INT32_MAX, "{} boxes were kept, more than an int32 holds", total);
  const TensorView out = call.allocate(0, {total, 3});
  if (indices_type == DataType::kINT32)
    write_indices(out.as<int32_t>(), kept, sizes.classes);
  else
    write_indices(out.as<int64_t>(), kept, sizes.classes);
  *call.outputs[1].as<int32_t>() = static_cast<int32_t>(total);
}

}  // namespace tenon
