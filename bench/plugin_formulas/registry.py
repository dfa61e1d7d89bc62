"""Which formulas there are, and what they are written with."""
from operators import Operator, plugin

FORMULAS = {}  # name of a measurement: what makes its Operator
PLUGINS = {}  # name of a measurement: keys of plugins, name/version/namespace


def key_of(text):
    name, version, namespace = (*text.split("/"), "", "")[:3]
    return f"{name}/{version or 1}/{namespace}"


def formula(*plugins):
    def added(make):
        name = make.__name__
        FORMULAS[name] = make
        PLUGINS[name] = [key_of(text) for text in plugins]
        return make

    return added


def of(kind, inputs, attributes, by_torch, version=1, namespace="", comparable=lambda outputs: outputs, **more):
    """An Operator without a standard's node."""
    own = {**attributes, **({"plugin_version": str(version)} if version != 1 else {}),
           **({"plugin_namespace": namespace} if namespace else {})}
    return Operator(plugin(kind, inputs, own, **more), None, by_torch, comparable)


def images(numbers):
    return {"x": numbers.normal(1, 64, 128, 128)}
