// Every edit that works on any model, for tests and fuzzing.
#pragma once

#include <tenon/onnx.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenon::edit {

using NamedEdit = std::pair<std::string, std::function<void(Model&)>>;

inline void renew_nodes(Model& model) {
  for (const GraphId graph : model.graphs())
    for (const NodeId node : model.nodes(graph))
      if (model.is_there(node)) model.replace_node(node, model.node(node));
}

inline void remove_all_nodes(Model& model) {
  for (const NodeId node : model.nodes()) model.remove_node(node, true);
}

inline void patch_again(Model& model) {
  const std::string edited = model.serialize(), patch = model.patch_json();
  model.patch_text();
  model.undo();
  model.apply_patch(patch);
}

inline std::string first_input(const Model& model, NodeId node) {
  const auto inputs = model.node(node).inputs;
  return inputs.empty() ? "" : inputs[0];
}

inline const std::vector<NamedEdit>& every_edit() {
  static const std::vector<NamedEdit> edits = {
      {"show", [](Model& m) { show_text(m, {true, true}); }},
      {"json", [](Model& m) { show_json(m); }},
      {"inline", [](Model& m) { inline_functions(m); }},
      {"resolve-if", [](Model& m) { resolve_conditions(m); }},
      {"fold", [](Model& m) { fold_constants(m, {1 << 16, true, true}); }},
      {"effect", [](Model& m) { remove_without_effect(m); }},
      {"share", [](Model& m) { share_equal(m); }},
      {"unused", [](Model& m) { remove_unused(m); }},
      {"infer", [](Model& m) { infer_shapes(m); }},
      {"clear", [](Model& m) { clear_shapes(m); }},
      {"batch", [](Model& m) { set_batch(m, {-1, "N"}); }},
      {"opset", [](Model& m) { convert_opset(m, 21); }},
      {"quantization", [](Model& m) { remove_quantization(m); }},
      {"int4", [](Model& m) { quantize_weights(m, {.bits = 4, .group = 32}); }},
      {"qdq",
       [](Model& m) {
         const auto nodes = m.nodes();
         const std::string name = nodes.empty() ? "" : first_input(m, nodes.back());
         insert_quantization(m, name, {{0.5F}});
         remove_quantization_of(m, {name});
         insert_quantization(m, name, {{0.5F}});
       }},
      {"lower", [](Model& m) { convert_opset(m, 11); }},
      {"float16", [](Model& m) { to_float16(m); }},
      {"renew", renew_nodes},
      {"remove", remove_all_nodes},
      {"append",
       [](Model& m) {
         const auto outputs = m.outputs(), inputs = m.inputs();
         if (!outputs.empty() && !inputs.empty())
           append_model(m, m, {{{outputs[0].name, inputs[0].name}}, "again_"});
       }},
      {"patch", patch_again}};
  return edits;
}

/// Makes the edit; false when it refused, and only as edits may.
inline bool attempt(const NamedEdit& edit, Model& model) {
  try {
    edit.second(model);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace tenon::edit
