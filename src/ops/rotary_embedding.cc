#include "ops/rotary_embedding.h"

#include <cstring>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(RotaryEmbedding);

void RotaryEmbedding::visit(FieldVisitor& v) {
  v("interleaved", interleaved);
  v("dimension", dimension);
}

namespace {

constexpr int kCosines = 1, kSines = 2, kPositions = 3;

void check_turned(int64_t turned, int64_t size) {
  require(turned >= 0 && turned % 2 == 0 && turned <= size,
          "{} of {} elements cannot be rotated in pairs", turned, size);
}

bool may_be(Dim d, int64_t value) {
  return !d->is_integer_constant() || d->value.integer == value;
}

}  // namespace

void RotaryEmbedding::infer(Inference& c) const {
  require_inputs(c, 3, 4);
  require_float(c, 0, "the data");
  const Dims& data = c.dims(0);
  require(data.size() == 4, "expected data of 4 dimensions, found {}", text_of(data));
  if (data[3]->is_integer_constant()) {
    const int64_t turned = dimension == 0 ? data[3]->value.integer : dimension;
    check_turned(turned, data[3]->value.integer);
    for (int i : {kCosines, kSines})
      require(c.rank(i) > 0 && may_be(c.dims(i).back(), turned / 2),
              "expected input {} with a last extent of {}, found {}", i, turned / 2,
              text_of(c.dims(i)));
  }
  const bool has_positions = c.has_input(kPositions);
  for (int i : {kCosines, kSines}) {
    require_type_of_data(c, i, i == kCosines ? "the cosines" : "the sines");
    require(c.rank(i) == (has_positions ? 2 : 3), "expected input {} of {} dimensions, found {}", i,
            has_positions ? 2 : 3, text_of(c.dims(i)));
  }
  if (has_positions) {
    require_index(c, kPositions, "the positions");
    require(c.rank(kPositions) == 2, "expected positions of 2 dimensions, found {}",
            text_of(c.dims(kPositions)));
  }
  c.set_output(0, c.type(0), data);
}

namespace {

// Where the cosines and sines of a place lie.
class Angles {
 public:
  Angles(const ReferenceCall& call, int64_t pairs) : pairs_(pairs) {
    const Shape &data = call.inputs[0].shape, &table = call.inputs[kCosines].shape;
    length_ = data[2];
    require(table == call.inputs[kSines].shape && table.rank() >= 2 && table.back() == pairs,
            "cosines {} and sines {} do not fit {} pairs", table, call.inputs[kSines].shape, pairs);
    if (call.inputs.size() > kPositions && call.inputs[kPositions].data != nullptr) {
      const Shape& at = call.inputs[kPositions].shape;
      require(at == (Shape{data[0], length_}), "expected positions {}x{}, found {}", data[0],
              length_, at);
      positions_ = read_integers(call.inputs[kPositions]);
      for (int64_t p : positions_)
        require(p >= 0 && p < table[0], "position {} is outside [0, {})", p, table[0]);
      has_positions_ = true;
      return;
    }
    require(table.rank() == 3 && (table[0] == 1 || table[0] == data[0]) && table[1] == length_,
            "expected cosines of {}x{}x{}, found {}", data[0], length_, pairs, table);
    batch_step_ = table[0] == 1 ? 0 : length_;
  }

  int64_t at(int64_t batch, int64_t place) const {
    const int64_t row = has_positions_ ? positions_[static_cast<size_t>(batch * length_ + place)]
                                       : batch * batch_step_ + place;
    return row * pairs_;
  }

 private:
  int64_t pairs_, length_ = 0, batch_step_ = 0;
  bool has_positions_ = false;
  std::vector<int64_t> positions_;
};

template <class T>
void turn(const T* x, const float* cosines, const float* sines, int64_t pairs, int64_t size,
          bool interleaved, T* y) {
  const int64_t step = interleaved ? 2 : 1, apart = interleaved ? 1 : pairs;
  for (int64_t k = 0; k < pairs; ++k) {
    const float a = load(x[k * step]), b = load(x[k * step + apart]);
    y[k * step] = store<T>(a * cosines[k] - b * sines[k]);
    y[k * step + apart] = store<T>(a * sines[k] + b * cosines[k]);
  }
  std::copy(x + 2 * pairs, x + size, y + 2 * pairs);
}

}  // namespace

void RotaryEmbedding::reference(const ReferenceCall& call) const {
  const Shape& shape = call.inputs[0].shape;
  require_output(call.outputs[0], shape);
  const int64_t size = shape[3], turned = dimension == 0 ? size : dimension;
  check_turned(turned, size);
  const Angles angles(call, turned / 2);
  const Floats cosines(call.inputs[kCosines]), sines(call.inputs[kSines]);
  with_float(call.outputs[0].type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(shape.volume(0, 3), std::max<int64_t>(1, 8192 / std::max<int64_t>(1, size)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t at = angles.at(i / (shape[1] * shape[2]), i % shape[2]);
                     turn(call.inputs[0].as<T>() + i * size, cosines.data() + at, sines.data() + at,
                          turned / 2, size, interleaved, call.outputs[0].as<T>() + i * size);
                   }
                 });
  });
}

}  // namespace tenon
