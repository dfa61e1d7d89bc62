// Operators that only change the shape.
#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "base/text.h"
#include "import/node.h"
#include "import/onnx/branches.h"
#include "ops/assertion.h"
#include "ops/concatenation.h"
#include "ops/shuffle.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

Dims ones(NodeContext& n, size_t count, int64_t value = 1) {
  return Dims(count, n.number(value));
}

// Whether the expression depends on elements of a tensor, which may be negative, unlike extents.
bool depends_on_elements(NodeContext& n, Dim root) {
  std::unordered_set<Dim> seen;
  std::vector<Dim> open{root};
  while (!open.empty()) {
    const Dim d = open.back();
    open.pop_back();
    if (d == nullptr || !seen.insert(d).second) continue;
    if (d->op == ExprOp::kSymbol) {
      const Symbol& symbol = n.network().symbols().at(static_cast<size_t>(d->payload));
      if (symbol.kind == Symbol::Kind::kElement) return true;
    }
    open.insert(open.end(), {d->a, d->b, d->c});
  }
  return false;
}

// The extents that a new shape means, where 0 (copies the extent) and -1 (is computed) may be among
// the elements that are known only when the network runs.
Dims reshaped(NodeContext& n, const Dims& from, Dims to, bool zero_copies) {
  ExprPool& pool = n.pool();
  const Dim one = n.number(1);
  const auto is = [&](Dim d, int64_t v) { return pool.make(ExprOp::kEqual, d, n.number(v)); };
  Dim volume = one, others = one;
  for (Dim d : from) volume = pool.mul(volume, d);
  for (size_t i = 0; i < to.size(); ++i) {
    if (!depends_on_elements(n, to[i]) && !to[i]->is_constant()) {
      others = pool.mul(others, to[i]);
      continue;
    }
    if (zero_copies && i < from.size())
      to[i] = pool.make(ExprOp::kSelect, is(to[i], 0), from[i], to[i]);
    others = pool.mul(others, pool.make(ExprOp::kSelect, is(to[i], -1), one, to[i]));
  }
  const Dim computed = pool.floor_div(volume, pool.max(others, one));
  for (Dim& d : to)
    if (d->is_constant() || depends_on_elements(n, d))
      d = pool.make(ExprOp::kSelect, is(d, -1), computed, d);
  return to;
}

}  // namespace

TENON_IMPORT(Reshape, 1, "") {
  n.ignore("consumed_inputs");
  auto op = std::make_unique<Shuffle>();
  op->has_reshape = true;
  op->zero_is_placeholder = !n.flag("allowzero", false);
  Value& x = n.input(0);
  if (n.opset() < 5 && n.has("shape")) {
    op->reshape = Shape(std::span<const int64_t>(n.integers_in("shape")));
    n.set_output(0, n.add(std::move(op), {&x}));
    return;
  }
  n.expect_inputs(2, 2);
  if (const Tensor* shape = n.constant_input(1)) {
    const auto extents = shape->integers();
    require(std::count(extents.begin(), extents.end(), -1) <= 1,
            "the new shape [{}] has more than one -1", fmt::join(extents, ", "));
    for (int64_t extent : extents)
      require(extent >= -1, "the new shape [{}] has a negative extent", fmt::join(extents, ", "));
    op->reshape = Shape(std::span<const int64_t>(extents));
    n.set_output(0, n.add(std::move(op), {&x}));
    return;
  }
  const Dims wanted = n.host_elements(1, "the new shape");
  const bool free =
      std::any_of(wanted.begin(), wanted.end(), [&](Dim d) { return depends_on_elements(n, d); });
  if (free) {
    // As a tensor, for none of its elements may be taken for what is left: they are checked by it.
    n.know(x);
    Value& shape = n.shape_tensor(reshaped(n, x.dims, wanted, op->zero_is_placeholder));
    op->zero_is_placeholder = false;
    n.set_output(0, n.add(std::move(op), {&x, &shape}));
    return;
  }
  n.set_output(0, n.add(std::move(op), {&x, &n.input(1)}));
}

TENON_IMPORT(Flatten, 1, "") {
  Value& x = n.input(0);
  const int rank = n.rank(x);
  const int64_t given = n.integer("axis", 1);
  require(given >= -rank && given <= rank, "attribute 'axis' is {}; expected {} to {}", given,
          -rank, rank);
  const auto axis = static_cast<size_t>(given < 0 ? given + rank : given);
  Dim rows = n.number(1), columns = n.number(1);
  for (size_t i = 0; i < x.dims.size(); ++i) {
    Dim& product = i < axis ? rows : columns;
    product = n.pool().mul(product, x.dims[i]);
  }
  n.set_output(0, n.reshape(x, {rows, columns}));
}

TENON_IMPORT(Transpose, 1, "") {
  Value& x = n.input(0);
  auto given = n.integers_in("perm");
  if (given.empty()) {
    given.resize(x.dims.size());
    std::iota(given.rbegin(), given.rend(), 0);
  }
  std::vector<int64_t> sorted = given, axes(x.dims.size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(axes.begin(), axes.end(), 0);
  if (sorted != axes)
    fail_import(Code::kINVALID_NODE, "attribute 'perm' is [{}]; its input has {} dimensions",
                fmt::join(given, ", "), n.rank(x));
  const std::vector<int32_t> permutation(given.begin(), given.end());
  n.set_output(0, n.transpose(x, permutation));
}

namespace {

// A Squeeze without axes makes fewer dimensions where an axis has extent 1.
Value& is_one(NodeContext& n, Value& x, size_t axis) {
  n.know(x);
  return n.binary(nvinfer1::ElementWiseOperation::kEQUAL, n.shape_tensor({x.dims[axis]}), 1.0);
}

// The node's name, also where it goes on from another.
std::string name_in_model(NodeContext& n) {
  return n.proto().name().empty() ? n.node_name() : one_line(n.proto().name());
}

std::string refusal_of_one(NodeContext& n, size_t axis) {
  return fmt::format(
      "node '{}' (Squeeze) gives no axes, and axis {} of its input has extent 1 only now: give the "
      "axes, or its extent one number in all profiles",
      name_in_model(n), axis);
}

void require_no_one(NodeContext& n, Value& x, size_t axis) {
  auto op = std::make_unique<Assertion>();
  op->message = refusal_of_one(n, axis);
  n.add_node(std::move(op), {&n.unary(nvinfer1::UnaryOperation::kNOT, is_one(n, x, axis))});
}

// Attribute of a Squeeze that follows one of which an axis was decided.
constexpr const char* kDecidedAxes = "tenon decided axes";

// Each such axis doubles what is behind the node.
constexpr int kMaxDecidedAxes = 2;

void set_axes(onnx::NodeProto& node, const char* name, const std::vector<int64_t>& axes) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (int64_t axis : axes) attribute.add_ints(axis);
}

onnx::NodeProto squeeze_of(const std::string& input, const std::string& output) {
  onnx::NodeProto node;
  node.set_op_type("Squeeze");
  node.add_input(input);
  node.add_output(output);
  return node;
}

// Whether an axis has extent 1 is decided when the network is built, since profiles may fix it.
void decide_at_build(NodeContext& n, Value& x, size_t axis, std::vector<int64_t> decided) {
  const std::string output = n.proto().output(0);
  Decision decision{refusal_of_one(n, axis), true};
  Body bodies[2];
  for (size_t i : {0, 1}) {
    const bool is_squeezed = i == 0;
    onnx::GraphProto graph;
    auto& node = *graph.add_node();
    node = squeeze_of(n.proto().input(0),
                      fmt::format("{} [axis {} {}]", output, axis, is_squeezed ? "gone" : "kept"));
    if (is_squeezed)
      set_axes(node, "axes", {static_cast<int64_t>(axis)});
    else
      node.set_op_type("Identity");
    graph.add_output()->set_name(node.output(0));
    bodies[i] = n.bodies().import_body(graph, {}, {}, bodies[0].captured);
    // The other axes are those of a node behind.
    if (!is_squeezed) decided.push_back(static_cast<int64_t>(axis));
    onnx::NodeProto& rest = decision.first.emplace_back(squeeze_of(output, output));
    rest.set_name(name_in_model(n));
    set_axes(rest, kDecidedAxes, decided);
  }
  n.bodies().capture(bodies[0], bodies[1].captured);
  import_separately(n, is_one(n, x, axis), bodies, decision);
}

}  // namespace

TENON_IMPORT(Squeeze, 1, "without axes, whether an axis has extent 1 is known at build") {
  Value& x = n.input(0);
  const auto axes = n.integers_from(1, "axes");
  std::vector<bool> removed(x.dims.size());
  if (axes) {
    for (int64_t axis : *axes)
      removed[static_cast<size_t>(normalized_axis(axis, n.rank(x)))] = true;
  } else {
    const auto decided = n.integers_in(kDecidedAxes);
    const auto is_decided = [&](size_t axis) {
      return std::find(decided.begin(), decided.end(), static_cast<int64_t>(axis)) != decided.end();
    };
    for (size_t i = 0; i < x.dims.size(); ++i) {
      removed[i] = x.dims[i]->is_integer_constant() && x.dims[i]->value.integer == 1;
      if (x.dims[i]->is_integer_constant() || is_decided(i)) continue;
      if (n.bodies().ends_model() && n.bodies().branches() < kMaxDecidedAxes)
        return decide_at_build(n, x, i, decided);
      require_no_one(n, x, i);
    }
  }
  std::vector<int> kept;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (!removed[i])
      kept.push_back(static_cast<int>(i));
    else
      require(!x.dims[i]->is_constant() || x.dims[i]->value.integer == 1,
              "cannot squeeze axis {}, whose size is {}", i, text_of(x.dims[i]));
  }
  n.set_output(0, n.rearrange(x, kept));
}

TENON_IMPORT(Unsqueeze, 1, "") {
  Value& x = n.input(0);
  const auto axes = n.integers_from(1, "axes");
  if (!axes) fail_import(Code::kINVALID_NODE, "it gives no axes");
  const int rank = n.rank(x) + static_cast<int>(axes->size());
  require(rank <= Shape::kMaxRank, "its output would have {} dimensions; at most {} are supported",
          rank, Shape::kMaxRank);
  std::vector<int> source(static_cast<size_t>(rank), 0);
  for (int64_t axis : *axes) {
    int& entry = source[static_cast<size_t>(normalized_axis(axis, rank))];
    require(entry == 0, "axis {} is given twice", axis);
    entry = -1;
  }
  int next = 0;
  for (int& s : source)
    if (s == 0) s = next++;
  n.set_output(0, n.rearrange(x, source));
}

TENON_IMPORT(Expand, 8, "") {
  n.expect_inputs(2, 2);
  const auto extents = n.host_elements(1, "the new shape");
  Value& y = n.expand(n.input(0), extents);
  n.set_output(0, y);
}

TENON_IMPORT(Tile, 6, "") {
  n.expect_inputs(2, 2);
  Value& x = n.input(0);
  const auto repeats = n.host_elements(1, "the repeats");
  require(repeats.size() == x.dims.size(), "it repeats {} axes; its input has {}", repeats.size(),
          x.dims.size());
  Dims size;
  for (size_t i = 0; i < repeats.size(); ++i) size.push_back(n.pool().mul(x.dims[i], repeats[i]));
  n.set_output(0, n.slice(x, ones(n, size.size(), 0), size, ones(n, size.size()),
                          nvinfer1::SampleMode::kWRAP));
}

TENON_IMPORT(Concat, 1, "") {
  if (n.input_count() == 0)
    fail_import(Code::kINVALID_NODE, "it has no inputs; expected at least 1");
  std::vector<Value*> parts;
  for (int i = 0; i < n.input_count(); ++i) parts.push_back(&n.input(i));
  auto op = std::make_unique<Concatenation>();
  const int64_t axis = n.opset() < 4 ? n.integer("axis", 1) : n.integer("axis");
  op->axis = normalized_axis(axis, n.rank(*parts[0]));
  n.set_output(0, n.add(std::move(op), std::move(parts)));
}

TENON_IMPORT(Split, 1, "") {
  Value& x = n.input(0);
  const int axis = normalized_axis(n.integer("axis", 0), n.rank(x));
  const auto at = static_cast<size_t>(axis);
  const int outputs = n.output_count();
  if (outputs == 0) fail_import(Code::kINVALID_NODE, "it has no outputs; expected at least 1");
  Dims sizes;
  if (n.has_input(1)) {
    sizes = n.host_elements(1, "the sizes");
  } else if (n.has("split")) {
    for (int64_t size : n.integers_in("split")) sizes.push_back(n.number(size));
  } else {
    // Equal parts; the last may be smaller.
    const int64_t parts = n.integer("num_outputs", outputs);
    require(parts >= outputs, "attribute 'num_outputs' is {}; it has {} outputs", parts, outputs);
    const Dim part = n.pool().ceil_div(x.dims[at], n.number(parts));
    Dim left = x.dims[at];
    for (int i = 0; i < outputs; ++i) {
      sizes.push_back(i + 1 < parts ? part : left);
      left = n.pool().sub(left, part);
    }
  }
  n.ignore("num_outputs");
  require(sizes.size() >= static_cast<size_t>(outputs), "it has {} sizes for {} outputs",
          sizes.size(), outputs);
  Dims start = ones(n, x.dims.size(), 0), size = x.dims;
  for (int i = 0; i < outputs; ++i) {
    size[at] = sizes[static_cast<size_t>(i)];
    if (n.output_is_used(i)) n.set_output(i, n.slice(x, start, size, ones(n, size.size())));
    start[at] = n.pool().add(start[at], size[at]);
  }
  // Known sizes must make up the whole.
  if (start[at]->is_constant() && x.dims[at]->is_constant()
      && sizes.size() == static_cast<size_t>(outputs))
    require(start[at] == x.dims[at], "the sizes add up to {}; axis {} has {}", text_of(start[at]),
            axis, text_of(x.dims[at]));
}

namespace {

// (N, C, H, W), split or joined in blocks by one reshape, transpose, reshape.
struct Image {
  Value* x;
  int64_t block;
  Dim n, c, h, w;
};

Image image_of(NodeContext& n) {
  Image i{};
  i.x = &n.input(0);
  require(n.rank(*i.x) == 4, "its input has {} dimensions; expected 4", n.rank(*i.x));
  i.block = n.integer("blocksize");
  require(i.block > 0 && i.block <= 1 << 15, "attribute 'blocksize' is {}", i.block);
  i.n = i.x->dims[0];
  i.c = i.x->dims[1];
  i.h = i.x->dims[2];
  i.w = i.x->dims[3];
  n.know(*i.x);
  return i;
}

}  // namespace

TENON_IMPORT(DepthToSpace, 1, "") {
  const Image i = image_of(n);
  const std::string mode = n.text("mode", "DCR");
  require(mode == "DCR" || mode == "CRD", "attribute 'mode' is '{}'; expected DCR or CRD", mode);
  const Dim b = n.number(i.block), blocks = n.number(i.block * i.block);
  if (i.c->is_integer_constant())
    require(i.c->value.integer % (i.block * i.block) == 0,
            "{} channels cannot be spread over blocks of {}x{}", text_of(i.c), i.block, i.block);
  const Dim depth = n.pool().floor_div(i.c, blocks);
  const bool crd = mode == "CRD";
  Value& split = crd ? n.reshape(*i.x, {i.n, depth, b, b, i.h, i.w})
                     : n.reshape(*i.x, {i.n, b, b, depth, i.h, i.w});
  Value& transposed =
      crd ? n.transpose(split, {0, 1, 4, 2, 5, 3}) : n.transpose(split, {0, 3, 4, 1, 5, 2});
  n.set_output(0, n.reshape(transposed, {i.n, depth, n.pool().mul(i.h, b), n.pool().mul(i.w, b)}));
}

TENON_IMPORT(SpaceToDepth, 1, "") {
  const Image i = image_of(n);
  const Dim b = n.number(i.block);
  for (Dim d : {i.h, i.w})
    require(!d->is_constant() || d->value.integer % i.block == 0,
            "size {} cannot be cut into blocks of {}", text_of(d), i.block);
  const Dim h = n.pool().floor_div(i.h, b), w = n.pool().floor_div(i.w, b);
  const std::string mode = n.text("mode", "DCR");
  require(mode == "DCR" || mode == "CRD", "attribute 'mode' is '{}'; expected DCR or CRD", mode);
  Value& split = n.reshape(*i.x, {i.n, i.c, h, b, w, b});
  Value& transposed = mode == "CRD" ? n.transpose(split, {0, 1, 3, 5, 2, 4})
                                    : n.transpose(split, {0, 3, 5, 1, 2, 4});
  n.set_output(0,
               n.reshape(transposed, {i.n, n.pool().mul(i.c, n.number(i.block * i.block)), h, w}));
}

}  // namespace tenon
