"""The lists by which nodes and tensors know each other: a change of one side is one of the other."""
from typing import Any, Generic, Iterable, List, SupportsIndex, TypeVar

Item = TypeVar("Item")


class SynchronizedList(List[Item], Generic[Item]):
    """The inputs or outputs of a node or tensor.

    What is put into it gets `parent_obj` into its own list `field_name` ("inputs" or "outputs"), and what is
    taken out loses it, once for each time that it was there. Copies and sums are plain lists.
    """

    __slots__ = ("_parent", "_side")

    def __init__(self, parent_obj: Any, field_name: str, initial: Iterable[Item]) -> None:
        super().__init__()
        self._parent = parent_obj
        self._side = "_" + field_name
        self.extend(initial)

    def _link(self, item: Item) -> None:
        list.append(getattr(item, self._side), self._parent)

    def _unlink(self, item: Item) -> None:
        others = getattr(item, self._side)
        for position, other in enumerate(others):
            if other is self._parent:
                list.__delitem__(others, position)
                return

    def __setitem__(self, index: Any, value: Any) -> None:
        old = self[index] if isinstance(index, slice) else [self[index]]
        new = list(value) if isinstance(index, slice) else [value]
        super().__setitem__(index, new if isinstance(index, slice) else value)
        for item in old:
            self._unlink(item)
        for item in new:
            self._link(item)

    def __delitem__(self, index: Any) -> None:
        old = self[index] if isinstance(index, slice) else [self[index]]
        super().__delitem__(index)
        for item in old:
            self._unlink(item)

    def append(self, x: Item) -> None:
        """Adds an item behind the others."""
        super().append(x)
        self._link(x)

    def extend(self, iterable: Iterable[Item]) -> None:
        """Adds items behind the others."""
        items = list(iterable)  # it may be this list
        super().extend(items)
        for item in items:
            self._link(item)

    def insert(self, i: SupportsIndex, x: Item) -> None:
        """Adds an item at a position."""
        super().insert(i, x)
        self._link(x)

    def remove(self, value: Item) -> None:
        """Removes the first item that is equal; ValueError if there is none."""
        del self[self.index(value)]

    def pop(self, i: SupportsIndex = -1) -> Item:
        """Removes the item at a position, and returns it."""
        item = super().pop(i)
        self._unlink(item)
        return item

    def clear(self) -> None:
        """Removes all items."""
        old = list(self)
        super().clear()
        for item in old:
            self._unlink(item)

    def __add__(self, other: Any) -> Any:
        return list(self) + list(other)

    def __iadd__(self, other: Iterable[Item]) -> "SynchronizedList[Item]":  # type: ignore[override, misc]
        self.extend(other)
        return self

    def __copy__(self) -> List[Item]:
        return list(self)

    def __deepcopy__(self, memo: Any) -> List[Item]:
        import copy
        return [copy.deepcopy(item, memo) for item in self]

    def __reduce__(self) -> Any:
        return list, (list(self),)


def replace_links(current: "SynchronizedList[Item]", parent: Any, side: str,
                  value: Iterable[Item]) -> "SynchronizedList[Item]":
    """The list that takes the place of `current`, whose items lose the parent."""
    if value is current:  # as after `node.inputs += [tensor]`
        return current
    items = list(value)
    current.clear()
    return SynchronizedList(parent, side, items)


def keep_links(items: "SynchronizedList[Any]", kept: Iterable[Any]) -> None:
    """Makes `items` those kept, and leaves the other side as it is: for those who change many lists at once."""
    list.__setitem__(items, slice(None), kept)
