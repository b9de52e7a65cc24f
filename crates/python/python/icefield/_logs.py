"""The logs of native code."""

from __future__ import annotations

__all__ = ["initialize_logs", "set_logs_filter", "shutdown_telemetry"]


def initialize_logs() -> None:
    """Starts logging to standard error, with the filter of the environment variable ICEFIELD_LOG.

    Importing the package does this if the variable (or ICECHUNK_LOG) is set; a second call does nothing.
    """
    from icefield import _native

    _native.initialize_logs()


def set_logs_filter(log_filter_directive: str | None) -> None:
    """Sets the filter of log events, such as "debug" or "icefield=debug,warn".

    None restores the filter of the environment variable ICEFIELD_LOG. An invalid filter raises
    `InvalidInputError`.
    """
    if log_filter_directive is not None and not isinstance(log_filter_directive, str):
        raise TypeError(
            f"log_filter_directive is a text or None, not a {type(log_filter_directive).__name__}"
        )
    from icefield import _native

    _native.set_logs_filter(log_filter_directive)


def shutdown_telemetry() -> None:
    """Does nothing, because this package sends no traces. It exists for programs that call it before they end."""
