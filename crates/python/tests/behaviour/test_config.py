"""Values of configuration: fields, defaults, comparison, merging, checks, saving."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from making import create
from under_test import MODULE, ic, in_version

FIELDS = [
    "inline_chunk_threshold_bytes", "get_partial_values_concurrency", "max_concurrent_requests",
    "max_concurrent_decodes", "num_updates_per_repo_info_file", "compression", "caching",
    "storage", "manifest", "repo_update_retries", "virtual_chunk_containers",
]  # fmt: skip
CLASSES: dict[str, dict[str, int]] = {
    "CachingConfig": {
        "num_snapshot_nodes": 1, "num_chunk_refs": 2, "num_transaction_changes": 3,
        "num_bytes_attributes": 4, "num_bytes_chunks": 5,
    },
    "CompressionConfig": {"level": 7},
    "ManifestPreloadConfig": {"max_total_refs": 1, "max_arrays_to_scan": 2},
    "ManifestVirtualChunkLocationCompressionConfig": {
        "min_num_chunks": 1, "dictionary_max_training_samples": 2,
        "dictionary_max_size_bytes": 3, "compression_level": 4,
    },
    "ManifestConfig": {"max_concurrent_manifest_fetches_during_commit": 3},
    "StorageConcurrencySettings": {
        "max_concurrent_requests_for_object": 1, "ideal_concurrent_request_size": 2,
    },
    "StorageRetriesSettings": {"max_tries": 1, "initial_backoff_ms": 2, "max_backoff_ms": 3},
    "StorageTimeoutSettings": {
        "connect_timeout_ms": 1, "read_timeout_ms": 2, "operation_timeout_ms": 3,
        "operation_attempt_timeout_ms": 4,
    },
    "StorageSettings": {"minimum_size_for_multipart_upload": 5},
    "RepositoryConfig": {
        "inline_chunk_threshold_bytes": 1, "get_partial_values_concurrency": 2,
        "max_concurrent_requests": 3, "num_updates_per_repo_info_file": 4,
        "max_concurrent_decodes": 5,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_fields_are_given_by_name(name: str) -> None:
    value = getattr(ic, name, None) or getattr(ic.config, name)
    made = value(**CLASSES[name])
    assert {field: getattr(made, field) for field in CLASSES[name]} == CLASSES[name]


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_fields_are_nothing_by_default(name: str) -> None:
    value = getattr(ic, name, None) or getattr(ic.config, name)
    assert all(getattr(value(), field) is None for field in CLASSES[name])


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_fields_may_be_set(name: str) -> None:
    value = getattr(ic, name, None) or getattr(ic.config, name)
    made = value()
    for field, number in CLASSES[name].items():
        setattr(made, field, number)
    assert {field: getattr(made, field) for field in CLASSES[name]} == CLASSES[name]


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_values_compare_by_fields(name: str) -> None:
    value = getattr(ic, name, None) or getattr(ic.config, name)
    assert value(**CLASSES[name]) == value(**CLASSES[name])
    assert value(**CLASSES[name]) != value()


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_values_show_their_fields(name: str) -> None:
    value = getattr(ic, name, None) or getattr(ic.config, name)
    text = repr(value(**CLASSES[name]))
    assert name in text
    assert all(f"{field}={number}" in text for field, number in CLASSES[name].items())


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_unknown_fields_are_refused(name: str) -> None:
    value = getattr(ic, name, None) or getattr(ic.config, name)
    with pytest.raises(TypeError):
        value(zonk=1)
    with pytest.raises(AttributeError):
        value().zonk = 1


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_numbers_must_be_numbers(name: str) -> None:
    value = getattr(ic, name, None) or getattr(ic.config, name)
    with pytest.raises(TypeError):
        value(**{next(iter(CLASSES[name])): "x"})


@pytest.mark.parametrize("name", sorted(set(CLASSES) - {"ManifestConfig"}))
def test_numbers_must_not_be_negative(name: str) -> None:
    value = getattr(ic, name, None) or getattr(ic.config, name)
    with pytest.raises((OverflowError, ValueError)):
        value(**{next(iter(CLASSES[name])): -1})


@pytest.mark.parametrize("field", FIELDS)
def test_a_default_config_leaves_everything_open(field: str) -> None:
    assert getattr(ic.RepositoryConfig.default(), field) is None


def test_default_configs_are_equal() -> None:
    assert ic.RepositoryConfig.default() == ic.RepositoryConfig()


@pytest.mark.parametrize("number", [65536, 70000, 2**70])
def test_the_inline_threshold_fits_16_bits(number: int) -> None:
    with pytest.raises((OverflowError, ValueError)):
        ic.RepositoryConfig(inline_chunk_threshold_bytes=number)


@pytest.mark.parametrize(
    "field", ["compression", "caching", "storage", "manifest", "repo_update_retries"]
)
def test_sections_have_their_class(field: str) -> None:
    with pytest.raises(TypeError):
        ic.RepositoryConfig(**{field: 5})
    with pytest.raises(TypeError):
        setattr(ic.RepositoryConfig(), field, "x")


def test_a_compression_level_fits_8_bits() -> None:
    with pytest.raises((OverflowError, ValueError)):
        ic.CompressionConfig(level=300)


def test_compression_is_zstd() -> None:
    config = ic.CompressionConfig(algorithm=ic.CompressionAlgorithm.Zstd)
    assert config.algorithm == ic.CompressionAlgorithm.Zstd
    assert ic.CompressionAlgorithm.default() == ic.CompressionAlgorithm.Zstd


def test_a_section_is_part_of_its_config() -> None:
    config = ic.RepositoryConfig(compression=ic.CompressionConfig(level=5))
    config.compression.level = 9
    assert config.compression.level == 9


def test_merging_takes_the_later() -> None:
    merged = ic.RepositoryConfig(
        inline_chunk_threshold_bytes=1, max_concurrent_requests=5
    ).merge(ic.RepositoryConfig(inline_chunk_threshold_bytes=2))
    assert merged.inline_chunk_threshold_bytes == 2
    assert merged.max_concurrent_requests == 5


def test_merging_goes_into_sections() -> None:
    merged = ic.RepositoryConfig(caching=ic.CachingConfig(num_chunk_refs=1)).merge(
        ic.RepositoryConfig(caching=ic.CachingConfig(num_snapshot_nodes=2))
    )
    assert (merged.caching.num_chunk_refs, merged.caching.num_snapshot_nodes) == (1, 2)


def test_merging_changes_neither() -> None:
    one, two = ic.RepositoryConfig(max_concurrent_requests=5), ic.RepositoryConfig()
    one.merge(two)
    assert (one.max_concurrent_requests, two.max_concurrent_requests) == (5, None)


def test_merging_replaces_containers() -> None:
    one, two = ic.RepositoryConfig(), ic.RepositoryConfig()
    one.set_virtual_chunk_container(container("s3://one/"))
    two.set_virtual_chunk_container(container("s3://two/"))
    assert set(one.merge(two).virtual_chunk_containers) == {"s3://two/"}


def container(prefix: str, name: str | None = None) -> Any:
    return ic.VirtualChunkContainer(prefix, ic.s3_store(region="us-east-1"), name)


def test_containers_are_set_and_found() -> None:
    config = ic.RepositoryConfig.default()
    config.set_virtual_chunk_container(container("s3://b/p/"))
    assert set(config.virtual_chunk_containers) == {"s3://b/p/"}
    assert config.get_virtual_chunk_container("s3://b/p/") == container("s3://b/p/")
    assert config.get_virtual_chunk_container("s3://other/") is None


def test_containers_are_cleared() -> None:
    config = ic.RepositoryConfig.default()
    config.set_virtual_chunk_container(container("s3://b/p/"))
    config.clear_virtual_chunk_containers()
    assert config.virtual_chunk_containers == {}


def test_a_container_of_the_same_prefix_replaces() -> None:
    config = ic.RepositoryConfig.default()
    config.set_virtual_chunk_container(container("s3://b/p/"))
    config.set_virtual_chunk_container(container("s3://b/p/", "named"))
    found = config.virtual_chunk_containers
    assert "named" in [one.name for one in found.values()]


@pytest.mark.parametrize("odd", [5, None, "s3://b/"])
def test_a_container_must_be_one(odd: Any) -> None:
    with pytest.raises(TypeError):
        ic.RepositoryConfig.default().set_virtual_chunk_container(odd)


def test_a_container_knows_its_fields() -> None:
    made = container("s3://b/p/", "named")
    assert (made.url_prefix, made.name) == ("s3://b/p/", "named")
    assert made.store == ic.s3_store(region="us-east-1")
    assert made == container("s3://b/p/", "named")
    assert made != container("s3://b/p/")


def test_a_config_is_saved_whole(memory: Any) -> None:
    config = ic.RepositoryConfig(
        inline_chunk_threshold_bytes=11,
        get_partial_values_concurrency=3,
        max_concurrent_requests=17,
        compression=ic.CompressionConfig(level=5),
        caching=ic.CachingConfig(num_chunk_refs=100, num_bytes_chunks=5000),
        storage=ic.StorageSettings(
            retries=ic.StorageRetriesSettings(max_tries=4),
            concurrency=ic.StorageConcurrencySettings(max_concurrent_requests_for_object=2),
            minimum_size_for_multipart_upload=1 << 20,
        ),
        manifest=ic.ManifestConfig(
            preload=ic.ManifestPreloadConfig(
                max_total_refs=9,
                preload_if=ic.ManifestPreloadCondition.name_matches("^x$")
                & ic.ManifestPreloadCondition.num_refs(None, 100),
            )
        ),
    )
    create(memory, config).save_config()
    saved = ic.Repository.fetch_config(memory)
    assert saved.inline_chunk_threshold_bytes == 11
    assert saved.get_partial_values_concurrency == 3
    assert saved.max_concurrent_requests == 17
    assert saved.compression.level == 5
    assert (saved.caching.num_chunk_refs, saved.caching.num_bytes_chunks) == (100, 5000)
    assert saved.storage.retries.max_tries == 4
    assert saved.storage.concurrency.max_concurrent_requests_for_object == 2
    assert saved.storage.minimum_size_for_multipart_upload == 1 << 20
    assert saved.manifest.preload.max_total_refs == 9
    assert saved.manifest.preload.preload_if == config.manifest.preload.preload_if


def test_preload_conditions_compare() -> None:
    condition = ic.ManifestPreloadCondition
    assert condition.true() == condition.true()
    assert condition.true() != condition.false()
    assert condition.num_refs(None, 5) == condition.num_refs(None, 5)
    assert condition.num_refs(1, 5) != condition.num_refs(None, 5)
    assert (condition.true() & condition.false()) == condition.and_conditions(
        [condition.true(), condition.false()]
    )
    assert (condition.true() | condition.false()) == condition.or_conditions(
        [condition.true(), condition.false()]
    )
    assert condition.name_matches("x") != condition.path_matches("x")


def test_spec_versions_are_ordered() -> None:
    assert ic.SpecVersion.v1 < ic.SpecVersion.v2
    assert int(ic.SpecVersion.v1) == 1
    assert ic.SpecVersion.v1 in ic.supported_spec_versions()


STORAGES: dict[str, Any] = {
    "memory": lambda: ic.in_memory_storage(),
    "local": lambda: ic.local_filesystem_storage("/tmp/nothing-here"),
    "s3": lambda: ic.s3_storage(bucket="b", prefix="p", region="us-east-1", anonymous=True),
    "s3 from the environment": lambda: ic.s3_storage(bucket="b", prefix=None, from_env=True),
    "s3 with keys": lambda: ic.s3_storage(
        bucket="b", prefix="p", region="us-east-1", access_key_id="a", secret_access_key="s"
    ),
    "gcs": lambda: ic.gcs_storage(bucket="b", prefix="p", anonymous=True),
    "azure": lambda: ic.azure_storage(account="a", container="c", prefix="p", from_env=True),
    "tigris": lambda: ic.tigris_storage(
        bucket="b", prefix="p", region="auto", access_key_id="a", secret_access_key="s"
    ),
    "r2": lambda: ic.r2_storage(
        bucket="b", prefix="p", account_id="acc", access_key_id="a", secret_access_key="s"
    ),
    "http": lambda: ic.http_storage("http://example.com/x"),
}


@pytest.mark.parametrize("name", sorted(STORAGES))
def test_making_a_storage_does_not_connect(name: str) -> None:
    assert isinstance(STORAGES[name](), ic.Storage)


@pytest.mark.parametrize("name", sorted(STORAGES))
def test_a_storage_shows_itself_without_secrets(name: str) -> None:
    text = repr(STORAGES[name]())
    assert "Storage" in text
    assert "secret_access_key=s" not in text and "'s'" not in text


@pytest.mark.parametrize(
    "arguments",
    [
        {"access_key_id": "x"},
        {"access_key_id": "x", "secret_access_key": "y", "from_env": True},
        {"anonymous": True, "from_env": True},
        {"anonymous": True, "access_key_id": "x", "secret_access_key": "y"},
    ],
    ids=["half a key", "keys and environment", "anonymous and environment", "anonymous and keys"],
)
def test_credentials_do_not_contradict(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        ic.s3_storage(bucket="b", prefix="p", **arguments)
    with pytest.raises(ValueError):
        ic.s3_credentials(**arguments)


def test_a_prefix_is_asked_for() -> None:
    with pytest.raises(TypeError):
        ic.s3_storage(bucket="b")


@pytest.mark.parametrize("odd", [5, None, ["x"]])
def test_a_path_must_be_one(odd: Any) -> None:
    with pytest.raises(TypeError):
        ic.local_filesystem_storage(odd)


def test_a_storage_is_not_made_directly() -> None:
    with pytest.raises(TypeError):
        ic.Storage()


def test_credentials_that_cannot_be_pickled() -> None:
    # The error of pickle for a function without a name: which of its errors depends on the release
    # of Python. Here it is an error about the argument.
    errors = (ValueError,) if MODULE == "icefield" else (pickle.PicklingError, AttributeError)
    with pytest.raises(errors, match="pickle"):
        ic.s3_refreshable_credentials(lambda: ic.S3StaticCredentials("a", "b"))


def test_static_credentials_know_their_fields() -> None:
    from datetime import UTC, datetime

    at = datetime(2030, 1, 1, tzinfo=UTC)
    made = ic.S3StaticCredentials("a", "b", "c", at)
    assert (made.access_key_id, made.secret_access_key) == ("a", "b")
    assert (made.session_token, made.expires_after) == ("c", at)


def test_static_credentials_hide_their_secret() -> None:
    text = repr(ic.S3StaticCredentials("my-key-id", "my-secret-key", "my-token"))
    assert "my-secret-key" not in text and "my-token" not in text


def test_static_credentials_need_both_halves() -> None:
    with pytest.raises(TypeError):
        ic.S3StaticCredentials("a")


def test_objects_of_a_repository_are_listed(storage: Any) -> None:
    create(storage)
    found = {
        info.key: info.size_bytes
        for info in storage.list_objects_metadata(storage.default_settings(), "")
    }
    assert "snapshots/1CECHNKREP0F1RSTCMT0" in found
    assert in_version("refs/branch.main/ref.json", "repo") in found
    assert all(size > 0 for key, size in found.items() if key.startswith("snapshots/"))
