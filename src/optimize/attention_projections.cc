// Products that make queries, keys and values of the same tensor become one, whose result attention
// reads in parts.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "ops/attention.h"
#include "ops/matrix_multiply.h"
#include "ops/quantized_matrix_multiply.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

using nvinfer1::MatrixOperation;
using In = QuantizedInputs;

Value* input_of(const Node& node, size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : nullptr;
}

// A product whose weights are a constant matrix.
struct Product {
  Node* node;
  int64_t columns;
  bool transposed;  // the weights
};

bool equal(const Value* a, const Value* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || !a->constant || !b->constant) return false;
  const Tensor &x = *a->constant, &y = *b->constant;
  return x.type() == y.type() && x.count() == y.count()
         && std::memcmp(x.data(), y.data(), x.bytes()) == 0;
}

// Whether a constant, or none, is one number or one for each column.
bool is_row(const Value* value, int64_t columns) {
  if (value == nullptr) return true;
  if (!value->constant) return false;
  const Shape& shape = value->constant->shape();
  const int64_t count = value->constant->count();
  return count == 1 || (count == columns && shape.back() == columns);
}

std::optional<Product> product_of(Node& node) {
  const auto* floats = node.as<MatrixMultiply>();
  const auto* integers = node.as<QuantizedMatrixMultiply>();
  if ((floats == nullptr && integers == nullptr) || !is_plain(node)) return std::nullopt;
  if (floats != nullptr
      && (floats->operation_a != MatrixOperation::kNONE
          || floats->operation_b == MatrixOperation::kVECTOR))
    return std::nullopt;
  if (!(floats != nullptr ? floats->epilogue : integers->epilogue).empty()) return std::nullopt;
  const Value* weights = node.inputs[1];
  const auto result = constant_shape(node.outputs[0]->dims);
  if (!result || result->rank() < 2 || result->volume() == 0 || !weights->constant
      || weights->folded != nullptr)
    return std::nullopt;
  const Shape& shape = weights->constant->shape();
  const bool transposed = floats != nullptr && floats->operation_b == MatrixOperation::kTRANSPOSE;
  if (shape.rank() < 2 || bits_of(weights->type) % 8 != 0) return std::nullopt;
  const int64_t columns = shape[shape.rank() - (transposed ? 2 : 1)];
  if (shape.volume() != shape[shape.rank() - 1] * shape[shape.rank() - 2]) return std::nullopt;
  for (size_t i = 2; i < node.inputs.size(); ++i)
    if (!is_row(node.inputs[i], columns)) return std::nullopt;
  return Product{&node, columns, transposed};
}

// Whether both give the same but for their columns.
bool join(const Product& a, const Product& b) {
  const Node &x = *a.node, &y = *b.node;
  if (x.inputs[0] != y.inputs[0] || x.op->kind() != y.op->kind() || a.transposed != b.transposed
      || x.outputs[0]->type != y.outputs[0]->type || x.inputs[1]->type != y.inputs[1]->type
      || x.inputs[1]->dims.size() != y.inputs[1]->dims.size())
    return false;
  if (x.as<MatrixMultiply>() != nullptr) return true;
  const auto &p = *x.as<QuantizedMatrixMultiply>(), &q = *y.as<QuantizedMatrixMultiply>();
  const auto both = [&](size_t i) {
    return (input_of(x, i) == nullptr) == (input_of(y, i) == nullptr);
  };
  return p.to == q.to && p.is_float8 == q.is_float8 && p.bounds.lowest == q.bounds.lowest
         && p.bounds.highest == q.bounds.highest && both(In::kResultScale)
         && equal(input_of(x, In::kDataZero), input_of(y, In::kDataZero))
         && equal(input_of(x, In::kResultZero), input_of(y, In::kResultZero));
}

class Projections {
 public:
  explicit Projections(const Network& network) : network_(network), uses_(network) {
    for (const auto& node : network.nodes()) places_.emplace(node.get(), places_.size());
  }

  std::optional<Patch> run() {
    for (const auto& node : network_.nodes())
      if (node->as<Attention>() != nullptr && is_plain(*node)) take(*node);
    if (patch_.empty()) return std::nullopt;
    return std::move(patch_);
  }

 private:
  // The product that makes this operand, and nothing else.
  std::optional<Product> product_for(const Node& attention, size_t operand) const {
    Value* const value = attention.inputs[operand];
    Node* const producer = value->producer;
    if (producer == nullptr || uses_.only(*value) != &attention || patch_.removes(*producer)
        || std::ranges::count(attention.inputs, value) != 1)
      return std::nullopt;
    return product_of(*producer);
  }

  void take(Node& node) {
    for (size_t first = 0; first < 2; ++first) {
      const auto product = product_for(node, first);
      if (!product) continue;
      std::vector<Product> products{*product};
      std::vector<size_t> operands{first};
      for (size_t i = first + 1; i < 3; ++i) {
        const auto other = product_for(node, i);
        if (!other || !join(*product, *other)) continue;
        products.push_back(*other);
        operands.push_back(i);
      }
      if (products.size() > 1) return take(node, products, operands);
    }
  }

  void take(Node& node, const std::vector<Product>& products, const std::vector<size_t>& operands) {
    auto changed = std::make_unique<Attention>(*node.as<Attention>());
    std::vector<Value*> inputs = node.inputs;
    int64_t all = 0, first = 0;
    for (const Product& p : products) all += p.columns;
    std::vector<Node*> merged;
    for (const Product& p : products) merged.push_back(p.node);
    Value* const joined = (*std::ranges::min_element(merged, {}, [&](const Node* n) {
                            return places_.at(n);
                          }))->outputs[0];
    for (size_t k = 0; k < products.size(); ++k) {
      const Shape own = *constant_shape(merged[k]->outputs[0]->dims);
      auto& vectors = changed->vectors[operands[k]];
      vectors = changed->vectors_of(operands[k], own);
      if (!place(vectors, products[k].columns, all, first)) return;
      first += products[k].columns;
      inputs[operands[k]] = joined;
    }
    patch_.fuse(merged.front()->op->clone(), joined_inputs(products, all), merged, {joined});
    patch_.fuse(std::move(changed), std::move(inputs), {&node});
  }

  // Vectors within rows of `columns` elements come to lie within longer rows, from column `first`
  // on; false where they do not lie within rows.
  static bool place(AttentionVectors& vectors, int64_t columns, int64_t all, int64_t first) {
    constexpr int64_t kVectorMultiple = 8;  // as for attention_strides
    int64_t last = vectors.offset % columns;
    for (int i = 0; i < 4; ++i) {
      int64_t& step = vectors.steps[i];
      if (step % columns == 0)
        step = step / columns * all;
      else
        last += (vectors.extents[i] - 1) * step;
    }
    vectors.offset = vectors.offset / columns * all + vectors.offset % columns + first;
    return last < columns && all % kVectorMultiple == 0 && first % kVectorMultiple == 0;
  }

  std::vector<Value*> joined_inputs(const std::vector<Product>& products, int64_t all) {
    const Node& first = *products.front().node;
    std::vector<Value*> inputs{first.inputs[0], &joined_weights(products, all)};
    const int rank = static_cast<int>(first.outputs[0]->dims.size());
    const bool has_floats = first.as<MatrixMultiply>() != nullptr;
    for (size_t i = 2; i < In::kCount; ++i) {
      // These are one for all.
      if (!has_floats && (i == In::kDataZero || i == In::kResultZero))
        inputs.push_back(input_of(first, i));
      else
        inputs.push_back(joined_row(products, i, has_floats ? rank : 1, all));
    }
    while (inputs.back() == nullptr) inputs.pop_back();
    return inputs;
  }

  Value& joined_weights(const std::vector<Product>& products, int64_t all) {
    const Tensor& first = *products.front().node->inputs[1]->constant;
    const bool transposed = products.front().transposed;
    const int rank = first.shape().rank();
    Shape shape = first.shape();
    shape[rank - (transposed ? 2 : 1)] = all;
    Tensor tensor(first.type(), shape);
    // Rows, of which those of transposed weights are the columns.
    const int64_t depth = shape[rank - (transposed ? 1 : 2)], rows = transposed ? 1 : depth;
    auto* to = tensor.mutable_data<std::byte>();
    for (int64_t row = 0; row < rows; ++row)
      for (const Product& p : products) {
        const size_t bytes = bytes_of(first.type(), p.columns * (transposed ? depth : 1));
        const auto* from = p.node->inputs[1]->constant->data<std::byte>();
        std::memcpy(to, from + static_cast<size_t>(row) * bytes, bytes);
        to += bytes;
      }
    return patch_.weight(std::move(tensor), name_of_input(products, 1));
  }

  // One number for each column; none if no product has any. Where one has none, they are zeros.
  Value* joined_row(const std::vector<Product>& products, size_t i, int rank, int64_t all) {
    const auto given = std::find_if(products.begin(), products.end(), [&](const Product& p) {
      return input_of(*p.node, i) != nullptr;
    });
    if (given == products.end()) return nullptr;
    Shape shape = Shape::filled(rank, 1);
    shape[rank - 1] = all;
    const DataType type = input_of(*given->node, i)->type;
    const size_t element = bytes_of(type, 1);
    Tensor tensor(type, shape);
    auto* to = tensor.mutable_data<std::byte>();
    for (const Product& p : products) {
      const Value* own = input_of(*p.node, i);
      const std::byte* from = own != nullptr ? own->constant->data<std::byte>() : nullptr;
      const bool has_each = own != nullptr && own->constant->count() == p.columns;
      for (int64_t c = 0; c < p.columns; ++c, to += element) {
        if (from == nullptr)
          std::memset(to, 0, element);
        else
          std::memcpy(to, from + (has_each ? static_cast<size_t>(c) * element : 0), element);
      }
    }
    return &patch_.weight(std::move(tensor), name_of_input(products, i));
  }

  static std::string name_of_input(const std::vector<Product>& products, size_t i) {
    std::string name;
    for (const Product& p : products)
      if (const Value* own = input_of(*p.node, i); own != nullptr)
        name += (name.empty() ? "" : " + ") + own->name;
    return name;
  }

  const Network& network_;
  Uses uses_;
  std::unordered_map<const Node*, size_t> places_;  // in the order of layers
  Patch patch_;
};

}  // namespace

std::optional<Patch> attention_projections(const Network& network, const Target& target) {
  if (!target.fuses(Attention(), {})) return std::nullopt;
  return Projections(network).run();
}

}  // namespace tenon
