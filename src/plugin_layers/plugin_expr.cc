#include "plugin_layers/plugin_expr.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

using nvinfer1::DimensionOperation;
using nvinfer1::DimsExprs;
using nvinfer1::IDimensionExpr;

class PluginExprBuilder::Expression final : public IDimensionExpr,
                                            public nvinfer1::apiv::VDimensionExpr {
 public:
  Expression(Dim dim, bool is_size) : dim_(dim), is_size_(is_size) { mImpl = this; }
  bool isConstant() const override { return dim_->is_integer_constant(); }
  int64_t getConstantValue() const override { return isConstant() ? dim_->value.integer : -1; }
  bool isSizeTensor() const override { return is_size_; }

 private:
  Dim dim_;
  bool is_size_;
};

PluginExprBuilder::PluginExprBuilder(Inference& inference, int outputs)
    : inference_(inference), pool_(inference.pool()), outputs_(outputs) {
  mImpl = this;
}

PluginExprBuilder::~PluginExprBuilder() = default;

const IDimensionExpr* PluginExprBuilder::facade(Dim dim) {
  const auto [it, fresh] = by_dim_.emplace(dim, nullptr);
  if (fresh) {
    const bool is_size = std::any_of(sizes_.begin(), sizes_.end(),
                                     [&](const auto& size) { return size.second == dim; });
    it->second = expressions_.emplace_back(std::make_unique<Expression>(dim, is_size)).get();
    by_facade_.emplace(it->second, dim);
  }
  return it->second;
}

const IDimensionExpr* PluginExprBuilder::misuse(const std::string& message) {
  if (error_.empty()) error_ = message;
  return facade(pool_.constant(0));
}

Dim PluginExprBuilder::dim_of(const IDimensionExpr* expression) const {
  const auto it = by_facade_.find(expression);
  return it == by_facade_.end() ? nullptr : it->second;
}

const IDimensionExpr* PluginExprBuilder::constant(int64_t value) {
  return facade(pool_.constant(value));
}

const IDimensionExpr* PluginExprBuilder::operation(DimensionOperation operation,
                                                   const IDimensionExpr& first,
                                                   const IDimensionExpr& second) {
  const Dim a = dim_of(&first), b = dim_of(&second);
  if (a == nullptr || b == nullptr)
    return misuse("IExprBuilder::operation was given an expression of another call");
  const auto op = [operation] {
    switch (operation) {
      case DimensionOperation::kSUM:
        return ExprOp::kAdd;
      case DimensionOperation::kPROD:
        return ExprOp::kMul;
      case DimensionOperation::kMAX:
        return ExprOp::kMax;
      case DimensionOperation::kMIN:
        return ExprOp::kMin;
      case DimensionOperation::kSUB:
        return ExprOp::kSub;
      case DimensionOperation::kEQUAL:
        return ExprOp::kEqual;
      case DimensionOperation::kLESS:
        return ExprOp::kLess;
      case DimensionOperation::kFLOOR_DIV:
        return ExprOp::kFloorDiv;
      case DimensionOperation::kCEIL_DIV:
        return ExprOp::kCeilDiv;
    }
    return ExprOp::kConstant;
  }();
  if (op == ExprOp::kConstant)
    return misuse(fmt::format("IExprBuilder::operation was given the operation {}, which is none",
                              static_cast<int32_t>(operation)));
  try {
    const Dim result = pool_.make(op, a, b);
    if (sized_.contains(a) || sized_.contains(b)) sized_.insert(result);
    return facade(result);
  } catch (const Error& e) {  // division by zero, overflow
    return misuse(e.what());
  }
}

const IDimensionExpr* PluginExprBuilder::declareSizeTensor(int32_t output,
                                                           const IDimensionExpr& opt,
                                                           const IDimensionExpr& upper) {
  if (outputs_ == 0)
    return misuse("only plugins of version 3 (IPluginV3) have size tensors (declareSizeTensor)");
  if (output < 0 || output >= outputs_)
    return misuse(
        fmt::format("declareSizeTensor names output {}; the plugin has {}", output, outputs_));
  const Dim opt_size = dim_of(&opt), upper_size = dim_of(&upper);
  if (opt_size == nullptr || upper_size == nullptr)
    return misuse("declareSizeTensor was given an expression of another call");
  if (sized_.contains(opt_size) || sized_.contains(upper_size))
    return misuse("declareSizeTensor was given a value or bound that depends on a size tensor");
  if (sizes_.contains(output))
    return misuse(fmt::format("output {} was declared a size tensor twice", output));
  const Dim size = inference_.size_output(output, opt_size, upper_size);
  sizes_.emplace(output, size);
  sized_.insert(size);
  return facade(size);
}

DimsExprs PluginExprBuilder::expose(const Dims& dims) {
  require(dims.size() <= Shape::kMaxRank, "{} dimensions are more than a plugin can see (8)",
          dims.size());
  DimsExprs exposed{};
  exposed.nbDims = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) exposed.d[i] = facade(dims[i]);
  return exposed;
}

std::vector<DimsExprs> PluginExprBuilder::expose_inputs(int count) {
  std::vector<DimsExprs> inputs;
  for (int i = 0; i < count; ++i) inputs.push_back(expose(inference_.dims(i)));
  return inputs;
}

void PluginExprBuilder::check(const std::string& label) const {
  if (!error_.empty()) fail(ErrorCode::kUNSUPPORTED_STATE, "{}, shape rule: {}", label, error_);
}

Dims PluginExprBuilder::read(const DimsExprs& dims, const std::string& what) const {
  require(dims.nbDims >= 0 && dims.nbDims <= Shape::kMaxRank, "{} has rank {}; expected 0 to {}",
          what, dims.nbDims, Shape::kMaxRank);
  Dims read;
  for (int32_t i = 0; i < dims.nbDims; ++i) {
    require(dims.d[i] != nullptr, "{} has a null expression for dimension {}", what, i);
    const Dim dim = dim_of(dims.d[i]);
    require(dim != nullptr, "{} has an expression of another call for dimension {}", what, i);
    require(!dim->is_integer_constant() || dim->value.integer >= 0,
            "{} has the extent {} for dimension {}", what, dim->value.integer, i);
    read.push_back(dim);
  }
  return read;
}

}  // namespace tenon
