// ONNX models edited in memory: <tenon/onnx.h>, with arrays of NumPy for tensors. `tenon.onnx`
// shows it.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <tenon/onnx.h>

#include "bind.h"

namespace tenon::python {
namespace {

using namespace tenon::edit;  // NOLINT: this file is about nothing else

// NumPy's names of ONNX's element types; those that NumPy lacks are not in it.
const std::map<int32_t, const char*>& numpy_names() {
  static const std::map<int32_t, const char*> names = {
      {1, "float32"},  {2, "uint8"},    {3, "int8"},    {4, "uint16"},
      {5, "int16"},    {6, "int32"},    {7, "int64"},   {9, "bool"},
      {10, "float16"}, {11, "float64"}, {12, "uint32"}, {13, "uint64"}};
  return names;
}

nb::object to_array(const TensorValue& value) {
  const auto name = numpy_names().find(value.type);
  if (name == numpy_names().end())
    throw nb::type_error(
        ("NumPy has no type for ONNX's element type " + std::to_string(value.type)).c_str());
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::bytes bytes(value.bytes.data(), value.bytes.size());
  return numpy.attr("frombuffer")(bytes, name->second)
      .attr("reshape")(nb::cast(value.shape))
      .attr("copy")();
}

TensorValue to_tensor(nb::handle object) {
  const nb::object array =
      nb::module_::import_("numpy").attr("asarray")(object, nb::arg("order") = "C");
  const auto name = nb::cast<std::string>(array.attr("dtype").attr("name"));
  TensorValue value;
  value.type = 0;
  for (const auto& [type, known] : numpy_names())
    if (name == known) value.type = type;
  if (value.type == 0) throw nb::type_error(("tensors cannot have elements of " + name).c_str());
  value.shape = nb::cast<std::vector<int64_t>>(nb::list(array.attr("shape")));
  const auto bytes = nb::cast<nb::bytes>(array.attr("tobytes")());
  value.bytes.assign(bytes.c_str(), bytes.size());
  return value;
}

nb::object to_python(const AttributeValue& value) {
  if (const auto* tensor = std::get_if<TensorValue>(&value)) return to_array(*tensor);
  if (const auto* other = std::get_if<OtherAttribute>(&value))
    return nb::bytes(other->bytes.data(), other->bytes.size());
  if (const auto* integer = std::get_if<int64_t>(&value)) return nb::int_(*integer);
  if (const auto* real = std::get_if<float>(&value)) return nb::float_(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return nb::cast(*text);
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) return nb::cast(*integers);
  if (const auto* reals = std::get_if<std::vector<float>>(&value)) return nb::cast(*reals);
  return nb::cast(std::get<std::vector<std::string>>(value));
}

AttributeValue list_from(nb::handle object) {
  std::vector<int64_t> integers;
  std::vector<float> reals;
  std::vector<std::string> texts;
  size_t size = 0;
  for (const nb::handle each : object) {
    ++size;
    if (nb::isinstance<nb::int_>(each)) integers.push_back(nb::cast<int64_t>(each));
    if (nb::isinstance<nb::int_>(each) || nb::isinstance<nb::float_>(each))
      reals.push_back(nb::cast<float>(each));
    if (nb::isinstance<nb::str>(each)) texts.push_back(nb::cast<std::string>(each));
  }
  if (integers.size() == size) return integers;
  if (reals.size() == size) return reals;
  if (texts.size() == size) return texts;
  throw nb::type_error("an attribute that is a list holds int, float or str");
}

AttributeValue from_python(nb::handle object) {
  if (nb::isinstance<nb::int_>(object)) return nb::cast<int64_t>(object);
  if (nb::isinstance<nb::float_>(object)) return nb::cast<float>(object);
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  if (nb::isinstance<nb::bytes>(object)) {
    const auto bytes = nb::cast<nb::bytes>(object);
    return OtherAttribute{{bytes.c_str(), bytes.size()}};
  }
  if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object))
    return list_from(object);
  return to_tensor(object);
}

using PythonExtent = std::variant<int64_t, std::string>;
using PythonShape = std::vector<std::optional<PythonExtent>>;

Extent to_extent(const std::optional<PythonExtent>& extent) {
  if (!extent) return {};
  if (const auto* number = std::get_if<int64_t>(&*extent)) {
    if (*number < 0) throw nb::value_error("an extent is negative; None is for an unknown one");
    return {*number, ""};
  }
  return {-1, std::get<std::string>(*extent)};
}

std::vector<Extent> to_shape(const PythonShape& shape) {
  std::vector<Extent> extents;
  for (const auto& extent : shape) extents.push_back(to_extent(extent));
  return extents;
}

PythonShape from_shape(const std::vector<Extent>& shape) {
  PythonShape extents;
  for (const Extent& extent : shape)
    if (extent.is_known())
      extents.emplace_back(extent.value);
    else if (extent.name.empty())
      extents.emplace_back();
    else
      extents.emplace_back(extent.name);
  return extents;
}

ExternalData external_of(const std::string& name) {
  if (name == "asis") return ExternalData::kAsIs;
  if (name == "inside") return ExternalData::kInside;
  if (name == "beside") return ExternalData::kBeside;
  throw nb::value_error("external must be 'asis', 'inside' or 'beside'");
}

nb::list to_rows(const std::vector<edit::Value>& values) {
  nb::list rows;
  for (const edit::Value& value : values) {
    nb::object element = nb::none(), shape = nb::none();
    if (value.type) {
      element = nb::int_(value.type->element);
      if (value.type->has_shape) shape = nb::cast(from_shape(value.type->shape));
    }
    rows.append(nb::make_tuple(value.name, element, shape));
  }
  return rows;
}

void bind_node(nb::module_& m) {
  nb::class_<NodeId>(m, "NodeId", "Names a node of one model, also after it was removed.")
      .def("__eq__", [](const NodeId& a, const NodeId& b) { return a == b; })
      .def("__hash__", [](const NodeId& id) { return id.number; })
      .def("__repr__",
           [](const NodeId& id) { return "NodeId(" + std::to_string(id.number) + ")"; });
  nb::class_<GraphId>(m, "GraphId", "Names the main graph, a graph inside a node, or a function.")
      .def("__eq__", [](const GraphId& a, const GraphId& b) { return a == b; })
      .def("__hash__", [](const GraphId& id) { return id.number; });
  nb::class_<Node>(m, "Node", "What a node is; changing it changes no model.")
      .def(
          "__init__",
          [](Node* self, const std::string& op_type, const std::vector<std::string>& inputs,
             const std::vector<std::string>& outputs, const std::string& name,
             const std::string& domain, const nb::dict& attributes) {
            new (self) Node{name, op_type, domain, inputs, outputs, {}};
            for (const auto& [key, value] : attributes)
              self->attributes.emplace_back(nb::cast<std::string>(key), from_python(value));
          },
          nb::arg("op_type"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("name") = "",
          nb::arg("domain") = "", nb::arg("attributes") = nb::dict())
      .def_rw("name", &Node::name)
      .def_rw("op_type", &Node::op_type)
      .def_rw("domain", &Node::domain)
      .def_rw("inputs", &Node::inputs)
      .def_rw("outputs", &Node::outputs)
      .def_prop_rw(
          "attributes",
          [](const Node& node) {
            nb::dict attributes;
            for (const auto& [name, value] : node.attributes)
              attributes[nb::cast(name)] = to_python(value);
            return attributes;
          },
          [](Node& node, const nb::dict& attributes) {
            node.attributes.clear();
            for (const auto& [key, value] : attributes)
              node.attributes.emplace_back(nb::cast<std::string>(key), from_python(value));
          },
          nb::for_getter(nb::sig("def attributes(self) -> dict[str, typing.Any]")),
          nb::for_setter(nb::sig("def attributes(self, value: dict[str, typing.Any], /) -> None")),
          "By name: int, float, str, lists of these, arrays, and bytes of an AttributeProto for "
          "others.");
}

void bind_reading(nb::class_<Model>& model) {
  model.def_prop_ro("graph", [](const Model& self) { return self.graph(); })
      .def("graphs", &Model::graphs)
      .def("name_of", &Model::name_of, nb::arg("graph"))
      .def(
          "nodes",
          [](const Model& self, std::optional<GraphId> graph) {
            return self.nodes(graph.value_or(self.graph()));
          },
          nb::arg("graph") = nb::none())
      .def("is_there", &Model::is_there, nb::arg("node"))
      .def("node", &Model::node, nb::arg("node"))
      .def("find_node", &Model::find_node, nb::arg("name"))
      .def(
          "producer",
          [](const Model& self, const std::string& tensor, std::optional<GraphId> graph) {
            return self.producer(graph.value_or(self.graph()), tensor);
          },
          nb::arg("tensor"), nb::arg("graph") = nb::none())
      .def(
          "users",
          [](const Model& self, const std::string& tensor, std::optional<GraphId> graph) {
            return self.users(graph.value_or(self.graph()), tensor);
          },
          nb::arg("tensor"), nb::arg("graph") = nb::none())
      .def(
          "inputs", [](const Model& self) { return to_rows(self.inputs()); },
          nb::sig("def inputs(self) -> list[tuple[str, int | None, list[int | str | None] | "
                  "None]]"))
      .def(
          "outputs", [](const Model& self) { return to_rows(self.outputs()); },
          nb::sig("def outputs(self) -> list[tuple[str, int | None, list[int | str | None] | "
                  "None]]"))
      .def("initializers", [](const Model& self) { return self.initializers(); })
      .def(
          "constant",
          [](const Model& self, const std::string& name) {
            const auto value = self.constant(name);
            return value ? to_array(*value) : nb::none();
          },
          nb::arg("name"), nb::sig("def constant(self, name: str) -> typing.Any"))
      .def("opset", &Model::opset, nb::arg("domain") = "")
      .def("metadata", &Model::metadata);
}

void bind_changing(nb::class_<Model>& model) {
  model
      .def(
          "insert_node",
          [](Model& self, const Node& node, std::optional<NodeId> before,
             std::optional<GraphId> graph) {
            return self.insert_node(graph.value_or(self.graph()), node, before);
          },
          nb::arg("node"), nb::arg("before") = nb::none(), nb::arg("graph") = nb::none())
      .def("replace_node", &Model::replace_node, nb::arg("node"), nb::arg("with_"))
      .def("remove_node", &Model::remove_node, nb::arg("node"), nb::arg("relink") = false)
      .def(
          "replace_uses",
          [](Model& self, const std::string& from, const std::string& to,
             std::optional<GraphId> graph) {
            self.replace_uses(graph.value_or(self.graph()), from, to);
          },
          nb::arg("from_"), nb::arg("to"), nb::arg("graph") = nb::none())
      .def(
          "set_constant",
          [](Model& self, const std::string& name, const nb::object& value) {
            self.set_constant(name, to_tensor(value));
          },
          nb::arg("name"), nb::arg("value"),
          nb::sig("def set_constant(self, name: str, value: typing.Any) -> None"))
      .def("set_opset", &Model::set_opset, nb::arg("version"), nb::arg("domain") = "")
      .def("set_metadata", &Model::set_metadata, nb::arg("key"), nb::arg("value"))
      .def_prop_ro("steps", &Model::steps)
      .def("undo", &Model::undo_to, nb::arg("steps") = 0)
      .def("patch_text", &Model::patch_text, nb::arg("since") = 0)
      .def("patch_json", &Model::patch_json, nb::arg("since") = 0)
      .def("apply_patch", &Model::apply_patch, nb::arg("json"));
}

void bind_model(nb::module_& m) {
  nb::class_<Model> model(m, "Model", "An ONNX model in memory; for one thread at a time.");
  model.def_static("load", &Model::load, nb::arg("path"))
      .def_static(
          "parse",
          [](const nb::bytes& bytes, const std::string& path) {
            return Model::parse({bytes.c_str(), bytes.size()}, path);
          },
          nb::arg("data"), nb::arg("path") = "")
      .def(
          "save",
          [](const Model& self, const std::string& path, const std::string& external,
             size_t threshold, const std::string& location) {
            self.save(path, {external_of(external), threshold, location});
          },
          nb::arg("path"), nb::arg("external") = "asis", nb::arg("threshold") = 1024,
          nb::arg("location") = "")
      .def(
          "serialize",
          [](const Model& self, const std::string& external) {
            const std::string bytes = self.serialize(external_of(external));
            return nb::bytes(bytes.data(), bytes.size());
          },
          nb::arg("external") = "asis");
  bind_reading(model);
  bind_changing(model);
}

void bind_simplifying(nb::module_& m) {
  m.def(
      "fold_constants",
      [](Model& model, size_t max_bytes, bool shapes, bool quantized) {
        return fold_constants(model, {max_bytes, shapes, quantized});
      },
      nb::arg("model"), nb::arg("max_bytes") = FoldOptions().max_bytes, nb::arg("shapes") = true,
      nb::arg("quantized") = false, "Computes what depends on constants alone.");
  m.def("fold_into_weights", &fold_into_weights, nb::arg("model"));
  m.def("remove_unused", &remove_unused, nb::arg("model"));
  m.def("remove_without_effect", &remove_without_effect, nb::arg("model"));
  m.def("share_equal", &share_equal, nb::arg("model"));
  m.def("infer_shapes", &infer_shapes, nb::arg("model"));
  m.def("clear_shapes", &clear_shapes, nb::arg("model"));
  m.def("resolve_conditions", &resolve_conditions, nb::arg("model"));
  m.def("inline_functions", &inline_functions, nb::arg("model"));
  m.def("convert_opset", &convert_opset, nb::arg("model"), nb::arg("version"));
  m.def(
      "to_float16",
      [](Model& model, bool keep_io, const std::vector<std::string>& keep) {
        return to_float16(model, {keep_io, {keep.begin(), keep.end()}}).kept;
      },
      nb::arg("model"), nb::arg("keep_io") = true, nb::arg("keep") = std::vector<std::string>(),
      "Gives the nodes that stay float32 since float16 cannot hold what they compute.");
  m.def("remove_quantization", &remove_quantization, nb::arg("model"));
  m.def(
      "insert_quantization",
      [](Model& model, const std::string& tensor, const std::vector<float>& scales,
         int32_t zero_point, std::optional<int64_t> axis, bool is_unsigned) {
        insert_quantization(model, tensor, {scales, zero_point, axis, is_unsigned});
      },
      nb::arg("model"), nb::arg("tensor"), nb::arg("scales"), nb::arg("zero_point") = 0,
      nb::arg("axis") = nb::none(), nb::arg("is_unsigned") = false,
      "Puts QuantizeLinear and DequantizeLinear behind a tensor, whose readers read what they "
      "give.");
  m.def(
      "quantize_weights",
      [](Model& model, int32_t bits, int64_t group, const std::vector<std::string>& keep) {
        return quantize_weights(model, {bits, group, {keep.begin(), keep.end()}}).products;
      },
      nb::arg("model"), nb::arg("bits") = WeightQuantization().bits,
      nb::arg("group") = WeightQuantization().group, nb::arg("keep") = std::vector<std::string>(),
      "Makes int4 or int8 of the constant matrices of MatMul and Gemm, with a scale for each group "
      "of so many weights (0: for each channel) and a DequantizeLinear behind them. Gives the "
      "number of products.");
  m.def("remove_quantization_of", &remove_quantization_of, nb::arg("model"), nb::arg("tensors"));
}

void bind_rewriting(nb::module_& m) {
  m.def(
      "show",
      [](const Model& model, bool shapes, bool constants, bool json) {
        return (json ? show_json : show_text)(model, {shapes, constants});
      },
      nb::arg("model"), nb::arg("shapes") = false, nb::arg("constants") = false,
      nb::arg("json") = false);
  m.def("extract", &extract, nb::arg("model"), nb::arg("inputs"), nb::arg("outputs"));
  m.def("rename_tensor", &rename_tensor, nb::arg("model"), nb::arg("from_"), nb::arg("to"));
  m.def("rename_node", &rename_node, nb::arg("model"), nb::arg("from_"), nb::arg("to"));
  m.def("remove_nodes", &remove_nodes, nb::arg("model"), nb::arg("names"));
  m.def("replace_between", &replace_between, nb::arg("model"), nb::arg("inputs"),
        nb::arg("outputs"), nb::arg("node"));
  m.def(
      "set_operator",
      [](Model& model, NodeId node, const std::string& op_type, const std::string& domain,
         const nb::dict& attributes) {
        std::vector<std::pair<std::string, AttributeValue>> values;
        for (const auto& [key, value] : attributes)
          values.emplace_back(nb::cast<std::string>(key), from_python(value));
        set_operator(model, node, op_type, domain, values);
      },
      nb::arg("model"), nb::arg("node"), nb::arg("op_type"), nb::arg("domain") = "",
      nb::arg("attributes") = nb::dict());
  m.def(
      "set_dims",
      [](Model& model, const std::string& input, const PythonShape& shape) {
        return set_dims(model, input, to_shape(shape));
      },
      nb::arg("model"), nb::arg("input"), nb::arg("shape"),
      "Extents are int, a name, or None. Gives how many constants followed.");
  m.def(
      "set_dim",
      [](Model& model, const std::string& name, const std::optional<PythonExtent>& extent) {
        return set_dim(model, name, to_extent(extent));
      },
      nb::arg("model"), nb::arg("name"), nb::arg("extent").none());
  m.def(
      "set_batch",
      [](Model& model, const std::optional<PythonExtent>& extent) {
        return set_batch(model, to_extent(extent));
      },
      nb::arg("model"), nb::arg("extent").none());
  const auto merging = [&m](const char* name,
                            void (*merge)(Model&, const Model&, const MergeOptions&)) {
    m.def(
        name,
        [merge](Model& model, const Model& other,
                const std::vector<std::pair<std::string, std::string>>& links,
                const std::string& prefix) { merge(model, other, {links, prefix}); },
        nb::arg("model"), nb::arg("other"), nb::arg("links"), nb::arg("prefix") = "",
        "`links` are pairs of an output of the first model and the input of the second.");
  };
  merging("append_model", &append_model);
  merging("prepend_model", &prepend_model);
}

}  // namespace

void bind_onnx(nb::module_& package) {
  nb::module_ m = package.def_submodule("onnx", "ONNX models edited in memory.");
  bind_node(m);
  bind_model(m);
  bind_simplifying(m);
  bind_rewriting(m);
}

}  // namespace tenon::python
