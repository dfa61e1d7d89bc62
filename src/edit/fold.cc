// Constants computed ahead: what depends on constants alone, and on extents that are static, in all
// graphs and functions. Constants are initializers then.
#include <tenon/onnx.h>

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "edit/attributes.h"
#include "edit/engine_model.h"
#include "edit/graph_uses.h"
#include "edit/shapes.h"
#include "edit/values.h"
#include "edit/wire.h"
#include "network/reference_run.h"

namespace tenon::edit {
namespace {

// Products of constants beyond so many multiplications stay: reference kernels would take long.
constexpr double kMaxWork = 1e9;

bool is_random(std::string_view op) {
  return op.starts_with("Random") || op == "Multinomial" || op == "Bernoulli" || op == "Dropout";
}

bool is_quantization(std::string_view op) {
  return op == "QuantizeLinear" || op == "DequantizeLinear";
}

using NameSet = std::unordered_set<std::string_view>;

// Of one graph or function. Constants of those around it count.
class Folding {
 public:
  Folding(Store& store, Id graph, const FoldOptions& options, const NameSet& inexact)
      : store_(store), graph_(graph), options_(options), inexact_(inexact) {}

  /// What is computed of static extents, with all that is known of the whole model.
  size_t fold_shapes(const Inference& inference) {
    if (graph_ != store_.graph()) return fold_extents(inference);
    return fold_known(inference.constants) + fold_targets(inference.targets);
  }

  /// Constant nodes become initializers, which functions do not have.
  size_t constants_to_initializers() {
    if (store_.container(graph_).kind == Container::Kind::kFunction) return 0;
    size_t count = 0;
    for (const Id id : store_.items(graph_, Kind::kNode)) {
      const NodeContent& node = store_.node(id);
      if (node.op_type != "Constant" || !is_standard_node(node) || node.outputs.size() != 1
          || node.outputs[0].empty() || is_output(store_, graph_, node.outputs[0]))
        continue;
      const std::string_view name = node.outputs[0];
      const AttributeContent* value = node.find("value");
      const auto stored = value == nullptr ? std::string_view() : bytes_field(value->bytes, 5);
      const auto tensor = stored.empty() ? constant_of(store_, graph_, name) : std::nullopt;
      if (stored.empty() && !tensor) continue;
      store_.remove(id);
      if (tensor)
        insert_tensor(store_, graph_, name, *tensor);
      else
        insert_tensor(store_, graph_, name, stored);
      ++count;
    }
    return count;
  }

  size_t run() {
    size_t count = 0;
    select();
    if (selected_.empty()) return count;
    Imported imported;
    import_nodes(store_, model_, imported);
    evaluate(imported.network);
    for (const Id id : selected_) count += fold(id, imported.outputs_of(id)) ? 1 : 0;
    return count;
  }

 private:
  size_t fold_known(const std::unordered_map<std::string_view, Tensor>& constants) {
    size_t count = 0;
    for (const Id id : store_.items(graph_, Kind::kNode)) {
      const NodeContent& node = store_.node(id);
      if (node.op_type == "Constant" || node.outputs.size() != 1 || is_random(node.op_type)
          || is_quantization(node.op_type))
        continue;
      const auto found = constants.find(node.outputs[0]);
      if (found == constants.end() || found->second.bytes() > options_.max_bytes) continue;
      replace(id, {found->second});
      ++count;
    }
    return count;
  }

  // Shapes of Reshapes that depend on open extents alone.
  size_t fold_targets(const std::map<Id, std::vector<int64_t>>& targets) {
    size_t count = 0;
    for (const auto& [id, target] : targets) {
      if (!store_.item(id).is_linked) continue;
      NodeDraft draft = store_.draft(id);
      std::string_view& shape = draft.content.inputs[1];
      if (is_constant(store_, graph_, shape)) continue;
      const std::string_view name = store_.new_name(std::string(shape) + "_folded");
      insert_tensor(store_, graph_, name, integers_tensor(target));
      shape = name;
      store_.replace_node(id, std::move(draft));
      ++count;
    }
    return count;
  }

  // In a body: what reads an extent is computed like all that depends on constants.
  size_t fold_extents(const Inference& inference) {
    size_t count = 0;
    for (const Id id : store_.items(graph_, Kind::kNode)) {
      const NodeContent& node = store_.node(id);
      if (node.op_type != "Shape" || !is_standard_node(node) || node.inputs.size() != 1
          || node.attributes.size() != 0)
        continue;
      const TensorType* type = type_in(store_, inference.types, graph_, node.inputs[0]);
      if (type == nullptr || !type->has_shape) continue;
      std::vector<int64_t> extents;
      for (const Extent& extent : type->shape) extents.push_back(extent.value);
      if (std::ranges::any_of(extents, [](int64_t extent) { return extent < 0; })) continue;
      replace(id, {integers_tensor(extents)});
      ++count;
    }
    return count;
  }

  bool is_foldable(const NodeContent& node) const {
    if (node.inputs.empty() || is_random(node.op_type) || node.outputs.empty()) return false;
    if (is_quantization(node.op_type) && !options_.quantized) return false;
    if (has_attribute_of_function(node)) return false;
    for (const AttributeContent& attribute : node.attributes)
      if (!attribute.graphs.empty()) return false;
    for (const std::string_view output : node.outputs)
      if (inexact_.contains(output)) return false;
    for (const std::string_view input : node.inputs)
      if (!input.empty() && !made_.contains(input)
          && (inexact_.contains(input) || !is_constant(store_, graph_, input)))
        return false;
    return true;
  }

  void select() {
    std::unordered_set<Id> sources;
    for (const Id id : store_.items(graph_, Kind::kNode)) {
      const NodeContent& node = store_.node(id);
      if (!is_foldable(node)) continue;
      for (const std::string_view input : node.inputs) {
        if (input.empty() || made_.contains(input)) continue;
        const Id source = store_.producer(graph_, input);
        if (!sources.insert(source).second) continue;
        if (store_.item(source).kind == Kind::kNode)
          model_.nodes.push_back(source);
        else
          model_.initializers.push_back(source);
      }
      for (const std::string_view output : node.outputs)
        if (!output.empty()) made_.insert(output);
      selected_.push_back(id);
    }
    model_.nodes.insert(model_.nodes.end(), selected_.begin(), selected_.end());
    if (selected_.empty()) return;
    TensorType type{kFloat32, false, {}};
    model_.outputs.push_back(value_info(store_.node(selected_.back()).outputs[0], type));
  }

  bool is_small_enough(const tenon::Node& node, const std::vector<const Tensor*>& inputs) const {
    size_t bytes = 0;
    for (const Tensor* input : inputs)
      if (input != nullptr) bytes += input->bytes();
    const Traits& traits = node.op->traits();
    if (traits.runs != Runs::kKernel) return false;
    for (const tenon::Value* out : node.outputs) {
      if (!out->known) return false;
      double count = 1;
      for (const Dim extent : out->dims) {
        if (!extent->is_constant()) return false;
        count *= static_cast<double>(extent->value.integer);
      }
      const double size = count * bits_of(out->type) / 8;
      if (size > static_cast<double>(std::max(options_.max_bytes, bytes))) return false;
      if (traits.work == Work::kProducts && inputs.size() > 1 && inputs[1] != nullptr
          && count * static_cast<double>(inputs[1]->count()) > kMaxWork)
        return false;
    }
    return true;
  }

  void evaluate(Network& network) {
    std::vector<tenon::Node*> layers;
    try {
      layers = network.sorted();
    } catch (const Error&) {
      return;
    }
    for (tenon::Node* layer : layers) {
      if (layer->op->is_plugin() || layer->outputs.empty() || layer->outputs[0]->constant) continue;
      std::vector<const Tensor*> inputs;
      bool is_known = true;
      for (const tenon::Value* in : layer->inputs) {
        is_known = is_known && (in == nullptr || in->constant);
        inputs.push_back(in == nullptr || !in->constant ? nullptr : &*in->constant);
      }
      if (!is_known || !is_small_enough(*layer, inputs)) continue;
      try {
        std::vector<Tensor> results = run_reference(*layer, inputs, size_t{1} << 30);
        for (size_t i = 0; i < results.size(); ++i)
          layer->outputs[i]->constant = std::move(results[i]);
      } catch (const Error&) {  // it stays, for whoever runs the model to report
      }
    }
  }

  bool fold(Id id, const std::vector<tenon::Value*>* values) {
    if (values == nullptr) return false;
    const auto& outputs = store_.node(id).outputs;
    std::vector<Tensor> tensors(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].empty()) continue;
      if (i >= values->size() || (*values)[i] == nullptr || !(*values)[i]->constant) return false;
      tensors[i] = *(*values)[i]->constant;
    }
    replace(id, tensors);
    return true;
  }

  void insert(std::string_view name, const Tensor& tensor, Id before) {
    if (store_.container(graph_).kind != Container::Kind::kFunction) {
      insert_tensor(store_, graph_, name, tensor);
      return;
    }
    NodeDraft draft = standard_node(store_, "Constant", "", {}, {name});
    draft.set(constant_attribute(store_, tensor));
    store_.insert_node(graph_, std::move(draft), before);
  }

  // Outputs of the graph stay outputs of nodes.
  void replace(Id id, const std::vector<Tensor>& tensors) {
    const Content& content = store_.content(id);
    const std::vector<std::string_view> outputs = content.node->outputs;
    const Id next = store_.item(id).next;
    store_.remove(id);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].empty() || !store_.has_users(graph_, outputs[i])) continue;
      if (is_output(store_, graph_, outputs[i])) {
        const std::string_view name = store_.new_name(std::string(outputs[i]) + "_folded");
        insert(name, tensors[i], next);
        store_.insert_node(
            graph_, standard_node(store_, "Identity", content.name, {name}, {outputs[i]}), next);
      } else {
        insert(outputs[i], tensors[i], next);
      }
    }
  }

  Store& store_;
  const Id graph_;
  const FoldOptions& options_;
  const NameSet& inexact_;
  NameSet made_;
  std::vector<Id> selected_;
  EngineModel model_;
};

bool reads_shapes(const Store& store, Id graph) {
  return std::ranges::any_of(store.items(graph, Kind::kNode), [&](Id id) {
    const std::string_view op = store.node(id).op_type;
    return op == "Shape" || op == "Size" || !is_standard_node(store.node(id));
  });
}

}  // namespace

size_t fold_constants(Model& model, const FoldOptions& options) {
  Store& store = model.store();
  std::vector<Id> graphs = store.containers();
  const bool has_shapes = options.shapes && std::ranges::any_of(graphs, [&](Id graph) {
                            return reads_shapes(store, graph);
                          });
  const NameSet inexact = inexact_values(store);
  Inference inference = has_shapes ? infer(store) : Inference();
  std::erase_if(inference.types, [&](const auto& of_graph) {
    return of_graph.first != store.graph() && contradicts(store, of_graph.first, of_graph.second);
  });
  const int64_t opset = opset_of(store, 0);
  size_t count = 0;
  for (const Id graph : graphs) {
    if (!store.item(store.container(graph).owner).is_indexed) continue;  // of a node that is gone
    // A function whose nodes mean something else is not for the model's opset.
    Id root = graph;
    while (store.container(root).parent > 0) root = store.container(root).parent;
    if (root != store.graph() && opset_of(store, root) != opset) continue;
    Folding folding(store, graph, options, inexact);
    count += folding.fold_shapes(inference) + folding.run() + folding.constants_to_initializers();
  }
  if (count > 0) remove_unused(model);
  return count;
}

}  // namespace tenon::edit
