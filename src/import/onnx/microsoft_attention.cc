// Attention in ONNX Runtime's operators; semantics from its ContribOperators.md.
#include <numeric>

#include "import/onnx/attention.h"
#include "ops/gather.h"
#include "ops/matrix_multiply.h"
#include "ops/shape_of.h"

namespace tenon {
namespace {

using Operation = nvinfer1::ElementWiseOperation;
using Code = nvonnxparser::ErrorCode;

constexpr int64_t kMaxPositions = 1 << 24;

struct Parts {
  Value *query, *key, *value;  // (N, heads, length, size)
  Value *mask = nullptr, *lengths = nullptr, *offset = nullptr;
};

// (N, heads, length, size) of input i, whether it comes so or as (N, length, heads * size).
Value& heads_of(NodeContext& n, Value& x, int64_t heads) {
  return n.rank(x) == 4 ? x : split_heads(n, x, heads);
}

// Index i of an axis, which goes.
Value& pick(NodeContext& n, Value& x, int axis, int64_t i) {
  auto op = std::make_unique<Gather>();
  op->axis = axis;
  return n.add(std::move(op),
               {&x, &n.constant(Tensor::of<int64_t>(DataType::kINT64, Shape{}, std::span(&i, 1)))});
}

Value& extent_of(NodeContext& n, Value& x, int axis) {
  Value& shape = n.add(std::make_unique<ShapeOf>(), {&x});
  Value& one = n.add(std::make_unique<Gather>(), {&shape, &n.integers({axis})});
  return n.cast(one, DataType::kINT64);
}

// A mask of 0 and 1 as numbers to add; (N) are the numbers of keys instead.
void take_mask(NodeContext& n, Parts& parts, Value& mask) {
  if (n.rank(mask) == 1) {
    require(!mask.dims[0]->is_constant() || !parts.query->dims[0]->is_constant()
                || mask.dims[0] == parts.query->dims[0],
            "a mask of {} elements for {} batches is not supported yet", text_of(mask.dims[0]),
            text_of(parts.query->dims[0]));
    parts.lengths = &n.cast(mask, DataType::kINT64);
    return;
  }
  Value& shown = n.cast(mask, parts.query->type);
  const double filter = n.real("mask_filter_value", -10000);
  Value& added =
      n.binary(Operation::kPROD, n.binary(Operation::kSUB, n.scalar(shown, 1), shown), filter);
  parts.mask = n.rank(mask) == 2   ? &n.rearrange(added, {0, -1, -1, 1})
               : n.rank(mask) == 3 ? &n.rearrange(added, {0, -1, 1, 2})
                                   : &added;
}

void add_bias(NodeContext& n, Parts& parts, int input) {
  if (!n.has_input(input)) return;
  Value& bias = n.with_rank(n.cast(n.input(input), parts.query->type), 4);
  parts.mask = parts.mask == nullptr ? &bias : &n.binary(Operation::kSUM, *parts.mask, bias);
}

// The result as (N, length, heads * size).
Value& attend(NodeContext& n, std::unique_ptr<Attention> op, const Parts& parts) {
  std::vector<Value*> inputs{parts.query, parts.key,     parts.value,
                             parts.mask,  parts.lengths, parts.offset};
  while (inputs.back() == nullptr) inputs.pop_back();
  return join_heads(n, n.add(std::move(op), std::move(inputs)));
}

void append_to_past(NodeContext& n, Parts& parts, Value& past_key, Value& past_value) {
  parts.offset = &extent_of(n, past_key, 2);
  parts.key = &concatenate(n, past_key, *parts.key, 2);
  parts.value = &concatenate(n, past_value, *parts.value, 2);
}

// Cosines and sines (1 or N, length, pairs) of the positions: (N, length), or the first of them.
Value& rows_at(NodeContext& n, Value& cache, Value& positions, Value& x) {
  if (n.rank(positions) == 2) return n.add(std::make_unique<Gather>(), {&cache, &positions});
  // The rows from a first position on: a table of 0, 1, … as long as the sequence, moved.
  const int64_t count = constant_extent(cache, 0, "the number of positions");
  require(count <= kMaxPositions, "the cache holds {} positions; at most {} are supported", count,
          kMaxPositions);
  n.charge(static_cast<size_t>(count) * sizeof(int64_t));
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  Value& steps = n.slice(n.integers(numbers), {n.number(0)}, {x.dims[2]}, {n.number(1)});
  Value& at = n.binary(Operation::kSUM, steps, n.cast(positions, DataType::kINT64));
  return n.add(std::make_unique<Gather>(), {&cache, &n.rearrange(at, {-1, 0})});
}

}  // namespace

TENON_IMPORT_MICROSOFT(Attention, "no rotary embedding, no shared buffers") {
  n.expect_inputs(2, 7);
  n.ignore("past_present_share_buffer");
  if (n.flag("do_rotary", false))
    fail_import(Code::kUNSUPPORTED_NODE_ATTR, "attribute 'do_rotary' is not supported yet");
  const int64_t heads = n.integer("num_heads");
  Value& x = n.input(0);
  require(n.rank(x) == 3, "its input has {} dimensions; expected 3", n.rank(x));
  auto product = std::make_unique<MatrixMultiply>();
  std::vector<Value*> operands{&x, &n.with_rank(n.input(1), 3)};
  if (n.has_input(2)) operands.push_back(&n.with_rank(n.input(2), 3));
  Value& all = n.add(std::move(product), std::move(operands));
  std::vector<int64_t> sizes = n.integers_in("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, constant_extent(all, 2, "the size of the weights") / 3);
  require(
      sizes.size() == 3 && sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0
          && sizes[0] + sizes[1] + sizes[2] == constant_extent(all, 2, "the size of the weights"),
      "attribute 'qkv_hidden_sizes' does not fit the weights");
  n.know(all);
  Parts parts{&split_heads(n, part(n, all, 2, 0, sizes[0]), heads),
              &split_heads(n, part(n, all, 2, sizes[0], sizes[1]), heads),
              &split_heads(n, part(n, all, 2, sizes[0] + sizes[1], sizes[2]), heads)};
  auto op = std::make_unique<Attention>();
  op->scale = attention_scale(n, *parts.query);
  op->causal = n.flag("unidirectional", false);
  if (n.has_input(4))
    append_to_past(n, parts, pick(n, n.input(4), 0, 0), pick(n, n.input(4), 0, 1));
  if (n.has_input(3)) take_mask(n, parts, n.input(3));
  add_bias(n, parts, 5);
  if (n.output_is_used(1))
    n.set_output(1, concatenate(n, n.with_rank(*parts.key, 5), n.with_rank(*parts.value, 5), 0));
  n.set_output(0, attend(n, std::move(op), parts));
}

TENON_IMPORT_MICROSOFT(MultiHeadAttention, "no shared buffers, no beams") {
  n.expect_inputs(1, 10);
  const int64_t heads = n.integer("num_heads");
  if (n.has_input(8) || n.has_input(9))
    fail_import(Code::kUNSUPPORTED_NODE_INPUT, "shared caches and beams are not supported yet");
  Value *q = &n.input(0), *k = n.optional_input(1), *v = n.optional_input(2);
  if (n.rank(*q) == 5) {  // (N, length, heads, 3, size)
    const auto slice = [&](int64_t i) { return &n.transpose(pick(n, *q, 3, i), {0, 2, 1, 3}); };
    k = slice(1);
    v = slice(2);
    q = slice(0);
  } else if (k != nullptr && n.rank(*k) == 5) {  // (N, length, heads, 2, size)
    v = &n.transpose(pick(n, *k, 3, 1), {0, 2, 1, 3});
    k = &n.transpose(pick(n, *k, 3, 0), {0, 2, 1, 3});
  }
  require(k != nullptr && v != nullptr, "it has no key or no value");
  if (n.has_input(3)) {  // a bias of queries, keys and values one behind the other
    Value& bias = n.input(3);
    int64_t at = 0;
    for (Value** x : {&q, &k, &v}) {
      if (n.rank(**x) != 3)
        fail_import(Code::kUNSUPPORTED_NODE_INPUT,
                    "a bias with packed inputs is not supported yet");
      const int64_t size = constant_extent(**x, 2, "the size of the heads");
      *x = &n.binary(Operation::kSUM, **x, part(n, bias, 0, at, size));
      at += size;
    }
  }
  Parts parts{&heads_of(n, *q, heads), &heads_of(n, *k, heads), &heads_of(n, *v, heads)};
  auto op = std::make_unique<Attention>();
  op->scale = attention_scale(n, *parts.query);
  op->causal = n.flag("unidirectional", false);
  if (n.has_input(6)) append_to_past(n, parts, n.input(6), n.input(7));
  if (n.has_input(4)) take_mask(n, parts, n.input(4));
  n.ignore("mask_filter_value");
  add_bias(n, parts, 5);
  n.set_output(1, *parts.key);
  n.set_output(2, *parts.value);
  n.set_output(0, attend(n, std::move(op), parts));
}

TENON_IMPORT_MICROSOFT(GroupQueryAttention,
                       "caches without free places; no smooth softmax, no quantised caches") {
  n.expect_inputs(7, 12);
  if (n.flag("smooth_softmax", false) || n.has_input(11))
    fail_import(Code::kUNSUPPORTED_NODE_ATTR, "a smooth softmax is not supported yet");
  const int64_t heads = n.integer("num_heads"), shared = n.integer("kv_num_heads");
  Value *q = &n.input(0), *k = n.optional_input(1), *v = n.optional_input(2);
  if (k == nullptr) {  // one behind the other
    const int64_t all = constant_extent(*q, 2, "the size of the heads");
    require(heads > 0 && shared > 0 && all % (heads + 2 * shared) == 0,
            "{} elements cannot be split among {} heads", all, heads + 2 * shared);
    const int64_t size = all / (heads + 2 * shared);
    v = &part(n, *q, 2, (heads + shared) * size, shared * size);
    k = &part(n, *q, 2, heads * size, shared * size);
    q = &part(n, *q, 2, 0, heads * size);
  }
  require(v != nullptr, "it has no value");
  Parts parts{&split_heads(n, *q, heads), &split_heads(n, *k, shared), &split_heads(n, *v, shared)};
  auto op = std::make_unique<Attention>();
  op->scale = attention_scale(n, *parts.query);
  op->softcap = n.real("softcap", 0);
  op->causal = true;
  const int64_t window = n.integer("local_window_size", -1);
  if (window > 0) op->left_window = window - 1;
  Value& past = n.has_input(3) ? extent_of(n, n.input(3), 2) : n.integers({0});
  if (n.flag("do_rotary", false)) {
    Value& positions = n.has_input(9) ? n.input(9) : past;
    n.know(*parts.query);
    const int64_t rotated = 2 * constant_extent(n.input(7), 1, "the size of the cache");
    const bool interleaved = n.flag("rotary_interleaved", false);
    Value& cosine = rows_at(n, n.input(7), positions, *parts.query);
    Value& sine = rows_at(n, n.input(8), positions, *parts.query);
    parts.query = &rotate(n, *parts.query, cosine, sine, rotated, interleaved);
    parts.key = &rotate(n, *parts.key, cosine, sine, rotated, interleaved);
  }
  n.ignore("rotary_interleaved");
  if (n.has_input(3)) append_to_past(n, parts, n.input(3), n.input(4));
  Value& last = n.cast(n.input(5), DataType::kINT64);
  parts.lengths =
      &n.binary(Operation::kSUM, n.rank(last) == 1 ? last : n.reshape(last, {last.dims[0]}), 1);
  add_bias(n, parts, 10);
  n.set_output(1, *parts.key);
  n.set_output(2, *parts.value);
  n.set_output(0, attend(n, std::move(op), parts));
}

TENON_IMPORT_MICROSOFT(RotaryEmbedding, "no packed batches") {
  n.expect_inputs(4, 4);
  n.ignore("scale");
  if (n.flag("is_packed_batching", false))
    fail_import(Code::kUNSUPPORTED_NODE_ATTR,
                "attribute 'is_packed_batching' is not supported yet");
  Value* x = &n.input(0);
  const bool joined = n.rank(*x) == 3;
  int64_t heads = n.integer("num_heads", 0), rotated = n.integer("rotary_embedding_dim", 0);
  const int64_t in_cache = 2 * constant_extent(n.input(2), 1, "the size of the cache");
  if (joined && heads == 0) heads = constant_extent(*x, 2, "the size of the heads") / in_cache;
  if (joined) x = &split_heads(n, *x, heads);
  if (rotated == 0) rotated = in_cache;
  n.know(*x);
  Value& y = rotate(n, *x, rows_at(n, n.input(2), n.input(1), *x),
                    rows_at(n, n.input(3), n.input(1), *x), rotated, n.flag("interleaved", false));
  n.set_output(0, joined ? join_heads(n, y) : y);
}

}  // namespace tenon
