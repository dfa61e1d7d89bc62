#include "ops/attention.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"

namespace tenon {

using nvinfer1::AttentionNormalizationOp;

TENON_REGISTER_OP(Attention);

void Attention::visit(FieldVisitor& v) {
  v("normalization", normalization);
  v("scale", scale);
  v("softcap", softcap);
  v("causal", causal);
  v("left_window", left_window);
  v("right_window", right_window);
  v("scores", scores);
  v("decomposable", decomposable);
  constexpr const char* kPrefixes[] = {"query_", "key_", "value_", "result_"};
  for (size_t i = 0; i < std::size(vectors); ++i) vectors[i].visit(v, kPrefixes[i]);
  v("result_shape", result_shape);
  bytes.visit(v, "bytes");
}

void AttentionVectors::visit(FieldVisitor& v, const std::string& prefix) {
  v((prefix + "extents").c_str(), extents);
  v((prefix + "steps").c_str(), steps);
  v((prefix + "offset").c_str(), offset);
}

void AttentionVectors::check(int64_t elements) const {
  require(extents.rank() == 4 && steps.rank() == 4 && offset >= 0,
          "expected vectors of 4 dimensions and as many steps, found {} and {} from {}", extents,
          steps, offset);
  require(extents.volume() <= elements, "there are {} elements in vectors {}, and {} in the tensor",
          extents.volume(), extents, elements);
  if (extents.volume() == 0) return;
  int64_t last = offset;
  for (int i = 0; i < 4; ++i) {
    const int64_t further = extents[i] - 1, room = elements - 1 - last;
    const bool fits = room >= 0 && steps[i] >= 0 && (further == 0 || steps[i] <= room / further);
    require(fits, "vectors {} at steps {} from {} do not lie within {} elements", extents, steps,
            offset, elements);
    last += further * steps[i];
  }
}

bool Attention::has_own_strides() const {
  return std::any_of(std::begin(vectors), std::end(vectors),
                     [](const AttentionVectors& v) { return !v.is_tensor(); });
}

AttentionVectors Attention::vectors_of(size_t operand, const Shape& tensor) const {
  const AttentionVectors& own = vectors[operand];
  if (own.is_tensor()) return {tensor, tensor.strides()};
  own.check(tensor.volume());
  return own;
}

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

bool differ(Dim a, Dim b) {
  return a->is_constant() && b->is_constant() && a != b;
}

// The dimensions of the vectors of input i.
Dims dims_of(const Attention& op, Inference& c, int i) {
  const AttentionVectors& vectors = op.vectors[i];
  if (vectors.is_tensor()) return c.dims(i);
  const auto shape = c.constant_shape(i);
  require(shape.has_value(), "expected input {} of constant shape, found {}", i,
          text_of(c.dims(i)));
  vectors.check(shape->volume());
  Dims dims;
  for (int64_t extent : vectors.extents) dims.push_back(c.pool().constant(extent));
  return dims;
}

void check_mask(const Attention& op, Inference& c) {
  if (!c.has_input(Attention::kMask)) return;
  if (c.type(Attention::kMask) != DataType::kBOOL)
    require_type_of_data(c, Attention::kMask, "the mask");
  const Dims& mask = c.dims(Attention::kMask);
  require(mask.size() <= 4, "expected a mask of at most 4 dimensions, found {}", text_of(mask));
  const Dims q = dims_of(op, c, 0), k = dims_of(op, c, 1);
  const Dims full{q[0], q[1], q[2], k[2]};
  for (size_t i = 0; i < mask.size(); ++i) {
    const size_t axis = 4 - mask.size() + i;
    const bool one = mask[i]->is_integer_constant() && mask[i]->value.integer == 1;
    const bool is_short = axis == 3 && mask[i]->is_integer_constant()
                          && full[3]->is_integer_constant()
                          && mask[i]->value.integer <= full[3]->value.integer;
    require(one || is_short || !differ(mask[i], full[axis]),
            "expected a mask that broadcasts to {}, found {}", text_of(full), text_of(mask));
  }
}

}  // namespace

void Attention::infer(Inference& c) const {
  require_inputs(c, 3, kInputCount);
  require_float(c, 0, "the query");
  require_type_of_data(c, kKey, "the key");
  require_type_of_data(c, kValue, "the value");
  const Dims q = dims_of(*this, c, kQuery), k = dims_of(*this, c, kKey),
             v = dims_of(*this, c, kValue);
  require(q.size() == 4 && k.size() == 4 && v.size() == 4,
          "expected query, key and value of 4 dimensions, found {}, {} and {}", text_of(q),
          text_of(k), text_of(v));
  require(!differ(q[0], k[0]) && !differ(q[0], v[0]) && !differ(k[1], v[1]) && !differ(k[2], v[2])
              && !differ(q[3], k[3]),
          "query {}, key {} and value {} do not fit", text_of(q), text_of(k), text_of(v));
  if (q[1]->is_integer_constant() && k[1]->is_integer_constant())
    require(k[1]->value.integer > 0 && q[1]->value.integer % k[1]->value.integer == 0,
            "{} heads of queries cannot share {} heads of keys", text_of(q[1]), text_of(k[1]));
  require(left_window >= -1 && right_window >= -1, "the windows are {} and {}; expected -1 or more",
          left_window, right_window);
  require(scores >= AttentionScores::kNone && scores <= AttentionScores::kShares,
          "expected scores of -1 to 3, found {}", static_cast<int32_t>(scores));
  check_mask(*this, c);
  for (int i : {+kLengths, +kOffsets}) {
    if (!c.has_input(i)) continue;
    require_index(c, i, i == kLengths ? "the numbers of keys" : "the offsets");
    require(c.rank(i) == 1, "expected input {} of one dimension, found {}", i, text_of(c.dims(i)));
  }
  Dims result{q[0], q[1], q[2], v[3]};
  if (const AttentionVectors& places = vectors[kResult]; !places.is_tensor()) {
    places.check(result_shape.volume());
    for (size_t i = 0; i < result.size(); ++i)
      require(result[i] == c.pool().constant(places.extents[static_cast<int>(i)]),
              "the result is of shape {}, and places are for {}", text_of(result), places.extents);
    require(places.extents.volume() == result_shape.volume(),
            "a result of shape {} does not fill a tensor of shape {}", places.extents,
            result_shape);
    result.clear();
    for (int64_t extent : result_shape) result.push_back(c.pool().constant(extent));
  }
  if (bytes.used) {
    bytes.check();
    require(scores == AttentionScores::kNone, "scores beside bytes are not supported");
  }
  c.set_output(0, bytes.used ? bytes.to : c.type(0), std::move(result));
  if (output_count() > 1) c.set_output(1, c.type(0), {q[0], q[1], q[2], k[2]});
}

AttentionMask::AttentionMask(const Attention& op, std::span<const TensorView> inputs)
    : op_(op), keys_(inputs[Attention::kKey].shape[2]) {
  const Shape& q = inputs[Attention::kQuery].shape;
  const auto given = [&](size_t i) { return i < inputs.size() && inputs[i].data != nullptr; };
  if (given(Attention::kMask)) {
    mask_ = inputs[Attention::kMask];
    const int rank = mask_.shape.rank();
    mask_keys_ = rank == 0 ? 1 : mask_.shape.back();
    mask_key_step_ = mask_keys_ == 1 ? 0 : 1;
    if (mask_keys_ == 1) mask_keys_ = keys_;
    require(mask_keys_ <= keys_, "the mask is for {} keys; there are {}", mask_keys_, keys_);
    Shape leading = mask_.shape, target{q[0], q[1], q[2]};
    if (rank > 0) leading.erase(rank - 1);
    mask_steps_ = broadcast_strides(leading, target);
    for (int i = 0; i < 3; ++i) mask_steps_[i] *= rank == 0 ? 1 : mask_.shape.back();
  }
  const auto read = [&](size_t i, int64_t otherwise) {
    std::vector<int64_t> list(static_cast<size_t>(q[0]), otherwise);
    if (!given(i)) return list;
    const auto values = read_integers(inputs[i]);
    require(values.size() == 1 || values.size() == list.size(),
            "input {} has {} elements for {} batches", i, values.size(), list.size());
    for (size_t k = 0; k < list.size(); ++k) list[k] = values[values.size() == 1 ? 0 : k];
    return list;
  };
  lengths_ = read(Attention::kLengths, keys_);
  offsets_ = read(Attention::kOffsets, 0);
  for (int64_t length : lengths_)
    require(length >= 0 && length <= keys_, "the number of valid keys is {}; expected 0 to {}",
            length, keys_);
  for (int64_t offset : offsets_)
    require(offset >= INT32_MIN && offset <= INT32_MAX, "the offset of the queries is {}", offset);
}

AttentionMask::Row AttentionMask::row(int64_t batch, int64_t head, int64_t query) const {
  const int64_t at = query + offsets_[static_cast<size_t>(batch)];
  int64_t first = 0, end = lengths_[static_cast<size_t>(batch)];
  if (op_.causal) end = std::min(end, at + 1);
  if (op_.right_window >= 0) end = std::min(end, at + std::min(op_.right_window, kMaxWindow) + 1);
  if (op_.left_window >= 0) first = at - std::min(op_.left_window, kMaxWindow);
  if (mask_.data != nullptr) end = std::min(end, mask_keys_);
  end = std::max<int64_t>(end, 0);
  first = std::min(std::max<int64_t>(first, 0), end);
  if (mask_.data == nullptr) return {first, end, mask_.type, nullptr, 0};
  const int64_t element = batch * mask_steps_[0] + head * mask_steps_[1] + query * mask_steps_[2]
                          + first * mask_key_step_;
  const auto* mask = static_cast<const std::byte*>(mask_.data);
  return {first, end, mask_.type, mask + bytes_of(mask_.type, element), mask_key_step_};
}

void AttentionMask::hide_others(const Row& row, float* scores) const {
  std::fill(scores, scores + row.first, kMinusInfinity);
  std::fill(scores + row.end, scores + keys_, kMinusInfinity);
}

bool AttentionMask::apply(const Row& row, float* scores) const {
  hide_others(row, scores);
  if (row.mask == nullptr) return row.first < row.end;
  bool any = false;
  const auto add = [&](const auto* mask, const auto& added_by) {
    for (int64_t k = row.first; k < row.end; ++k, mask += row.step) {
      const float added = added_by(*mask);
      any |= added != kMinusInfinity;
      scores[k] = added == kMinusInfinity ? added : scores[k] + added;
    }
  };
  if (row.type == DataType::kBOOL)
    add(static_cast<const bool*>(row.mask), [](bool seen) { return seen ? 0.f : kMinusInfinity; });
  else
    with_float(row.type, [&](auto zero) {
      add(static_cast<const decltype(zero)*>(row.mask), [](auto value) { return load(value); });
    });
  return any;
}

namespace {

// One head at a time, one query after the other.
class Head {
 public:
  Head(const Attention& op, const ReferenceCall& call, const Floats& q, const Floats& k,
       const Floats& v)
      : op_(op), q_(q), k_(k), v_(v), mask_(op, call.inputs), call_(call) {
    const Shape &query = call.inputs[0].shape, &key = call.inputs[1].shape;
    heads_ = query[1];
    queries_ = query[2];
    size_ = query[3];
    keys_ = key[2];
    width_ = call.inputs[2].shape[3];
    require(key[1] > 0 && heads_ % key[1] == 0, "{} heads of queries cannot share {} heads of keys",
            heads_, key[1]);
    shared_ = heads_ / key[1];
    require(key[3] == size_ && call.inputs[2].shape[2] == keys_ && call.inputs[2].shape[1] == key[1]
                && key[0] == query[0] && call.inputs[2].shape[0] == query[0],
            "query {}, key {} and value {} do not fit", query, key, call.inputs[2].shape);
  }

  template <class T> void run(int64_t head) const {
    const int64_t source = head / heads_ * (heads_ / shared_) + head % heads_ / shared_;
    const float *k = k_.data() + source * keys_ * size_, *v = v_.data() + source * keys_ * width_;
    std::vector<float> scores(static_cast<size_t>(keys_)), sum(static_cast<size_t>(width_));
    for (int64_t i = 0; i < queries_; ++i) {
      const int64_t row = head * queries_ + i;
      const float* q = q_.data() + row * size_;
      for (int64_t s = 0; s < keys_; ++s) {
        double dot = 0;
        for (int64_t e = 0; e < size_; ++e) dot += static_cast<double>(q[e]) * k[s * size_ + e];
        scores[static_cast<size_t>(s)] = op_.scale * static_cast<float>(dot);
      }
      show<T>(AttentionScores::kScaled, row, scores);
      if (op_.softcap > 0)
        for (float& s : scores) s = op_.softcap * std::tanh(s / op_.softcap);
      show<T>(AttentionScores::kCapped, row, scores);
      const bool sees = mask_.apply(mask_.row(head / heads_, head % heads_, i), scores.data());
      show<T>(AttentionScores::kMasked, row, scores);
      take_shares(scores, sees);
      show<T>(AttentionScores::kShares, row, scores);
      std::fill(sum.begin(), sum.end(), 0.f);
      for (int64_t s = 0; s < keys_; ++s)
        if (const float share = scores[static_cast<size_t>(s)]; share != 0)
          for (int64_t e = 0; e < width_; ++e)
            sum[static_cast<size_t>(e)] += share * v[s * width_ + e];
      write<T>(0, row * width_, sum);
    }
  }

 private:
  void take_shares(std::vector<float>& scores, bool sees) const {
    if (op_.normalization == AttentionNormalizationOp::kNONE) {
      // Without a softmax a key that is not seen adds nothing.
      for (float& s : scores)
        if (s == kMinusInfinity) s = 0;
      return;
    }
    if (!sees) {
      std::fill(scores.begin(), scores.end(), 0.f);
      return;
    }
    const float largest = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (float& s : scores) {
      s = std::exp(s - largest);
      total += s;
    }
    for (float& s : scores) s = static_cast<float>(s / total);
  }

  template <class T>
  void show(AttentionScores which, int64_t row, const std::vector<float>& scores) const {
    if (op_.scores == which) write<T>(1, row * keys_, scores);
  }
  template <class T> void write(size_t output, int64_t at, const std::vector<float>& from) const {
    T* to = call_.outputs[output].as<T>() + at;
    for (size_t i = 0; i < from.size(); ++i) to[i] = store<T>(from[i]);
  }

  const Attention& op_;
  const Floats &q_, &k_, &v_;
  AttentionMask mask_;
  const ReferenceCall& call_;
  int64_t heads_, queries_, size_, keys_, width_, shared_;
};

}  // namespace

// The same with dense tensors.
void Attention::reference_strided(const ReferenceCall& call) const {
  Attention plain = *this;
  for (AttentionVectors& v : plain.vectors) v = {};
  std::vector<TensorView> inputs(call.inputs.begin(), call.inputs.end());
  std::vector<TensorView> outputs(call.outputs.begin(), call.outputs.end());
  std::vector<Tensor> dense;
  const size_t bytes = element_bytes(outputs[0].type);
  const auto make = [&](TensorView& view, const Shape& shape) {
    dense.emplace_back(view.type, shape);
    view = view_of(dense.back());
  };
  for (size_t i = 0; i < 3; ++i) {
    if (vectors[i].is_tensor()) continue;
    vectors[i].check(inputs[i].shape.volume());
    const auto* from = inputs[i].as<std::byte>() + static_cast<size_t>(vectors[i].offset) * bytes;
    make(inputs[i], vectors[i].extents);
    copy_indexed(bytes, inputs[i].shape, offset_tables(inputs[i].shape, vectors[i].steps), from,
                 inputs[i].data);
  }
  const AttentionVectors& places = vectors[kResult];
  if (!places.is_tensor()) {
    places.check(outputs[0].shape.volume());
    make(outputs[0], places.extents);
  }
  plain.reference({inputs, outputs, call.allocate_output});
  if (places.is_tensor()) return;
  auto* to = call.outputs[0].as<std::byte>();
  const auto* from = outputs[0].as<std::byte>();
  const Shape& e = places.extents;
  int64_t number = 0;
  for (int64_t n = 0; n < e[0]; ++n)
    for (int64_t h = 0; h < e[1]; ++h)
      for (int64_t l = 0; l < e[2]; ++l)
        for (int64_t i = 0; i < e[3]; ++i, ++number) {
          const Shape& s = places.steps;
          const int64_t at = places.offset + n * s[0] + h * s[1] + l * s[2] + i * s[3];
          std::memcpy(to + at * static_cast<int64_t>(bytes),
                      from + number * static_cast<int64_t>(bytes), bytes);
        }
}

void Attention::reference(const ReferenceCall& call) const {
  if (bytes.used) {
    Attention plain = *this;
    plain.bytes = {};
    const Tensor numbers(call.inputs[kQuery].type, call.outputs[0].shape);
    const TensorView output = view_of(numbers);
    plain.reference({call.inputs, {&output, 1}, call.allocate_output});
    return bytes.quantize(output, call.outputs[0]);
  }
  if (has_own_strides()) return reference_strided(call);
  const Floats q(call.inputs[kQuery]), k(call.inputs[kKey]), v(call.inputs[kValue]);
  const Head heads(*this, call, q, k, v);
  const Shape& shape = call.inputs[kQuery].shape;
  with_float(call.outputs[0].type, [&](auto zero) {
    parallel_for(shape[0] * shape[1], 1, [&](int64_t begin, int64_t end) {
      for (int64_t head = begin; head < end; ++head) heads.run<decltype(zero)>(head);
    });
  });
}

double Attention::operations(std::span<const Shape> inputs, std::span<const Shape>) const {
  const auto extents = [&](Input i) {
    return vectors[i].is_tensor() ? inputs[i] : vectors[i].extents;
  };
  const Shape query = extents(kQuery), key = extents(kKey), value = extents(kValue);
  const double elements = count_of(query) / static_cast<double>(query[3] == 0 ? 1 : query[3])
                          * static_cast<double>(key[2]);
  constexpr double kSoftmax = 5;  // as Softmax
  const bool softmax = normalization == nvinfer1::AttentionNormalizationOp::kSOFTMAX;
  return elements
         * (kMultiplyAdd * static_cast<double>(query[3] + value[3]) + (softmax ? kSoftmax : 0));
}

}  // namespace tenon
