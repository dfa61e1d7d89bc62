// Constants computed ahead: what depends on constants alone, and on extents that are static.
#include <tenon/onnx.h>

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "edit/engine_model.h"
#include "edit/graph_uses.h"
#include "edit/shapes.h"
#include "edit/values.h"
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

class Folding {
 public:
  Folding(Store& store, const FoldOptions& options)
      : store_(store), options_(options), inexact_(inexact_values(store)) {}

  size_t run() {
    size_t count = options_.shapes ? fold_shapes() : 0;
    select();
    if (selected_.empty()) return count;
    Imported imported;
    import_nodes(store_, model_, imported);
    evaluate(imported.network);
    for (const Id id : selected_) count += fold(id, imported.outputs_of(id)) ? 1 : 0;
    return count;
  }

 private:
  // What is computed of static extents.
  size_t fold_shapes() {
    size_t count = 0;
    const auto nodes = store_.items(store_.graph(), Kind::kNode);
    const bool reads_shapes = std::ranges::any_of(nodes, [&](Id id) {
      const std::string_view op = store_.node(id).op_type;
      return op == "Shape" || op == "Size" || !is_standard_node(store_.node(id));
    });
    if (!reads_shapes) return 0;
    for (const auto& [name, tensor] : infer(store_).constants) {
      const Id id = store_.producer(store_.graph(), name);
      if (id == kNone || store_.item(id).kind != Kind::kNode) continue;
      const NodeContent& node = store_.node(id);
      if (node.op_type == "Constant" || node.outputs.size() != 1 || is_random(node.op_type)
          || is_quantization(node.op_type) || tensor.bytes() > options_.max_bytes)
        continue;
      replace(id, {tensor});
      ++count;
    }
    return count;
  }

  bool is_foldable(const NodeContent& node) const {
    if (node.inputs.empty() || is_random(node.op_type) || node.outputs.empty()) return false;
    if (is_quantization(node.op_type) && !options_.quantized) return false;
    for (const AttributeContent& attribute : node.attributes)
      if (!attribute.graphs.empty()) return false;
    for (const std::string_view output : node.outputs)
      if (inexact_.contains(output)) return false;
    for (const std::string_view input : node.inputs)
      if (!input.empty() && !made_.contains(input)
          && (inexact_.contains(input) || !is_constant(store_, store_.graph(), input)))
        return false;
    return true;
  }

  void select() {
    std::unordered_set<Id> sources;
    for (const Id id : store_.items(store_.graph(), Kind::kNode)) {
      const NodeContent& node = store_.node(id);
      if (!is_foldable(node)) continue;
      for (const std::string_view input : node.inputs) {
        if (input.empty() || made_.contains(input)) continue;
        const Id source = store_.producer(store_.graph(), input);
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

  // Outputs of the graph stay outputs of nodes.
  void replace(Id id, const std::vector<Tensor>& tensors) {
    const Content& content = store_.content(id);
    const std::vector<std::string_view> outputs = content.node->outputs;
    const Id next = store_.item(id).next;
    store_.remove(id);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].empty() || store_.users(store_.graph(), outputs[i]).empty()) continue;
      if (is_output(store_, store_.graph(), outputs[i])) {
        const std::string_view name = store_.new_name(std::string(outputs[i]) + "_folded");
        insert_tensor(store_, store_.graph(), name, tensors[i]);
        store_.insert_node(store_.graph(),
                           standard_node(store_, "Identity", content.name, {name}, {outputs[i]}),
                           next);
      } else {
        insert_tensor(store_, store_.graph(), outputs[i], tensors[i]);
      }
    }
  }

  Store& store_;
  const FoldOptions& options_;
  std::unordered_set<std::string_view> inexact_, made_;
  std::vector<Id> selected_;
  EngineModel model_;
};

}  // namespace

size_t fold_constants(Model& model, const FoldOptions& options) {
  const size_t count = Folding(model.store(), options).run();
  if (count > 0) remove_unused(model);
  return count;
}

}  // namespace tenon::edit
