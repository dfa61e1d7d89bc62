"""A function of a model: an operator that is defined as a graph of others."""
import copy
from typing import Any, Dict, List, Optional, Sequence

from tenon.graphsurgeon.copying import Copier
from tenon.graphsurgeon.graph import Graph, same_domains
from tenon.graphsurgeon.log import G_LOGGER
from tenon.graphsurgeon.node import Node, same_attributes
from tenon.graphsurgeon.tensor import Tensor, Variable


class Function(Graph):
    """An operator that a model defines by a graph: nodes of its name and domain call it.

    It is no subgraph: its nodes and tensors are its own. domain: "onnx_graphsurgeon" if none is given. attrs: {name:
    default} of its attributes, None where a caller must give a value; Node.AttributeRef in a node's attributes
    stands for one. Other arguments are those of Graph. A function may call others, and never itself.
    """

    DEFAULT_DOMAIN = "onnx_graphsurgeon"

    def __init__(self, name: str, domain: Optional[str] = None, nodes: Optional[Sequence[Node]] = None,
                 inputs: Optional[Sequence[Tensor]] = None, outputs: Optional[Sequence[Tensor]] = None,
                 doc_string: Optional[str] = None, opset: Optional[int] = None, import_domains: Any = None,
                 functions: "Optional[Sequence[Function]]" = None, attrs: Optional[Dict[str, Any]] = None,
                 ir_version: Optional[int] = None) -> None:
        self.domain = self.DEFAULT_DOMAIN if domain is None else domain
        self.attrs: Dict[str, Any] = {} if attrs is None else attrs
        super().__init__(nodes, inputs, outputs, name, doc_string, opset, import_domains, functions=functions,
                         ir_version=ir_version)

    @property
    def unique_id(self) -> "tuple[str, str]":
        """(domain, name), by which nodes call it."""
        return (self.domain or "", self.name)

    def cleanup(self, remove_unused_node_outputs: bool = False, recurse_subgraphs: bool = True,
                remove_unused_graph_inputs: bool = False, recurse_functions: bool = False) -> "Function":
        """As Graph.cleanup, of this function alone unless `recurse_functions` says otherwise."""
        super().cleanup(remove_unused_node_outputs, recurse_subgraphs, remove_unused_graph_inputs, recurse_functions)
        return self

    def fold_constants(self, recurse_functions: bool = False, **kwargs: Any) -> "Function":  # type: ignore[override]
        """As Graph.fold_constants, of this function alone unless `recurse_functions` says otherwise."""
        super().fold_constants(recurse_functions=recurse_functions, **kwargs)
        return self

    def toposort(self, recurse_subgraphs: bool = True, recurse_functions: bool = False,
                 mode: str = "nodes") -> "Function":
        """As Graph.toposort, of this function's nodes alone unless told otherwise."""
        super().toposort(recurse_subgraphs, recurse_functions, mode)
        return self

    def __call__(self, graph: Graph, inputs: Optional[Sequence[Any]] = None, outputs: Optional[Sequence[Any]] = None,
                 *args: Any, **kwargs: Any) -> List[Tensor]:
        """Adds a node to `graph` that calls this function; returns its outputs.

        Inputs and outputs are as those of Graph.layer. Outputs that are made have the types and shapes that the
        function states for its own; without `outputs` all are made. `attrs` and the other arguments are those of
        Node; a number of inputs other than the function's, and attributes that it lacks, are warnings.
        """
        attrs = kwargs.get("attrs") or {}
        if len(inputs or ()) != len(self.inputs):
            G_LOGGER.warning(f"function '{self.name}' has {len(self.inputs)} inputs, and is called with {len(inputs or ())}")
        if unknown := attrs.keys() - self.attrs.keys():
            G_LOGGER.warning(f"function '{self.name}' has no attribute {sorted(unknown)}, but {sorted(self.attrs)}")
        if missing := [name for name, value in self.attrs.items() if value is None and name not in attrs]:
            G_LOGGER.warning(f"function '{self.name}' needs a value of its attribute {missing}")
        given = [tensor.name for tensor in self.outputs] if outputs is None else list(outputs)
        tensors = graph.layer(inputs, given, *args, op=self.name, domain=self.domain, **kwargs)
        for tensor, one, declared in zip(tensors, given, self.outputs):
            if isinstance(one, str) and isinstance(tensor, Variable):
                tensor.dtype, tensor.shape = declared.dtype, copy.copy(declared.shape)
        return tensors

    def copy(self) -> "Function":  # type: ignore[override]
        """A function with nodes, tensors and attributes of its own, which calls the same functions."""
        made = Copier({}).graph(self)
        made.attrs = copy.deepcopy(self.attrs)
        made._functions = list(self._functions)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Function):
            return NotImplemented
        return self is other or (
            self.unique_id == other.unique_id and self.opset == other.opset
            and same_domains(self.import_domains, other.import_domains) and same_attributes(self.attrs, other.attrs)
            and self.inputs == other.inputs and self.outputs == other.outputs and self.nodes == other.nodes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Function {self.name}, domain {self.domain}\nAttributes: {self.attrs}\n{super().__repr__()}"
