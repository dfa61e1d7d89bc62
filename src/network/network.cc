#include "network/network.h"

#include <algorithm>
#include <queue>

#include "network/control_flow.h"

namespace tenon {
namespace {

// Constants up to this many elements take part in shape arithmetic.
constexpr int64_t kLargestContent = 4096;
// Of floats: scales and bounds. Longer vectors are weights of layers.
constexpr int64_t kLargestFloatContent = 64;

bool may_be_shape(const Value& v) {
  return v.type == DataType::kINT32 || v.type == DataType::kINT64 || v.type == DataType::kBOOL;
}

}  // namespace

// How an op sees the network while its outputs are inferred.
class Network::NodeInference final : public Inference {
 public:
  NodeInference(Network& network, Node& node) : network_(network), node_(node) {}
  ExprPool& pool() override { return network_.pool_; }
  int input_count() const override { return static_cast<int>(node_.inputs.size()); }
  bool has_input(int i) const override {
    return i < input_count() && node_.inputs[static_cast<size_t>(i)] != nullptr;
  }
  DataType type(int i) const override { return input(i).type; }
  const Dims& dims(int i) const override { return input(i).dims; }
  const Content* content(int i) const override {
    const Value& v = input(i);
    return v.content ? &*v.content : nullptr;
  }
  const Tensor* constant(int i) const override {
    const Value& v = input(i);
    return v.constant ? &*v.constant : nullptr;
  }
  void set_output(int i, DataType type, Dims dims) override {
    require(dims.size() <= Shape::kMaxRank, "output {} has {} dimensions; at most {} are supported",
            i, dims.size(), Shape::kMaxRank);
    for (Dim d : dims)
      require(!d->is_constant() || d->value.integer >= 0,
              "output {} would have a negative extent ({})", i, text_of(d));
    Value& v = *node_.outputs.at(static_cast<size_t>(i));
    v.type = type;
    v.dims = std::move(dims);
    v.known = true;
    v.content.reset();
  }
  void set_content(int i, Content content) override {
    if (static_cast<int64_t>(content.size()) <= kLargestContent)
      node_.outputs.at(static_cast<size_t>(i))->content = std::move(content);
  }
  Dim data_dependent_extent(int output, int axis, Dim upper) override {
    Value& v = *node_.outputs.at(static_cast<size_t>(output));
    const Dim extent = network_.symbol_of(Symbol::Kind::kExtent, v, axis);
    network_.symbols_[static_cast<size_t>(extent->payload)].upper = upper;
    return extent;
  }
  Dim size_output(int output, Dim opt, Dim upper) override {
    Value& v = *node_.outputs.at(static_cast<size_t>(output));
    const Dim size = network_.symbol_of(Symbol::Kind::kElement, v, 0);
    Symbol& symbol = network_.symbols_[static_cast<size_t>(size->payload)];
    symbol.upper = upper;
    symbol.opt = opt;
    return size;
  }
  const Content* readable_content(int i) override {
    input(i);
    Value& v = *node_.inputs[static_cast<size_t>(i)];
    if (!v.content) network_.read_back(v);
    return content(i);
  }

 private:
  const Value& input(int i) const {
    require(has_input(i), "input {} is missing", i);
    const Value& v = *node_.inputs[static_cast<size_t>(i)];
    require(v.known, "the shape of input {} (tensor '{}') is not known", i, v.name);
    return v;
  }
  Network& network_;
  Node& node_;
};

Value& Network::new_value(std::string name) {
  values_.push_back(std::make_unique<Value>());
  Value& v = *values_.back();
  v.id = next_value_++;
  v.name = std::move(name);
  return v;
}

Value& Network::add_input(std::string name, DataType type, const Shape& declared,
                          const std::array<std::string, Shape::kMaxRank>& dimension_names) {
  require(!name.empty(), "a network input needs a name");
  // Few names are there twice: only then are all inputs looked at, some of which may have another
  // name since.
  if (!input_names_.insert(name).second)
    for (const Value* other : inputs_)
      require(other->name != name, "two network inputs are called '{}'", name);
  for (int64_t extent : declared)
    require(extent >= -1, "input '{}': extent {} is neither -1 nor a size", name, extent);
  Value& v = new_value(std::move(name));
  v.type = type;
  v.is_input = true;
  v.declared = declared;
  v.dimension_names = dimension_names;
  inputs_.push_back(&v);
  bind_input(v);
  return v;
}

// Gives an input its symbols: one per unknown extent, shared among equal dimension names, and one
// per element where it may be a shape.
void Network::bind_input(Value& v) {
  v.dims.clear();
  for (int axis = 0; axis < v.declared.rank(); ++axis) {
    if (v.declared[axis] >= 0) {
      v.dims.push_back(pool_.constant(v.declared[axis]));
      continue;
    }
    const std::string& label = v.dimension_names[static_cast<size_t>(axis)];
    if (label.empty()) {
      v.dims.push_back(symbol_of(Symbol::Kind::kExtent, v, axis));
      continue;
    }
    const auto [named, is_new] = named_symbols_.try_emplace(label, symbols_.size());
    if (is_new) symbols_.push_back({Symbol::Kind::kExtent, &v, axis, label});
    v.dims.push_back(pool_.symbol(static_cast<int64_t>(named->second)));
  }
  v.known = true;
  v.content.reset();
  if (v.declared.rank() <= 1) read_back(v);
}

// The symbol for an extent or element of a tensor.
Dim Network::symbol_of(Symbol::Kind kind, Value& value, int index) {
  const auto [known, is_new] =
      symbols_of_values_.try_emplace({&value, kind, index}, symbols_.size());
  if (is_new) symbols_.push_back({kind, &value, index, ""});
  return pool_.symbol(static_cast<int64_t>(known->second));
}

// The elements of a small integer tensor become symbols.
void Network::read_back(Value& v) {
  if (!may_be_shape(v)) return;
  int64_t count = 1;
  for (Dim d : v.dims) {
    if (!d->is_integer_constant() || d->value.integer > kMaxReadableElements) return;
    count *= d->value.integer;
  }
  if (count > kMaxReadableElements) return;
  v.content.emplace();
  for (int i = 0; i < count; ++i) v.content->push_back(symbol_of(Symbol::Kind::kElement, v, i));
}

Value& Network::add_weight(Tensor tensor, std::string name) {
  Value& v = new_value(std::move(name));
  if (v.name.empty()) v.name = fmt::format("(Unnamed Weights* {})", v.id);
  v.type = tensor.type();
  for (int64_t extent : tensor.shape()) v.dims.push_back(pool_.constant(extent));
  v.known = true;
  set_weight(v, std::move(tensor));
  return v;
}

void Network::set_weight(Value& weight, Tensor tensor) {
  tensor = with_plain_booleans(std::move(tensor));
  weight.content.reset();
  weight.folded = nullptr;
  const bool is_real = is_float(tensor.type());
  const bool is_countable =
      tensor.has_data() && tensor.count() <= (is_real ? kLargestFloatContent : kLargestContent)
      && bits_of(tensor.type()) >= 8 && (!is_real || tensor.type() == DataType::kFLOAT);
  if (is_countable) {
    weight.content.emplace();
    if (is_real)
      for (double x : tensor.numbers()) weight.content->push_back(pool_.constant_float(x));
    else
      for (int64_t x : tensor.integers()) weight.content->push_back(pool_.constant(x));
  }
  weight.constant = std::move(tensor);
  touch();
}

Node& Network::add_node(std::unique_ptr<Op> op, std::vector<Value*> inputs, std::string name) {
  nodes_.push_back(std::make_unique<Node>());
  Node& node = *nodes_.back();
  node.id = next_node_++;
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.name = name.empty() ? fmt::format("(Unnamed Layer* {}) [{}]", node.id, node.op->name())
                           : std::move(name);
  for (int i = 0; i < node.op->output_count(); ++i) {
    Value& v = new_value(node.name + "_output_" + std::to_string(i));
    v.producer = &node;
    v.output_index = i;
    node.outputs.push_back(&v);
  }
  node.output_types.resize(node.outputs.size());
  return node;
}

void Network::mark_output(Value& value) {
  if (!value.is_output) outputs_.push_back(&value);
  value.is_output = true;
}

void Network::unmark_output(Value& value) {
  std::erase(outputs_, &value);
  value.is_output = false;
}

// Symbols of tensors that disappear stand for nothing.
void Network::forget_symbols(const std::function<bool(const Value*)>& goes) {
  for (Symbol& s : symbols_)
    if (s.value != nullptr && goes(s.value)) s.value = nullptr;
  std::erase_if(symbols_of_values_,
                [&](const auto& known) { return goes(std::get<0>(known.first)); });
}

void Network::remove_input(Value& value) {
  std::erase(inputs_, &value);
  value.is_input = false;
  value.known = false;
}

// `to` becomes the network output that `from` was.
void Network::give_output_role(Value& from, Value& to) {
  require(!to.is_output && !to.is_input, "tensor '{}' cannot become the network output '{}'",
          to.name, from.name);
  from.is_output = false;
  to.is_output = true;
  std::swap(from.name, to.name);
  to.allowed_formats = from.allowed_formats;
  to.requested_type = from.requested_type;
}

void Network::replace_uses(Value& from, Value& to) {
  replace_uses({{&from, &to}});
}

void Network::replace_uses(const std::unordered_map<Value*, Value*>& replacements) {
  if (replacements.empty()) return;
  // Chains may be as long as the network: each is followed once.
  std::unordered_map<Value*, Value*> ends;
  std::vector<Value*> chain;
  const auto last = [&](Value* v) {
    chain.clear();
    for (auto it = replacements.find(v); it != replacements.end(); it = replacements.find(v)) {
      if (chain.size() == replacements.size())
        fail(ErrorCode::kINTERNAL_ERROR, "tensor '{}' replaces itself", v->name);
      chain.push_back(v);
      const auto end = ends.find(v);
      v = end != ends.end() ? end->second : it->second;
    }
    for (Value* passed : chain) ends[passed] = v;
    return v;
  };
  for (const auto& node : nodes_)
    for (Value*& in : node->inputs)
      if (in != nullptr) in = last(in);
  for (size_t i = 0; i < symbols_.size(); ++i) {
    Symbol& s = symbols_[i];
    Value* to = s.is_data_dependent() ? last(s.value) : s.value;
    if (to == s.value) continue;
    symbols_of_values_.erase({s.value, s.kind, s.index});
    s.value = to;
    size_t& first = symbols_of_values_.try_emplace({to, s.kind, s.index}, i).first->second;
    first = std::min(first, i);
  }
  for (Value*& out : outputs_) {
    Value* to = last(out);
    if (to != out) give_output_role(*out, *to);
    out = to;
  }
}

void Network::remove_nodes(const std::unordered_set<const Node*>& nodes) {
  if (nodes.empty()) return;
  const auto goes = [&](const Value* v) {
    return v->producer != nullptr && nodes.contains(v->producer);
  };
  std::erase_if(outputs_, goes);
  forget_symbols(goes);
  std::erase_if(values_, [&](const auto& v) { return goes(v.get()); });
  std::erase_if(nodes_, [&](const auto& n) { return nodes.contains(n.get()); });
}

void Network::move_nodes(const std::unordered_map<const Node*, const Node*>& before) {
  if (before.empty()) return;
  std::unordered_multimap<const Node*, std::unique_ptr<Node>> moved;  // by the one that follows
  for (auto& node : nodes_)
    if (const auto it = before.find(node.get()); it != before.end())
      moved.emplace(it->second, std::move(node));
  std::vector<std::unique_ptr<Node>> order;
  order.reserve(nodes_.size());
  for (auto& node : nodes_) {
    if (node == nullptr) continue;
    const auto [first, last] = moved.equal_range(node.get());
    for (auto it = first; it != last; ++it) order.push_back(std::move(it->second));
    order.push_back(std::move(node));
  }
  nodes_ = std::move(order);
}

void Network::remove_unused_weights() {
  std::vector<bool> used(static_cast<size_t>(next_value_));
  for (const auto& node : nodes_)
    for (const Value* in : node->inputs)
      if (in != nullptr) used[static_cast<size_t>(in->id)] = true;
  std::erase_if(values_, [&](const auto& v) {
    return v->is_weight() && !v->is_output && !used[static_cast<size_t>(v->id)];
  });
}

void Network::infer(Node& node) {
  try {
    NodeInference inference(*this, node);
    node.op->infer(inference);
  } catch (const Error& e) {
    throw e.with_text(fmt::format("layer {}: {}", describe(node), e.what()));
  }
}

void Network::infer() {
  dirty_ = false;
  for (const auto& v : values_)
    if (v->producer != nullptr) {
      v->known = false;
      v->content.reset();
    }
  for (Value* input : inputs_) bind_input(*input);
  for (Node* node : sorted()) infer(*node);
  forget_known_extents();
}

// Extents that were data-dependent, of tensors that other layers make by now.
void Network::forget_known_extents() {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    Symbol& s = symbols_[i];
    if (!s.is_data_dependent() || s.kind != Symbol::Kind::kExtent || !s.value->known) continue;
    const auto axis = static_cast<size_t>(s.index);
    const Dims& dims = s.value->dims;
    if (axis < dims.size() && dims[axis] == pool_.symbol(static_cast<int64_t>(i))) continue;
    const auto known = symbols_of_values_.find({s.value, s.kind, s.index});
    if (known != symbols_of_values_.end() && known->second == i) symbols_of_values_.erase(known);
    s.value = nullptr;
  }
}

void Network::infer_if_touched() {
  if (dirty_) infer();
}

std::vector<std::string> Network::symbol_names() const {
  std::vector<std::string> names;
  for (const Symbol& s : symbols_)
    names.push_back(!s.name.empty()      ? s.name
                    : s.value == nullptr ? std::string("gone")
                    : s.kind == Symbol::Kind::kExtent
                        ? fmt::format("{}.{}", s.value->name, s.index)
                        : fmt::format("{}[{}]", s.value->name, s.index));
  return names;
}

std::vector<std::vector<Node*>> Network::users() const {
  std::vector<std::vector<Node*>> by_id(static_cast<size_t>(next_value_));
  for (const auto& node : nodes_)
    for (const Value* in : node->inputs)
      if (in != nullptr) {
        auto& list = by_id[static_cast<size_t>(in->id)];
        if (list.empty() || list.back() != node.get()) list.push_back(node.get());
      }
  return by_id;
}

std::vector<Node*> Network::sorted() const {
  const auto by_id = users();
  std::vector<int> missing(nodes_.size());  // inputs not made yet, by position of the layer
  std::vector<size_t> position(static_cast<size_t>(next_node_));           // by node id
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;  // positions
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = *nodes_[i];
    position[static_cast<size_t>(node.id)] = i;
    std::vector<const Value*> made;
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (const Value* in = node.inputs[k];
          in != nullptr && in->producer != nullptr && !is_back_edge(node, k))
        made.push_back(in);
    std::sort(made.begin(), made.end());
    missing[i] = static_cast<int>(std::unique(made.begin(), made.end()) - made.begin());
    if (made.empty()) ready.push(i);
  }
  std::vector<Node*> order;
  order.reserve(nodes_.size());
  while (!ready.empty()) {
    Node* node = nodes_[ready.top()].get();
    ready.pop();
    order.push_back(node);
    for (const Value* out : node->outputs)
      for (const Node* user : by_id[static_cast<size_t>(out->id)]) {
        if (is_back_edge(*user, 1) && user->inputs[0] != out) continue;
        const size_t i = position[static_cast<size_t>(user->id)];
        if (--missing[i] == 0) ready.push(i);
      }
  }
  if (order.size() != nodes_.size())
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (missing[i] > 0)
        fail(ErrorCode::kINVALID_ARGUMENT, "layer {} is part of a cycle", describe(*nodes_[i]));
  return order;
}

std::string describe(const Node& node) {
  return describe(node.name, *node.op);
}

std::string describe(std::string_view name, const Op& op) {
  return fmt::format("{} ({})", name, op.name());
}

}  // namespace tenon
