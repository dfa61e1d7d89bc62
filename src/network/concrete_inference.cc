#include "network/concrete_inference.h"

#include "base/error.h"

namespace tenon {
namespace {

class ConcreteInference final : public Inference {
 public:
  ConcreteInference(const std::vector<ConcreteTensor>& inputs, size_t output_count)
      : inputs_(inputs), outputs_(output_count) {
    for (ConcreteTensor& out : outputs_) out.present = false;
    for (const ConcreteTensor& t : inputs) {
      dims_.emplace_back();
      contents_.emplace_back();
      if (!t.present) continue;
      for (int64_t extent : t.shape)
        dims_.back().push_back(extent < 0 ? unknown() : pool_.constant(extent));
      if (!t.content) continue;
      Content& content = contents_.back().emplace();
      for (const Number& n : *t.content)
        content.push_back(n.is_known ? pool_.number(n) : unknown());
    }
  }

  std::vector<ConcreteTensor> take_outputs() { return std::move(outputs_); }

  ExprPool& pool() override { return pool_; }
  int input_count() const override { return static_cast<int>(inputs_.size()); }
  bool has_input(int i) const override {
    return i < input_count() && inputs_[static_cast<size_t>(i)].present;
  }
  DataType type(int i) const override { return input(i).type; }
  const Dims& dims(int i) const override {
    input(i);
    return dims_[static_cast<size_t>(i)];
  }
  const Content* content(int i) const override {
    input(i);
    const auto& content = contents_[static_cast<size_t>(i)];
    return content ? &*content : nullptr;
  }
  const Tensor* constant(int i) const override { return input(i).constant; }
  void set_output(int i, DataType type, Dims dims) override {
    ConcreteTensor& out = outputs_.at(static_cast<size_t>(i));
    out.type = type;
    out.shape = Shape();
    for (Dim d : dims) {
      if (!d->is_constant()) {
        out.shape.push_back(-1);
        continue;
      }
      require(d->is_integer_constant(), "output {} has an extent that is no integer", i);
      require(d->value.integer >= 0, "output {} would have a negative extent ({})", i,
              d->value.integer);
      out.shape.push_back(d->value.integer);
    }
    out.present = true;
  }
  void set_content(int, Content) override {}
  Dim data_dependent_extent(int, int, Dim) override { return unknown(); }
  Dim size_output(int, Dim, Dim) override { return unknown(); }
  const Content* readable_content(int i) override {
    auto& content = contents_.at(static_cast<size_t>(i));
    const auto shape = constant_shape(i);
    const DataType t = type(i);
    const bool integers = t == DataType::kINT32 || t == DataType::kINT64 || t == DataType::kBOOL;
    if (!content && integers && shape && shape->volume() <= kMaxReadableElements)
      for (content.emplace(); static_cast<int64_t>(content->size()) < shape->volume();)
        content->push_back(unknown());
    return this->content(i);
  }

 private:
  Dim unknown() { return pool_.symbol(symbols_++); }

  const ConcreteTensor& input(int i) const {
    require(has_input(i), "input {} is missing", i);
    return inputs_[static_cast<size_t>(i)];
  }

  ExprPool pool_;
  int64_t symbols_ = 0;
  const std::vector<ConcreteTensor>& inputs_;
  std::vector<Dims> dims_;
  std::vector<std::optional<Content>> contents_;
  std::vector<ConcreteTensor> outputs_;
};

}  // namespace

ConcreteTensor concrete_tensor(const Tensor* tensor) {
  if (tensor == nullptr) return {DataType::kFLOAT, {}, false, {}, nullptr};
  constexpr int64_t kMaxElements = 4096;
  return {tensor->type(), tensor->shape(), true, elements_of(*tensor, kMaxElements), tensor};
}

std::optional<std::vector<Number>> elements_of(const Tensor& tensor, int64_t max_count) {
  const bool real = tensor.type() == DataType::kFLOAT;
  if (tensor.count() > max_count || bits_of(tensor.type()) < 8
      || (is_float(tensor.type()) && !real))
    return std::nullopt;
  std::vector<Number> elements;
  if (real)
    for (double x : tensor.numbers()) elements.push_back(Number::of_float(x));
  else
    for (int64_t x : tensor.integers()) elements.push_back(Number::of(x));
  return elements;
}

std::vector<ConcreteTensor> infer_concrete(const Op& op, size_t output_count,
                                           const std::vector<ConcreteTensor>& inputs) {
  ConcreteInference inference(inputs, output_count);
  op.infer(inference);
  auto outputs = inference.take_outputs();
  for (const ConcreteTensor& out : outputs)
    require(out.present, "the shape rule left an output without a shape");
  return outputs;
}

}  // namespace tenon
