"""The messages of graphsurgeon, over Python's own logging."""
import contextlib
import enum
import logging
from typing import Callable, Iterator, Union

from tenon.graphsurgeon.errors import OnnxGraphSurgeonException


class LogMode(enum.IntEnum):
    """Whether a message that comes again is written again."""

    EACH = 0
    ONCE = 1


class Logger:
    """Writes to the logger "tenon.graphsurgeon" of Python's logging what is at least as severe as `severity`.

    Severities are the numbers of logging, and two below them for what is of use in debuggers only.
    """

    ULTRA_VERBOSE = -10
    VERBOSE = 0
    DEBUG = logging.DEBUG
    INFO = logging.INFO
    WARNING = logging.WARNING
    ERROR = logging.ERROR
    CRITICAL = logging.CRITICAL

    def __init__(self, severity: int = WARNING) -> None:
        self._log = logging.getLogger("tenon.graphsurgeon")
        self._indent = 0
        self._once: set[str] = set()
        self._callbacks: list[Callable[[int], object]] = []
        self.severity = severity

    @property
    def severity(self) -> int:
        """The least severity that is written."""
        return self._severity

    @severity.setter
    def severity(self, value: int) -> None:
        self._severity = value
        self._log.setLevel(max(value, 1))  # 0 would be that of the root
        for callback in self._callbacks:
            callback(value)

    def register_callback(self, callback: Callable[[int], object]) -> None:
        """Calls it with the severity, now and whenever that changes."""
        callback(self._severity)
        self._callbacks.append(callback)

    @contextlib.contextmanager
    def indent(self, level: int = 1) -> Iterator[None]:
        """Messages within the `with` block are indented by so many tabs."""
        self._indent += level
        try:
            yield
        finally:
            self._indent -= level

    @contextlib.contextmanager
    def suppress(self, severity: int = CRITICAL) -> Iterator[None]:
        """Within the `with` block nothing less severe is written."""
        before, self.severity = self.severity, severity
        try:
            yield
        finally:
            self.severity = before

    def log(self, message: Union[str, Callable[[], str]], severity: int, mode: LogMode = LogMode.EACH,
            stack_depth: int = 2) -> None:
        """Writes a message, or what a function that makes one returns."""
        if severity < self._severity:
            return
        text = message() if callable(message) else str(message)
        if mode == LogMode.ONCE:
            if text in self._once:
                return
            self._once.add(text)
        self._log.log(max(severity, 1), "%s%s", "\t" * self._indent, text, stacklevel=stack_depth + 1)

    def ultra_verbose(self, message: Union[str, Callable[[], str]], mode: LogMode = LogMode.EACH) -> None:
        """Writes what is of use in debuggers only."""
        self.log(message, self.ULTRA_VERBOSE, mode, 3)

    def verbose(self, message: Union[str, Callable[[], str]], mode: LogMode = LogMode.EACH) -> None:
        """Writes what is of use to those who change graphsurgeon."""
        self.log(message, self.VERBOSE, mode, 3)

    def debug(self, message: Union[str, Callable[[], str]], mode: LogMode = LogMode.EACH) -> None:
        """Writes what is of use to find mistakes."""
        self.log(message, self.DEBUG, mode, 3)

    def info(self, message: Union[str, Callable[[], str]], mode: LogMode = LogMode.EACH) -> None:
        """Writes what was done."""
        self.log(message, self.INFO, mode, 3)

    def warning(self, message: Union[str, Callable[[], str]], mode: LogMode = LogMode.EACH) -> None:
        """Writes what may not be as the user meant it."""
        self.log(message, self.WARNING, mode, 3)

    def error(self, message: Union[str, Callable[[], str]], mode: LogMode = LogMode.EACH) -> None:
        """Writes what failed."""
        self.log(message, self.ERROR, mode, 3)

    def critical(self, message: str) -> None:
        """Writes what failed, and raises OnnxGraphSurgeonException with it."""
        self.log(message, self.CRITICAL, LogMode.EACH, 3)
        raise OnnxGraphSurgeonException(message)


G_LOGGER = Logger()
