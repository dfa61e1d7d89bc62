// The rules that every network keeps, checked after each pass in debug builds.
#include <unordered_set>

#include "network/network.h"

namespace tenon {
namespace {

template <class... Args> void rule(bool holds, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) fail(ErrorCode::kINTERNAL_ERROR, text, std::forward<Args>(args)...);
}

class Verifier {
 public:
  explicit Verifier(const Network& network) : network_(network) {
    for (const auto& v : network.values()) values_.insert(v.get());
    for (const auto& n : network.nodes()) nodes_.insert(n.get());
    for (const Value* v : network.inputs()) inputs_.insert(v);
    for (const Value* v : network.outputs()) outputs_.insert(v);
  }

  void run() const {
    for (const auto& v : network_.values()) check(*v);
    for (const auto& n : network_.nodes()) check(*n);
    check_io(network_.inputs(), "input");
    check_io(network_.outputs(), "output");
    network_.sorted();  // throws on a cycle
  }

 private:
  void check(const Value& v) const {
    rule(v.producer == nullptr || nodes_.contains(v.producer),
         "tensor '{}' comes from a layer outside the network", v.name);
    rule(v.is_input == inputs_.contains(&v), "tensor '{}' is {}among the inputs", v.name,
         v.is_input ? "not " : "");
    rule(v.is_output == outputs_.contains(&v), "tensor '{}' is {}among the outputs", v.name,
         v.is_output ? "not " : "");
    rule(!v.is_input || v.producer == nullptr, "input '{}' comes from a layer", v.name);
    if (v.producer != nullptr)
      rule(static_cast<size_t>(v.output_index) < v.producer->outputs.size()
               && v.producer->outputs[static_cast<size_t>(v.output_index)] == &v,
           "tensor '{}' is not output {} of layer {}", v.name, v.output_index,
           describe(*v.producer));
    if (v.known) check_shape(v);
  }

  void check_shape(const Value& v) const {
    rule(v.dims.size() <= Shape::kMaxRank, "tensor '{}' has {} dimensions", v.name, v.dims.size());
    std::optional<Shape> shape = Shape();
    for (Dim d : v.dims) {
      rule(d != nullptr, "tensor '{}' lacks a dimension", v.name);
      rule(!d->is_float, "tensor '{}' has an extent that is not an integer", v.name);
      if (!d->is_integer_constant())
        shape.reset();
      else if (shape)
        shape->push_back(d->value.integer);
    }
    if (v.constant)
      rule(v.constant->type() == v.type && shape && v.constant->count() == shape->volume(),
           "tensor '{}' and its constant differ in type or shape", v.name);
    if (v.content && shape)
      rule(static_cast<int64_t>(v.content->size()) == shape->volume(),
           "tensor '{}' has {} known elements; its shape is {}", v.name, v.content->size(), *shape);
  }

  void check(const Node& node) const {
    rule(node.op != nullptr, "layer '{}' has no kind", node.name);
    const std::string where = describe(node);
    rule(static_cast<int>(node.outputs.size()) == node.op->output_count(),
         "layer {} has {} outputs; its kind has {}", where, node.outputs.size(),
         node.op->output_count());
    for (const Value* in : node.inputs) {
      if (in == nullptr) continue;
      rule(values_.contains(in), "layer {} uses a tensor outside the network", where);
      rule(in->producer != nullptr || in->is_input || in->constant,
           "layer {} uses tensor '{}', which nothing produces", where, in->name);
      rule(in->known, "the type and shape of tensor '{}', an input of layer {}, are not known",
           in->name, where);
    }
    for (const Value* out : node.outputs) {
      rule(values_.contains(out), "an output of layer {} is outside the network", where);
      rule(out->producer == &node, "tensor '{}' does not come from layer {}", out->name, where);
      rule(out->known, "the type and shape of tensor '{}', an output of layer {}, are not known",
           out->name, where);
    }
  }

  void check_io(const std::vector<Value*>& border, const char* what) const {
    std::unordered_set<std::string_view> names;
    for (const Value* v : border) {
      rule(values_.contains(v), "an {} is outside the network", what);
      rule(names.insert(v->name).second, "two {}s are called '{}'", what, v->name);
    }
  }

  const Network& network_;
  std::unordered_set<const Value*> values_, inputs_, outputs_;
  std::unordered_set<const Node*> nodes_;
};

}  // namespace

void verify(const Network& network) {
  Verifier(network).run();
}

}  // namespace tenon
