"""The configuration of a repository as a whole."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self, overload

from icefield._config.caching import CachingConfig
from icefield._config.compression import CompressionConfig
from icefield._config.containers import VirtualChunkContainer
from icefield._config.manifest import ManifestConfig
from icefield._config.section import Section, Setting, part, text, whole
from icefield._exceptions import IcechunkError
from icefield._storage_settings import StorageRetriesSettings, StorageSettings
from icefield._urls import shown_prefix

__all__ = ["RepoUpdateRetryConfig", "RepositoryConfig"]

_U16 = 2**16 - 1


class RepoUpdateRetryConfig(Section):
    """The number of attempts to update the repository info, and the delays between them (spec version 2)."""

    __slots__ = ()

    default = part(
        StorageRetriesSettings, doc="The tries of every update: 100, from 50 ms to 30 s apart."
    )

    def __init__(self, default: StorageRetriesSettings | None = None) -> None:
        self.default = default


def _default_retries() -> RepoUpdateRetryConfig:
    return RepoUpdateRetryConfig(StorageRetriesSettings(100, 50, 30_000))


class _Opaque:
    """A container that this version does not understand, kept for versions that do."""

    __slots__ = ("document",)

    def __init__(self, document: Any) -> None:
        self.document = document

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Opaque) and self.document == other.document

    __hash__ = None  # type: ignore[assignment]

    def _to_document(self) -> Any:
        return self.document


class _Containers(Setting[dict[str, VirtualChunkContainer]]):
    """The containers. Only methods of the configuration change them."""

    def __init__(self) -> None:
        super().__init__(
            _checked_containers,
            lambda all: {key: it._to_document() for key, it in all.items()},
            lambda all: {key: _container(it) for key, it in all.items()},
            None,
            "The places that virtual chunks may refer to, by the prefix of their URLs; a copy.",
        )

    @overload
    def __get__(self, section: None, owner: type[Section]) -> Self: ...
    @overload
    def __get__(
        self, section: Section, owner: type[Section] | None = None
    ) -> dict[str, VirtualChunkContainer] | None: ...
    def __get__(self, section: Section | None, owner: Any = None) -> Any:
        if section is None:
            return self
        found: dict[str, Any] | None = section._values.get(self.name)
        if found is None:
            return None
        return {key: it for key, it in found.items() if isinstance(it, VirtualChunkContainer)}

    def __set__(self, section: Section, value: Any) -> None:
        raise AttributeError(
            "virtual_chunk_containers cannot be set; use set_virtual_chunk_container and "
            "clear_virtual_chunk_containers"
        )


def _checked_containers(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{name} is a dict of prefixes and containers, not a {type(value).__name__}"
        )
    for key, it in value.items():
        if not isinstance(key, str) or not isinstance(it, VirtualChunkContainer | _Opaque):
            raise TypeError(f"{name} is a dict of prefixes and VirtualChunkContainers")
    return dict(value)


def _container(document: Any) -> Any:
    try:
        return VirtualChunkContainer._from_document(document)
    except (AttributeError, IcechunkError, KeyError, TypeError, ValueError):
        return _Opaque(document)


def _without_users(name: str, value: object) -> object:
    """The containers by the printable parts of their prefixes."""
    if name != "virtual_chunk_containers" or not isinstance(value, dict):
        return value
    return {shown_prefix(key): it for key, it in value.items()}


class RepositoryConfig(Section):
    """The configuration of a repository. An unset setting (None) has its default, which `print()` shows.

    Settings are mutable and checked at assignment: a wrong type raises `TypeError`, a number out of
    range `InvalidInputError`.
    """

    __slots__ = ("_filled",)

    _filled: StorageSettings | None
    """The defaults of unset settings of `storage`, from the storage of the repository."""

    inline_chunk_threshold_bytes = whole(
        _U16, 512, doc="Chunks of at most so many bytes are stored in manifests."
    )
    get_partial_values_concurrency = whole(
        _U16, 10, doc="How many values `get_partial_values` reads at once."
    )
    compression = part(CompressionConfig, doc="How metadata objects are compressed.")
    max_concurrent_requests = whole(_U16, 256, doc="The most requests to the storage at once.")
    max_concurrent_decodes = whole(_U16, 2, doc="The most metadata objects decoded at once.")
    caching = part(CachingConfig, doc="How much is kept in memory.")
    storage = part(
        StorageSettings, doc="How the storage is used; if unset, as it needs.", defaults=False
    )
    virtual_chunk_containers = _Containers()
    manifest = part(ManifestConfig, doc="How manifests are split, read ahead and compressed.")
    repo_update_retries: Setting[RepoUpdateRetryConfig] = part(
        RepoUpdateRetryConfig, doc="How often updates are tried (spec version 2)."
    )
    repo_update_retries.default = _default_retries
    num_updates_per_repo_info_file = whole(
        _U16, 1000, doc="Updates in one object of the history (spec version 2)."
    )
    packed_chunk_threshold_bytes = whole(
        2**24,
        doc="Chunks of fewer bytes that are not stored in manifests share objects (packs); 0: none do. If unset, the "
        "storage decides: in buckets chunks below 1 MiB, elsewhere none. The reference implementation does not know it.",
    )
    pack_size_bytes = whole(
        2**26, 2**23, least=2**23, doc="The bytes of a full pack. The reference implementation does not know it."
    )
    previous_file = text(doc="The object with the configuration before this one (spec version 2).")

    def __init__(
        self,
        inline_chunk_threshold_bytes: int | None = None,
        get_partial_values_concurrency: int | None = None,
        compression: CompressionConfig | None = None,
        max_concurrent_requests: int | None = None,
        caching: CachingConfig | None = None,
        storage: StorageSettings | None = None,
        virtual_chunk_containers: dict[str, VirtualChunkContainer] | None = None,
        manifest: ManifestConfig | None = None,
        repo_update_retries: RepoUpdateRetryConfig | None = None,
        num_updates_per_repo_info_file: int | None = None,
        max_concurrent_decodes: int | None = None,
    ) -> None:
        unset = ("packed_chunk_threshold_bytes", "pack_size_bytes", "previous_file")
        self._set(locals() | dict.fromkeys(unset))

    def _shown(self) -> list[tuple[str, object]]:
        return [(name, _without_users(name, value)) for name, value in super()._shown()]

    def _effective(self) -> list[tuple[str, object, str]]:
        rows = super()._effective()
        return [(name, _without_users(name, value), remark) for name, value, remark in rows]

    @staticmethod
    def default() -> RepositoryConfig:
        """A configuration without settings."""
        return RepositoryConfig()

    def get_virtual_chunk_container(self, name: str) -> VirtualChunkContainer | None:
        """The container of a URL prefix (which ends in a slash), None if there is none."""
        found: dict[str, VirtualChunkContainer] = self.virtual_chunk_containers or {}
        return found.get(name)

    def set_virtual_chunk_container(self, cont: VirtualChunkContainer) -> None:
        """Adds a container. Replaces one with the same prefix or name.

        Raises `InvalidInputError` if its prefix does not end in a slash, or does not match its
        store.
        """
        if not isinstance(cont, VirtualChunkContainer):
            raise TypeError(f"a container is a VirtualChunkContainer, not a {type(cont).__name__}")
        cont._check()
        kept = {
            key: it
            for key, it in self._values.get("virtual_chunk_containers", {}).items()
            if cont.name is None or getattr(it, "name", None) != cont.name or key == cont.url_prefix
        }
        self._values["virtual_chunk_containers"] = kept | {cont.url_prefix: cont}

    def clear_virtual_chunk_containers(self) -> None:
        """Removes all containers."""
        self._values["virtual_chunk_containers"] = {}

    def _fill(self, defaults: StorageSettings) -> None:
        """Shows the defaults of the storage in `storage`, if no setting of it is set."""
        if self.storage is None:
            self._filled = copy.deepcopy(defaults)
            self.storage = defaults

    def _unfilled(self) -> RepositoryConfig:
        """The explicit settings: `storage` without filled-in defaults that were not changed since.

        A configuration that was shown, changed and passed back thus sets only the change.
        """
        filled = getattr(self, "_filled", None)
        if filled is None or self.storage is None:
            return self
        bare = copy.deepcopy(self)
        own = StorageSettings._from_document(self.storage._to_document())
        for name, value in filled._values.items():
            if own._values.get(name) == value:
                del own._values[name]
        bare.storage = own if own._values or own._unknown else None
        bare._filled = None
        return bare

    def merge(self, other: RepositoryConfig) -> RepositoryConfig:
        """A new configuration with the settings of `other`, completed with those of this one."""
        if not isinstance(other, RepositoryConfig):
            raise TypeError(f"a configuration merges with another, not a {type(other).__name__}")
        return self._merged_with(other)
