#include "ops/reverse_sequence.h"

#include <cstring>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(ReverseSequence);

void ReverseSequence::visit(FieldVisitor& v) {
  v("batch_axis", batch_axis);
  v("sequence_axis", sequence_axis);
}

void ReverseSequence::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  require_index(c, 1, "the lengths");
  const int batch = normalized_axis(batch_axis, c.rank(0));
  require(batch != normalized_axis(sequence_axis, c.rank(0)),
          "expected two axes, but batch and sequences have the same, {}", batch);
  require(c.rank(1) == 1, "expected one-dimensional lengths (input 1), found {}",
          text_of(c.dims(1)));
  const Dim entries = c.dims(0)[static_cast<size_t>(batch)];
  if (entries->is_integer_constant()) require_count(c, 1, "the lengths", entries->value.integer);
  c.set_output(0, c.type(0), c.dims(0));
}

void ReverseSequence::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  const Shape &shape = in.shape, steps = shape.strides();
  const int batch = normalized_axis(batch_axis, shape.rank());
  const int sequence = normalized_axis(sequence_axis, shape.rank());
  const auto lengths = read_integers(call.inputs[1]);
  require(static_cast<int64_t>(lengths.size()) == shape[batch],
          "expected {} lengths, one for each entry of axis {}, found {}", shape[batch], batch,
          lengths.size());
  for (int64_t length : lengths)
    require(length >= 0 && length <= shape[sequence],
            "expected lengths from 0 to the extent of axis {}, {}, found {}", sequence,
            shape[sequence], length);
  // What lies behind the later of the two axes is copied whole.
  const int last = std::max(batch, sequence);
  const auto bytes = static_cast<int64_t>(element_bytes(in.type)) * steps[last];
  const int64_t rows = shape.volume(0, last + 1);
  if (bytes == 0) return;
  parallel_for(rows, std::max<int64_t>(1, (1 << 16) / bytes), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * steps[last];
      const int64_t time = at / steps[sequence] % shape[sequence];
      const int64_t length = lengths[static_cast<size_t>(at / steps[batch] % shape[batch])];
      const int64_t source = time < length ? length - 1 - time : time;
      const int64_t from = row + (source - time) * (steps[sequence] / steps[last]);
      std::memcpy(out.as<std::byte>() + row * bytes, in.as<std::byte>() + from * bytes,
                  static_cast<size_t>(bytes));
    }
  });
}

}  // namespace tenon
