"""The splitting, preloading and compression of manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from icefield._config.conditions import ManifestPreloadCondition, ManifestSplitCondition
from icefield._config.dimensions import ManifestSplitDimCondition
from icefield._config.section import Section, Setting, part, whole

__all__ = [
    "ManifestConfig",
    "ManifestPreloadConfig",
    "ManifestSplitValues",
    "ManifestSplittingConfig",
    "ManifestVirtualChunkLocationCompressionConfig",
    "SplitSizesDict",
]

_U16 = 2**16 - 1
_U32 = 2**32 - 1

_Dimension: TypeAlias = (
    ManifestSplitDimCondition.Axis
    | ManifestSplitDimCondition.DimensionName
    | ManifestSplitDimCondition.Any
)
ManifestSplitValues: TypeAlias = dict[_Dimension, int]
"""The number of chunks in each manifest along the dimensions that meet a condition."""
SplitSizesDict: TypeAlias = dict[ManifestSplitCondition, ManifestSplitValues]
"""The splitting rules; the first rule whose condition an array meets applies."""

_Rules: TypeAlias = Sequence[tuple[ManifestSplitCondition, Sequence[tuple[_Dimension, int]]]]

_NUM_CHUNKS = whole(_U32, doc="Chunks of a manifest along a dimension.")


class ManifestPreloadConfig(Section):
    """The manifests to read as soon as a session opens."""

    __slots__ = ()
    _whole = True

    max_total_refs = whole(_U32, 10_000, doc="The most chunk references that are read ahead.")
    preload_if = part(
        ManifestPreloadCondition,
        doc="Which manifests are read ahead; if unset, small ones with the names of coordinates.",
        defaults=False,
    )
    max_arrays_to_scan = whole(_U32, 50, doc="The most arrays that are asked for the condition.")

    def __init__(
        self,
        max_total_refs: int | None = None,
        preload_if: ManifestPreloadCondition | None = None,
        max_arrays_to_scan: int | None = None,
    ) -> None:
        self.max_total_refs = max_total_refs
        self.preload_if = preload_if
        self.max_arrays_to_scan = max_arrays_to_scan


def _checked_rules(name: str, value: Any) -> list[tuple[Any, list[tuple[Any, int]]]]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name} is a sequence of rules, not a {type(value).__name__}")
    rules = []
    for rule in value:
        try:
            arrays, dimensions = rule
            pairs = [(dimension, chunks) for dimension, chunks in dimensions]
        except (TypeError, ValueError):
            raise TypeError(
                f"a rule of {name} is a condition and pairs of a dimension and a number, not {rule!r}"
            ) from None
        if not isinstance(arrays, ManifestSplitCondition):
            raise TypeError(
                f"the arrays of a rule are a ManifestSplitCondition, not a {type(arrays).__name__}"
            )
        for dimension, _ in pairs:
            if not isinstance(dimension, ManifestSplitDimCondition):
                raise TypeError(
                    "a dimension of a rule is a ManifestSplitDimCondition, "
                    f"not a {type(dimension).__name__}"
                )
        rules.append((arrays, [(it, _NUM_CHUNKS.check("num_chunks", n)) for it, n in pairs]))
    return rules


def _written_rules(rules: Any) -> list[Any]:
    return [
        [
            arrays._to_document(),
            [{"condition": it._to_document(), "num_chunks": chunks} for it, chunks in dimensions],
        ]
        for arrays, dimensions in rules
    ]


def _read_rules(document: Any) -> list[Any]:
    return [
        (
            ManifestSplitCondition._from_document(arrays),
            [
                (ManifestSplitDimCondition._from_document(it["condition"]), it["num_chunks"])
                for it in dimensions
            ],
        )
        for arrays, dimensions in document
    ]


class ManifestSplittingConfig(Section):
    """The splitting of the chunk references of an array into manifests.

    The first rule whose condition an array meets applies to it; the first condition of the rule
    that a dimension meets gives the number of chunks per manifest along it.
    """

    __slots__ = ()
    _whole = True

    split_sizes: Setting[_Rules] = Setting(
        _checked_rules,
        _written_rules,
        _read_rules,
        [
            (
                ManifestSplitCondition.path_matches(".*"),
                [(ManifestSplitDimCondition.Any(), _U32)],
            )
        ],
        "The rules: pairs of a condition on arrays and pairs of a condition on dimensions and a number of chunks.",
    )

    def __init__(self, split_sizes: _Rules | None = None) -> None:
        self.split_sizes = split_sizes

    @staticmethod
    def from_dict(split_sizes: SplitSizesDict) -> ManifestSplittingConfig:
        """The rules from a dictionary of dictionaries, in their order."""
        if not isinstance(split_sizes, Mapping):
            raise TypeError(f"the rules are a dict, not a {type(split_sizes).__name__}")
        for rule in split_sizes.values():
            if not isinstance(rule, Mapping):
                raise TypeError(
                    f"a rule is a dict of dimensions and numbers, not a {type(rule).__name__}"
                )
        return ManifestSplittingConfig(
            [(arrays, list(rule.items())) for arrays, rule in split_sizes.items()]
        )

    def to_dict(config) -> SplitSizesDict:  # noqa: N805 (the name that callers know)
        """The rules as a dictionary of dictionaries; empty if none are set."""
        return {arrays: dict(rule) for arrays, rule in config.split_sizes or ()}


class ManifestVirtualChunkLocationCompressionConfig(Section):
    """The compression of the locations of virtual chunks, in manifests of spec version 2."""

    __slots__ = ()
    _whole = True

    min_num_chunks = whole(_U16, 1000, doc="The fewest virtual chunks that are compressed.")
    dictionary_max_training_samples = whole(
        _U16, 100, doc="The most locations that the dictionary is made from."
    )
    dictionary_max_size_bytes = whole(_U32, 2048, doc="The most bytes of the dictionary.")
    compression_level = whole(2**31 - 1, 3, least=-(2**31), doc="The level of zstd.")

    def __init__(
        self,
        min_num_chunks: int | None = None,
        *,
        dictionary_max_training_samples: int | None = None,
        dictionary_max_size_bytes: int | None = None,
        compression_level: int | None = None,
    ) -> None:
        self.min_num_chunks = min_num_chunks
        self.dictionary_max_training_samples = dictionary_max_training_samples
        self.dictionary_max_size_bytes = dictionary_max_size_bytes
        self.compression_level = compression_level


class ManifestConfig(Section):
    """The splitting, preloading and compression of manifests."""

    __slots__ = ()

    preload = part(ManifestPreloadConfig, doc="What is read as soon as a session is opened.")
    splitting = part(ManifestSplittingConfig, doc="How chunk references are divided.")
    virtual_chunk_location_compression = part(
        ManifestVirtualChunkLocationCompressionConfig,
        doc="How locations of virtual chunks are compressed (spec version 2).",
    )
    max_concurrent_manifest_fetches_during_commit = whole(
        _U16, 1, doc="How many manifests of an array a commit reads at once."
    )

    def __init__(
        self,
        preload: ManifestPreloadConfig | None = None,
        splitting: ManifestSplittingConfig | None = None,
        virtual_chunk_location_compression: ManifestVirtualChunkLocationCompressionConfig
        | None = None,
        max_concurrent_manifest_fetches_during_commit: int | None = None,
    ) -> None:
        self.preload = preload
        self.splitting = splitting
        self.virtual_chunk_location_compression = virtual_chunk_location_compression
        self.max_concurrent_manifest_fetches_during_commit = (
            max_concurrent_manifest_fetches_during_commit
        )
