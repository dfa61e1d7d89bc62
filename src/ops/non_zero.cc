#include "ops/non_zero.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(NonZero);

void NonZero::visit(FieldVisitor& v) {
  v("index_type", index_type);
}

namespace {

constexpr int64_t kChunk = 1 << 16;

int64_t chunks_of(const TensorView& in) {
  return (in.shape.volume() + kChunk - 1) / kChunk;
}

template <class T, class Index>
void find(const ReferenceCall& call, const TensorView& in, std::byte* scratch) {
  const T* data = in.as<T>();
  const int64_t total = in.shape.volume(), chunks = chunks_of(in);
  // Chunks are counted first, so that each knows where its columns begin.
  const std::span begins(reinterpret_cast<int64_t*>(scratch), static_cast<size_t>(chunks) + 1);
  std::fill(begins.begin(), begins.end(), 0);
  parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      for (int64_t i = c * kChunk; i < std::min(total, (c + 1) * kChunk); ++i)
        begins[static_cast<size_t>(c) + 1] += load(data[i]) != 0;
  });
  for (size_t c = 1; c < begins.size(); ++c) begins[c] += begins[c - 1];
  const int64_t count = begins.back();
  const int rank = in.shape.rank();
  Index* to = call.allocate(0, {rank, count}).as<Index>();
  parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      int64_t column = begins[static_cast<size_t>(c)];
      int64_t place[Shape::kMaxRank] = {};
      int64_t rest = c * kChunk;
      for (int axis = rank - 1; axis >= 0; rest /= in.shape[axis], --axis)
        place[axis] = rest % in.shape[axis];
      for (int64_t i = c * kChunk; i < std::min(total, (c + 1) * kChunk); ++i) {
        if (load(data[i]) != 0) {
          for (int axis = 0; axis < rank; ++axis)
            to[axis * count + column] = static_cast<Index>(place[axis]);
          ++column;
        }
        for (int axis = rank - 1; axis >= 0 && ++place[axis] == in.shape[axis]; --axis)
          place[axis] = 0;
      }
    }
  });
}

}  // namespace

void NonZero::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require(index_type == DataType::kINT32 || index_type == DataType::kINT64,
          "expected indices of type int32 or int64, found {}", name_of(index_type));
  Dim upper = c.pool().constant(1);
  for (Dim d : c.dims(0)) upper = c.pool().mul(upper, d);
  c.set_output(0, index_type, {c.pool().constant(c.rank(0)), c.data_dependent_extent(0, 1, upper)});
}

size_t NonZero::scratch_bytes(const ReferenceCall& call) const {
  return (static_cast<size_t>(chunks_of(call.inputs[0])) + 1) * sizeof(int64_t);
}

void NonZero::run(const ReferenceCall& call, std::byte* scratch) const {
  with_type(call.inputs[0].type, [&](auto zero) {
    if (index_type == DataType::kINT64)
      find<decltype(zero), int64_t>(call, call.inputs[0], scratch);
    else
      find<decltype(zero), int32_t>(call, call.inputs[0], scratch);
  });
}

}  // namespace tenon
