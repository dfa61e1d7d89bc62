// Counts of n-grams in sequences of tokens.
#include <algorithm>
#include <numeric>

#include "import/node.h"
#include "ops/concatenation.h"
#include "ops/matrix_multiply.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;
using Operation = nvinfer1::ElementWiseOperation;

// The n-grams of a node: those of one length lie together in `tokens`, the shortest first.
struct NGrams {
  std::vector<int64_t> tokens;
  std::vector<int64_t> begins;   // of those of each length, in `tokens`
  std::vector<int64_t> columns;  // of each n-gram, in the output
  int64_t min_length, max_length, max_skip;

  int64_t end(int64_t length) const {
    return length < static_cast<int64_t>(begins.size()) ? begins[static_cast<size_t>(length)]
                                                        : static_cast<int64_t>(tokens.size());
  }
  int64_t begin(int64_t length) const { return begins[static_cast<size_t>(length) - 1]; }
  int64_t width() const { return *std::max_element(columns.begin(), columns.end()) + 1; }
};

// The output is dense, and each distance between tokens takes layers of its own.
constexpr int64_t kMaxColumns = 1 << 20, kMaxSkipped = 1000;

void check(const NGrams& g) {
  require(g.min_length >= 1 && g.max_length >= g.min_length
              && g.max_length <= static_cast<int64_t>(g.begins.size()),
          "attributes 'min_gram_length' and 'max_gram_length' are {} and {}; expected 1 to {}, the "
          "number of 'ngram_counts', in order",
          g.min_length, g.max_length, g.begins.size());
  require(g.max_skip >= 0 && g.max_skip <= kMaxSkipped,
          "attribute 'max_skip_count' is {}; expected 0 to {}", g.max_skip, kMaxSkipped);
  size_t count = 0;
  for (int64_t length = 1; length <= static_cast<int64_t>(g.begins.size()); ++length) {
    const int64_t size = g.end(length) - g.begin(length);
    require(g.begin(length) >= 0 && size >= 0 && size % length == 0
                && g.end(length) <= static_cast<int64_t>(g.tokens.size()),
            "attribute 'ngram_counts' says that n-grams of {} tokens have {} tokens", length, size);
    count += static_cast<size_t>(size / length);
  }
  require(g.begins[0] == 0 && count == g.columns.size() && count > 0,
          "attribute 'ngram_indexes' has {} entries for {} n-grams", g.columns.size(), count);
  for (int64_t column : g.columns)
    require(column >= 0 && column < kMaxColumns,
            "attribute 'ngram_indexes' has the entry {}; expected 0 to {}", column,
            kMaxColumns - 1);
}

NGrams n_grams_of(NodeContext& n) {
  if (n.has("pool_strings"))
    fail_import(Code::kUNSUPPORTED_NODE_ATTR,
                "n-grams of strings are not supported: TensorRT has no tensors of strings");
  NGrams g{n.integers_in("pool_int64s"),   n.integers_in("ngram_counts"),
           n.integers_in("ngram_indexes"), n.integer("min_gram_length"),
           n.integer("max_gram_length"),   n.integer("max_skip_count")};
  require(!g.begins.empty(), "attribute 'ngram_counts' is empty");
  check(g);
  return g;
}

// How often each n-gram of one length stands in each row of x (N, C), with `step` from a token to
// the next.
Value& matches(NodeContext& n, Value& x, const NGrams& g, int64_t length, int64_t step) {
  const int64_t count = (g.end(length) - g.begin(length)) / length;
  const Dim width =
      n.pool().max(n.number(0), n.pool().sub(x.dims[1], n.number((length - 1) * step)));
  Value* all = nullptr;
  for (int64_t i = 0; i < length; ++i) {
    Tensor tokens(DataType::kINT64, Shape{1, 1, count});
    for (int64_t k = 0; k < count; ++k)
      tokens.mutable_data<int64_t>()[k] =
          g.tokens[static_cast<size_t>(g.begin(length) + k * length + i)];
    const Dim begin = n.pool().min(n.number(i * step), x.dims[1]);
    Value& part = n.slice(x, {n.number(0), begin}, {x.dims[0], width}, {n.number(1), n.number(1)});
    Value& equal =
        n.binary(Operation::kEQUAL, n.rearrange(part, {0, 1, -1}), n.constant(std::move(tokens)));
    all = all == nullptr ? &equal : &n.binary(Operation::kAND, *all, equal);
  }
  return n.reduce(nvinfer1::ReduceOperation::kSUM, n.cast(*all, DataType::kFLOAT), 1u << 1, false);
}

Value& joined(NodeContext& n, const std::vector<Value*>& parts) {
  if (parts.size() == 1) return *parts[0];
  auto op = std::make_unique<Concatenation>();
  op->axis = 1;
  return n.add(std::move(op), parts);
}

// The same for all n-grams that count, of as many columns as the output has.
Value& counts(NodeContext& n, Value& x, const NGrams& g) {
  std::vector<Value*> parts;
  std::vector<int64_t> columns;
  for (int64_t length = 1; length <= g.max_length; ++length) {
    const int64_t size = (g.end(length) - g.begin(length)) / length;
    if (length < g.min_length || size == 0) continue;
    Value* sum = &matches(n, x, g, length, 1);
    for (int64_t step = 2; length > 1 && step <= g.max_skip + 1; ++step)
      sum = &n.binary(Operation::kSUM, *sum, matches(n, x, g, length, step));
    parts.push_back(sum);
    int64_t first = 0;  // of all n-grams, the first of this length
    for (int64_t shorter = 1; shorter < length; ++shorter)
      first += (g.end(shorter) - g.begin(shorter)) / shorter;
    for (int64_t k = 0; k < size; ++k) columns.push_back(g.columns[static_cast<size_t>(first + k)]);
  }
  const auto rows = static_cast<int64_t>(columns.size());
  std::vector<int64_t> in_order(static_cast<size_t>(g.width()));
  std::iota(in_order.begin(), in_order.end(), 0);
  if (rows > 0 && columns == in_order) return joined(n, parts);
  n.charge(static_cast<size_t>(rows * g.width()) * sizeof(float));
  Tensor places = filled_tensor(DataType::kFLOAT, Shape{rows, g.width()}, 0);
  for (int64_t k = 0; k < rows; ++k)
    places.mutable_data<float>()[k * g.width() + columns[static_cast<size_t>(k)]] = 1;
  if (rows == 0) {
    Value& zeros = n.constant(filled_tensor(DataType::kFLOAT, Shape{1, g.width()}, 0));
    return n.expand(zeros, {x.dims[0], n.number(g.width())});
  }
  return n.add(std::make_unique<MatrixMultiply>(),
               {&joined(n, parts), &n.constant(std::move(places))});
}

// A weight for each column.
Value& weights(NodeContext& n, const NGrams& g) {
  const auto given = n.reals_in("weights");
  require(given.empty() || given.size() == g.columns.size(),
          "attribute 'weights' has {} entries for {} n-grams", given.size(), g.columns.size());
  Tensor weights = filled_tensor(DataType::kFLOAT, Shape{1, g.width()}, 1);
  for (size_t k = 0; k < given.size(); ++k) weights.mutable_data<float>()[g.columns[k]] = given[k];
  return n.constant(std::move(weights));
}

}  // namespace

TENON_IMPORT(TfIdfVectorizer, 9, "integers only") {
  n.expect_inputs(1, 1);
  const NGrams g = n_grams_of(n);
  const std::string mode = n.text("mode", "");
  require(mode == "TF" || mode == "IDF" || mode == "TFIDF",
          "attribute 'mode' is '{}'; expected TF, IDF or TFIDF", mode);
  Value& given = n.input(0);
  const int rank = n.rank(given);
  require(rank == 1 || rank == 2, "its input has {} dimensions; expected 1 or 2", rank);
  require(is_integer(given.type), "expected integers, found {}", name_of(given.type));
  Value& x = n.cast(n.with_rank(given, 2), DataType::kINT64);
  n.know(x);
  Value* y = &counts(n, x, g);
  if (mode == "IDF") y = &n.cast(n.binary(Operation::kGREATER, *y, 0.0), DataType::kFLOAT);
  Value& weight = weights(n, g);
  if (mode != "TF") y = &n.binary(Operation::kPROD, *y, weight);
  n.set_output(0, rank == 2 ? *y : n.rearrange(*y, {1}));
}

}  // namespace tenon
