// Matrix products of 8-bit integers by oneDNN.
#include "cpu/kernels.h"
#include "cpu/onednn/integer.h"
#include "ops/quantized_matrix_multiply.h"

namespace tenon::cpu {
namespace onednn {
namespace {

using dnnl::memory;
using In = QuantizedInputs;
using Type = memory::data_type;

int32_t wrapped_product(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}
void add_wrapped(int32_t& a, int32_t b) {
  a = static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

/// Sums of the columns of `count` matrices in rows.
void sum_columns(const int8_t* matrices, int64_t count, int64_t rows, int64_t columns,
                 int32_t* sums) {
  for (int64_t i = 0; i < count; ++i, sums += columns) {
    std::fill_n(sums, columns, 0);
    for (int64_t k = 0; k < rows; ++k, matrices += columns)
      for (int64_t n = 0; n < columns; ++n) sums[n] += matrices[n];
  }
}

template <class T> int32_t sum_of(const T* row, int64_t count) {
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += row[i];
  return sum;
}

/// oneDNN multiplies the bytes as they are. With zero points p and q, the sum over k of
/// (a - p) (b - q) is that of a b, less p times the column's sum of b, less q times the row's sum
/// of a, plus depth p q.
class ProductExecution final : public Execution {
 public:
  ProductExecution(const QuantizedMatrixMultiply& op, DataType data,
                   const QuantizedProducts& products, SignedOperands operands)
      : to_(op.to),
        bounds_(op.bounds),
        data_(data),
        products_(products),
        operands_(std::move(operands)) {}

  size_t scratch_bytes() const override { return main.scratch_bytes(); }

  void run(const RunArguments& arguments) override {
    auto* scratch = static_cast<std::byte*>(arguments.scratch);
    if (moved_at) move_weights(arguments, scratch + *moved_at);
    main.run(arguments);
    const QuantizedOperands& operands = operands_.read(arguments);
    const int32_t* columns = column_sums;
    if (columns == nullptr) {
      auto* sums = reinterpret_cast<int32_t*>(scratch + columns_at);
      const void* weights = moved_at ? scratch + *moved_at : arguments.inputs[In::kWeights];
      sum_columns(static_cast<const int8_t*>(weights), weight_matrices, products_.depth,
                  products_.columns, sums);
      columns = sums;
    }
    auto* base = reinterpret_cast<int32_t*>(scratch + base_at);
    make_base(operands, columns, base);
    requantize(arguments, operands, base);
  }

  PrimitiveExecution main;
  PackedWeights weights;                 // where they are not the kernel's
  const int32_t* column_sums = nullptr;  // of constant weights
  int64_t weight_matrices = 1;
  std::optional<size_t> moved_at;  // where weights that are known only now become int8
  size_t columns_at = 0, base_at = 0, sums_at = 0;
  bool sums_in_output = false, corrects = false;

 private:
  void move_weights(const RunArguments& arguments, std::byte* to) const {
    const auto* from = static_cast<const std::byte*>(arguments.inputs[In::kWeights]);
    const int64_t count = weight_matrices * products_.depth * products_.columns;
    for (int64_t i = 0; i < count; ++i) to[i] = from[i] ^ std::byte{128};
  }

  /// What is added to all sums of a column.
  void make_base(const QuantizedOperands& operands, const int32_t* columns, int32_t* base) const {
    const int32_t depth_zero =
        wrapped_product(static_cast<int32_t>(products_.depth), operands.data_zero);
    for (int64_t i = 0; i < weight_matrices; ++i)
      for (size_t n = 0; n < operands.bias.size(); ++n, ++base, ++columns) {
        *base = operands.bias[n];
        add_wrapped(*base, wrapped_product(-operands.data_zero, *columns));
        add_wrapped(*base, wrapped_product(depth_zero, operands.weights_zero[n]));
      }
  }

  int32_t row_sum(const void* data, int64_t row) const {
    const int64_t at = row * products_.depth;
    return data_ == DataType::kINT8
               ? sum_of(static_cast<const int8_t*>(data) + at, products_.depth)
               : sum_of(static_cast<const uint8_t*>(data) + at, products_.depth);
  }

  void requantize(const RunArguments& arguments, const QuantizedOperands& operands,
                  const int32_t* base) const {
    const QuantizedProducts& p = products_;
    auto* out = static_cast<std::byte*>(arguments.outputs[0]);
    auto* sums = reinterpret_cast<int32_t*>(
        sums_in_output ? out : static_cast<std::byte*>(arguments.scratch) + sums_at);
    const Requantization result = operands.for_channels(to_, bounds_);
    const size_t bytes = bytes_of(to_, p.columns);
    const auto rows = static_cast<int64_t>(p.data.size()) * p.rows;
    parallel_for(rows, std::max<int64_t>(1, 16384 / p.columns), [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const auto product = static_cast<size_t>(i / p.rows);
        int32_t* row = sums + i * p.columns;
        const int32_t* column = base + (weight_matrices == 1 ? 0 : p.weights[product]) * p.columns;
        for (int64_t n = 0; n < p.columns; ++n) add_wrapped(row[n], column[n]);
        if (corrects) {
          const int32_t sum =
              row_sum(arguments.inputs[In::kData], p.data[product] * p.rows + i % p.rows);
          for (int64_t n = 0; n < p.columns; ++n)
            add_wrapped(row[n],
                        wrapped_product(-operands.weights_zero[static_cast<size_t>(n)], sum));
        }
        store(result, row, p.columns, out + static_cast<size_t>(i) * bytes);
      }
    });
  }

  DataType to_;
  ResultBounds bounds_;
  DataType data_;
  QuantizedProducts products_;
  SignedOperands operands_;
};

memory::desc in_rows(const Shape& shape, Type type) {
  return {dims_of(shape), type, dims_of(shape.strides())};
}

class IntegerMatrixMultiplyKernel final : public Kernel {
 public:
  explicit IntegerMatrixMultiplyKernel(const QuantizedMatrixMultiply& op) : op_(op) {}

  std::optional<std::string> initialise(const KernelRequest& request, IntegerWeights weights) {
    if (!op_.epilogue.empty()) return "epilogues are not supported";
    moved_ = weights.moved;
    corrects_ = weights.has_zero;
    input_is_packed.assign(request.inputs.size(), false);
    state.emplace_back("weights_zero", corrects_);
    signed_ = std::move(weights.constant);
    if (signed_) {
      signed_->save(*this);
      const Shape& shape = signed_->plain.shape();
      const int64_t columns = shape.back(), rows = shape[shape.rank() - 2];
      const int64_t count = columns * rows == 0 ? 0 : shape.volume() / (columns * rows);
      column_sums_.resize(static_cast<size_t>(count * columns));
      sum_columns(signed_->plain.data<int8_t>(), count, rows, columns, column_sums_.data());
    }
    if (request.outputs[0].shape.volume() == 0) return std::nullopt;
    if (request.inputs[In::kData].shape.back() == 0) return "there is nothing to sum";
    const auto made = describe(request.inputs, request.outputs[0].shape);
    const std::string implementation = made.impl_info_str();
    if (implementation.starts_with("ref")) return "oneDNN has only a reference implementation";
    if (signed_)
      packed_ = pack(signed_->plain.data(), plain_weights(request.inputs), made.weights_desc());
    return std::nullopt;
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    if (outputs[0].shape.volume() == 0) return std::make_unique<EmptyExecution>();
    require(
        inputs[In::kData].shape.back() > 0,
        "a sum over no elements is not supported where there were some when the plan was built");
    const QuantizedProducts products(inputs[In::kData].shape, inputs[In::kWeights].shape);
    auto execution = std::make_unique<ProductExecution>(
        op_, inputs[In::kData].type, products, SignedOperands(inputs, products.columns, moved_));
    ProductExecution& e = *execution;
    e.corrects = corrects_;
    e.weight_matrices = inputs[In::kWeights].shape.volume() / (products.depth * products.columns);
    e.base_at = e.main.reserve(bytes_of(DataType::kINT32, e.weight_matrices * products.columns));
    if (signed_)
      e.column_sums = column_sums_.data();
    else
      e.columns_at =
          e.main.reserve(bytes_of(DataType::kINT32, e.weight_matrices * products.columns));
    e.sums_in_output = op_.to == DataType::kINT32;
    Source sums{Source::From::kOutput, 0};
    if (!e.sums_in_output) {
      e.sums_at = e.main.reserve(bytes_of(DataType::kINT32, outputs[0].shape.volume()));
      sums = {Source::From::kScratch, e.sums_at};
    }
    add_product(e, inputs, outputs[0].shape, sums);
    return execution;
  }

 private:
  void add_product(ProductExecution& e, std::span<const TensorSpec> inputs, const Shape& result,
                   const Source& sums) const {
    const auto made = describe(inputs, result);
    Source weights{Source::From::kInput, In::kWeights};
    memory::desc lie = plain_weights(inputs);
    if (signed_) {
      e.weights = packed_;
      if (!e.weights.memory.data() || packed_.desc != made.weights_desc())
        e.weights = pack(signed_->plain.data(), lie, made.weights_desc());
      weights = {Source::From::kFixed, 0, e.weights.memory.data()};
      lie = made.weights_desc();
    } else if (moved_) {
      e.moved_at = e.main.reserve(lie.get_size());
      weights = {Source::From::kScratch, *e.moved_at};
    }
    if (lie != made.weights_desc()) {
      const Source copy{Source::From::kScratch, e.main.reserve(made.weights_desc().get_size())};
      e.main.add_reorder("reorder of weights", weights, lie, copy, made.weights_desc());
      weights = copy;
    }
    e.main.add(made, {{DNNL_ARG_SRC, {Source::From::kInput, In::kData}, made.src_desc()},
                      {DNNL_ARG_WEIGHTS, weights, made.weights_desc()},
                      {DNNL_ARG_DST, sums, made.dst_desc()}});
  }

  /// One matrix of weights for all of the batch: its rows are those of one tall matrix.
  static bool folds(std::span<const TensorSpec> inputs) {
    const Shape& weights = inputs[In::kWeights].shape;
    return weights.volume(0, weights.rank() - 2) == 1;
  }

  memory::desc plain_weights(std::span<const TensorSpec> inputs) const {
    const Shape& shape = inputs[In::kWeights].shape;
    if (!folds(inputs)) return in_rows(shape, Type::s8);
    return in_rows({shape[shape.rank() - 2], shape.back()}, Type::s8);
  }

  dnnl::matmul::primitive_desc describe(std::span<const TensorSpec> inputs,
                                        const Shape& result) const {
    const TensorSpec& data = inputs[In::kData];
    Shape from = data.shape, to = result;
    if (folds(inputs)) {
      from = {data.shape.volume(0, data.shape.rank() - 1), data.shape.back()};
      to = {result.volume(0, result.rank() - 1), result.back()};
    }
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    // Found by the tests: oneDNN 2.5 makes one block of 33 to 48 columns, which threads that share
    // it read wrongly.
    memory::desc weights = plain_weights(inputs);
    const int64_t columns = result.back();
    if (columns <= 32 || columns > 48)
      weights = {weights.dims(), Type::s8, memory::format_tag::any};
    return call("integer matrix product", [&] {
      return dnnl::matmul::primitive_desc(
          dnnl::matmul::desc(in_rows(from, byte_type(data.type)), weights, in_rows(to, Type::s32)),
          attributes, engine());
    });
  }

  QuantizedMatrixMultiply op_;
  std::optional<SignedWeights> signed_;
  PackedWeights packed_;
  std::vector<int32_t> column_sums_;
  bool moved_ = false, corrects_ = false;
};

}  // namespace
}  // namespace onednn

Offer offer_onednn_integer_matrix_multiply(const KernelRequest& request) {
  return onednn::offer_integers<onednn::IntegerMatrixMultiplyKernel, QuantizedMatrixMultiply>(
      request);
}

Offer load_onednn_integer_matrix_multiply(const KernelRequest& request,
                                          const StoredKernel& stored) {
  return onednn::load_integers<onednn::IntegerMatrixMultiplyKernel, QuantizedMatrixMultiply>(
      request, stored);
}

}  // namespace tenon::cpu
