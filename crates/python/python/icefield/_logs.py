"""The logs of native code."""

from __future__ import annotations

__all__ = ["initialize_logs", "set_logs_filter", "shutdown_telemetry"]


def initialize_logs() -> None:
    """Begins to write logs to standard error, as far as the environment variable ICEFIELD_LOG asks for.

    Importing the package does this if the variable (or ICECHUNK_LOG) is set; a second call does nothing.
    """
    from icefield import _native

    _native.initialize_logs()


def set_logs_filter(log_filter_directive: str | None) -> None:
    """Sets which logs are written, such as "debug" or "icefield=debug,warn".

    None takes the filter of the environment variable ICEFIELD_LOG. A filter that cannot be understood raises
    `InvalidInputError`.
    """
    if log_filter_directive is not None and not isinstance(log_filter_directive, str):
        raise TypeError(
            f"log_filter_directive is a text or None, not a {type(log_filter_directive).__name__}"
        )
    from icefield import _native

    _native.set_logs_filter(log_filter_directive)


def shutdown_telemetry() -> None:
    """Does nothing: this package sends no traces. It is here for programs that call it before they end."""
