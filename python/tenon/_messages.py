"""What the engine says, for the exceptions and the log of our own API."""
import logging

from tenon import tensorrt as trt
from tenon._native import Error, Messages

_log = logging.getLogger("tenon")


def listen(verbose):
    """A logger for the engine's objects; verbose: it writes everything to standard error, too."""
    return Messages(trt.Logger.VERBOSE if verbose else trt.Logger.INTERNAL_ERROR)


def report(messages):
    """Hands warnings to Python's logger "tenon"; returns the errors' texts."""
    errors = []
    for severity, text in messages.take():
        if severity <= trt.Logger.ERROR:
            errors.append(text)
        else:
            _log.warning("%s", text)
    return errors


def failure(what, messages):
    """tenon.Error with everything the engine said."""
    errors = report(messages) if isinstance(messages, Messages) else []
    return Error("\n  ".join([what, *dict.fromkeys(errors)]))
