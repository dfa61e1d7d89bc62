#include "import/onnx/attention.h"

#include <cmath>

#include "ops/cache_update.h"
#include "ops/concatenation.h"
#include "ops/gather.h"
#include "ops/rotary_embedding.h"
#include "ops/shape_of.h"

namespace tenon {
namespace {

using Operation = nvinfer1::ElementWiseOperation;
using Code = nvonnxparser::ErrorCode;

}  // namespace

int64_t constant_extent(const Value& x, int axis, const char* what) {
  require(axis < static_cast<int>(x.dims.size()),
          "tensor '{}' has {} dimensions; expected more than {}", x.name, x.dims.size(), axis);
  const Dim d = x.dims[static_cast<size_t>(axis)];
  if (!d->is_integer_constant())
    fail_import(Code::kUNSUPPORTED_NODE_DYNAMIC, "{} must be known when the model is imported",
                what);
  return d->value.integer;
}

Value& split_heads(NodeContext& n, Value& x, int64_t heads) {
  require(n.rank(x) == 3, "tensor '{}' has {} dimensions; expected 3", x.name, n.rank(x));
  const int64_t hidden = constant_extent(x, 2, "the size of the heads");
  require(heads > 0 && hidden % heads == 0, "{} elements cannot be split among {} heads", hidden,
          heads);
  n.know(x);
  Value& split = n.reshape(x, {x.dims[0], x.dims[1], n.number(heads), n.number(hidden / heads)});
  return n.transpose(split, {0, 2, 1, 3});
}

Value& join_heads(NodeContext& n, Value& x) {
  require(n.rank(x) == 4, "tensor '{}' has {} dimensions; expected 4", x.name, n.rank(x));
  Value& rows = n.transpose(x, {0, 2, 1, 3});
  n.know(rows);
  return n.reshape(rows, {rows.dims[0], rows.dims[1], n.pool().mul(rows.dims[2], rows.dims[3])});
}

Value& concatenate(NodeContext& n, Value& first, Value& second, int axis) {
  auto op = std::make_unique<Concatenation>();
  op->axis = axis;
  return n.add(std::move(op), {&first, &second});
}

Value& part(NodeContext& n, Value& x, int axis, int64_t start, int64_t size) {
  require(axis < n.rank(x), "tensor '{}' has {} dimensions; expected more than {}", x.name,
          n.rank(x), axis);
  Dims from(x.dims.size(), n.number(0)), extents = x.dims, step(x.dims.size(), n.number(1));
  from[static_cast<size_t>(axis)] = n.number(start);
  extents[static_cast<size_t>(axis)] = n.number(size);
  return extents == x.dims ? x : n.slice(x, from, extents, step);
}

float attention_scale(NodeContext& n, const Value& query) {
  const float scale = n.real("scale", 0);
  if (scale != 0) return scale;
  return 1 / std::sqrt(static_cast<float>(constant_extent(query, 3, "the size of the heads")));
}

Value& rotate(NodeContext& n, Value& x, Value& cosine, Value& sine, int64_t rotated,
              bool interleaved) {
  const int64_t size = constant_extent(x, 3, "the size of the heads");
  require(rotated > 0 && rotated % 2 == 0 && rotated <= size,
          "{} of {} elements cannot be rotated in pairs", rotated, size);
  auto op = std::make_unique<RotaryEmbedding>();
  op->interleaved = interleaved;
  op->dimension = static_cast<int32_t>(rotated);
  return n.add(std::move(op), {&x, &n.cast(cosine, x.type), &n.cast(sine, x.type)});
}

namespace {

// The extent of an axis as an int64 tensor of one element.
Value& extent_of(NodeContext& n, Value& x, int axis) {
  Value& shape = n.add(std::make_unique<ShapeOf>(), {&x});
  Value& one = n.add(std::make_unique<Gather>(), {&shape, &n.integers({axis})});
  return n.cast(one, DataType::kINT64);
}

// The rows of (positions, pairs) that the positions name, or as many as there are queries.
Value& cache_rows(NodeContext& n, int cache) {
  Value& rows = n.input(cache);
  if (!n.has_input(3)) {
    require(n.rank(rows) == 3,
            "the cosines and sines have {} dimensions; expected 3 without "
            "position_ids",
            n.rank(rows));
    return rows;
  }
  return n.add(std::make_unique<Gather>(), {&rows, &n.input(3)});
}

}  // namespace

TENON_IMPORT(Attention, 23, "") {
  n.expect_inputs(3, 7);
  Value *q = &n.input(0), *k = &n.input(1), *v = &n.input(2);
  const bool joined = n.rank(*q) == 3;
  if (joined) {
    const int64_t heads = n.integer("q_num_heads"), shared = n.integer("kv_num_heads");
    q = &split_heads(n, *q, heads);
    k = &split_heads(n, *k, shared);
    v = &split_heads(n, *v, shared);
  }
  n.ignore("q_num_heads");
  n.ignore("kv_num_heads");
  n.ignore("softmax_precision");  // float32 at least
  auto op = std::make_unique<Attention>();
  op->scale = attention_scale(n, *q);
  op->softcap = n.real("softcap", 0);
  op->causal = n.flag("is_causal", false);
  op->left_window = n.integer("left_window_size", -1);
  op->right_window = n.integer("right_window_size", -1);
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  require(mode >= 0 && mode <= 3, "attribute 'qk_matmul_output_mode' is {}; expected 0 to 3", mode);
  if (n.output_is_used(3)) op->scores = static_cast<AttentionScores>(mode);
  require(n.has_input(4) == n.has_input(5), "past_key and past_value must be given together");
  require(!n.has_input(4) || !n.has_input(6), "nonpad_kv_seqlen cannot go with past_key");
  Value *lengths = n.optional_input(6), *offset = nullptr;
  if (n.has_input(4)) {
    offset = &extent_of(n, n.input(4), 2);
    k = &concatenate(n, n.input(4), *k, 2);
    v = &concatenate(n, n.input(5), *v, 2);
  } else if (lengths != nullptr) {
    offset = &n.binary(Operation::kSUB, *lengths, extent_of(n, *q, 2));
  }
  Value* mask = n.optional_input(3);
  if (mask != nullptr && mask->type != DataType::kBOOL) mask = &n.cast(*mask, q->type);
  std::vector<Value*> inputs{q, k, v, mask, lengths, offset};
  while (inputs.back() == nullptr) inputs.pop_back();
  const Node& node = n.add_node(std::move(op), std::move(inputs));
  n.set_output(0, joined ? join_heads(n, *node.outputs[0]) : *node.outputs[0]);
  n.set_output(1, *k);
  n.set_output(2, *v);
  if (node.outputs.size() > 1) n.set_output(3, *node.outputs[1]);
}

TENON_IMPORT(RotaryEmbedding, 23, "") {
  n.expect_inputs(3, 4);
  Value* x = &n.input(0);
  const bool joined = n.rank(*x) == 3;
  const int64_t heads = n.integer("num_heads", 0);
  if (joined) {
    x = &split_heads(n, *x, heads);
  } else {
    require(n.rank(*x) == 4, "its input has {} dimensions; expected 3 or 4", n.rank(*x));
  }
  int64_t rotated = n.integer("rotary_embedding_dim", 0);
  if (rotated == 0) rotated = constant_extent(*x, 3, "the size of the heads");
  Value& y =
      rotate(n, *x, cache_rows(n, 1), cache_rows(n, 2), rotated, n.flag("interleaved", false));
  n.set_output(0, joined ? join_heads(n, y) : y);
}

TENON_IMPORT(TensorScatter, 24, "") {
  n.expect_inputs(2, 3);
  auto op = std::make_unique<CacheUpdate>();
  op->axis = n.integer("axis", -2);
  const std::string mode = n.text("mode", "linear");
  require(mode == "linear" || mode == "circular",
          "attribute 'mode' is '{}'; expected linear or circular", mode);
  op->circular = mode == "circular";
  std::vector<Value*> inputs{&n.input(0), &n.input(1)};
  if (n.has_input(2)) inputs.push_back(&n.input(2));
  n.set_output(0, n.add(std::move(op), std::move(inputs)));
}

}  // namespace tenon
