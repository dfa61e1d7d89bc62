"""From an ONNX model to a graph."""
from typing import Any, Dict, List, Optional

import onnx

from tenon.graphsurgeon.attributes import attribute_value
from tenon.graphsurgeon.data_types import data_type_of, shape_of
from tenon.graphsurgeon.function import Function
from tenon.graphsurgeon.graph import Graph
from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.tensor import Constant, LazyValues, SparseValues, Tensor, Variable

TensorMap = Dict[str, Tensor]


class OnnxImporter:
    """Makes graphs, functions, nodes and tensors of onnx's messages, which constants keep and do not copy."""

    @staticmethod
    def get_opset(model_or_func: Any) -> Optional[int]:
        """The version of ONNX's own operators that a ModelProto or FunctionProto imports; None if it imports none."""
        versions = [entry.version for entry in model_or_func.opset_import if entry.domain in ("", "ai.onnx")]
        return versions[0] if versions else None

    @staticmethod
    def get_import_domains(model_or_func: Any) -> Any:
        """The onnx.OperatorSetIdProto of a ModelProto or FunctionProto."""
        return list(model_or_func.opset_import)

    @staticmethod
    def import_tensor(onnx_tensor: Any) -> Tensor:
        """The tensor of a ValueInfoProto, TensorProto or SparseTensorProto."""
        if isinstance(onnx_tensor, onnx.SparseTensorProto):
            return Constant(onnx_tensor.values.name, SparseValues(onnx_tensor))
        if isinstance(onnx_tensor, onnx.TensorProto):
            location = onnx_tensor.data_location if onnx_tensor.HasField("data_location") else None
            return Constant(onnx_tensor.name, LazyValues(onnx_tensor), location)
        variable = Variable(onnx_tensor.name)
        _declare(variable, onnx_tensor)
        return variable

    @staticmethod
    def import_attributes(onnx_attributes: Any, tensor_map: TensorMap, subgraph_tensor_map: TensorMap,
                          opset: Optional[int], import_domains: Any) -> Dict[str, Any]:
        """{name: value} of AttributeProtos; graphs among them read tensors of either map."""
        def graph_of(proto: Any) -> Graph:
            return OnnxImporter.import_graph(proto, {**tensor_map, **subgraph_tensor_map}, opset, import_domains)

        return {attribute.name: attribute_value(attribute, OnnxImporter.import_tensor, graph_of)
                for attribute in onnx_attributes}

    @staticmethod
    def import_node(onnx_node: Any, tensor_map: TensorMap, subgraph_tensor_map: TensorMap, opset: Optional[int],
                    import_domains: Any) -> Node:
        """A node whose tensors are those of `subgraph_tensor_map`, else of `tensor_map`, the graph's around.

        What neither has is put into the former.
        """
        def tensor_of(name: str, computed: bool) -> Tensor:
            if name == "":
                return Variable.empty()
            tensor = subgraph_tensor_map.get(name)
            if tensor is None and not computed:
                tensor = tensor_map.get(name)
            if tensor is None:
                tensor = subgraph_tensor_map[name] = Variable(name)
            return tensor

        attrs = OnnxImporter.import_attributes(onnx_node.attribute, tensor_map, subgraph_tensor_map, opset,
                                               import_domains) if onnx_node.attribute else {}
        node = Node(onnx_node.op_type, onnx_node.name, attrs,
                    [tensor_of(name, False) for name in onnx_node.input],
                    [tensor_of(name, True) for name in onnx_node.output],
                    onnx_node.domain if onnx_node.HasField("domain") else None)
        node.doc_string = onnx_node.doc_string
        node.metadata = metadata_of(onnx_node)
        return node

    @staticmethod
    def import_function(onnx_function: Any, model_opset: Optional[int] = None,
                        model_import_domains: Any = None) -> Function:
        """The function of a FunctionProto; what it does not import has the model's versions."""
        opset = OnnxImporter.get_opset(onnx_function) or model_opset
        domains = OnnxImporter.get_import_domains(onnx_function) or model_import_domains
        attrs: Dict[str, Any] = {name: None for name in onnx_function.attribute}
        attrs.update(OnnxImporter.import_attributes(getattr(onnx_function, "attribute_proto", ()), {}, {}, opset, domains))
        tensors: TensorMap = {name: Variable(name) for name in onnx_function.input}
        inputs = list(tensors.values())
        nodes = _import_nodes(onnx_function, {}, tensors, opset, domains)
        outputs = [tensors.setdefault(name, Variable(name)) for name in onnx_function.output]
        function = Function(onnx_function.name, onnx_function.domain, nodes, inputs, outputs, onnx_function.doc_string,
                            opset, domains, attrs=attrs)
        function.graph_metadata = metadata_of(onnx_function)
        return function

    @staticmethod
    def import_graph(onnx_graph: Any, tensor_map: Optional[TensorMap] = None, opset: Optional[int] = None,
                     import_domains: Any = None, producer_name: Optional[str] = None,
                     producer_version: Optional[str] = None, functions: Optional[List[Function]] = None,
                     ir_version: Optional[int] = None) -> Graph:
        """The graph of a GraphProto.

        tensor_map: the tensors of the graph around, which it may read; not changed. Initializers become Constants,
        which are no inputs of the graph even where the model lists them so.
        """
        tensors: TensorMap = {}
        for proto in [*onnx_graph.initializer, *onnx_graph.sparse_initializer]:
            tensor = OnnxImporter.import_tensor(proto)
            tensors[tensor.name] = tensor
        inputs = []
        for proto in onnx_graph.input:
            if proto.name not in tensors:
                tensors[proto.name] = OnnxImporter.import_tensor(proto)
                inputs.append(tensors[proto.name])
        nodes = _import_nodes(onnx_graph, tensor_map or {}, tensors, opset, import_domains)
        outputs = []
        for proto in onnx_graph.output:
            tensor = tensors.get(proto.name) or (tensor_map or {}).get(proto.name) or OnnxImporter.import_tensor(proto)
            outputs.append(tensors.setdefault(proto.name, tensor))
            if not tensor_map or tensor_map.get(proto.name) is not tensor:
                _declare(tensor, proto)
        graph = Graph(nodes, inputs, outputs, onnx_graph.name, onnx_graph.doc_string, opset, import_domains,
                      producer_name, producer_version, functions, ir_version)
        graph.graph_metadata = metadata_of(onnx_graph)
        for annotation in onnx_graph.quantization_annotation:
            names = {entry.key: entry.value for entry in annotation.quant_parameter_tensor_names}
            if annotation.tensor_name in tensors and all(name in tensors for name in names.values()):
                graph.quantization_annotations.append(
                    (tensors[annotation.tensor_name], {key: tensors[name] for key, name in names.items()}))
        return graph


def _import_nodes(proto: Any, around: TensorMap, tensors: TensorMap, opset: Optional[int],
                  import_domains: Any) -> List[Node]:
    """The nodes of a GraphProto or FunctionProto, in any order; what they compute goes into `tensors`."""
    for node in proto.node:
        for name in node.output:
            if name and name not in tensors:
                tensors[name] = Variable(name)
    for declared in getattr(proto, "value_info", ()):
        if declared.name in tensors:
            _declare(tensors[declared.name], declared)
    return [OnnxImporter.import_node(node, around, tensors, opset, import_domains) for node in proto.node]


def metadata_of(proto: Any) -> Dict[str, str]:
    """What exporters wrote, {key: value}; files and packages of before 2024 have it of models alone."""
    return {entry.key: entry.value for entry in getattr(proto, "metadata_props", ())}


def _declare(tensor: Tensor, proto: Any) -> None:
    """A variable gets the type and shape that a ValueInfoProto states."""
    if isinstance(tensor, Variable):
        tensor.doc_string, tensor.metadata = proto.doc_string, metadata_of(proto)
        tensor.dtype = data_type_of(proto)
        tensor.shape = shape_of(proto)
        tensor.type = proto.type.WhichOneof("value") or "tensor_type"
        if tensor.type not in ("tensor_type", "sparse_tensor_type"):
            tensor.proto = proto  # type: ignore[attr-defined]  # has what neither dtype nor shape can say


def import_onnx(onnx_model: Any) -> Graph:
    """The graph of an onnx.ModelProto, whose weights it refers to: keep the model unchanged while it is in use.

    Weights in files are those that onnx.load(path) has read. Names of functions, opsets, the producer's name, the
    model's metadata, documentation, domain and version, and annotations of quantization are kept. TypeError for anything but a ModelProto.
    """
    if not isinstance(onnx_model, onnx.ModelProto):
        raise TypeError(f"expected an onnx.ModelProto, and found {type(onnx_model).__name__}: onnx.load(path) reads a file")
    opset = OnnxImporter.get_opset(onnx_model)
    domains = OnnxImporter.get_import_domains(onnx_model)
    functions = [OnnxImporter.import_function(proto, opset, domains) for proto in onnx_model.functions]
    for function in functions:
        function._functions = functions
    graph = OnnxImporter.import_graph(
        onnx_model.graph, None, opset, domains, onnx_model.producer_name, onnx_model.producer_version, functions,
        onnx_model.ir_version)
    graph.metadata = {entry.key: entry.value for entry in onnx_model.metadata_props}
    graph.model_domain, graph.model_doc_string = onnx_model.domain, onnx_model.doc_string
    graph.model_version = onnx_model.model_version
    return graph
