#include "network/reference_run.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tenon {
namespace {

// Shape inference for one layer whose inputs are at hand, so that all extents are numbers.
class ConcreteInference final : public Inference {
 public:
  ConcreteInference(const Node& node, std::span<const Tensor* const> inputs)
      : inputs_(inputs), outputs_(node.outputs.size()) {
    for (const Tensor* t : inputs) {
      dims_.emplace_back();
      contents_.emplace_back();
      if (t == nullptr) continue;
      for (int64_t extent : t->shape()) dims_.back().push_back(pool_.constant(extent));
      add_content(*t);
    }
  }

  struct Output {
    DataType type = DataType::kFLOAT;
    Shape shape;
    bool set = false;
  };
  const std::vector<Output>& outputs() const { return outputs_; }

  ExprPool& pool() override { return pool_; }
  int input_count() const override { return static_cast<int>(inputs_.size()); }
  bool has_input(int i) const override {
    return i < input_count() && inputs_[static_cast<size_t>(i)] != nullptr;
  }
  DataType type(int i) const override { return input(i).type(); }
  const Dims& dims(int i) const override {
    input(i);
    return dims_[static_cast<size_t>(i)];
  }
  const Content* content(int i) const override {
    input(i);
    const auto& content = contents_[static_cast<size_t>(i)];
    return content ? &*content : nullptr;
  }
  const Tensor* constant(int i) const override { return &input(i); }
  void set_output(int i, DataType type, Dims dims) override {
    Output& out = outputs_.at(static_cast<size_t>(i));
    out.type = type;
    out.shape = Shape();
    for (Dim d : dims) {
      require(d->is_integer_constant(), "output {} has a size that depends on data", i);
      require(d->value.integer >= 0, "output {} would have a negative extent ({})", i,
              d->value.integer);
      out.shape.push_back(d->value.integer);
    }
    out.set = true;
  }
  void set_content(int, Content) override {}

 private:
  const Tensor& input(int i) const {
    require(has_input(i), "input {} is missing", i);
    return *inputs_[static_cast<size_t>(i)];
  }
  void add_content(const Tensor& t) {
    constexpr int64_t kLargestContent = 4096;
    const bool real = t.type() == DataType::kFLOAT;
    if (t.count() > kLargestContent || bits_of(t.type()) < 8 || (is_float(t.type()) && !real))
      return;
    Content& content = contents_.back().emplace();
    if (real)
      for (double x : t.numbers()) content.push_back(pool_.constant_float(x));
    else
      for (int64_t x : t.integers()) content.push_back(pool_.constant(x));
  }

  ExprPool pool_;
  std::span<const Tensor* const> inputs_;
  std::vector<Dims> dims_;
  std::vector<std::optional<Content>> contents_;
  std::vector<Output> outputs_;
};

std::vector<Tensor> run(const Node& node, std::span<const Tensor* const> inputs,
                        size_t most_bytes) {
  ConcreteInference inference(node, inputs);
  node.op->infer(inference);
  std::vector<Tensor> outputs;
  std::vector<TensorView> input_views, output_views;
  for (const auto& out : inference.outputs()) {
    require(out.set, "the shape rule left an output without a shape");
    const int64_t count = out.shape.volume();
    require(count <= INT64_MAX / 8 && bytes_of(out.type, count) <= most_bytes,
            "an output of shape {} is larger than {} bytes", out.shape, most_bytes);
    outputs.emplace_back(out.type, out.shape);
    output_views.push_back(view_of(outputs.back()));
  }
  for (const Tensor* t : inputs) input_views.push_back(t != nullptr ? view_of(*t) : TensorView{});
  node.op->reference({input_views, output_views});
  return outputs;
}

void check_input(const Value& input, const Tensor& tensor) {
  bool fits = tensor.shape().rank() == input.declared.rank();
  for (int i = 0; fits && i < input.declared.rank(); ++i)
    fits = input.declared[i] < 0 || input.declared[i] == tensor.shape()[i];
  require(fits, "input '{}' has shape {}; the network declares {}", input.name, tensor.shape(),
          input.declared);
  require(tensor.type() == input.type, "input '{}' is {}; the network declares {}", input.name,
          name_of(tensor.type()), name_of(input.type));
}

bool can_fold(const Node& node) {
  return node.kind() != LayerType::kPLUGIN && node.kind() != LayerType::kPLUGIN_V2
         && node.kind() != LayerType::kPLUGIN_V3;
}

// Layers that must run before `root` is known, inputs first; empty when it is not a constant.
std::vector<Node*> layers_to_fold(Value& root) {
  std::vector<Node*> order;
  std::unordered_set<const Node*> done;
  std::vector<std::pair<Node*, bool>> stack{{root.producer, false}};
  while (!stack.empty()) {
    auto [node, inputs_done] = stack.back();
    stack.pop_back();
    if (node == nullptr || !can_fold(*node)) return {};
    if (done.contains(node)) continue;
    if (inputs_done) {
      done.insert(node);
      order.push_back(node);
      continue;
    }
    stack.emplace_back(node, true);
    for (Value* in : node->inputs)
      if (in != nullptr && !in->constant) stack.emplace_back(in->producer, false);
  }
  return order;
}

}  // namespace

std::vector<Tensor> run_reference(const Node& node, std::span<const Tensor* const> inputs,
                                  size_t most_bytes) {
  return with_context(fmt::format("layer {}", describe(node)),
                      [&] { return run(node, inputs, most_bytes); });
}

std::vector<Tensor> run_reference(const Network& network, std::span<const Tensor> inputs) {
  require(inputs.size() == network.inputs().size(), "the network has {} inputs; {} were given",
          network.inputs().size(), inputs.size());
  std::unordered_map<const Value*, Tensor> known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_input(*network.inputs()[i], inputs[i]);
    known[network.inputs()[i]] = inputs[i];
  }
  const auto tensor_of = [&](const Value* v) -> const Tensor* {
    if (v == nullptr) return nullptr;
    if (const auto it = known.find(v); it != known.end()) return &it->second;
    require(v->constant.has_value(), "tensor '{}' has no value", v->name);
    return &*v->constant;
  };
  for (const Node* node : network.sorted()) {
    std::vector<const Tensor*> arguments;
    for (const Value* in : node->inputs) arguments.push_back(tensor_of(in));
    std::vector<Tensor> results = run_reference(*node, arguments);
    for (size_t i = 0; i < results.size(); ++i) known[node->outputs[i]] = std::move(results[i]);
  }
  std::vector<Tensor> outputs;
  for (const Value* out : network.outputs()) outputs.push_back(*tensor_of(out));
  return outputs;
}

const Tensor* folded_constant(Value& value, size_t& budget) {
  if (value.constant) return &*value.constant;
  for (Node* node : layers_to_fold(value)) {
    std::vector<const Tensor*> arguments;
    for (const Value* in : node->inputs)
      arguments.push_back(in != nullptr ? &*in->constant : nullptr);
    std::vector<Tensor> results = run_reference(*node, arguments, budget);
    for (size_t i = 0; i < results.size(); ++i) {
      budget -= std::min(budget, results[i].bytes());
      node->outputs[i]->constant = std::move(results[i]);
    }
  }
  return value.constant ? &*value.constant : nullptr;
}

}  // namespace tenon
