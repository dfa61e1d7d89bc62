"""From a graph to an ONNX model."""
from typing import Any, Dict, FrozenSet, Iterable, List, Set

import numpy as np
import onnx
import onnx.helper

from tenon.graphsurgeon.attributes import attribute_proto
from tenon.graphsurgeon.data_types import raw_bytes, to_numpy, to_onnx
from tenon.graphsurgeon.errors import OnnxGraphSurgeonException
from tenon.graphsurgeon.function import Function
from tenon.graphsurgeon.graph import Graph
from tenon.graphsurgeon.log import G_LOGGER
from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.tensor import Constant, LazyValues, SparseValues, Tensor, Variable

_NONE: FrozenSet[int] = frozenset()


def constant_to_onnx_tensor(tensor: Constant) -> Any:
    """The onnx.TensorProto of a constant in its export_dtype, with raw data but for strings."""
    values = tensor.values
    number = to_onnx(tensor.export_dtype)
    if number == onnx.TensorProto.STRING:
        proto = onnx.TensorProto(dims=values.shape, data_type=number)
        proto.string_data.extend(one if isinstance(one, bytes) else str(one).encode() for one in values.reshape(-1))
    else:
        exported = to_numpy(tensor.export_dtype)
        converted = values if values.dtype == exported else values.astype(exported)
        proto = onnx.TensorProto(dims=values.shape, data_type=number, raw_data=raw_bytes(converted, number))
    if tensor.data_location is not None:
        proto.data_location = tensor.data_location  # type: ignore[assignment]
    proto.name = tensor.name
    return proto


class OnnxExporter:
    """Makes onnx's messages of graphs, functions, nodes and tensors; values are copied into them."""

    @staticmethod
    def export_tensor_proto(tensor: Constant) -> Any:
        """The onnx.TensorProto of a constant; values that nobody has asked for are not decoded."""
        stored = tensor._values
        if not isinstance(stored, LazyValues) or isinstance(stored, SparseValues) or tensor.export_dtype != stored.dtype:
            return constant_to_onnx_tensor(tensor)
        if stored.tensor.name == tensor.name:
            return stored.tensor
        proto = onnx.TensorProto()
        proto.CopyFrom(stored.tensor)
        proto.name = tensor.name
        return proto

    @staticmethod
    def export_sparse_tensor_proto(tensor: Constant) -> Any:
        """The onnx.SparseTensorProto of a constant whose values are sparse."""
        proto = onnx.SparseTensorProto()
        proto.CopyFrom(tensor._values.tensor)  # type: ignore[union-attr]
        proto.values.name = tensor.name
        return proto

    @staticmethod
    def export_value_info_proto(tensor: Tensor, do_type_check: bool) -> Any:
        """The onnx.ValueInfoProto of a tensor; OnnxGraphSurgeonException, if types are checked, where it has none."""
        proto = OnnxExporter._typed_value_info(tensor, do_type_check)
        if isinstance(tensor, Variable):
            if tensor.doc_string:
                proto.doc_string = tensor.doc_string
            if tensor.metadata:
                onnx.helper.set_model_props(proto, tensor.metadata)
        return proto

    @staticmethod
    def _typed_value_info(tensor: Tensor, do_type_check: bool) -> Any:
        dtype: Any = tensor.export_dtype if isinstance(tensor, Constant) else tensor.dtype  # type: ignore[attr-defined]
        if isinstance(tensor, Variable) and hasattr(tensor, "proto"):  # sequences, maps, optionals
            proto = onnx.ValueInfoProto()
            proto.CopyFrom(tensor.proto)
            proto.name = tensor.name
            return proto
        if dtype is None:
            if do_type_check:
                raise OnnxGraphSurgeonException(
                    f"the type of '{tensor.name}' is not known, and inputs and outputs of a graph must have one: set its "
                    "dtype, as in tensor.dtype = np.float32")
            return onnx.helper.make_empty_tensor_value_info(tensor.name)
        shape = [extent if isinstance(extent, str) or extent is None else int(extent)
                 for extent in tensor.shape] if tensor.shape is not None else None  # type: ignore[attr-defined]
        if shape is not None:
            shape = [None if isinstance(extent, int) and extent < 0 else extent for extent in shape]
        if isinstance(tensor, Variable) and tensor.type == "sequence_type":
            return onnx.helper.make_tensor_sequence_value_info(tensor.name, to_onnx(dtype), shape)
        return onnx.helper.make_tensor_value_info(tensor.name, to_onnx(dtype), shape)

    @staticmethod
    def export_attributes(attrs: Dict[str, Any], op: str = "", domain: str = "",
                          outer: FrozenSet[int] = _NONE) -> List[Any]:
        """The onnx.AttributeProtos; graphs among them do not hold the constants `outer`, numbers of objects."""
        return [attribute_proto(name, value, op, domain, OnnxExporter.export_tensor_proto,
                                lambda graph: OnnxExporter.export_graph(graph, False, outer))
                for name, value in attrs.items() if value is not None]

    @staticmethod
    def export_node(node: Node, outer: FrozenSet[int] = _NONE) -> Any:
        """The onnx.NodeProto of a node."""
        proto = onnx.NodeProto(op_type=node.op, input=[tensor.name for tensor in node.inputs],
                               output=[tensor.name for tensor in node.outputs])
        if node.name:
            proto.name = node.name
        if node.domain is not None:
            proto.domain = node.domain
        if node.attrs:
            proto.attribute.extend(OnnxExporter.export_attributes(node.attrs, node.op, node.domain or "", outer))
        if node.doc_string:
            proto.doc_string = node.doc_string
        if node.metadata:
            onnx.helper.set_model_props(proto, node.metadata)
        return proto

    @staticmethod
    def export_function(func: Function) -> Any:
        """The onnx.FunctionProto of a function; its constants become nodes, as functions have no initializers."""
        constants = [tensor for tensor in func.tensors().values() if isinstance(tensor, Constant)]
        nodes = [onnx.helper.make_node("Constant", [], [tensor.name], value=OnnxExporter.export_tensor_proto(tensor))
                 for tensor in constants]
        outer = frozenset(map(id, constants))
        nodes += [OnnxExporter.export_node(node, outer) for node in func.nodes]
        defaults = {name: value for name, value in func.attrs.items() if value is not None}
        proto = onnx.helper.make_function(
            func.domain or "", func.name, [tensor.name for tensor in func.inputs],
            [tensor.name for tensor in func.outputs], nodes, opset_imports_of(func),
            [name for name, value in func.attrs.items() if value is None], OnnxExporter.export_attributes(defaults),
            func.doc_string)
        if func.graph_metadata:
            onnx.helper.set_model_props(proto, func.graph_metadata)
        return proto

    @staticmethod
    def export_graph(graph: Graph, do_type_check: bool = True, outer: FrozenSet[int] = _NONE) -> Any:
        """The onnx.GraphProto of a graph.

        do_type_check: OnnxGraphSurgeonException where an input or output has no type. outer: the constants, by
        numbers of objects, that a graph around holds.
        """
        _warn_of_equal_names(graph.nodes)
        tensors = _named_tensors(graph)
        annotations = [row for row in graph.quantization_annotations if tensors.get(row[0].name) is row[0]]
        for _, parameters in annotations:  # no node need read them
            tensors.update((tensor.name, tensor) for tensor in parameters.values() if tensor.name not in tensors)
        own = [tensor for tensor in tensors.values() if isinstance(tensor, Constant) and id(tensor) not in outer]
        inner = outer | frozenset(map(id, own))
        named = {id(tensor) for tensor in [*graph.inputs, *graph.outputs]}
        computed = {id(tensor) for node in graph.nodes for tensor in node.outputs}
        proto = onnx.GraphProto(name=graph.name)
        if graph.doc_string:
            proto.doc_string = graph.doc_string
        if graph.graph_metadata:
            onnx.helper.set_model_props(proto, graph.graph_metadata)
        proto.node.extend(OnnxExporter.export_node(node, inner) for node in graph.nodes)
        sparse = [tensor for tensor in own if isinstance(tensor._values, SparseValues)]
        proto.sparse_initializer.extend(OnnxExporter.export_sparse_tensor_proto(tensor) for tensor in sparse)
        for tensor in own:
            if not isinstance(tensor._values, SparseValues):
                proto.initializer.append(OnnxExporter.export_tensor_proto(tensor))
        for field, listed in ((proto.input, graph.inputs), (proto.output, graph.outputs)):
            field.extend(OnnxExporter.export_value_info_proto(tensor, do_type_check) for tensor in listed)
        proto.value_info.extend(
            OnnxExporter.export_value_info_proto(tensor, False) for tensor in tensors.values()
            if id(tensor) in computed and id(tensor) not in named and isinstance(tensor, Variable)
            and tensor.dtype is not None)
        for annotated, parameters in annotations:
            annotation = proto.quantization_annotation.add(tensor_name=annotated.name)
            for key, parameter in parameters.items():
                annotation.quant_parameter_tensor_names.add(key=key, value=parameter.name)
        return proto


def _named_tensors(graph: Graph) -> Dict[str, Tensor]:
    """Graph.tensors; OnnxGraphSurgeonException where constants of one name differ, as the model could hold one alone."""
    from tenon.graphsurgeon.scopes import tensors_of
    found: Dict[str, Tensor] = {}
    for tensor in tensors_of(graph):
        first = found.setdefault(tensor.name, tensor)
        if first is tensor:
            continue
        same = isinstance(tensor, Constant) and isinstance(first, Constant) and (
            tensor._values is first._values or (tensor.values.dtype == first.values.dtype
                                                and np.array_equal(tensor.values, first.values)))
        if not same and isinstance(tensor, Constant):
            raise OnnxGraphSurgeonException(f"graph '{graph.name}' has a constant and another tensor named '{tensor.name}', "
                                            f"{tensor} and {first}: give one of them another name")
        G_LOGGER.warning(f"graph '{graph.name}' has two tensors named '{tensor.name}', which are one in the model")
    return found


def _warn_of_equal_names(nodes: Iterable[Node]) -> None:
    seen: Set[str] = set()
    for node in nodes:
        if node.name and node.name in seen:
            G_LOGGER.warning(f"several nodes are named '{node.name}': some tools tell nodes apart by their names")
        seen.add(node.name)


def opset_imports_of(graph: Graph) -> List[Any]:
    """The onnx.OperatorSetIdProto that a graph needs: its own, with its opset, and version 1 of other domains."""
    versions = {entry.domain: entry.version for entry in graph.import_domains or []
                if isinstance(entry, onnx.OperatorSetIdProto)}
    standard = "ai.onnx" if "ai.onnx" in versions and "" not in versions else ""
    versions[standard] = graph.opset
    scopes: List[Graph] = [graph, *graph.subgraphs(recursive=True)]
    for node in (node for scope in scopes for node in scope.nodes):
        if node.domain and node.domain != "ai.onnx":
            versions.setdefault(node.domain, 1)
    return [onnx.helper.make_opsetid(domain, version) for domain, version in versions.items()]


def export_onnx(graph: Graph, do_type_check: bool = True, **kwargs: Any) -> Any:
    """The onnx.ModelProto of a graph, with its functions.

    The graph should be sorted (toposort). do_type_check: OnnxGraphSurgeonException where an input or output of the
    graph has no type. Other arguments go to onnx.helper.make_model. A model of more than 2 GiB wants its weights in a
    file: onnx.save(model, path, save_as_external_data=True).
    """
    proto = OnnxExporter.export_graph(graph, do_type_check)
    functions = graph.functions
    if "opset_imports" not in kwargs:
        imports = opset_imports_of(graph)
        known = {entry.domain for entry in imports}
        for function in functions:
            for entry in [*opset_imports_of(function), onnx.helper.make_opsetid(function.domain or "", 1)]:
                if entry.domain not in known:
                    known.add(entry.domain)
                    imports.append(entry)
        kwargs["opset_imports"] = imports
    for name in ("producer_name", "producer_version", "ir_version"):
        if getattr(graph, name):
            kwargs.setdefault(name, getattr(graph, name))
    if "ir_version" in kwargs:  # initializers of older files are inputs, which those of graphs are not
        kwargs["ir_version"] = max(kwargs["ir_version"], 4)
    kwargs.setdefault("functions", [OnnxExporter.export_function(function) for function in functions])
    model = onnx.helper.make_model(proto, **kwargs)
    for name, value in (("domain", graph.model_domain), ("doc_string", graph.model_doc_string),
                        ("model_version", graph.model_version)):
        if value and name not in kwargs:
            setattr(model, name, value)
    if graph.metadata:
        onnx.helper.set_model_props(model, graph.metadata)
    return model
