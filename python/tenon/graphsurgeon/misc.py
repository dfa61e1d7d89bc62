"""Small helpers that programs of graphsurgeon use."""
from typing import Any, Dict

from tenon.graphsurgeon.data_types import volume
from tenon.graphsurgeon.links import SynchronizedList

__all__ = ["SynchronizedList", "combine_dicts", "default_value", "is_dynamic_dimension", "is_dynamic_shape", "volume"]


def default_value(value: Any, default: Any) -> Any:
    """`value`, or `default` where it is None."""
    return default if value is None else value


def combine_dicts(dict0: Dict[Any, Any], dict1: Dict[Any, Any]) -> Dict[Any, Any]:
    """A dictionary of both, with the second's values where both have one."""
    return {**dict0, **dict1}


def is_dynamic_dimension(dim: Any) -> bool:
    """Whether an extent of a shape is not known before the model runs: a name, None, or a negative number."""
    return not isinstance(dim, int) or dim < 0


def is_dynamic_shape(shape: Any) -> bool:
    """Whether an extent is not known before the model runs."""
    return any(is_dynamic_dimension(dim) for dim in shape)
