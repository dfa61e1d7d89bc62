"""A graph of nodes and tensors, which a program changes."""
import collections
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from tenon.graphsurgeon import cleanup as _cleanup
from tenon.graphsurgeon import toposort as _toposort
from tenon.graphsurgeon.copying import copy_graph
from tenon.graphsurgeon.errors import OnnxGraphSurgeonException
from tenon.graphsurgeon.layers import NameMaker, add_layer
from tenon.graphsurgeon.links import SynchronizedList
from tenon.graphsurgeon.log import G_LOGGER, LogMode
from tenon.graphsurgeon.node import AnyGraph, Node
from tenon.graphsurgeon.scopes import tensors_of
from tenon.graphsurgeon.tensor import Tensor

if TYPE_CHECKING:
    from tenon.graphsurgeon.function import Function


def _own_list(items: Optional[Iterable[Any]]) -> List[Any]:
    """A plain list is taken as it is; that of a node would change with the node."""
    if isinstance(items, list) and not isinstance(items, SynchronizedList):
        return items
    return list(items or ())


def same_domains(one: Any, other: Any) -> bool:
    """Whether two lists of onnx.OperatorSetIdProto name the same versions, in any order."""
    def versions(domains: Any) -> Any:
        return None if domains is None else sorted(
            (str(getattr(entry, "domain", entry)), getattr(entry, "version", 0)) for entry in domains)
    return bool(versions(one) == versions(other))


class NodeIDs:
    """Within its `with` block the nodes of a graph have unique numbers, as `id`."""

    def __init__(self, graph: "Graph") -> None:
        self._graph = graph

    def __enter__(self) -> None:
        for number, node in enumerate(self._graph.nodes):
            node.id = number  # type: ignore[attr-defined]

    def __exit__(self, *exception: object) -> None:
        for node in self._graph.nodes:
            node.__dict__.pop("id", None)


class Graph(AnyGraph):
    """Nodes, with the tensors that are the graph's inputs and outputs; other tensors are those of the nodes.

    name, doc_string, producer_name, producer_version: strings of the model. opset: the version of ONNX's own
    operators, 11 if none is given. import_domains: the onnx.OperatorSetIdProto of all domains. functions: the
    Functions that nodes may call, one list for a graph and those in its attributes. ir_version: the version of the
    file format, None for that of the onnx package. metadata: {key: value} of the model; graph_metadata: of the graph itself. model_domain,
    model_doc_string, model_version: what else the model says of itself. quantization_annotations: (tensor, {parameter:
    tensor}), as with "SCALE_TENSOR". Lists may be changed freely.
    """

    DEFAULT_OPSET = 11
    OPSET_FUNC_MAP: Dict[int, Dict[str, Callable[..., Any]]] = collections.defaultdict(dict)
    GLOBAL_FUNC_MAP: Dict[str, Callable[..., Any]] = {}

    nodes: List[Node]
    _functions: "List[Function]"

    def __init__(self, nodes: Optional[Sequence[Node]] = None, inputs: Optional[Sequence[Tensor]] = None,
                 outputs: Optional[Sequence[Tensor]] = None, name: Optional[str] = None,
                 doc_string: Optional[str] = None, opset: Optional[int] = None, import_domains: Any = None,
                 producer_name: Optional[str] = None, producer_version: Optional[str] = None,
                 functions: "Optional[Sequence[Function]]" = None, ir_version: Optional[int] = None) -> None:
        self.nodes = _own_list(nodes)
        self.inputs = inputs  # type: ignore[assignment]
        self.outputs = outputs  # type: ignore[assignment]
        self.name = "onnx_graphsurgeon_graph" if name is None else name
        self.doc_string = doc_string or ""
        self.opset = self.DEFAULT_OPSET if opset is None else opset
        self.import_domains = import_domains
        self.producer_name = producer_name or ""
        self.producer_version = producer_version or ""
        self.ir_version = ir_version
        self.metadata: Dict[str, str] = {}
        self.graph_metadata: Dict[str, str] = {}
        self.model_domain = self.model_doc_string = ""
        self.model_version = 0
        self.quantization_annotations: List[Tuple[Tensor, Dict[str, Tensor]]] = []
        self._names = NameMaker()
        self._functions = list(functions or ())
        self._merge_functions()

    @staticmethod
    def register(opsets: Optional[Iterable[int]] = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Makes a function a method of all graphs, or of those of these opsets.

            @Graph.register()
            def add(self, a, b):
                return self.layer(op="Add", inputs=[a, b], outputs=["sum"])[0]

        It takes the place of one of its name that was registered for the same opsets. One for an opset comes
        before one for all, and either before a Function of that name.
        """
        def keep(function: Callable[..., Any]) -> Callable[..., Any]:
            for functions in [Graph.GLOBAL_FUNC_MAP] if opsets is None else [Graph.OPSET_FUNC_MAP[o] for o in opsets]:
                functions[function.__name__] = function
            return function
        return keep

    def __getattr__(self, name: str) -> Callable[..., Any]:
        text = f"'{type(self).__name__}' object has no attribute '{name}'"
        opset = self.__dict__.get("opset")
        if name.startswith("_") or opset is None:  # as of one that is being copied
            raise AttributeError(text)
        registered = self.OPSET_FUNC_MAP.get(opset, {}).get(name) or self.GLOBAL_FUNC_MAP.get(name)
        if registered is not None:
            return lambda *args, **kwargs: registered(self, *args, **kwargs)
        for functions in (self._functions, self.functions):  # those that graphs in attributes bring come second
            for function in functions:
                if function.name == name:
                    return lambda *args, **kwargs: function(self, *args, **kwargs)
        others = sorted(opset for opset, known in self.OPSET_FUNC_MAP.items() if name in known)
        raise AttributeError(text + (f"; it is registered for opset {others}, and this graph has {opset}" if others else ""))

    @property
    def inputs(self) -> List[Any]:
        """The tensors that a caller gives values for."""
        return self._inputs

    @inputs.setter
    def inputs(self, tensors: Optional[Iterable[Tensor]]) -> None:
        self._inputs = _own_list(tensors)

    @property
    def outputs(self) -> List[Any]:
        """The tensors whose values a caller gets."""
        return self._outputs

    @outputs.setter
    def outputs(self, tensors: Optional[Iterable[Tensor]]) -> None:
        self._outputs = _own_list(tensors)

    @property
    def functions(self) -> "List[Function]":
        """The functions that nodes of this graph, and of those in its attributes, may call."""
        self._merge_functions()
        return self._functions

    @functions.setter
    def functions(self, functions: "Iterable[Function]") -> None:
        self._functions = list(functions)
        for graph in self.subgraphs(recursive=True):
            graph._functions = self._functions

    def _merge_functions(self) -> None:
        for graph in self.subgraphs(recursive=True):
            if graph._functions is not self._functions:
                known = {function.unique_id for function in self._functions}
                self._functions += [function for function in graph._functions if function.unique_id not in known]
                graph._functions = self._functions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self is other or (
            self.opset == other.opset and same_domains(self.import_domains, other.import_domains)
            and self.inputs == other.inputs and self.outputs == other.outputs and self.nodes == other.nodes
            and self._functions == other._functions)

    __hash__ = None  # type: ignore[assignment]  # what is compared changes

    def node_ids(self) -> NodeIDs:
        """A context manager in whose block each node has a number of its own, `node.id`."""
        return NodeIDs(self)

    def subgraphs(self, recursive: bool = False) -> "Iterator[Graph]":
        """The graphs in the attributes of nodes; with `recursive` also those within them. Functions are none."""
        for node in self.nodes:
            if node.attrs:
                yield from node.subgraphs(recursive)

    def cleanup(self, remove_unused_node_outputs: bool = False, recurse_subgraphs: bool = True,
                remove_unused_graph_inputs: bool = False, recurse_functions: bool = True) -> "Graph":
        """Removes the nodes that do not contribute to the graph's outputs; returns the graph.

        What computes an input of the graph goes, too, and links of its outputs to nodes that are not in it.
        remove_unused_node_outputs: also outputs of nodes that nobody reads; one with others behind it that are read
        becomes empty. recurse_subgraphs: also in graphs in attributes. remove_unused_graph_inputs: also this
        graph's inputs that nobody reads, never those of other graphs and functions, whose positions count.
        recurse_functions: also in functions.
        """
        _cleanup.cleanup(self, remove_unused_node_outputs, recurse_subgraphs, remove_unused_graph_inputs)
        if recurse_functions:
            for function in self.functions:
                if function is not self:
                    function.cleanup(remove_unused_node_outputs, recurse_subgraphs)
        return self

    def toposort(self, recurse_subgraphs: bool = True, recurse_functions: bool = True, mode: str = "full") -> "Graph":
        """Puts each node behind those whose results it reads, and each function behind those that it calls.

        What is in order stays where it is. recurse_subgraphs: also the nodes of graphs in attributes.
        recurse_functions: also those of functions. mode: "nodes", "functions", or "full" for both. Returns the
        graph; OnnxGraphSurgeonException for a cycle or another mode.
        """
        if mode not in ("full", "nodes", "functions"):
            raise OnnxGraphSurgeonException(f"mode is {mode!r}: expected 'full', 'nodes' or 'functions'")
        if mode != "functions":
            if recurse_subgraphs:
                for graph in self.subgraphs():
                    graph.toposort(recurse_subgraphs=True, recurse_functions=False, mode="nodes")
            if recurse_functions:
                for function in self.functions:
                    if function is not self:
                        function.toposort(recurse_subgraphs=recurse_subgraphs)
            self.nodes[:] = _toposort.sorted_nodes(self)
        if mode != "nodes":
            functions = self.functions
            functions[:] = _toposort.sorted_functions(functions)
        return self

    def tensors(self, check_duplicates: bool = False) -> Dict[str, Any]:
        """{name: tensor} of the graph's nodes in their order, and of its inputs and outputs; without empty ones.

        Two tensors of one name are a warning, or OnnxGraphSurgeonException with `check_duplicates`; the later one
        is in the dictionary. Those of graphs in attributes are not in it.
        """
        found: Dict[str, Tensor] = {}
        for tensor in tensors_of(self):
            if found.setdefault(tensor.name, tensor) is not tensor:
                text = (f"graph '{self.name}' has two tensors named '{tensor.name}', {found[tensor.name]} and {tensor}: "
                        "give one of them another name")
                if check_duplicates:
                    raise OnnxGraphSurgeonException(text)
                G_LOGGER.warning(text, LogMode.ONCE)
                found[tensor.name] = tensor
        return found

    def fold_constants(self, fold_shapes: bool = True, recurse_subgraphs: bool = True,
                       partitioning: Optional[str] = None, error_ok: bool = True, flatten_subgraphs: bool = True,
                       size_threshold: Optional[int] = None,
                       should_exclude_node: Optional[Callable[[Node], bool]] = None,
                       recurse_functions: bool = True) -> "Graph":
        """Computes what depends on constants alone, once and for all; returns the graph.

        The results become constants. The nodes stay, without outputs, until cleanup(). Tenon's engine computes
        what it has in the very types of the model, and onnx.reference the rest (fold_evaluate.py). Random
        numbers, QuantizeLinear, DequantizeLinear, Loop and Scan stay.

        fold_shapes: also Shape of tensors whose shapes the graph states, and elements of shapes taken by Gather
        and Slice, where those are stated. recurse_subgraphs, recurse_functions: also in graphs in attributes, and
        in functions. partitioning: what a node that nothing can compute keeps from being folded: None for
        everything, "basic" for what is connected with it, "recursive" for what depends on it. error_ok: False
        raises what it failed with, otherwise it is a warning. flatten_subgraphs: whether the branch of an If with a
        constant condition takes its place. size_threshold: the bytes of the largest constant that is made.
        should_exclude_node: called with a node that could be folded; True keeps it.
        """
        from tenon.graphsurgeon.fold import Folding, fold
        fold(self, Folding(fold_shapes, recurse_subgraphs, partitioning, error_ok, flatten_subgraphs, size_threshold,
                           should_exclude_node, recurse_functions))
        return self

    def _generate_name(self, prefix: str, existing_names: "set[str]") -> str:
        return self._names.make(prefix, existing_names)

    def layer(self, inputs: Optional[Sequence[Any]] = None, outputs: Optional[Sequence[Any]] = None,
              *args: Any, **kwargs: Any) -> List[Tensor]:
        """Adds a node; returns its outputs.

        An input or output is a Tensor, which is used as it is; a str, for a new Variable whose name begins so; an
        array, for a new Constant; or a list or tuple of numbers, for a Constant of int64, or of float32 if one of
        them is a float. Names that are made get a number that makes them unique, as the node's does where none is
        given. Other arguments are those of Node.
        """
        return add_layer(self, self._names, inputs, outputs, *args, **kwargs)

    def copy(self, tensor_map: Optional[Dict[str, Tensor]] = None) -> "Graph":
        """A graph with nodes, tensors, graphs in attributes and functions of its own; values are not copied.

        tensor_map: {name: tensor} of the graph around the copy, for a graph in an attribute that is copied alone.
        """
        return copy_graph(self, tensor_map or {})

    def __repr__(self) -> str:
        lines = [f"Graph {self.name} (opset {self.opset})", f"Inputs: {self.inputs}", "Nodes:"]
        lines += [repr(node) for node in self.nodes]
        lines.append(f"Outputs: {self.outputs}")
        if self._functions:
            lines.append(f"Functions: {[function.name for function in self._functions]}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return repr(self)
