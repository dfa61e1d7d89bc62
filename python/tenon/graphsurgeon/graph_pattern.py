"""Patterns: small graphs that are looked for in a graph."""
import dataclasses
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

from tenon.graphsurgeon.errors import OnnxGraphSurgeonException
from tenon.graphsurgeon.node import Node
from tenon.graphsurgeon.tensor import Constant, Tensor


class PatternMapping(Dict[str, Any]):
    """What a pattern was found to be: {name in the pattern: Node, or the PatternMapping of a pattern within}.

    inputs, outputs: the graph's tensors that are the pattern's, in its order. constants: {name: Constant}.
    """

    def __init__(self) -> None:
        super().__init__()
        self.inputs: List[Tensor] = []
        self.outputs: List[Tensor] = []
        self.constants: Dict[str, Tensor] = {}

    def get(self, name: str, default: Any = None) -> Any:
        """The Node, or the PatternMapping of a pattern within, that was added by this name."""
        return super().get(name, default)

    def __str__(self) -> str:
        inner = (f"{name}: {value if isinstance(value, PatternMapping) else value.name}" for name, value in self.items())
        return "{" + ", ".join(inner) + "}"


@dataclasses.dataclass
class _Place:
    """A node of a pattern: an operator, or a pattern within."""

    name: str
    op: "Union[str, GraphPattern]"
    check: Optional[Callable[[Node], bool]]
    inputs: Optional[List[int]]  # None for any
    outputs: List[int]


class GraphPattern:
    """A graph of operators, where tensors are numbers that the methods return.

        pattern = GraphPattern()
        x = pattern.variable()
        y = pattern.add("conv", "Conv", inputs=[x, pattern.constant()])
        pattern.set_output_tensors([pattern.add("relu", "Relu", inputs=[y])])
        for found in pattern.match_all(graph):
            found.get("conv").attrs
    """

    def __init__(self) -> None:
        self._places: Dict[str, _Place] = {}
        self._count = 0
        self._variables: List[int] = []
        self._constants: Dict[int, str] = {}
        self._outputs: List[int] = []

    def _tensor(self) -> int:
        self._count += 1
        return self._count - 1

    def variable(self) -> int:
        """An input of the pattern: any tensor, the same one wherever it is used."""
        self._variables.append(self._tensor())
        return self._variables[-1]

    def constant(self, name: Optional[str] = None) -> int:
        """A tensor that is a Constant; what it is found to be is in PatternMapping.constants by this name."""
        tensor = self._tensor()
        self._constants[tensor] = name or f"constant_{len(self._constants)}"
        return tensor

    def set_output_tensors(self, output_tensors: Sequence[int]) -> None:
        """The tensors that others may read. Those of the others' readers are in the pattern, and no graph's outputs."""
        self._outputs = list(output_tensors)

    def add(self, name: str, op: "Union[GraphPattern, str]", check_func: Optional[Callable[[Node], bool]] = None,
            inputs: Optional[Sequence[int]] = None, num_output_tensors: int = 1) -> Any:
        """Adds a node by a name of its own: an operator, or another pattern, which may come several times.

        check_func: called with a Node of the operator, says whether it is one; for operators alone. inputs: all that
        the node has; those of a pattern are its variables, in their order; None for whatever there are. Returns its
        output, a tuple of several, or None for 0.
        """
        if name in self._places:
            raise OnnxGraphSurgeonException(f"the pattern has a node '{name}' already: give each a name of its own")
        if isinstance(op, GraphPattern) and inputs is not None and len(inputs) != len(op._variables):
            raise OnnxGraphSurgeonException(f"the pattern '{name}' has {len(op._variables)} inputs, and {len(inputs)} are given")
        outputs = [self._tensor() for _ in range(num_output_tensors)]
        self._places[name] = _Place(name, op, check_func, None if inputs is None else list(inputs), outputs)
        if not outputs:
            return None
        return outputs[0] if num_output_tensors == 1 else tuple(outputs)

    def match_all(self, graph: Any) -> List[PatternMapping]:
        """All places of a graph where the pattern is, in the order of the nodes; they may overlap.

        Graphs in attributes are not looked into. OnnxGraphSurgeonException for a pattern without nodes.
        """
        flat = _Flat(self)
        if not flat.places:
            raise OnnxGraphSurgeonException("the pattern has no nodes: add some")
        found = []
        outputs = {id(tensor) for tensor in graph.outputs}
        inside = {id(node) for node in graph.nodes}
        for node in graph.nodes:
            match = flat.match(node, outputs, inside)
            if match is not None:
                found.append(flat.mapping(self, match))
        return found


@dataclasses.dataclass
class _Match:
    """Which nodes and tensors of the graph are at the pattern's places, by their numbers."""

    nodes: Dict[int, Node]
    tensors: Dict[int, Tensor]

    def copy(self) -> "_Match":
        return _Match(dict(self.nodes), dict(self.tensors))


class _Flat:
    """A pattern with those within it put in their places, and tensors that are one made one."""

    def __init__(self, pattern: GraphPattern) -> None:
        self.places: List[_Place] = []
        self.constants: Set[int] = set()
        self._same: Dict[int, int] = {}
        self._count = 0
        # Of each pattern, by the names on the way to it: the first of its tensors, and the places by name.
        self._starts: Dict[Tuple[str, ...], int] = {}
        self._numbers: Dict[Tuple[str, ...], int] = {}
        self._add(pattern, ())
        for place in self.places:
            place.inputs = None if place.inputs is None else [self.root(tensor) for tensor in place.inputs]
            place.outputs = [self.root(tensor) for tensor in place.outputs]
        self.constants = {self.root(tensor) for tensor in self.constants}
        self.free = {self.root(self._starts[()] + tensor) for tensor in pattern._outputs}
        self.producer = {tensor: number for number, place in enumerate(self.places) for tensor in place.outputs}
        self.readers: Dict[int, List[int]] = {}
        for number, place in enumerate(self.places):
            for tensor in place.inputs or ():
                self.readers.setdefault(tensor, []).append(number)

    def root(self, tensor: int) -> int:
        """The number of a tensor that has several."""
        while tensor in self._same:
            tensor = self._same[tensor]
        return tensor

    def _add(self, pattern: GraphPattern, path: Tuple[str, ...]) -> None:
        start = self._starts[path] = self._count
        self._count += pattern._count
        self.constants.update(start + tensor for tensor in pattern._constants)
        for place in pattern._places.values():
            inputs = None if place.inputs is None else [start + tensor for tensor in place.inputs]
            outputs = [start + tensor for tensor in place.outputs]
            if isinstance(place.op, str):
                self._numbers[(*path, place.name)] = len(self.places)
                self.places.append(_Place(place.name, place.op, place.check, inputs, outputs))
                continue
            self._add(place.op, (*path, place.name))
            inner = self._starts[(*path, place.name)]
            for own, outer in [*zip(place.op._variables, inputs or ()), *zip(place.op._outputs, outputs)]:
                if self.root(inner + own) != self.root(outer):
                    self._same[self.root(inner + own)] = self.root(outer)

    def match(self, node: Node, outputs: Set[int], inside: Set[int]) -> Optional[_Match]:
        """The match whose first place is this node."""
        for match in self._grow([(0, node)], _Match({}, {})):
            if len(match.nodes) == len(self.places) and self._closed(match, outputs, inside):
                return match
        return None

    def _grow(self, wanted: List[Tuple[int, Node]], match: _Match) -> Iterator[_Match]:
        """All matches that have these nodes at these places, and more as far as tensors lead."""
        match = match.copy()
        wanted = list(wanted)
        while wanted:
            number, node = wanted.pop()
            if number in match.nodes:
                if match.nodes[number] is not node:
                    return
            elif not self._put(number, node, match, wanted):
                return
        # Who reads a tensor is not said by the tensor: each reader is tried.
        for tensor, value in match.tensors.items():
            for number in self.readers.get(tensor, ()):
                if number in match.nodes:
                    continue
                for reader in {id(reader): reader for reader in value.outputs}.values():
                    yield from self._grow([(number, reader)], match)
                return
        yield match

    def _put(self, number: int, node: Node, match: _Match, wanted: List[Tuple[int, Node]]) -> bool:
        """Puts a node at a place, if it fits there; what its tensors then want is added to `wanted`."""
        place = self.places[number]
        if node.op != place.op or any(node is other for other in match.nodes.values()):
            return False
        if len(node.outputs) != len(place.outputs) or (place.inputs is not None and len(node.inputs) != len(place.inputs)):
            return False
        if place.check is not None and not place.check(node):
            return False
        match.nodes[number] = node
        for tensor, value in [*zip(place.inputs or (), node.inputs), *zip(place.outputs, node.outputs)]:
            if tensor in match.tensors:
                if match.tensors[tensor] is not value:
                    return False
                continue
            if tensor in self.constants and not isinstance(value, Constant):
                return False
            match.tensors[tensor] = value
            if tensor in self.producer:
                if len(value.inputs) != 1:
                    return False
                wanted.append((self.producer[tensor], value.inputs[0]))
        return True

    def _closed(self, match: _Match, outputs: Set[int], inside: Set[int]) -> bool:
        """Whether nobody else reads what is between the pattern's nodes, and all of these are in the graph."""
        nodes = {id(node) for node in match.nodes.values()}
        if not nodes <= inside:
            return False
        return all(id(value) not in outputs and all(id(reader) in nodes for reader in value.outputs)
                   for tensor, value in match.tensors.items() if tensor in self.producer and tensor not in self.free)

    def mapping(self, pattern: GraphPattern, match: _Match, path: Tuple[str, ...] = ()) -> PatternMapping:
        """The match as users read it, of the pattern at a path."""
        def value(tensor: int) -> Any:
            return match.tensors.get(self.root(self._starts[path] + tensor))

        found = PatternMapping()
        for place in pattern._places.values():
            inner = (*path, place.name)
            found[place.name] = (match.nodes[self._numbers[inner]] if isinstance(place.op, str)
                                 else self.mapping(place.op, match, inner))
        found.inputs = [value(tensor) for tensor in pattern._variables]
        found.outputs = [value(tensor) for tensor in pattern._outputs]
        found.constants = {name: value(tensor) for tensor, name in pattern._constants.items()}
        return found
