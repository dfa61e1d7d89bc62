#include "plan/schedule.h"

#include <algorithm>

namespace tenon {

Schedule::Schedule(Network& network) : network_(network) {
  // Passes may have made constants of what was data-dependent.
  const auto is_data_dependent = [](const Symbol& s) { return s.is_data_dependent(); };
  has_data_dependent_ =
      std::any_of(network.symbols().begin(), network.symbols().end(), is_data_dependent);
  if (has_data_dependent_) network.infer();
  find_shape_symbols();
  find_layers();
  if (has_data_dependent_) sort_by_stage();
  for (size_t i = 0; i < layers_.size(); ++i)
    for (const Value* in : layers_[i]->inputs)
      if (in != nullptr) last_use_[in] = static_cast<int32_t>(i);
  for (const Value* out : network.outputs()) last_use_[out] = kForever;
}

int32_t Schedule::last_use(const Value& v) const {
  const auto it = last_use_.find(&v);
  return it == last_use_.end() ? -1 : it->second;
}

// An element of an integer input is a shape when some extent depends on it; elements that are
// read back were asked for by a shape rule.
void Schedule::find_shape_symbols() {
  std::set<Dim> seen;
  for (const auto& v : network_.values())
    for (Dim d : v->dims) for_each_symbol(d, seen, [&](int64_t s) { shape_symbols_.insert(s); });
  for (size_t s = 0; s < network_.symbols().size(); ++s)
    if (network_.symbols()[s].is_data_dependent()) shape_symbols_.insert(static_cast<int64_t>(s));
  for (int64_t s : shape_symbols_)
    if (symbol(s).kind == Symbol::Kind::kElement && symbol(s).value != nullptr)
      shape_inputs_.insert(symbol(s).value);
}

bool Schedule::is_shape_input(const Value& v) const {
  return shape_inputs_.contains(&v);
}

bool Schedule::on_host(const Value& v) const {
  if (!v.content || v.constant || v.is_input) return false;
  const auto [it, fresh] = on_host_.try_emplace(&v, true);
  if (!fresh) return it->second;
  std::set<Dim> seen;
  bool known = true;
  for (Dim d : *v.content)
    for_each_symbol(d, seen, [&](int64_t s) {
      if (symbol(s).kind == Symbol::Kind::kExtent) return;
      // The layer that makes it tells its elements.
      known &= shape_symbols_.contains(s) && symbol(s).value != &v;
    });
  return on_host_[&v] = known;
}

bool Schedule::is_data_dependent(const Value& v) const {
  bool data_dependent = false;
  std::set<Dim> seen;
  for (Dim d : v.dims)
    for_each_symbol(d, seen, [&](int64_t s) {
      data_dependent |= symbol(s).is_data_dependent() && symbol(s).value->producer == v.producer;
    });
  return data_dependent;
}

// The data-dependent symbols that the extents of a value, and its elements on the host, depend on.
template <class Visit>
void Schedule::for_each_data_dependent(const Value& v, const Visit& visit) const {
  if (!has_data_dependent_) return;
  std::set<Dim> seen;
  const auto look = [&](int64_t s) {
    if (symbol(s).is_data_dependent()) visit(symbol(s));
  };
  for (Dim d : v.dims) for_each_symbol(d, seen, look);
  if (on_host(v))
    for (Dim d : *v.content) for_each_symbol(d, seen, look);
}

void Schedule::find_layers() {
  std::set<const Node*> needed;
  std::set<const Value*> visited;
  std::vector<Value*> stack(network_.outputs());
  for (const auto& node : network_.nodes())
    if (node->outputs.empty()) stack.insert(stack.end(), node->inputs.begin(), node->inputs.end());
  while (!stack.empty()) {
    Value* v = stack.back();
    stack.pop_back();
    if (v == nullptr || !visited.insert(v).second) continue;
    for_each_data_dependent(*v, [&](const Symbol& s) { stack.push_back(s.value); });
    if (on_host(*v) || v->constant || v->producer == nullptr) continue;
    if (!needed.insert(v->producer).second) continue;
    for (Value* in : v->producer->inputs) stack.push_back(in);
  }
  // Layers without outputs are there for what they check.
  for (Node* node : network_.sorted())
    if (needed.contains(node) || node->outputs.empty()) layers_.push_back(node);
}

void Schedule::sort_by_stage() {
  std::map<const Node*, int> stages;
  std::set<const Value*> read_back;
  for (const Symbol& s : network_.symbols())
    if (s.is_data_dependent() && s.kind == Symbol::Kind::kElement) read_back.insert(s.value);
  const auto of = [&](const Node* node) {
    const auto it = stages.find(node);
    return it == stages.end() ? 0 : it->second;
  };
  for (const Node* node : network_.sorted()) {
    int stage = 0;
    const auto look = [&](const Value* v) {
      if (v == nullptr) return;
      for_each_data_dependent(*v, [&](const Symbol& s) {
        if (s.value->producer != node) stage = std::max(stage, of(s.value->producer) + 1);
      });
    };
    for (const Value* in : node->inputs) {
      look(in);
      if (in == nullptr || in->producer == nullptr) continue;
      stage = std::max(stage, of(in->producer) + (read_back.contains(in) ? 1 : 0));
    }
    for (const Value* out : node->outputs) look(out);
    stages[node] = stage;
  }
  std::stable_sort(layers_.begin(), layers_.end(),
                   [&](const Node* a, const Node* b) { return of(a) < of(b); });
}

}  // namespace tenon
