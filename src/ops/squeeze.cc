#include "ops/squeeze.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Squeeze);
TENON_REGISTER_OP(Unsqueeze);

namespace {

std::vector<int64_t> constant_axes(const Inference& c) {
  require_inputs(c, 2, 2);
  require_index(c, 1, "the axes");
  require(c.rank(1) <= 1, "expected one-dimensional axes (input 1), found {}", text_of(c.dims(1)));
  const auto axes = constant_integers(c, 1);
  require(axes.has_value(), "expected constant axes (input 1)");
  require(axes->count() <= Shape::kMaxRank, "expected at most {} axes, found {}", Shape::kMaxRank,
          axes->count());
  return axes->integers();
}

// Which of `rank` axes are named; each may be named once.
std::vector<bool> marked(const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> marks(static_cast<size_t>(rank));
  for (int64_t axis : axes) {
    const auto at = static_cast<size_t>(normalized_axis(axis, rank));
    require(!marks[at], "axis {} is named twice", axis);
    marks[at] = true;
  }
  return marks;
}

void set_reshaped(Inference& c, Dims dims) {
  set_output_and_content(c, c.type(0), std::move(dims), {0},
                         [&](const Shape&) { return *c.content(0); });
}

void copy_all(const ReferenceCall& call) {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require(in.shape.volume() == out.shape.volume(), "cannot reshape {} to {}", in.shape, out.shape);
  copy_bytes(out.data, in.data, bytes_of(in.type, in.shape.volume()));
}

}  // namespace

void Squeeze::infer(Inference& c) const {
  const auto removed = marked(constant_axes(c), c.rank(0));
  Dims dims;
  for (size_t i = 0; i < removed.size(); ++i) {
    const Dim d = c.dims(0)[i];
    if (!removed[i])
      dims.push_back(d);
    else
      require(!d->is_constant() || d->value.integer == 1,
              "expected extent 1 along axis {}, which is to be removed, found {}", i, text_of(d));
  }
  set_reshaped(c, std::move(dims));
}

void Squeeze::reference(const ReferenceCall& call) const {
  copy_all(call);
}

void Unsqueeze::infer(Inference& c) const {
  const auto axes = constant_axes(c);
  const int rank = c.rank(0) + static_cast<int>(axes.size());
  require(rank <= Shape::kMaxRank, "the output would have {} dimensions; at most {} are supported",
          rank, Shape::kMaxRank);
  Dims dims;
  size_t next = 0;
  for (bool added : marked(axes, rank))
    dims.push_back(added ? c.pool().constant(1) : c.dims(0)[next++]);
  set_reshaped(c, std::move(dims));
}

void Unsqueeze::reference(const ReferenceCall& call) const {
  copy_all(call);
}

}  // namespace tenon
