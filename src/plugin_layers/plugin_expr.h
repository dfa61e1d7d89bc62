// IExprBuilder and IDimensionExpr as plugins see them, over the engine's symbolic expressions.
#pragma once

#include <NvInfer.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "network/op.h"

namespace tenon {

/// Lives as long as one call of a plugin's shape rule, and owns the expressions that it handed out.
/// Nothing that a plugin calls throws or returns null: plugins dereference what they get. The first
/// misuse is kept for check().
class PluginExprBuilder final : public nvinfer1::IExprBuilder, public nvinfer1::apiv::VExprBuilder {
 public:
  /// @param outputs how many outputs may be size tensors: all of a plugin of version 3, none of one
  ///        of version 2.
  PluginExprBuilder(Inference& inference, int outputs);
  ~PluginExprBuilder() override;

  const nvinfer1::IDimensionExpr* constant(int64_t value) override;
  const nvinfer1::IDimensionExpr* operation(nvinfer1::DimensionOperation operation,
                                            const nvinfer1::IDimensionExpr& first,
                                            const nvinfer1::IDimensionExpr& second) override;
  const nvinfer1::IDimensionExpr* declareSizeTensor(int32_t output,
                                                    const nvinfer1::IDimensionExpr& opt,
                                                    const nvinfer1::IDimensionExpr& upper) override;

  /// A tensor's dimensions for a plugin; throws when there are more than eight.
  nvinfer1::DimsExprs expose(const Dims& dims);
  /// Those of the layer's first `count` inputs.
  std::vector<nvinfer1::DimsExprs> expose_inputs(int count);
  /// What a plugin returned; throws Error when it is not made of this builder's expressions, has a
  /// bad rank or negative extents. `what` names it in the message.
  Dims read(const nvinfer1::DimsExprs& dims, const std::string& what) const;
  /// The sizes that were declared, by the output that holds them.
  const std::map<int, Dim>& sizes() const { return sizes_; }
  /// Throws for the first misuse, in the name of the plugin.
  void check(const std::string& label) const;

 private:
  class Expression;
  const nvinfer1::IDimensionExpr* facade(Dim dim);
  const nvinfer1::IDimensionExpr* misuse(const std::string& message);
  Dim dim_of(const nvinfer1::IDimensionExpr* expression) const;

  Inference& inference_;
  ExprPool& pool_;
  int outputs_;
  std::map<int, Dim> sizes_;
  std::unordered_set<Dim> sized_;  // what depends on them
  std::vector<std::unique_ptr<Expression>> expressions_;
  std::unordered_map<Dim, const nvinfer1::IDimensionExpr*> by_dim_;
  std::unordered_map<const nvinfer1::IDimensionExpr*, Dim> by_facade_;
  std::string error_;
};

}  // namespace tenon
