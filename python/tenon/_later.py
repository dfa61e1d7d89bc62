"""Names of a module that are imported when they are first used: they need another package."""
import importlib


def later(module, names):
    """A module's __getattr__ for {name: "module.Name"}."""
    def get(name):
        if name not in names:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        source, _, attribute = names[name].rpartition(".")
        return getattr(importlib.import_module(source), attribute)
    return get
