// QuantizeLinear and DequantizeLinear taken out of a model again.
#include <tenon/onnx.h>

#include "edit/graph_uses.h"
#include "edit/undone.h"
#include "edit/values.h"

namespace tenon::edit {
namespace {

bool is_operator(const Store& store, Id id, std::string_view op_type) {
  return id != kNone && store.item(id).kind == Kind::kNode && store.node(id).op_type == op_type
         && is_standard_node(store.node(id)) && !store.node(id).inputs.empty()
         && !store.node(id).outputs.empty();
}

}  // namespace

size_t remove_quantization(Model& model) {
  return undone_unless(model, [&] {
    Store& store = model.store();
    size_t count = 0;
    for (const Id graph : store.containers())
      for (const Id id : store.items(graph, Kind::kNode)) {
        if (!is_operator(store, id, "DequantizeLinear")) continue;
        const Id quantize = store.producer(graph, store.node(id).inputs[0]);
        if (!is_operator(store, quantize, "QuantizeLinear")) continue;
        const std::string_view data = store.node(quantize).inputs[0];
        const std::vector<std::string_view> outputs = store.node(id).outputs;
        const Id next = store.item(id).next;
        store.remove(id);
        store.replace_uses(graph, outputs[0], data);
        if (is_output(store, graph, outputs[0]))
          store.insert_node(graph, standard_node(store, "Identity", "", {data}, {outputs[0]}),
                            next);
        ++count;
      }
    // Integer weights become the floats that they stand for.
    FoldOptions options;
    options.shapes = false;
    options.quantized = true;
    options.max_bytes = SIZE_MAX;
    fold_constants(model, options);
    remove_without_effect(model);
    remove_unused(model);
    return count;
  });
}

}  // namespace tenon::edit
