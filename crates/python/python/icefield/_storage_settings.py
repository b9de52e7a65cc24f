"""Settings of a storage: retries, time limits, the splitting of requests, storage classes."""

from __future__ import annotations

from typing import Any

from icefield._config.section import Section, part, text, truth, whole
from icefield._notices import notice

__all__ = [
    "StorageConcurrencySettings",
    "StorageRetriesSettings",
    "StorageSettings",
    "StorageTimeoutSettings",
    "ineffective",
    "native_settings",
    "warn_of",
]

_U16 = 2**16 - 1
_U32 = 2**32 - 1
_U64 = 2**64 - 1


class StorageConcurrencySettings(Section):
    """The splitting of a large object into requests."""

    __slots__ = ()

    max_concurrent_requests_for_object = whole(
        _U16, 18, least=1, doc="The most requests for one object at once."
    )
    ideal_concurrent_request_size = whole(
        _U64,
        12_582_912,
        least=1,
        doc="The bytes of each request; at least 5 MiB are used, the least that stores take as a part.",
    )

    def __init__(
        self,
        max_concurrent_requests_for_object: int | None = None,
        ideal_concurrent_request_size: int | None = None,
    ) -> None:
        self.max_concurrent_requests_for_object = max_concurrent_requests_for_object
        self.ideal_concurrent_request_size = ideal_concurrent_request_size


class StorageRetriesSettings(Section):
    """The retries of failed requests."""

    __slots__ = ()

    max_tries = whole(_U16, 10, least=1, doc="The most attempts of one request.")
    initial_backoff_ms = whole(
        _U32, 100, doc="The longest pause before the second attempt, in milliseconds."
    )
    max_backoff_ms = whole(_U32, 180_000, doc="The longest pause of all, in milliseconds.")

    def __init__(
        self,
        max_tries: int | None = None,
        initial_backoff_ms: int | None = None,
        max_backoff_ms: int | None = None,
    ) -> None:
        self.max_tries = max_tries
        self.initial_backoff_ms = initial_backoff_ms
        self.max_backoff_ms = max_backoff_ms


class StorageTimeoutSettings(Section):
    """Time limits of requests, in milliseconds."""

    __slots__ = ()

    connect_timeout_ms = whole(_U32, doc="For making a connection.")
    read_timeout_ms = whole(_U32, doc="Without any byte of an answer that has begun.")
    operation_timeout_ms = whole(_U32, doc="For a request with all its attempts.")
    operation_attempt_timeout_ms = whole(_U32, doc="For one attempt, until its answer begins.")

    def __init__(
        self,
        connect_timeout_ms: int | None = None,
        read_timeout_ms: int | None = None,
        operation_timeout_ms: int | None = None,
        operation_attempt_timeout_ms: int | None = None,
    ) -> None:
        self.connect_timeout_ms = connect_timeout_ms
        self.read_timeout_ms = read_timeout_ms
        self.operation_timeout_ms = operation_timeout_ms
        self.operation_attempt_timeout_ms = operation_attempt_timeout_ms


class StorageSettings(Section):
    """The settings of a storage. An unset setting has the default of the storage.

    Conditional writes and user metadata make commits safe, so they cannot be switched off: the
    three `unsafe_…` settings have no effect, and give a warning.
    """

    __slots__ = ()

    unsafe_use_conditional_create = truth(True, doc="New refs are written on condition only.")
    unsafe_use_conditional_update = truth(True, doc="Refs are changed on condition only.")
    unsafe_use_metadata = truth(True, doc="User metadata on objects names their writer.")
    storage_class = text(doc="The storage class of new objects.")
    metadata_storage_class = text(doc="The storage class of new objects other than chunks.")
    chunks_storage_class = text(doc="The storage class of new chunks.")
    minimum_size_for_multipart_upload = whole(
        _U64, 104_857_600, doc="The bytes from which on an object is uploaded in parts."
    )
    concurrency = part(StorageConcurrencySettings, doc="How large objects are split.")
    retries = part(StorageRetriesSettings, doc="How requests are tried again.")
    timeouts = part(StorageTimeoutSettings, doc="How long requests may take.", defaults=False)

    def __init__(
        self,
        concurrency: StorageConcurrencySettings | None = None,
        retries: StorageRetriesSettings | None = None,
        unsafe_use_conditional_create: bool | None = None,
        unsafe_use_conditional_update: bool | None = None,
        unsafe_use_metadata: bool | None = None,
        storage_class: str | None = None,
        metadata_storage_class: str | None = None,
        chunks_storage_class: str | None = None,
        minimum_size_for_multipart_upload: int | None = None,
        timeouts: StorageTimeoutSettings | None = None,
    ) -> None:
        self.unsafe_use_conditional_create = unsafe_use_conditional_create
        self.unsafe_use_conditional_update = unsafe_use_conditional_update
        self.unsafe_use_metadata = unsafe_use_metadata
        self.storage_class = storage_class
        self.metadata_storage_class = metadata_storage_class
        self.chunks_storage_class = chunks_storage_class
        self.minimum_size_for_multipart_upload = minimum_size_for_multipart_upload
        self.concurrency = concurrency
        self.retries = retries
        self.timeouts = timeouts


_NO_NETWORK = "has no effect: there is no network in between"
_EFFECTS: dict[str, frozenset[str]] = {
    "memory": frozenset(),
    "local": frozenset(),
    "redirect": frozenset(),
    "s3": frozenset({"classes", "uploads", "connect"}),
    "gcs": frozenset({"classes", "uploads"}),
    "azure": frozenset({"classes", "uploads"}),
    "http": frozenset({"connect"}),
}
"""The settings with an effect, beside retries, splitting and the other time limits, by the type of a storage."""


def ineffective(settings: StorageSettings, kind: str, usual: StorageSettings) -> list[str]:
    """The settings without effect on a storage of this type, each with its reason, except common ones."""
    found: list[str] = []
    network = kind not in ("memory", "local", "redirect")
    unsafe = (
        "unsafe_use_conditional_create",
        "unsafe_use_conditional_update",
        "unsafe_use_metadata",
    )
    for name in unsafe:
        if getattr(settings, name) is False and getattr(usual, name) is not False:
            found.append(f"{name}=False has no effect: commits would not be safe without it")
    for name in ("storage_class", "metadata_storage_class", "chunks_storage_class"):
        if getattr(settings, name) is not None and "classes" not in _EFFECTS[kind]:
            found.append(f"{name} has no effect: there are no storage classes in this storage")
    if settings.minimum_size_for_multipart_upload is not None and "uploads" not in _EFFECTS[kind]:
        found.append(
            "minimum_size_for_multipart_upload has no effect: nothing is uploaded in parts"
        )
    if not network:
        reason = "the storage is asked as its server says" if kind == "redirect" else None
        for name in ("concurrency", "retries", "timeouts"):
            value = getattr(settings, name)
            if value is not None and value._values and value != getattr(usual, name):
                found.append(
                    f"{name} has no effect: {reason}" if reason else f"{name} {_NO_NETWORK}"
                )
    elif settings.timeouts is not None:
        if settings.timeouts.connect_timeout_ms is not None and "connect" not in _EFFECTS[kind]:
            found.append(
                "timeouts.connect_timeout_ms has no effect: the client of this storage has its own"
            )
    return found


def native_settings(settings: StorageSettings, kind: str) -> dict[str, Any]:
    """The settings that have an effect on a storage of this type, as its description has them."""
    if kind in ("memory", "local", "redirect"):
        return {}
    found: dict[str, Any] = {}
    for section in (settings.retries, settings.timeouts, settings.concurrency):
        if section is not None:
            found.update(section._values)
    if "connect" not in _EFFECTS[kind]:
        found.pop("connect_timeout_ms", None)
    if "uploads" in _EFFECTS[kind]:
        found["minimum_size_for_multipart_upload"] = settings.minimum_size_for_multipart_upload
    if "classes" in _EFFECTS[kind]:
        whole_class = settings.storage_class
        found["metadata_storage_class"] = settings.metadata_storage_class or whole_class
        found["chunks_storage_class"] = settings.chunks_storage_class or whole_class
    return {name: value for name, value in found.items() if value is not None}


_warned: set[str] = set()


def warn_of(problems: list[str], place: str) -> None:
    """Warns of each setting without effect, once in a process."""
    for problem in problems:
        if problem not in _warned:
            _warned.add(problem)
            notice(f"storage settings for {place}: {problem}", stacklevel=3)
