"""Settings: what our command line stores, the reference obeys, and what it stores we show."""

import json

import icechunk

import reference
from lib import case, icefield, write


@case
def settings_of_ours_are_read_by_the_reference(work):
    path = work / "repo"
    write(path, [{"op": "create"}])
    for name, value in [
        ("inline_chunk_threshold_bytes", "7"),
        ("compression.level", "9"),
        ("caching.num_chunk_refs", "5"),
        ("storage.retries.max_tries", "3"),
        ("manifest.preload.preload_if", "!and [!name_matches {regex: '^time$'}, !num_refs {from: !Included 1, to: Unbounded}]"),
        ("manifest.splitting.split_sizes", "[[!path_matches {regex: '/deep/.*'}, [{condition: !DimensionName time, num_chunks: 3}]]]"),
        ("virtual_chunk_containers", "{'s3://sea/': {url_prefix: 's3://sea/', store: !s3 {region: eu-west-1}}}"),
    ]:
        icefield("config", "set", path, name, value)
    config = reference.open(path).config
    assert config.inline_chunk_threshold_bytes == 7
    assert config.compression.level == 9
    assert config.caching.num_chunk_refs == 5
    assert config.storage.retries.max_tries == 3
    assert list(config.virtual_chunk_containers) == ["s3://sea/"]
    assert config.manifest.splitting is not None and config.manifest.preload is not None
    icefield("config", "unset", path, "manifest")
    assert reference.open(path).config.inline_chunk_threshold_bytes == 7


@case
def settings_of_the_reference_are_shown(work):
    path = work / "repo"
    config = icechunk.RepositoryConfig.default()
    config.inline_chunk_threshold_bytes = 9
    reference.create(path, config=config).save_config()
    shown = json.loads(icefield("config", "get", path, "--json"))["settings"]
    stored = {one["name"]: one["value"] for one in shown if one["source"] == "stored"}
    assert stored["inline_chunk_threshold_bytes"] == "9", stored
