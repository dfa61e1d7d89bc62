"""The types, formats and tactics that a plugin made by decorators can have."""
from tenon import _native

_TYPES = {name: value for name, value in _native.DataType.__members__.items()}
_TYPES |= {"FP32": _native.DataType.FLOAT, "FP16": _native.DataType.HALF}


def _columns(text, names, what):
    """One list of alternatives, and whether they are independent, for each tensor of the text."""
    columns = []
    for column in text.split(","):
        independent = "*" in column
        if independent and "|" in column:
            raise ValueError(f"{what} '{text}': '|' and '*' cannot both be in '{column.strip()}'")
        values = []
        for name in column.replace("*", "|").split("|"):
            if name.strip() not in names:
                raise ValueError(f"{what} '{text}': '{name.strip()}' is none of {', '.join(names)}")
            values.append(names[name.strip()])
        columns.append((values, independent))
    return columns


class AutoTuneCombination:
    """Types and formats that the inputs and outputs of a plugin may have, and tactics for them.

    io_types: for each tensor the names of its types, as "FP32|FP16, FP32|FP16, INT32". Behind the
    same place between | there are types that belong together; those between * are independent of
    other tensors. layouts: the same with names of TensorFormat; one for all tensors by default
    LINEAR. tactics: positive numbers.
    """

    def __init__(self, io_types=None, layouts=None, tactics=None):
        self._types = [] if io_types is None else _columns(io_types, _TYPES, "io_types")
        self._formats = self._layouts(layouts or "LINEAR", max(len(self._types), 1))
        self._tactics = []
        if tactics is not None:
            self.tactics(tactics)

    @staticmethod
    def _layouts(text, count):
        columns = _columns(text, _native.TensorFormat.__members__, "layouts")
        return columns * count if len(columns) == 1 else columns

    def pos(self, pos, io_types, layouts="LINEAR"):
        """Sets the types and formats of the tensors at the numbers `pos`."""
        pos = [pos] if isinstance(pos, int) else list(pos)
        types = _columns(io_types, _TYPES, "io_types")
        formats = self._layouts(layouts, 1)
        for i in pos:
            for columns, value in ((self._types, types[0]), (self._formats, formats[0])):
                columns.extend([None] * (i + 1 - len(columns)))
                columns[i] = value

    def tactics(self, tactics):
        """Sets the tactics, positive numbers."""
        self._tactics = [int(tactic) for tactic in tactics]
        if any(tactic <= 0 for tactic in self._tactics):
            raise ValueError(f"tactics are positive numbers, not {self._tactics}")

    def tactics_for(self, descs):
        """The tactics for these tensors (list of PluginTensorDesc, the first ones of all); None if
        they do not fit."""
        fits = (self._fits(self._types, [desc.type for desc in descs])
                and self._fits(self._formats, [desc.format for desc in descs]))
        return self._tactics if fits else None

    @staticmethod
    def _fits(columns, values):
        if len(values) > len(columns) or None in columns:
            raise ValueError("an AutoTuneCombination lacks the types or formats of some tensors; "
                             "it must have those of all inputs and outputs")
        rows = None  # the places between | at which all tensors so far agree
        for (alternatives, independent), value in zip(columns, values):
            places = {i for i, one in enumerate(alternatives) if one == value}
            if not independent and len(alternatives) > 1:
                rows = places = places if rows is None else rows & places
            if not places:
                return False
        return True
