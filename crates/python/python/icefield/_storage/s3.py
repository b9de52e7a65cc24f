"""Descriptions of buckets of S3, and of services with its protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icefield import _urls
from icefield._checks import truth
from icefield._credentials.forms import identity_of
from icefield._credentials.s3 import AnyS3Credential, S3Credentials
from icefield._exceptions import ErrorKind, StorageError
from icefield._storage.description import Description, HeadersGiven, name_of, prefix_of
from icefield._store_options import ChecksumAlgorithm, S3Options

__all__ = ["hf", "r2", "s3", "tigris"]

_CHECKSUMS = {
    ChecksumAlgorithm.Crc32: "crc32",
    ChecksumAlgorithm.Crc32c: "crc32c",
    ChecksumAlgorithm.Crc64Nvme: "crc64_nvme",
    ChecksumAlgorithm.Sha256: "sha256",
}


def s3(
    config: S3Options,
    bucket: str,
    prefix: str | None,
    credentials: AnyS3Credential | None,
    legacy_rooted_keys: bool | None,
    given: HeadersGiven,
    *,
    kind: str = "S3 (native)",
    endpoint: str | None = None,
    region: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Description:
    """A bucket of S3; `endpoint`, `region` and `extra` override the options for other services."""
    if not isinstance(config, S3Options):
        raise TypeError(f"config is an S3Options, not a {type(config).__name__}")
    endpoint = endpoint or config.endpoint_url
    _urls.checked_endpoint(endpoint, bool(config.allow_http))
    checksum = config.checksum_algorithm
    if checksum is not None and checksum not in _CHECKSUMS:
        raise _urls.refused(
            f"checksum_algorithm {checksum!r} is not supported; use Crc32, Crc32c, Crc64Nvme or Sha256"
        )
    prefix = prefix_of(prefix)
    rooted = legacy_rooted_keys is not None and truth(legacy_rooted_keys, "legacy_rooted_keys")
    if rooted and prefix:
        raise StorageError(
            "legacy_rooted_keys is only for an empty prefix: leave it out",
            ErrorKind.STORAGE_CONFIG,
        )
    if rooted:
        raise _urls.refused(
            "legacy_rooted_keys=True is not supported: keys with a leading slash are not read here. Copy the "
            "objects to keys without one, and leave it out"
        )
    if config.anonymous:
        if credentials is not None and not isinstance(credentials, S3Credentials.Anonymous):
            raise _urls.refused(
                "anonymous is True, and there are credentials; give one of them"
            )
        credentials = S3Credentials.Anonymous()
    who: S3Credentials = S3Credentials.FromEnv() if credentials is None else credentials
    identity, source = identity_of(who, S3Credentials)
    region = region or config.region
    path_style = bool(config.force_path_style) or bool((extra or {}).get("path_style"))
    description = {
        "type": "s3",
        "bucket": name_of(bucket, "bucket"),
        "prefix": prefix,
        "region": region,
        "endpoint": endpoint,
        "allow_http": bool(config.allow_http),
        "path_style": path_style or None,
        "requester_pays": bool(config.requester_pays),
        "checksum": None if checksum is None else _CHECKSUMS[checksum],
        "stall_timeout": config.network_stream_timeout_seconds,
        "read_headers": given.read,
        "write_headers": given.write,
        "credentials": identity,
    } | dict(extra or {})
    shown: dict[str, object] = {
        "type": kind,
        "bucket": bucket,
        "prefix": prefix or None,
        "region": region,
        "endpoint_url": endpoint and _urls.shown(endpoint),
        "force_path_style": path_style or None,
    }
    return Description(description, shown, who, source)


def tigris(
    config: S3Options,
    bucket: str,
    prefix: str | None,
    use_weak_consistency: bool,
    credentials: AnyS3Credential | None,
    legacy_rooted_keys: bool | None,
    given: HeadersGiven,
) -> Description:
    """A bucket of Tigris. Consistent requests go to its region and bypass all caches."""
    use_weak_consistency = truth(use_weak_consistency, "use_weak_consistency")
    if not use_weak_consistency and config.region is None:
        raise StorageError(
            "a bucket of Tigris needs its region, where all reads and writes go so that they are consistent: pass "
            "region=…, or use_weak_consistency=True for reads from the nearest region only",
            ErrorKind.STORAGE_CONFIG,
        )
    extra: dict[str, Any] = {"preset": "tigris", "read_only": use_weak_consistency}
    if not use_weak_consistency:
        here = {"x-tigris-regions": str(config.region)}
        given.read = here | {"cache-control": "no-cache"} | given.read
        given.write = here | given.write
    endpoint = config.endpoint_url or "https://t3.storage.dev"
    return s3(
        config,
        bucket,
        prefix,
        credentials,
        legacy_rooted_keys,
        given,
        endpoint=endpoint,
        extra=extra,
    )


def r2(
    config: S3Options,
    bucket: str | None,
    prefix: str | None,
    account_id: str | None,
    credentials: AnyS3Credential | None,
    legacy_rooted_keys: bool | None,
    given: HeadersGiven,
) -> Description:
    """A bucket of Cloudflare R2, whose name may be the first segment of the prefix."""
    if not bucket:
        bucket, _, prefix = (prefix or "").strip("/").partition("/")
    if not bucket:
        raise StorageError(
            "a bucket of R2 needs its name: pass bucket=…, or prefix='bucket/prefix'",
            ErrorKind.STORAGE_CONFIG,
        )
    endpoint = config.endpoint_url
    if endpoint is None:
        if not account_id:
            raise StorageError(
                "a bucket of R2 needs account_id=… or endpoint_url=…", ErrorKind.STORAGE_CONFIG
            )
        endpoint = f"https://{account_id}.r2.cloudflarestorage.com"
    return s3(
        config,
        bucket,
        prefix,
        credentials,
        legacy_rooted_keys,
        given,
        endpoint=endpoint,
        region=config.region or "auto",
        extra={"preset": "r2", "path_style": True},
    )


def hf(
    config: S3Options,
    bucket: str,
    prefix: str | None,
    namespace: str,
    credentials: AnyS3Credential | None,
    legacy_rooted_keys: bool | None,
    given: HeadersGiven,
) -> Description:
    """A storage bucket of Hugging Face, behind its gateway."""
    if not namespace or namespace.strip("/") != namespace or set("?#@ ") & set(namespace):
        raise _urls.refused(f"namespace {namespace!r} is no name of a user or an organisation")
    return s3(
        config,
        bucket,
        prefix,
        credentials,
        legacy_rooted_keys,
        given,
        endpoint=config.endpoint_url or f"https://s3.hf.co/{namespace}",
        region=config.region or "us-east-1",
        extra={"path_style": True},
    )
