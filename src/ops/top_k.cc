#include "ops/top_k.h"

#include <algorithm>
#include <bit>

#include "ops/support/implicit_batch.h"
#include "ops/support/infer.h"
#include "ops/support/order.h"
#include "ops/support/scratch.h"

namespace tenon {

using nvinfer1::TopKOperation;

TENON_REGISTER_OP(TopK);

void TopK::visit(FieldVisitor& v) {
  v("operation", operation);
  v("k", k);
  v("axes", axes);
  v("index_type", index_type);
  v("last_index", last_index);
  v("nans_first", nans_first);
}

namespace {

int axis_of(uint32_t axes, int rank) {
  require(std::has_single_bit(axes) && (rank >= 32 || axes >> rank == 0),
          "expected a mask of one axis of {} dimensions, found {:#x}", rank, axes);
  return std::countr_zero(axes);
}

Dim wanted(const TopK& op, Inference& c) {
  if (!c.has_input(1)) return c.pool().constant(op.k);
  require_index(c, 1, "k");
  require_count(c, 1, "k", 1);
  const Content& content = c.known_content(1, "k");
  require(content.size() == 1, "expected one element in k (input 1), found {}", content.size());
  return content[0];
}

// An element of a row: what orders it, and its position.
struct Entry {
  int64_t key, position;
};

// Rows along an axis: `outer` times `inner` of them, of `length` elements that are `inner` apart.
struct Rows {
  int64_t outer, length, inner, k;
  bool smallest, last_index;
  int32_t nan;  // the key of NaNs

  template <class T> OrderKey<T> key(T x) const {
    const OrderKey<T> key = order_key(x, nan);
    return smallest ? ~key : key;  // reverses the order
  }
  bool before(const Entry& a, const Entry& b) const {
    if (a.key != b.key) return a.key > b.key;
    return last_index ? a.position > b.position : a.position < b.position;
  }
};

// What is better than the best so far, without branches.
template <class T>
void take_better(const Rows& rows, const T* from, int32_t position, int64_t width,
                 OrderKey<T>* best, int32_t* at) {
  const OrderKey<T> flip = rows.smallest ? -1 : 0;
  const bool last = rows.last_index;
  const int32_t nan = rows.nan;
  for (int64_t i = 0; i < width; ++i) {
    const OrderKey<T> key = order_key(from[i], nan) ^ flip;
    const bool better = last ? key >= best[i] : key > best[i];
    best[i] = better ? key : best[i];
    at[i] = better ? position : at[i];
  }
}

// One element of each row: rows side by side are scanned together, as they lie in memory.
template <class T, class Index>
void select_one(const Rows& rows, const T* data, T* values, Index* indices) {
  constexpr int64_t kBlock = 1024;
  const int64_t blocks = (rows.inner + kBlock - 1) / kBlock;
  const int64_t work = rows.length * std::min(rows.inner, kBlock);
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, work));
  parallel_for(rows.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    OrderKey<T> best[kBlock];
    int32_t at[kBlock];
    for (int64_t task = begin; task < end; ++task) {
      const int64_t outer = task / blocks, first = task % blocks * kBlock;
      const int64_t width = std::min(kBlock, rows.inner - first);
      const T* from = data + outer * rows.length * rows.inner + first;
      for (int64_t i = 0; i < width; ++i) best[i] = rows.key(from[i]);
      std::fill_n(at, width, 0);
      for (int64_t position = 1; position < rows.length; ++position)
        take_better(rows, from + position * rows.inner, static_cast<int32_t>(position), width, best,
                    at);
      for (int64_t i = 0; i < width; ++i) {
        const int64_t to = outer * rows.inner + first + i;
        values[to] = from[at[i] * rows.inner + i];
        indices[to] = static_cast<Index>(at[i]);
      }
    }
  });
}

template <class T, class Index>
void select_many(const Rows& rows, const T* data, T* values, Index* indices, Entry* scratch) {
  const auto order = [&](const Entry& a, const Entry& b) { return rows.before(a, b); };
  const int64_t count = rows.outer * rows.inner, tasks = scratch_tasks(count);
  const int64_t each = (count + tasks - 1) / tasks;
  const int64_t grain = std::max<int64_t>(1, 8192 / (rows.length * each));
  parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
    Entry* const entries = scratch + begin * rows.length;
    for (int64_t row = begin * each; row < std::min(end * each, count); ++row) {
      const int64_t outer = row / rows.inner, inner = row % rows.inner;
      const T* from = data + outer * rows.length * rows.inner + inner;
      for (int64_t i = 0; i < rows.length; ++i) entries[i] = {rows.key(from[i * rows.inner]), i};
      // A heap is fast for few elements, sorting for many.
      if (rows.k * 8 < rows.length)
        std::partial_sort(entries, entries + rows.k, entries + rows.length, order);
      else
        std::sort(entries, entries + rows.length, order);
      for (int64_t i = 0; i < rows.k; ++i) {
        const int64_t to = (outer * rows.k + i) * rows.inner + inner;
        values[to] = from[entries[i].position * rows.inner];
        indices[to] = static_cast<Index>(entries[i].position);
      }
    }
  });
}

Rows rows_of(const TopK& op, const ReferenceCall& call) {
  const Shape& shape = call.inputs[0].shape;
  const int axis = axis_of(op.axes, shape.rank());
  return {shape.volume(0, axis),
          shape[axis],
          shape.volume(axis + 1, shape.rank()),
          call.outputs[0].shape[axis],
          op.operation == TopKOperation::kMIN,
          op.last_index,
          op.nans_first && op.operation == TopKOperation::kMIN ? kNanIsLeast : kNanIsGreatest};
}

}  // namespace

void TopK::infer(Inference& c) const {
  require_inputs(c, 1, 2);
  require(operation == TopKOperation::kMAX || operation == TopKOperation::kMIN,
          "expected a TopKOperation (0 or 1), found {}", static_cast<int32_t>(operation));
  require(c.type(0) != DataType::kBOOL && bits_of(c.type(0)) >= 8,
          "expected numbers of 8 bits or more, found {}", name_of(c.type(0)));
  require(index_type == DataType::kINT32 || index_type == DataType::kINT64,
          "expected indices of type int32 or int64, found {}", name_of(index_type));
  const auto axis = static_cast<size_t>(axis_of(axes, c.rank(0)));
  Dims dims = c.dims(0);
  const Dim count = wanted(*this, c);
  if (count->is_integer_constant())
    require(
        count->value.integer >= 0
            && (!dims[axis]->is_constant() || count->value.integer <= dims[axis]->value.integer),
        "expected k from 0 to the extent of axis {}, {}, found {}", axis, text_of(dims[axis]),
        text_of(count));
  dims[axis] = count;
  c.set_output(0, c.type(0), dims);
  c.set_output(1, index_type, std::move(dims));
}

size_t TopK::scratch_bytes(const ReferenceCall& call) const {
  const Rows rows = rows_of(*this, call);
  if (rows.k <= 1) return 0;
  return static_cast<size_t>(scratch_tasks(rows.outer * rows.inner) * rows.length) * sizeof(Entry);
}

void TopK::run(const ReferenceCall& call, std::byte* scratch) const {
  const TensorView &data = call.inputs[0], &values = call.outputs[0], &indices = call.outputs[1];
  const Rows rows = rows_of(*this, call);
  const int axis = axis_of(axes, data.shape.rank());
  Shape expected = data.shape;
  expected[axis] = rows.k;
  require_output(values, expected);
  require_output(indices, expected);
  require(rows.k <= rows.length, "expected k from 0 to the extent of axis {}, {}, found {}", axis,
          rows.length, rows.k);
  if (expected.volume() == 0) return;
  require(rows.length <= INT32_MAX, "axis {} has {} elements; at most {} can be selected from",
          axis, rows.length, INT32_MAX);
  with_type(data.type, [&](auto zero) {
    using T = decltype(zero);
    const auto select = [&](auto* index) {
      if (rows.k == 1)
        select_one(rows, data.as<T>(), values.as<T>(), index);
      else
        select_many(rows, data.as<T>(), values.as<T>(), index, reinterpret_cast<Entry*>(scratch));
    };
    if (indices.type == DataType::kINT64)
      select(indices.as<int64_t>());
    else
      select(indices.as<int32_t>());
  });
}

void TopK::insert_batch_axis(int32_t) {
  axes = behind_batch(axes);
}

}  // namespace tenon
