#include "plugins/plugin_descs.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind.h"

namespace tenon::python {
namespace {

using nvinfer1::DimensionOperation;
using nvinfer1::Dims;
using nvinfer1::DimsExprs;
using nvinfer1::DynamicPluginTensorDesc;
using nvinfer1::IDimensionExpr;
using nvinfer1::PluginTensorDesc;

Extents make_extents(std::vector<std::optional<Expression>> d) {
  if (d.size() > static_cast<size_t>(Dims::MAX_DIMS)) {
    const std::string message =
        "a DimsExprs of " + std::to_string(d.size()) + " dimensions; there may be 8";
    throw nb::value_error(message.c_str());
  }
  return {std::move(d)};
}

Expression made(const ExpressionBuilder& builder, const IDimensionExpr* result) {
  if (result == nullptr) throw nb::value_error("the engine gave no expression: it is not valid");
  return builder.with(result);
}

std::optional<Expression>& at(Extents& extents, int64_t index) {
  const auto count = static_cast<int64_t>(extents.d.size());
  if (index < 0) index += count;
  if (index < 0 || index >= count) {
    const std::string message =
        "DimsExprs index out of range: there are " + std::to_string(count) + " dimensions";
    throw nb::index_error(message.c_str());
  }
  return extents.d[static_cast<size_t>(index)];
}

}  // namespace

nb::list extents_list(const DimsExprs* shapes, int32_t count, const Lent& lent) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) {
    Extents extents;
    for (int32_t axis = 0; axis < shapes[i].nbDims; ++axis)
      extents.d.emplace_back(Expression(shapes[i].d[axis], lent.live()));
    list.append(nb::cast(std::move(extents)));
  }
  return list;
}

DimsExprs engine_extents(const Extents& extents, const std::string& what) {
  DimsExprs shape{};
  for (const auto& extent : extents.d) {
    if (!extent) {
      const std::string message =
          what + ": dimension " + std::to_string(shape.nbDims) + " of the DimsExprs is not set";
      throw nb::value_error(message.c_str());
    }
    shape.d[shape.nbDims++] = &extent->get();
  }
  return shape;
}

nb::object EnqueueCall::operator()(const nb::object& plugin, int32_t input_count,
                                   int32_t output_count) const {
  return UserMethod(plugin.attr("enqueue"))(
      list_of(input_descs, input_count), list_of(output_descs, output_count),
      addresses_of(inputs, input_count), addresses_of(outputs, output_count),
      reinterpret_cast<uintptr_t>(workspace), reinterpret_cast<uintptr_t>(stream));
}

void bind_plugin_descs(nb::module_& m) {
  nb::class_<PluginTensorDesc>(m, "PluginTensorDesc", "What a plugin is told about a tensor.")
      .def("__init__", [](PluginTensorDesc* self) { new (self) PluginTensorDesc{}; })
      .def_rw("dims", &PluginTensorDesc::dims, "The shape.")
      .def_rw("type", &PluginTensorDesc::type, "The type of the elements.")
      .def_rw("format", &PluginTensorDesc::format, "How the elements lie in memory.")
      .def_rw("scale", &PluginTensorDesc::scale, "The value of one step of an INT8 tensor.");

  nb::class_<DynamicPluginTensorDesc>(m, "DynamicPluginTensorDesc",
                                      "A tensor of a plugin and the range of its shapes.")
      .def("__init__", [](DynamicPluginTensorDesc* self) { new (self) DynamicPluginTensorDesc{}; })
      .def_rw("desc", &DynamicPluginTensorDesc::desc,
              "Type and format; -1 stands for dimensions that vary.")
      .def_rw("min", &DynamicPluginTensorDesc::min, "The smallest shape.")
      .def_rw("max", &DynamicPluginTensorDesc::max, "The largest shape.")
      .def_rw("opt", &DynamicPluginTensorDesc::opt, "The usual shape.");

  nb::class_<Expression>(m, "IDimensionExpr",
                         "A dimension as a formula over the dimensions of the inputs. Valid during "
                         "the call that it was given to.")
      .def(
          "is_constant", [](const Expression& e) { return e.get().isConstant(); },
          "Whether the value is known already.")
      .def(
          "get_constant_value", [](const Expression& e) { return e.get().getConstantValue(); },
          "The value, if it is known.")
      .def(
          "is_size_tensor", [](const Expression& e) { return e.get().isSizeTensor(); },
          "Whether the dimension is known only once the plugin has run.");

  nb::class_<Extents> shape(m, "DimsExprs", "A shape made of formulas, of up to 8 dimensions.");
  shape.def(nb::init<>())
      .def(
          "__init__",
          [](Extents* self, std::vector<std::optional<Expression>> dims) {
            new (self) Extents(make_extents(std::move(dims)));
          },
          nb::arg("dims"), "From the dimensions.")
      .def(
          "__init__",
          [](Extents* self, size_t count) {
            new (self) Extents(make_extents(std::vector<std::optional<Expression>>(
                std::min<size_t>(count, Dims::MAX_DIMS + 1))));
          },
          nb::arg("count"), "With that many dimensions, to be set.")
      .def("__len__", [](const Extents& e) { return e.d.size(); })
      .def(
          "__getitem__", [](Extents& e, int64_t index) { return at(e, index); }, nb::arg("index"))
      .def(
          "__setitem__",
          [](Extents& e, int64_t index, const Expression& value) { at(e, index) = value; },
          nb::arg("index"), nb::arg("value"));
  make_iterable(shape, "def __iter__(self) -> collections.abc.Iterator[IDimensionExpr | None]");
  nb::implicitly_convertible<nb::sequence, Extents>();

  nb::class_<ExpressionBuilder>(m, "IExprBuilder",
                                "Makes formulas of dimensions. Valid during the call that it was "
                                "given to.")
      .def(nb::init<>())
      .def(
          "constant",
          [](const ExpressionBuilder& b, int64_t value) {
            return made(b, b.get().constant(value));
          },
          nb::arg("value"), "A dimension of a fixed value.")
      .def(
          "operation",
          [](const ExpressionBuilder& b, DimensionOperation operation, const Expression& first,
             const Expression& second) {
            return made(b, b.get().operation(operation, first.get(), second.get()));
          },
          nb::arg("operation"), nb::arg("first"), nb::arg("second"),
          "The result of an operation on two dimensions.")
      .def(
          "declare_size_tensor",
          [](const ExpressionBuilder& b, int32_t output, const Expression& opt,
             const Expression& upper) {
            return made(b, b.get().declareSizeTensor(output, opt.get(), upper.get()));
          },
          nb::arg("output_index"), nb::arg("opt"), nb::arg("upper"),
          "A dimension that the plugin finds out while it runs and writes to its output "
          "`output_index`, a scalar; `opt` is its usual and `upper` its largest value.");

  nb::class_<ResourceContext>(
      m, "IPluginResourceContext",
      "What a context offers to its plugins. Valid while the plugin that it "
      "was given to is attached.")
      .def_prop_ro(
          "gpu_allocator", [](const ResourceContext& c) { return c.get().getGpuAllocator(); },
          nb::rv_policy::reference, "The allocator of the engine (IGpuAllocator); or None.")
      .def_prop_ro(
          "error_recorder", [](const ResourceContext& c) { return c.get().getErrorRecorder(); },
          nb::rv_policy::reference, "The recorder of the context; None if none was set.");
}

}  // namespace tenon::python
