"""The configuration: its settings, how it merges, and its documents."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import icefield
from icefield import (
    Attribution,
    CachingConfig,
    CompressionAlgorithm,
    CompressionConfig,
    InvalidInputError,
    ManifestConfig,
    ManifestPreloadCondition,
    ManifestPreloadConfig,
    ManifestSplitCondition,
    ManifestSplitDimCondition,
    ManifestSplittingConfig,
    ManifestVirtualChunkLocationCompressionConfig,
    ObjectStoreConfig,
    RepositoryConfig,
    RepoUpdateRetryConfig,
    S3Options,
    StorageRetriesSettings,
    StorageSettings,
    VirtualChunkContainer,
)
from icefield.config import from_dict, to_dict

Preload = ManifestPreloadCondition
Arrays = ManifestSplitCondition
Dimension = ManifestSplitDimCondition


def container(prefix: str = "s3://bucket/", name: str | None = None) -> VirtualChunkContainer:
    return VirtualChunkContainer(prefix, ObjectStoreConfig.S3(S3Options(region="eu")), name)


def full() -> RepositoryConfig:
    """A configuration with everything set."""
    preload = (
        Preload.num_refs(None, 3) | Preload.num_refs(1, None) | (Preload.true() & Preload.false())
    )
    config = RepositoryConfig(
        inline_chunk_threshold_bytes=1,
        get_partial_values_concurrency=2,
        compression=CompressionConfig(CompressionAlgorithm.Zstd, 4),
        max_concurrent_requests=5,
        caching=CachingConfig(6, 7, 8, 9, 10),
        storage=StorageSettings(storage_class="COLD", retries=StorageRetriesSettings(3)),
        manifest=ManifestConfig(
            preload=ManifestPreloadConfig(11, preload | Preload.path_matches("^/a"), 12),
            splitting=from_dict(
                {
                    Arrays.name_matches("t") & Arrays.AnyArray(): {Dimension.Axis(0): 13},
                    Arrays.AnyArray(): {Dimension.DimensionName("x"): 14, Dimension.Any(): 15},
                }
            ),
            virtual_chunk_location_compression=ManifestVirtualChunkLocationCompressionConfig(
                16,
                dictionary_max_training_samples=17,
                dictionary_max_size_bytes=18,
                compression_level=-19,
            ),
            max_concurrent_manifest_fetches_during_commit=20,
        ),
        repo_update_retries=RepoUpdateRetryConfig(StorageRetriesSettings(1, 2, 3)),
        num_updates_per_repo_info_file=21,
        max_concurrent_decodes=22,
    )
    config.set_virtual_chunk_container(container())
    return config


def test_a_full_configuration_survives_all_ways() -> None:
    config = full()
    assert RepositoryConfig._from_json(config._to_json()) == config
    assert pickle.loads(pickle.dumps(config)) == config
    assert copy.deepcopy(config) == config
    assert eval(repr(config.manifest), {"icefield": icefield}) == config.manifest


def test_the_document_has_the_shape_of_the_configuration_file() -> None:
    document = json.loads(full()._to_json())
    assert document["compression"] == {"algorithm": "zstd", "level": 4}
    assert document["manifest"]["splitting"]["split_sizes"] == [
        [
            {"and": [{"name_matches": {"regex": "t"}}, "any_array"]},
            [{"condition": {"Axis": 0}, "num_chunks": 13}],
        ],
        [
            "any_array",
            [
                {"condition": {"DimensionName": "x"}, "num_chunks": 14},
                {"condition": "Any", "num_chunks": 15},
            ],
        ],
    ]
    preload = document["manifest"]["preload"]["preload_if"]
    assert preload["or"][1] == {"path_matches": {"regex": "^/a"}}
    bounds = preload["or"][0]["or"][0]["or"]
    assert bounds[0] == {"num_refs": {"from": "Unbounded", "to": {"Excluded": 3}}}
    assert bounds[1] == {"num_refs": {"from": {"Included": 1}, "to": "Unbounded"}}
    store = document["virtual_chunk_containers"]["s3://bucket/"]["store"]
    assert store["s3"]["region"] == "eu"


def test_nothing_is_set_by_default() -> None:
    assert RepositoryConfig.default() == RepositoryConfig()
    assert all(it is None for it in json.loads(RepositoryConfig()._to_json()).values())
    shown = str(RepositoryConfig())
    assert "inline_chunk_threshold_bytes: 512 (default)" in shown
    assert "num_chunk_refs: 15000000 (default)" in shown
    assert "max_tries: 100" in shown


def test_what_this_version_does_not_know_is_kept() -> None:
    unknown = {"url_prefix": "x://b/", "store": {"of_a_later_version": {}}}
    document = {
        "inline_chunk_threshold_bytes": 3,
        "of_a_later_version": {"a": 1},
        "caching": {"new_cache": 5},
        "virtual_chunk_containers": {
            "s3://a/": {"url_prefix": "s3://a/", "store": {"s3": {}}, "new": 1},
            "x://b/": unknown,
        },
    }
    config = RepositoryConfig._from_document(document)
    assert list(config.virtual_chunk_containers or ()) == ["s3://a/"]
    written = RepositoryConfig().merge(config)._to_document()
    assert written["of_a_later_version"] == {"a": 1}
    assert written["caching"]["new_cache"] == 5
    containers = written["virtual_chunk_containers"]
    assert containers["s3://a/"]["new"] == 1
    assert containers["x://b/"] == unknown


def test_parts_are_written_through() -> None:
    config = RepositoryConfig(manifest=ManifestConfig())
    assert config.manifest is config.manifest is not None
    config.manifest.preload = ManifestPreloadConfig(max_total_refs=5)
    config.manifest.preload.max_total_refs = 7
    assert config._to_document()["manifest"]["preload"]["max_total_refs"] == 7
    config.manifest = None
    assert config == RepositoryConfig()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inline_chunk_threshold_bytes", "a"),
        ("inline_chunk_threshold_bytes", 1.5),
        ("compression", 3),
        ("manifest", CachingConfig()),
        ("storage", {}),
        ("caching", "a"),
        ("virtual_chunk_containers", [1]),
        ("virtual_chunk_containers", {"a": 1}),
    ],
)
def test_wrong_types(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=name):
        RepositoryConfig(**{name: value})
    if name != "virtual_chunk_containers":
        with pytest.raises(TypeError, match=name):
            setattr(RepositoryConfig(), name, value)


@pytest.mark.parametrize("value", [-1, 2**16, 2**70])
@pytest.mark.parametrize(
    "name",
    [
        "get_partial_values_concurrency",
        "inline_chunk_threshold_bytes",
        "max_concurrent_decodes",
        "max_concurrent_requests",
        "num_updates_per_repo_info_file",
    ],
)
def test_numbers_out_of_range(name: str, value: int) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} cannot be {value}; it may be"):
        RepositoryConfig(**{name: value})  # type: ignore[arg-type]


def test_the_value_stays_if_a_new_one_is_wrong() -> None:
    config = RepositoryConfig(inline_chunk_threshold_bytes=5)
    with pytest.raises(InvalidInputError):
        config.inline_chunk_threshold_bytes = -1
    assert config.inline_chunk_threshold_bytes == 5


def test_unknown_settings_are_refused() -> None:
    config: Any = RepositoryConfig()
    with pytest.raises(AttributeError, match="no_such_setting"):
        config.no_such_setting = 1
    with pytest.raises(TypeError, match="no_such_setting"):
        RepositoryConfig(no_such_setting=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="set_virtual_chunk_container"):
        config.virtual_chunk_containers = {}


def test_sections_are_no_keys() -> None:
    for section in (RepositoryConfig(), CachingConfig(), ManifestConfig()):
        with pytest.raises(TypeError, match="unhashable"):
            hash(section)


def test_a_merge_takes_what_the_other_has() -> None:
    base = RepositoryConfig(
        inline_chunk_threshold_bytes=5,
        caching=CachingConfig(num_chunk_refs=6),
        compression=CompressionConfig(level=7),
        storage=StorageSettings(storage_class="COLD"),
        manifest=ManifestConfig(
            preload=ManifestPreloadConfig(max_total_refs=8),
            max_concurrent_manifest_fetches_during_commit=9,
        ),
    )
    other = RepositoryConfig(
        inline_chunk_threshold_bytes=10,
        caching=CachingConfig(11),
        compression=CompressionConfig(),
        storage=StorageSettings(unsafe_use_metadata=True),
        manifest=ManifestConfig(preload=ManifestPreloadConfig(preload_if=Preload.true())),
    )
    assert base.merge(other) == RepositoryConfig(
        inline_chunk_threshold_bytes=10,
        caching=CachingConfig(11, 6),
        compression=CompressionConfig(level=7),
        storage=StorageSettings(storage_class="COLD", unsafe_use_metadata=True),
        manifest=ManifestConfig(
            preload=ManifestPreloadConfig(preload_if=Preload.true()),
            max_concurrent_manifest_fetches_during_commit=9,
        ),
    )
    assert base.merge(RepositoryConfig()) == base == RepositoryConfig().merge(base)
    with pytest.raises(TypeError, match="merges with another"):
        base.merge(CachingConfig())  # type: ignore[arg-type]


def test_a_merged_configuration_shares_nothing() -> None:
    base = full()
    merged = base.merge(RepositoryConfig())
    assert merged.caching is not None
    merged.caching.num_chunk_refs = 99
    assert base == full()


def test_containers_are_replaced_by_a_merge() -> None:
    one, other, cleared = RepositoryConfig(), RepositoryConfig(), RepositoryConfig()
    one.set_virtual_chunk_container(container("s3://a/"))
    other.set_virtual_chunk_container(container("s3://b/"))
    cleared.clear_virtual_chunk_containers()
    assert list(one.merge(other).virtual_chunk_containers or ()) == ["s3://b/"]
    assert one.merge(RepositoryConfig()).virtual_chunk_containers == one.virtual_chunk_containers
    assert one.merge(cleared).virtual_chunk_containers == {}


def prefixes(config: RepositoryConfig) -> list[str] | None:
    found = config.virtual_chunk_containers
    return None if found is None else list(found)


def test_containers_by_prefix() -> None:
    config = RepositoryConfig()
    assert prefixes(config) is None
    assert config.get_virtual_chunk_container("s3://bucket/") is None
    config.set_virtual_chunk_container(container(name="data"))
    assert config.get_virtual_chunk_container("s3://bucket/") == container(name="data")
    assert config.get_virtual_chunk_container("data") is None
    config.set_virtual_chunk_container(container("s3://other/", "data"))
    assert prefixes(config) == ["s3://other/"]
    config.set_virtual_chunk_container(container("s3://third/"))
    assert prefixes(config) == ["s3://other/", "s3://third/"]
    (config.virtual_chunk_containers or {}).clear()
    assert prefixes(config) == ["s3://other/", "s3://third/"]
    config.clear_virtual_chunk_containers()
    assert prefixes(config) == []
    with pytest.raises(TypeError, match="VirtualChunkContainer"):
        config.set_virtual_chunk_container("s3://a/")  # type: ignore[arg-type]


S3 = ObjectStoreConfig.S3(S3Options())


@pytest.mark.parametrize(
    ("prefix", "store", "name", "words"),
    [
        ("s3://a", S3, None, "end with a slash"),
        ("", S3, None, "end with a slash"),
        ("a/", S3, None, "no URL"),
        ("gs://a/", S3, None, "does not fit its store"),
        ("s3://a/", ObjectStoreConfig.Gcs(), None, "does not fit its store"),
        ("s3:///", S3, None, "no bucket"),
        ("s3://a b/", S3, None, "has a space"),
        ("file:///", ObjectStoreConfig.LocalFileSystem("/"), None, "no path"),
        ("file:///../", ObjectStoreConfig.LocalFileSystem("/"), None, "no path"),
        ("s3://a/", S3, "", "name"),
        ("s3://a/", S3, "a/b", "name"),
    ],
)
def test_wrong_containers_are_refused(
    prefix: str, store: Any, name: str | None, words: str
) -> None:
    made = VirtualChunkContainer(prefix, store, name)
    with pytest.raises(InvalidInputError, match=words):
        RepositoryConfig().set_virtual_chunk_container(made)


@pytest.mark.parametrize(
    ("prefix", "store"),
    [
        ("s3://a/b/", S3),
        ("s3://a/", ObjectStoreConfig.S3Compatible(S3Options())),
        ("tigris://a/", ObjectStoreConfig.Tigris(S3Options())),
        ("gs://a/", ObjectStoreConfig.Gcs({"k": "v"})),
        ("az://a/", ObjectStoreConfig.Azure()),
        ("abfs://a/", ObjectStoreConfig.Azure()),
        ("http://a/", ObjectStoreConfig.Http()),
        ("https://a/b/", ObjectStoreConfig.Http(None, {"h": "v"})),
        ("file:///a/", ObjectStoreConfig.LocalFileSystem("/a")),
    ],
)
def test_containers_of_all_stores(prefix: str, store: Any) -> None:
    config = RepositoryConfig()
    config.set_virtual_chunk_container(VirtualChunkContainer(prefix, store))
    assert RepositoryConfig._from_json(config._to_json()) == config


def test_a_container_can_be_changed() -> None:
    made = container()
    made.name = "data"
    made.url_prefix = "s3://other/"
    assert made == container("s3://other/", "data")
    assert pickle.loads(pickle.dumps(made)) == made
    for attribute in ("url_prefix", "store", "name"):
        with pytest.raises(TypeError, match=attribute):
            setattr(made, attribute, 3)


def test_conditions_are_made_by_functions_and_compared_by_content() -> None:
    one = Arrays.or_conditions([Arrays.name_matches("a"), Arrays.AnyArray()])
    assert one == Arrays.name_matches("a") | Arrays.AnyArray()
    assert hash(one) == hash(Arrays.name_matches("a") | Arrays.AnyArray())
    assert one != Arrays.and_conditions([Arrays.name_matches("a"), Arrays.AnyArray()])
    assert Preload.name_matches("a") != Arrays.name_matches("a")
    assert eval(repr(one), {"icefield": icefield}) == one
    for cls in (Arrays, Preload):
        with pytest.raises(TypeError, match="made by its functions"):
            cls()
    with pytest.raises(TypeError):
        _ = Preload.true() | 3  # type: ignore[operator]
    with pytest.raises(TypeError, match="not int"):
        Preload.or_conditions([3])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="from_refs"):
        Preload.num_refs(-1, None)


def test_conditions_are_of_a_class_for_each_form() -> None:
    assert isinstance(Arrays.name_matches("a"), Arrays.NameMatches)
    assert Arrays.NameMatches(regex="a") == Arrays.name_matches("a")
    assert not isinstance(Preload.name_matches("a"), Arrays)
    match Preload.or_conditions([Preload.true(), Preload.num_refs(1, 2)]):
        case Preload.Or([_, Preload.NumRefs(to=last) as bounds]):
            assert (getattr(bounds, "from"), last) == (1, 2)
        case _:
            pytest.fail("no match")
    for it in (Preload.num_refs(1, None), Preload.true() & Preload.path_matches("a")):
        assert pickle.loads(pickle.dumps(it)) == it


def test_conditions_read_the_bounds_of_other_writers() -> None:
    document = {"num_refs": {"from": {"Excluded": 1}, "to": {"Included": 5}}}
    assert Preload._from_document(document) == Preload.num_refs(2, 6)
    assert Preload._from_document(True) == Preload.true()
    with pytest.raises(InvalidInputError, match="no condition"):
        Preload._from_document("any_array")


def test_conditions_on_dimensions() -> None:
    assert isinstance(Dimension.Axis(1), Dimension)
    assert Dimension.Axis(1) == Dimension.Axis(1) != Dimension.Axis(2)
    assert len({Dimension.Any(), Dimension.Any(), Dimension.DimensionName("x")}) == 2
    for it in (Dimension.Axis(1), Dimension.DimensionName("x"), Dimension.Any()):
        assert pickle.loads(pickle.dumps(it)) == it
        assert eval(repr(it), {"icefield": icefield}) == it
    with pytest.raises(InvalidInputError, match="axis cannot be -1"):
        Dimension.Axis(-1)
    with pytest.raises(TypeError, match="is an Axis"):
        Dimension()


def test_splitting_by_dictionaries() -> None:
    rules: Any = {Arrays.AnyArray(): {Dimension.Axis(0): 2, Dimension.Any(): 3}}
    config = ManifestSplittingConfig.from_dict(rules)
    assert config.to_dict() == rules == to_dict(config)
    assert config == from_dict(rules)
    assert ManifestSplittingConfig().to_dict() == {}
    assert config == ManifestSplittingConfig(config.split_sizes)


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        (3, TypeError),
        ({3: {Dimension.Any(): 1}}, TypeError),
        ({Arrays.AnyArray(): {3: 1}}, TypeError),
        ({Arrays.AnyArray(): 3}, TypeError),
        ({Arrays.AnyArray(): {Dimension.Any(): "1"}}, TypeError),
        ({Arrays.AnyArray(): {Dimension.Any(): -1}}, InvalidInputError),
        ({Arrays.AnyArray(): {Dimension.Any(): 2**32}}, InvalidInputError),
    ],
)
def test_wrong_rules_of_splitting(rules: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        ManifestSplittingConfig.from_dict(rules)


def test_a_repository_keeps_its_configuration() -> None:
    storage = icefield.in_memory_storage()
    config = full()
    icefield.Repository.create(storage, config).save_config()
    kept = icefield.Repository.open(storage).config
    assert kept.manifest == config.manifest
    assert kept.caching == config.caching
    assert kept.virtual_chunk_containers == config.virtual_chunk_containers
    assert kept == config


def test_compression() -> None:
    algorithm: Any = CompressionAlgorithm
    assert algorithm() is CompressionAlgorithm.default() is CompressionAlgorithm.Zstd
    assert int(CompressionAlgorithm.Zstd) == 0
    assert CompressionConfig.default() == CompressionConfig()
    assert pickle.loads(pickle.dumps(CompressionAlgorithm.Zstd)) is CompressionAlgorithm.Zstd
    with pytest.raises(InvalidInputError, match="level cannot be 300"):
        CompressionConfig(level=300)
    with pytest.raises(InvalidInputError, match="no CompressionAlgorithm"):
        CompressionConfig._from_document({"algorithm": "lz4"})


def test_attribution() -> None:
    made = Attribution(client="software/1.0", workload="nightly run", principal="")
    assert (made.client, made.workload, made.principal) == ("software/1.0", "nightly run", "")
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(AttributeError):
        made.client = "other"  # type: ignore[misc]


@pytest.mark.parametrize("client", ["", "a b", "a/", "a/1/2", "ü", "a" * 129])
def test_wrong_clients(client: str) -> None:
    with pytest.raises(InvalidInputError, match="client"):
        Attribution(client=client)


@pytest.mark.parametrize("label", ["(", ")", "\\", ";", "=", '"', "\n", "ü", "a" * 129])
def test_wrong_labels(label: str) -> None:
    with pytest.raises(InvalidInputError, match="workload"):
        Attribution(workload=label)
    with pytest.raises(InvalidInputError, match="principal"):
        Attribution(principal=label)


def test_notebooks_show_the_settings_in_use() -> None:
    shown = full()._repr_html_()
    assert shown.count("<style>") == 1
    assert "max_concurrent_requests" in shown
    assert "15000000" in CachingConfig()._repr_html_()


def test_containers_show_no_secret() -> None:
    store = icefield.http_store({"authorization": "hidden", "sig_cookie": "hidden", "timeout": "5s"})
    container = icefield.VirtualChunkContainer("http://u:hidden@h/", store)
    config = icefield.RepositoryConfig(virtual_chunk_containers={"http://u:hidden@h/": container})
    for it in (store, container, config):
        assert "hidden" not in repr(it) + str(it) + it._repr_html_()
    assert "http://h/" in repr(container)
    account = icefield.VirtualChunkContainer(
        "abfss://data@me.dfs.core.windows.net/", icefield.ObjectStoreConfig.Azure({"account": "me"})
    )
    assert "abfss://data@me.dfs" in repr(account)
    with pytest.raises(icefield.InvalidInputError) as caught:
        icefield.VirtualChunkContainer("http://u:hidden@h", store)._check()
    assert "hidden" not in str(caught.value)


def test_a_configuration_that_somebody_else_saved_is_a_conflict(tmp_path: Path) -> None:
    storage = icefield.local_filesystem_storage(str(tmp_path))
    icefield.Repository.create(storage).save_config()
    one, other = (
        icefield.Repository.open(storage, config=icefield.RepositoryConfig(inline_chunk_threshold_bytes=length))
        for length in (10, 20)
    )
    one.save_config()
    with pytest.raises(icefield.ConflictError) as raised:
        other.save_config()
    assert raised.value.kind == icefield.ErrorKind.CONFIG_UPDATED
    assert icefield.Repository.open(storage).config.inline_chunk_threshold_bytes == 10
