// Tensors made from nothing: ranges, unit matrices, random numbers.
#include "ops/fill.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "import/node.h"
#include "import/positions.h"
#include "ops/cumulative.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;
using nvinfer1::FillOperation;
using Operation = nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

DataType type_from(NodeContext& n, DataType otherwise) {
  if (!n.has("dtype")) return otherwise;
  const int64_t number = n.integer("dtype");
  const auto type =
      number >= 0 && number < 1000 ? data_type_of(static_cast<int32_t>(number)) : std::nullopt;
  if (!type)
    fail_import(Code::kUNSUPPORTED_NODE_DATATYPE, "elements of type {} are not supported yet",
                onnx_type_name(static_cast<int32_t>(number)));
  return *type;
}

// The attribute, or what follows from the node's name: different for each node, the same each time.
int64_t seed_of(NodeContext& n) {
  if (n.has("seed")) return std::bit_cast<int32_t>(n.real("seed", 0));
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : n.node_name()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<int64_t>(hash);
}

struct Distribution {
  FillOperation operation;
  double alpha, beta;
};

Distribution uniform(NodeContext& n) {
  return {FillOperation::kRANDOM_UNIFORM, n.real("low", 0), n.real("high", 1)};
}
Distribution normal(NodeContext& n) {
  return {FillOperation::kRANDOM_NORMAL, n.real("mean", 0), n.real("scale", 1)};
}

Value& random(NodeContext& n, const Distribution& distribution, DataType type, const Dims& dims) {
  require(dims.size() <= Shape::kMaxRank, "the shape has {} dimensions; at most {} are supported",
          dims.size(), Shape::kMaxRank);
  auto op = std::make_unique<Fill>();
  op->operation = distribution.operation;
  op->alpha = distribution.alpha;
  op->beta = distribution.beta;
  op->seed = seed_of(n);
  op->type = type;
  if (!is_float(type))
    fail_import(Code::kUNSUPPORTED_NODE_DATATYPE, "random numbers of type {} are not supported",
                name_of(type));
  bool known = true;
  for (Dim d : dims) known &= d->is_integer_constant();
  if (!known) return n.add(std::move(op), {&n.shape_tensor(dims)});
  for (Dim d : dims) op->dimensions.push_back(d->value.integer);
  return n.add(std::move(op), {});
}

template <Distribution distribution(NodeContext&)> void random_of_shape(NodeContext& n) {
  n.expect_inputs(0, 0);
  Dims dims;
  for (int64_t extent : n.integers_in("shape")) {
    require(extent >= 0, "attribute 'shape' has the negative extent {}", extent);
    dims.push_back(n.number(extent));
  }
  n.set_output(0, random(n, distribution(n), type_from(n, DataType::kFLOAT), dims));
}

template <Distribution distribution(NodeContext&)> void random_like(NodeContext& n) {
  n.expect_inputs(1, 1);
  Value& x = n.input(0);
  n.know(x);
  n.set_output(0, random(n, distribution(n), type_from(n, x.type), x.dims));
}

// The number that an input always is, or that follows from known extents.
std::optional<Number> known_number(NodeContext& n, int i, const char* what) {
  Value& v = n.input(i);
  const Tensor* constant = n.constant_input(i);
  if (constant == nullptr && !v.content) return std::nullopt;
  const auto elements = n.host_elements(i, what);
  require(elements.size() == 1, "{} has {} elements; expected 1", what, elements.size());
  if (!elements[0]->is_constant()) return std::nullopt;
  return elements[0]->value;
}

// How many integers a range has. None where the limit lies behind.
Dim range_length(ExprPool& pool, Dim start, Dim limit, Dim step) {
  const Dim is_backwards = pool.make(ExprOp::kLess, step, pool.constant(0));
  const Dim end =
      pool.make(ExprOp::kSelect, is_backwards, pool.min(limit, start), pool.max(limit, start));
  return pool.ceil_div(pool.sub(end, start), step);
}

// The same of known numbers, also where 64 bits do not hold the difference.
double range_length(int64_t start, int64_t limit, int64_t step) {
  if (step > 0 ? limit <= start : limit >= start) return 0;
  const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit);
  const auto by = static_cast<uint64_t>(step);
  const uint64_t last = step > 0 ? (to - from - 1) / by : (from - to - 1) / (0 - by);
  return static_cast<double>(last) + 1;
}

void require_moderate(double count) {
  require(count <= static_cast<double>(int64_t{1} << 27), "the range would have {} elements",
          count);
}

// The elements start, start + delta, … of known numbers.
Value& known_range(NodeContext& n, Number start, Number limit, Number step) {
  const double first = start.as_double(), delta = step.as_double();
  require(delta != 0, "delta is 0");
  const double count = start.is_float
                           ? std::max(0.0, std::ceil((limit.as_double() - first) / delta))
                           : range_length(start.integer, limit.integer, step.integer);
  require_moderate(count);
  const Shape shape{static_cast<int64_t>(count)};
  n.charge(bytes_of(DataType::kINT64, shape[0]));
  if (start.is_float) {
    Tensor values(DataType::kFLOAT, shape);
    for (int64_t i = 0; i < shape[0]; ++i)
      values.mutable_data<float>()[i] = static_cast<float>(first + delta * static_cast<double>(i));
    return n.constant(std::move(values));
  }
  Tensor values(DataType::kINT64, shape);
  const auto from = static_cast<uint64_t>(start.integer), by = static_cast<uint64_t>(step.integer);
  for (int64_t i = 0; i < shape[0]; ++i)
    values.mutable_data<int64_t>()[i] = static_cast<int64_t>(from + static_cast<uint64_t>(i) * by);
  return n.constant(std::move(values));
}

// A range of float64: start + i * delta for the integers i from 0 on.
Value& float64_range(NodeContext& n) {
  Value* bounds[3];
  for (int i = 0; i < 3; ++i) bounds[i] = &n.reshape(n.input(i), {});
  Value& ratio =
      n.binary(Operation::kDIV, n.binary(Operation::kSUB, *bounds[1], *bounds[0]), *bounds[2]);
  Value& count = n.cast(n.unary(UnaryOperation::kCEIL, ratio), DataType::kINT64);
  Value& length = n.reshape(n.binary(Operation::kMAX, count, 0.0), {n.number(1)});
  if (const Tensor* known = n.known_tensor(length)) {
    const int64_t elements = known->integers()[0];
    require_moderate(static_cast<double>(elements));
    n.charge(bytes_of(DataType::kINT64, elements));
  }
  auto op = std::make_unique<Fill>();
  op->type = DataType::kINT64;
  Value& zero = n.constant(filled_tensor(DataType::kINT64, Shape(), 0));
  Value& numbers = n.add(std::move(op), {&length, &zero, &n.integers({1})});
  Value& steps = n.binary(Operation::kPROD, n.as_float64(numbers), *bounds[2]);
  return n.binary(Operation::kSUM, *bounds[0], steps);
}

// How many floats a range has, as an int64 tensor of one element.
Value& float_range_length(NodeContext& n, Value& start, Value& limit, Value& step) {
  Value& ratio = n.binary(Operation::kDIV, n.binary(Operation::kSUB, limit, start), step);
  Value& count = n.cast(n.unary(UnaryOperation::kCEIL, ratio), DataType::kINT64);
  return n.reshape(n.binary(Operation::kMAX, count, 0.0), {n.number(1)});
}

// How many integers, which are read back where they are not known.
Value& integer_range_length(NodeContext& n) {
  Dim bounds[3];
  const char* const names[] = {"start", "limit", "delta"};
  for (int i = 0; i < 3; ++i) {
    const Dims elements = n.host_elements(i, names[i]);
    require(elements.size() == 1, "{} has {} elements; expected 1", names[i], elements.size());
    bounds[i] = elements[0];
  }
  return n.shape_tensor({range_length(n.pool(), bounds[0], bounds[1], bounds[2])});
}

}  // namespace

TENON_IMPORT(Range, 11, "") {
  n.expect_inputs(3, 3);
  if (n.is_float64(n.input(0))) {
    n.set_output(0, float64_range(n));
    return;
  }
  const DataType type = n.input(0).type;
  const auto start = known_number(n, 0, "start"), limit = known_number(n, 1, "limit"),
             delta = known_number(n, 2, "delta");
  if (start && limit && delta) {
    n.set_output(0, n.cast(known_range(n, *start, *limit, *delta), type));
    return;
  }
  const DataType wide = is_float(type) ? DataType::kFLOAT : DataType::kINT64;
  Value* bounds[3];
  for (int i = 0; i < 3; ++i) bounds[i] = &n.cast(n.reshape(n.input(i), {}), wide);
  Value& length = is_float(type) ? float_range_length(n, *bounds[0], *bounds[1], *bounds[2])
                                 : integer_range_length(n);
  auto op = std::make_unique<Fill>();
  op->type = wide;
  Value& step = n.reshape(*bounds[2], {n.number(1)});
  n.set_output(0, n.cast(n.add(std::move(op), {&length, bounds[0], &step}), type));
}

TENON_IMPORT(EyeLike, 9, "") {
  n.expect_inputs(1, 1);
  Value& x = n.input(0);
  require(n.rank(x) == 2, "its input has {} dimensions; expected 2", n.rank(x));
  n.know(x);
  Value& diagonal = diagonals(n, x.dims[0], x.dims[1], 2);
  constexpr int64_t kFar = int64_t{1} << 40;
  const auto k = static_cast<double>(std::clamp(n.integer("k", 0), -kFar, kFar));
  Value& ones = n.binary(Operation::kEQUAL, diagonal, k);
  n.set_output(0, n.cast(ones, type_from(n, x.type)));
}

TENON_IMPORT_AS(RandomUniform, 1, "other numbers than other systems draw; the same each time",
                random_of_shape<uniform>);
TENON_IMPORT_AS(RandomNormal, 1, "other numbers than other systems draw; the same each time",
                random_of_shape<normal>);
TENON_IMPORT_AS(RandomUniformLike, 1, "other numbers than other systems draw; the same each time",
                random_like<uniform>);
TENON_IMPORT_AS(RandomNormalLike, 1, "other numbers than other systems draw; the same each time",
                random_like<normal>);

TENON_IMPORT(Bernoulli, 15, "other numbers than other systems draw; the same each time") {
  n.expect_inputs(1, 1);
  Value& x = n.input(0);
  n.know(x);
  const DataType type = type_from(n, x.type);
  Value& drawn = random(n, {FillOperation::kRANDOM_UNIFORM, 0, 1}, DataType::kFLOAT, x.dims);
  n.set_output(0, n.cast(n.binary(Operation::kLESS, drawn, x), type));
}

TENON_IMPORT(Multinomial, 7, "other numbers than other systems draw; the same each time") {
  // Inverse sampling: how many sums of the first probabilities lie below the drawn number.
  n.expect_inputs(1, 1);
  Value& x = n.input(0);
  require(n.rank(x) == 2, "its input has {} dimensions; expected 2", n.rank(x));
  n.know(x);
  const int64_t samples = n.integer("sample_size", 1);
  require(samples > 0, "attribute 'sample_size' is {}", samples);
  Value& probabilities = n.softmax(n.cast(x, DataType::kFLOAT), 1);
  Value& sums = n.add(std::make_unique<Cumulative>(), {&probabilities, &n.integers({1})});
  Value& drawn = random(n, {FillOperation::kRANDOM_UNIFORM, 0, 1}, DataType::kFLOAT,
                        {x.dims[0], n.number(samples), n.number(1)});
  Value& below = n.binary(Operation::kLESS, n.rearrange(sums, {0, -1, 1}), drawn);
  Value& found =
      n.reduce(nvinfer1::ReduceOperation::kSUM, n.cast(below, DataType::kINT64), 1u << 2, false);
  // Rounding may leave the last sum below 1.
  Value& last = n.shape_tensor({n.pool().sub(x.dims[1], n.number(1))});
  n.set_output(0, n.cast(n.binary(Operation::kMIN, found, last), type_from(n, DataType::kINT32)));
}

}  // namespace tenon
