#include "ops/fourier.h"

#include "ops/support/fourier_transform.h"
#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Fourier);

void Fourier::visit(FieldVisitor& v) {
  v("axis", axis);
  v("inverse", inverse);
  v("one_sided", one_sided);
  v("frame_step", frame_step);
  v("frame_length", frame_length);
}

namespace {

constexpr int kLength = 1, kWindow = 2;
constexpr int64_t kLongest = int64_t{1} << 28;

void check_length(int64_t length) {
  require(length >= 1 && length <= kLongest, "the length of the transform is {}; expected 1 to {}",
          length, kLongest);
}

Dim transform_length(const Fourier& op, Inference& c, size_t axis) {
  if (c.has_input(kLength)) {
    require_index(c, kLength, "the length of the transform");
    const Content& content = c.known_content(kLength, "the length of the transform");
    require(content.size() == 1, "expected one length of the transform, found {}", content.size());
    return content[0];
  }
  const Dim extent = c.dims(0)[axis];
  if (!op.inverse || !op.one_sided) return extent;
  ExprPool& pool = c.pool();
  return pool.mul(pool.constant(2), pool.sub(extent, pool.constant(1)));
}

Dim one_sided_length(ExprPool& pool, Dim length) {
  return pool.add(pool.floor_div(length, pool.constant(2)), pool.constant(1));
}

void infer_frames(const Fourier& op, Inference& c) {
  ExprPool& pool = c.pool();
  const Dims& signal = c.dims(0);
  require(signal.size() == 3, "expected a signal of 3 dimensions, found {}", text_of(signal));
  require(!op.inverse, "frames have no inverse");
  check_length(op.frame_length);
  if (c.has_input(kWindow)) {
    require_type_of_data(c, kWindow, "the window");
    require(c.rank(kWindow) == 1, "expected a window of one dimension, found {}",
            text_of(c.dims(kWindow)));
    require_count(c, kWindow, "the window", op.frame_length);
  }
  require(!signal[1]->is_integer_constant() || signal[1]->value.integer >= op.frame_length,
          "the signal has {} elements; a frame has {}", text_of(signal[1]), op.frame_length);
  const Dim frame = pool.constant(op.frame_length), one = pool.constant(1);
  const Dim frames =
      pool.add(pool.floor_div(pool.sub(signal[1], frame), pool.constant(op.frame_step)), one);
  c.set_output(
      0, c.type(0),
      {signal[0], frames, op.one_sided ? one_sided_length(pool, frame) : frame, pool.constant(2)});
}

}  // namespace

void Fourier::infer(Inference& c) const {
  require_inputs(c, 1, 3);
  require_float(c, 0, "the input");
  require(c.rank(0) >= 2, "expected an input of 2 dimensions or more, found {}",
          text_of(c.dims(0)));
  const Dim last = c.dims(0).back();
  require(last->is_integer_constant() && (last->value.integer == 1 || last->value.integer == 2),
          "expected a last extent of 1 (real) or 2 (complex), found {}", text_of(last));
  require(frame_step >= 0, "the step between frames is {}", frame_step);
  if (frame_step > 0) return infer_frames(*this, c);
  const int along = normalized_axis(axis, c.rank(0));
  require(along != c.rank(0) - 1, "the last axis holds real and imaginary parts");
  const auto at = static_cast<size_t>(along);
  const Dim length = transform_length(*this, c, at);
  if (length->is_integer_constant()) check_length(length->value.integer);
  Dims dims = c.dims(0);
  dims[at] = one_sided && !inverse ? one_sided_length(c.pool(), length) : length;
  dims.back() = c.pool().constant(one_sided && inverse ? 1 : 2);
  c.set_output(0, c.type(0), std::move(dims));
}

namespace {

// Sequences that are read from and written to strided places.
struct Sequences {
  int64_t length;      // of the transform
  int64_t read, step;  // elements there are, and complex or real elements between them
  int64_t written, out_step;
  int64_t parts, out_parts;  // 1 real, 2 complex
  bool inverse, mirrored;    // mirrored: the second half follows from the first
  const float* window = nullptr;
};

template <class T>
void run_one(const Sequences& s, const FourierTransform& transform, const T* from, T* to,
             Complex* sequence, Complex* work) {
  for (int64_t k = 0; k < s.length; ++k) {
    if (k >= s.read) {
      sequence[k] = {};
      continue;
    }
    const T* x = from + k * s.step * s.parts;
    sequence[k] = {load(x[0]), s.parts == 2 ? load(x[1]) : 0.f};
    if (s.window != nullptr) {
      sequence[k].re *= s.window[k];
      sequence[k].im *= s.window[k];
    }
  }
  if (s.mirrored) {
    sequence[0].im = 0;  // as for every real sequence
    if (s.length % 2 == 0) sequence[s.length / 2].im = 0;
    for (int64_t k = s.length / 2 + 1; k < s.length; ++k)
      sequence[k] = {sequence[s.length - k].re, -sequence[s.length - k].im};
  }
  transform.transform(sequence, work, s.inverse);
  const double scale = s.inverse ? 1.0 / static_cast<double>(s.length) : 1;
  for (int64_t k = 0; k < s.written; ++k) {
    T* y = to + k * s.out_step * s.out_parts;
    y[0] = store<T>(sequence[k].re * scale);
    if (s.out_parts == 2) y[1] = store<T>(sequence[k].im * scale);
  }
}

// Calls place(i) for the offsets where sequence i is read and written.
template <class T, class Place>
void run_all(const Sequences& s, const ReferenceCall& call, int64_t count, const Place& place) {
  check_length(s.length);
  if (count == 0) return;
  const FourierTransform transform(s.length);
  const auto size = static_cast<size_t>(s.length + transform.work_size());
  parallel_for(count, std::max<int64_t>(1, 4096 / s.length), [&](int64_t begin, int64_t end) {
    std::vector<Complex> memory(size);
    for (int64_t i = begin; i < end; ++i) {
      const auto [from, to] = place(i);
      run_one(s, transform, call.inputs[0].as<T>() + from, call.outputs[0].as<T>() + to,
              memory.data(), memory.data() + s.length);
    }
  });
}

struct Places {
  int64_t from, to;
};

template <class T> void run_axis(const Fourier& op, const ReferenceCall& call) {
  const Shape &in = call.inputs[0].shape, &out = call.outputs[0].shape;
  const int axis = normalized_axis(op.axis, in.rank());
  const int64_t inner = in.volume(axis + 1, in.rank() - 1), outer = in.volume(0, axis);
  int64_t length = op.inverse && op.one_sided ? 2 * (in[axis] - 1) : in[axis];
  if (call.inputs.size() > kLength && call.inputs[kLength].data != nullptr) {
    const auto given = read_integers(call.inputs[kLength]);
    require(given.size() == 1, "expected one length of the transform, found {}", given.size());
    length = given[0];
  }
  const bool mirrored = op.inverse && op.one_sided;
  Shape expected = in;
  expected[axis] = op.one_sided && !op.inverse ? length / 2 + 1 : length;
  expected[in.rank() - 1] = mirrored ? 1 : 2;
  require_output(call.outputs[0], expected);
  const Sequences s{length,     std::min(in[axis], mirrored ? length / 2 + 1 : length),
                    inner,      out[axis],
                    inner,      in.back(),
                    out.back(), op.inverse,
                    mirrored,   nullptr};
  run_all<T>(s, call, outer * inner, [&](int64_t i) {
    const int64_t o = i / inner, k = i % inner;
    return Places{(o * in[axis] * inner + k) * s.parts, (o * out[axis] * inner + k) * s.out_parts};
  });
}

template <class T> void run_frames(const Fourier& op, const ReferenceCall& call) {
  const Shape &in = call.inputs[0].shape, &out = call.outputs[0].shape;
  require(in.rank() == 3 && in[1] >= op.frame_length, "the signal has {} elements; a frame has {}",
          in.rank() == 3 ? in[1] : 0, op.frame_length);
  const int64_t frames = (in[1] - op.frame_length) / op.frame_step + 1;
  const int64_t written = op.one_sided ? op.frame_length / 2 + 1 : op.frame_length;
  require_output(call.outputs[0], Shape{in[0], frames, written, 2});
  const Floats window(call.inputs.size() > kWindow ? call.inputs[kWindow] : TensorView());
  require(window.data() == nullptr || call.inputs[kWindow].shape.volume() == op.frame_length,
          "the window has {} elements; a frame has {}",
          window.data() == nullptr ? 0 : call.inputs[kWindow].shape.volume(), op.frame_length);
  const Sequences s{op.frame_length, op.frame_length, 1, written, 1, in.back(), 2, false,
                    false,           window.data()};
  run_all<T>(s, call, in[0] * frames, [&](int64_t i) {
    return Places{(i / frames * in[1] + i % frames * op.frame_step) * s.parts,
                  i * out[2] * s.out_parts};
  });
}

}  // namespace

void Fourier::reference(const ReferenceCall& call) const {
  with_float(call.outputs[0].type, [&](auto zero) {
    using T = decltype(zero);
    if (frame_step > 0)
      run_frames<T>(*this, call);
    else
      run_axis<T>(*this, call);
  });
}

}  // namespace tenon
