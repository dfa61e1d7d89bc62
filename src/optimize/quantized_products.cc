// Convolutions and matrix products between Dequantize and Quantize become products of integers, or
// of fp8.
#include "network/reference_run.h"
#include "ops/dequantize.h"
#include "ops/matrix_multiply.h"
#include "ops/quantized_matrix_multiply.h"
#include "ops/shuffle.h"
#include "optimize/match.h"
#include "optimize/passes.h"
#include "optimize/quantization.h"

namespace tenon {
namespace {

using In = QuantizedInputs;
using nvinfer1::MatrixOperation;

struct Weights {
  Tensor values;
  std::vector<double> scale, zero;  // one per channel
};

// Numbers along `axis` of a tensor that does not change along the others.
std::optional<std::vector<double>> per_channel(const Tensor& t, int axis) {
  const auto numbers = t.numbers();
  const int64_t channels = t.shape()[axis], inner = t.shape().volume(axis + 1, t.shape().rank());
  std::vector<double> list(static_cast<size_t>(channels));
  if (numbers.empty()) return std::nullopt;
  for (int64_t c = 0; c < channels; ++c)
    list[static_cast<size_t>(c)] = numbers[static_cast<size_t>(c * inner)];
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != list[i / static_cast<size_t>(inner) % static_cast<size_t>(channels)])
      return std::nullopt;
  return list;
}

bool is_zero(const Tensor& t) {
  const auto numbers = t.numbers();
  return std::ranges::all_of(numbers, [](double x) { return x == 0; });
}

Tensor ones(DataType type, const Shape& shape) {
  Tensor t(type, shape);
  if (type == DataType::kFLOAT)
    std::fill_n(t.mutable_data<float>(), t.count(), 1.f);
  else
    std::fill_n(t.mutable_data<uint8_t>(), t.count(), uint8_t{1});
  return t;
}

// Dequantize, then perhaps layers that move elements: what happens to the elements happens to
// their scales and zero points too, which tells to which channel each belongs.
class WeightsOf {
 public:
  WeightsOf(const Value& v, int channel_axis, bool transposed)
      : v_(&v), axis_(channel_axis), transposed_(transposed) {}

  std::optional<Weights> find() {
    std::vector<const Node*> moves;
    const Node* node = v_->producer;
    while (node != nullptr && node->as<Shuffle>() != nullptr && node->inputs.size() == 1) {
      moves.insert(moves.begin(), node);
      node = node->inputs[0]->producer;
    }
    if (node == nullptr || node->as<Dequantize>() == nullptr || !is_plain(*node))
      return std::nullopt;
    const Dequantize& op = *node->as<Dequantize>();
    const auto q = known(node->inputs[0]), s = known(node->inputs[1]);
    if (!q || !s || q->count() == 0 || !(is_byte(q->type()) || q->type() == DataType::kFP8))
      return std::nullopt;
    const bool has_zero = node->inputs.size() > 2 && node->inputs[2] != nullptr;
    std::optional<Tensor> z;
    if (has_zero && !(z = known(node->inputs[2]))) return std::nullopt;
    Dequantize spread = op;
    spread.to = DataType::kFLOAT;
    const Tensor one = ones(DataType::kINT8, q->shape());
    const Tensor scale = run(spread, {&one, &*s});
    Weights w;
    w.values = moved(moves, *q);
    const auto scales = per_channel(moved(moves, scale), axis_);
    if (!scales) return std::nullopt;
    w.scale = *scales;
    w.zero.assign(w.scale.size(), 0);
    if (!z) return w;
    if (q->type() == DataType::kFP8) return is_zero(*z) ? std::optional(w) : std::nullopt;
    const Tensor unit = ones(DataType::kFLOAT, s->shape());
    const auto less = per_channel(moved(moves, run(spread, {&one, &unit, &*z})), axis_);
    if (!less) return std::nullopt;
    for (size_t c = 0; c < w.zero.size(); ++c) w.zero[c] = 1 - (*less)[c];
    return w;
  }

 private:
  static Tensor run(const Op& op, std::initializer_list<const Tensor*> inputs) {
    Tensor out(DataType::kFLOAT, (*inputs.begin())->shape());
    std::vector<TensorView> views;
    for (const Tensor* t : inputs) views.push_back(view_of(*t));
    const TensorView result = view_of(out);
    op.reference({views, {&result, 1}});
    return out;
  }

  Tensor moved(const std::vector<const Node*>& moves, Tensor t) const {
    for (const Node* node : moves) {
      const Tensor* input = &t;
      t = run_reference(*node, {&input, 1}, kLargestWeights)[0];
    }
    if (!transposed_) return t;
    Shape shape = t.shape();
    const int last = shape.rank() - 1;
    std::swap(shape[last], shape[last - 1]);
    Tensor turned(t.type(), shape);
    const auto size = static_cast<int64_t>(bytes_of(t.type(), 1));
    const int64_t rows = shape[last - 1], columns = shape[last];
    const auto* from = t.data<std::byte>();
    auto* to = turned.mutable_data<std::byte>();
    for (int64_t i = 0; i < t.count(); ++i) {
      const int64_t matrix = i / (rows * columns) * rows * columns, rest = i % (rows * columns);
      const int64_t source = matrix + rest % columns * rows + rest / columns;
      std::copy_n(from + source * size, size, to + i * size);
    }
    return turned;
  }

  const Value* v_;
  int axis_;
  bool transposed_;
};

// A product of floats whose operands are dequantised.
struct Product {
  Node* node;
  Value* data;
  Uniform data_scale;
  Weights weights;
  std::vector<double> bias;  // empty: none
};

std::optional<std::vector<double>> bias_of(const Node& node, size_t channels) {
  if (node.inputs.size() < 3 || node.inputs[2] == nullptr) return std::vector<double>();
  const auto t = known(node.inputs[2]);
  if (!t || t->count() != static_cast<int64_t>(channels)
      || (t->shape().rank() > 0 && t->shape().back() != t->count()))
    return std::nullopt;
  return t->numbers();
}

std::optional<Product> product_of(Node& node, int channel_axis, bool transposed) {
  const Node* source = node.inputs[0] != nullptr ? node.inputs[0]->producer : nullptr;
  if (source == nullptr || source->as<Dequantize>() == nullptr || node.inputs[1] == nullptr)
    return std::nullopt;
  Value* data = source->inputs[0];
  const bool is_float8 = data->type == DataType::kFP8;
  if (!(is_byte(data->type) || is_float8) || !is_plain(*source)) return std::nullopt;
  const auto scale = uniform_of(*source);
  if (!scale || (is_float8 && scale->zero != nullptr)) return std::nullopt;
  auto weights = WeightsOf(*node.inputs[1], channel_axis, transposed).find();
  if (!weights || (weights->values.type() == DataType::kFP8) != is_float8) return std::nullopt;
  auto bias = bias_of(node, weights->scale.size());
  if (!bias) return std::nullopt;
  return Product{&node, data, *scale, std::move(*weights), std::move(*bias)};
}

Tensor list_of(DataType type, const std::vector<double>& numbers) {
  Tensor t(type, {static_cast<int64_t>(numbers.size())});
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (type == DataType::kFLOAT)
      t.mutable_data<float>()[i] = static_cast<float>(numbers[i]);
    else
      t.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(static_cast<int>(numbers[i]));
  }
  return t;
}

template <class Kind>
void rewrite(Patch& patch, Product& p, const Ending& ending, std::unique_ptr<Kind> op) {
  const double result_scale = ending.result ? ending.result->scale : 1;
  std::vector<double> scale = p.weights.scale, shift = p.bias;
  for (double& s : scale) s *= p.data_scale.scale / result_scale;
  for (double& s : shift) s /= result_scale;
  const std::string& name = p.node->name;
  const DataType type = p.weights.values.type();
  const bool has_zeros =
      std::any_of(p.weights.zero.begin(), p.weights.zero.end(), [](double z) { return z != 0; });
  std::vector<Value*> inputs(In::kCount, nullptr);
  inputs[In::kData] = p.data;
  inputs[In::kWeights] = &patch.weight(p.weights.values, name + " weights");
  inputs[In::kDataZero] = p.data_scale.zero;
  if (has_zeros)
    inputs[In::kWeightsZero] = &patch.weight(list_of(type, p.weights.zero), name + " zeros");
  inputs[In::kResultScale] = &patch.weight(list_of(DataType::kFLOAT, scale), name + " scale");
  if (ending.result) inputs[In::kResultZero] = ending.result->zero;
  if (!shift.empty())
    inputs[In::kResultShift] = &patch.weight(list_of(DataType::kFLOAT, shift), name + " bias");
  while (inputs.back() == nullptr) inputs.pop_back();
  patch.fuse(std::move(op), std::move(inputs), ending.merged);
}

// What the layer can take of what follows; nothing where it cannot give the type of its result.
std::optional<Ending> taken(const Target& target, const Uses& uses, Node& node, auto& op) {
  const auto gives = [&](const Ending& ending) {
    op.to = ending.to;
    op.bounds = ending.bounds;
    const bool is_asked = ending.bounds.used() || is_16bit_float(ending.to) || op.is_float8;
    return !is_asked || target.fuses(op, {});
  };
  Ending ending = ending_of(uses, node, op.is_float8);
  if (gives(ending)) return ending;
  const Ending plain{{&node}, std::nullopt, node.outputs[0]->type, {}};
  return gives(plain) ? std::optional(plain) : std::nullopt;
}

// Before a Dequantize there is fp8.
bool reads_float8(const Node& node) {
  const Node* source = node.inputs[0] != nullptr ? node.inputs[0]->producer : nullptr;
  return source != nullptr && source->as<Dequantize>() != nullptr
         && source->inputs[0]->type == DataType::kFP8;
}

bool rewrite_convolution(Patch& patch, const Target& target, const Uses& uses, Node& node,
                         const Convolution& op) {
  if (!op.epilogue.empty()) return false;
  auto quantized = quantized_form(op);
  quantized->is_float8 = reads_float8(node);
  // With nothing to fuse the question is whether there is a kernel at all.
  if (!target.fuses(*quantized, {})) return false;
  auto p = product_of(node, 0, false);
  const int spatial = op.kernel.rank();
  if (!p || p->weights.values.shape().rank() != spatial + 2) return false;
  const auto ending = taken(target, uses, node, *quantized);
  if (!ending) return false;
  rewrite(patch, *p, *ending, std::move(quantized));
  return true;
}

// The row that `sum` adds to the rows of a product, perhaps through layers of constants.
std::optional<std::vector<double>> added_row(const Node& sum, const Value& product) {
  const Value* const addend = addend_of(sum, product);
  const auto row = addend != nullptr ? known(addend) : std::nullopt;
  if (!row || bits_of(row->type()) < 16 || !is_float(row->type()) || !is_row_of(*row, product))
    return std::nullopt;
  return row->numbers();
}

// A bias behind the product becomes its own. The layer whose result that is.
Node& take_bias(const Uses& uses, Product& p) {
  Node* sum = p.bias.empty() ? uses.only(*p.node->outputs[0]) : nullptr;
  const auto row = sum != nullptr ? added_row(*sum, *p.node->outputs[0]) : std::nullopt;
  if (!row) return *p.node;
  p.bias = *row;
  return *sum;
}

bool rewrite_product(Patch& patch, const Target& target, const Uses& uses, Node& node,
                     const MatrixMultiply& op) {
  if (!op.epilogue.empty() || op.operation_a != MatrixOperation::kNONE
      || op.operation_b == MatrixOperation::kVECTOR)
    return false;
  auto quantized = std::make_unique<QuantizedMatrixMultiply>();
  quantized->is_float8 = reads_float8(node);
  if (!target.fuses(*quantized, {})) return false;
  const int rank = static_cast<int>(node.inputs[1]->dims.size());
  auto p = product_of(node, rank - 1, op.operation_b == MatrixOperation::kTRANSPOSE);
  if (!p) return false;
  // Of fp8 no target multiplies a stack of matrices.
  const Shape& weights = p->weights.values.shape();
  if (quantized->is_float8 && weights.volume(0, rank - 2) != 1) return false;
  Node& last = take_bias(uses, *p);
  auto ending = taken(target, uses, last, *quantized);
  if (!ending) return false;
  if (&last != &node) ending->merged.insert(ending->merged.begin(), &node);
  rewrite(patch, *p, *ending, std::move(quantized));
  return true;
}

}  // namespace

std::optional<Patch> quantized_products(const Network& network, const Target& target) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    if (!is_plain(*node) || node->inputs.size() < 2) continue;
    if (const auto* op = node->as<Convolution>(); op != nullptr)
      rewrite_convolution(patch, target, uses, *node, *op);
    if (const auto* product = node->as<MatrixMultiply>(); product != nullptr)
      rewrite_product(patch, target, uses, *node, *product);
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
