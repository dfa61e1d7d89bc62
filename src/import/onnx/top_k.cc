// The largest and smallest elements, and where they are.
#include "ops/top_k.h"

#include "import/node.h"
#include "import/positions.h"
#include "ops/float64_cast.h"
#include "ops/gather.h"

namespace tenon {
namespace {

using nvinfer1::TopKOperation;

Node& top_k(NodeContext& n, Value& x, std::unique_ptr<TopK> op, int axis, Value* k = nullptr) {
  op->axes = 1u << axis;
  op->index_type = DataType::kINT64;
  std::vector<Value*> inputs{&x};
  if (k != nullptr) inputs.push_back(k);
  return n.add_node(std::move(op), std::move(inputs));
}

// What orders the elements: they themselves, or integers in their place.
Value& ordered(NodeContext& n, Value& x, bool nan_is_least) {
  if (!n.is_float64(x)) return x;
  auto op = std::make_unique<Float64Order>();
  op->nan_is_least = nan_is_least;
  return n.add(std::move(op), {&x});
}

// The position of the largest or smallest element; the axis stays, with extent 1.
Value& arg(NodeContext& n, Value& x, TopKOperation operation, int axis, bool last) {
  auto op = std::make_unique<TopK>();
  op->operation = operation;
  op->last_index = last;
  op->nans_first = true;
  return *top_k(n, x, std::move(op), axis).outputs[1];
}

template <TopKOperation operation> void arg(NodeContext& n) {
  n.expect_inputs(1, 1);
  Value& x = n.input(0);
  const int axis = normalized_axis(n.integer("axis", 0), n.rank(x));
  const bool last = n.flag("select_last_index", false);
  Value& index = arg(n, ordered(n, x, operation == TopKOperation::kMIN), operation, axis, last);
  std::vector<int> kept;
  for (int i = 0; i < n.rank(x); ++i)
    if (i != axis) kept.push_back(i);
  n.set_output(0, n.flag("keepdims", true) ? index : n.rearrange(index, kept));
}

// The elements at positions along an axis.
Value& elements_at(NodeContext& n, Value& x, Value& positions, int axis) {
  auto op = std::make_unique<Gather>();
  op->mode = nvinfer1::GatherMode::kELEMENT;
  op->axis = axis;
  return n.add(std::move(op), {&x, &positions});
}

// 1 where the first largest element along the axis is, else 0.
Value& hardmax(NodeContext& n, Value& x, int axis) {
  Value& index = arg(n, x, TopKOperation::kMAX, axis, false);
  Value& all = positions(n, x.dims[static_cast<size_t>(axis)], axis, n.rank(x));
  return n.cast(n.binary(nvinfer1::ElementWiseOperation::kEQUAL, index, all), x.type);
}

}  // namespace

TENON_IMPORT(TopK, 1, "") {
  n.expect_inputs(1, 2);
  Value& x = n.input(0);
  const int axis = normalized_axis(n.integer("axis", -1), n.rank(x));
  auto op = std::make_unique<TopK>();
  op->operation = n.flag("largest", true) ? TopKOperation::kMAX : TopKOperation::kMIN;
  n.ignore("sorted");  // in order is an order, too
  Value* k = nullptr;
  if (n.opset() < 10) {
    op->k = n.integer("k");
  } else {
    const auto given = n.host_elements(1, "k");
    require(given.size() == 1, "k has {} elements; expected 1", given.size());
    if (given[0]->is_integer_constant())
      op->k = given[0]->value.integer;
    else
      k = &as_indices(n, n.input(1));
  }
  Node& node = top_k(n, ordered(n, x, false), std::move(op), axis, k);
  n.set_output(0, n.is_float64(x) ? elements_at(n, x, *node.outputs[1], axis) : *node.outputs[0]);
  n.set_output(1, *node.outputs[1]);
}

TENON_IMPORT_AS(ArgMax, 1, "", arg<TopKOperation::kMAX>);
TENON_IMPORT_AS(ArgMin, 1, "", arg<TopKOperation::kMIN>);

TENON_IMPORT(Hardmax, 1, "") {
  // Over all axes from `axis` on.
  Value& x = n.input(0);
  const auto axis = static_cast<size_t>(normalized_axis(n.integer("axis", 1), n.rank(x)));
  n.know(x);
  Dim rows = n.number(1), columns = n.number(1);
  for (size_t i = 0; i < x.dims.size(); ++i) {
    Dim& product = i < axis ? rows : columns;
    product = n.pool().mul(product, x.dims[i]);
  }
  n.set_output(0, n.reshape(hardmax(n, n.reshape(x, {rows, columns}), 1), x.dims));
}

TENON_IMPORT(Hardmax, 13, "") {
  Value& x = n.input(0);
  n.set_output(0, hardmax(n, x, normalized_axis(n.integer("axis", -1), n.rank(x))));
}

}  // namespace tenon
