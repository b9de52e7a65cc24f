"""The functions that create storages of S3, and of services with its protocol."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from icefield._credentials.s3 import S3StaticCredentials, s3_credentials
from icefield._storage import Storage
from icefield._store_options import ChecksumAlgorithm, S3Options

__all__ = [
    "hf_storage",
    "r2_storage",
    "s3_object_store_storage",
    "s3_storage",
    "tigris_storage",
]


def s3_storage(
    *,
    bucket: str,
    prefix: str | None,
    region: str | None = None,
    endpoint_url: str | None = None,
    allow_http: bool = False,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    session_token: str | None = None,
    expires_after: datetime | None = None,
    anonymous: bool | None = None,
    from_env: bool | None = None,
    get_credentials: Callable[[], S3StaticCredentials] | None = None,
    scatter_initial_credentials: bool = False,
    force_path_style: bool = False,
    network_stream_timeout_seconds: int = 60,
    requester_pays: bool = False,
    checksum_algorithm: ChecksumAlgorithm | None = None,
    legacy_rooted_keys: bool | None = None,
    read_headers: dict[str, str] | None = None,
    write_headers: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> Storage:
    """A bucket of S3, or of a server with its protocol.

    - `bucket`, `prefix`: the repository is below `prefix` in the bucket; at its root if that is empty or None.
    - `region`, `endpoint_url`: where the bucket is; those of the environment if None. An endpoint without TLS needs
      `allow_http=True`. With an endpoint, the bucket is in the path of URLs; `force_path_style` puts it there always.
    - credentials: a key (`access_key_id`, `secret_access_key`, and `session_token` and `expires_after` of a temporary
      one), `anonymous`, `from_env`, or a function `get_credentials`, see `icefield.s3_refreshable_credentials`. If
      nothing is given, those of the environment.
    - `network_stream_timeout_seconds`: how long a body may stall; 0 for no limit.
    - `requester_pays`: agrees to pay for requests.
    - `checksum_algorithm`: uploads carry this digest. Sha1 is refused.
    - `legacy_rooted_keys`: True, for keys that begin with a slash, is refused.
    - `headers` are sent with each request, `read_headers` and `write_headers` with those that read and write.

    Raises `InvalidInputError`, a `ValueError`, for invalid or contradictory arguments.
    """
    credentials = s3_credentials(
        access_key_id=access_key_id,
        secret_access_key=secret_access_key,
        session_token=session_token,
        expires_after=expires_after,
        anonymous=anonymous,
        from_env=from_env,
        get_credentials=get_credentials,
        scatter_initial_credentials=scatter_initial_credentials,
    )
    config = S3Options(
        region=region,
        endpoint_url=endpoint_url,
        allow_http=allow_http,
        anonymous=bool(anonymous),
        force_path_style=force_path_style,
        network_stream_timeout_seconds=network_stream_timeout_seconds,
        requester_pays=requester_pays,
        checksum_algorithm=checksum_algorithm,
    )
    return Storage.new_s3(
        config,
        bucket,
        prefix,
        credentials,
        legacy_rooted_keys,
        read_headers=read_headers,
        write_headers=write_headers,
        headers=headers,
    )


def s3_object_store_storage(
    *,
    bucket: str,
    prefix: str | None,
    region: str | None = None,
    endpoint_url: str | None = None,
    allow_http: bool = False,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    session_token: str | None = None,
    expires_after: datetime | None = None,
    anonymous: bool | None = None,
    from_env: bool | None = None,
    force_path_style: bool = False,
    read_headers: dict[str, str] | None = None,
    write_headers: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> Storage:
    """The same as `s3_storage`: this package has one client of S3."""
    credentials = s3_credentials(
        access_key_id=access_key_id,
        secret_access_key=secret_access_key,
        session_token=session_token,
        expires_after=expires_after,
        anonymous=anonymous,
        from_env=from_env,
    )
    config = S3Options(
        region=region,
        endpoint_url=endpoint_url,
        allow_http=allow_http,
        anonymous=bool(anonymous),
        force_path_style=force_path_style,
    )
    return Storage.new_s3_object_store(
        config,
        bucket,
        prefix,
        credentials,
        read_headers=read_headers,
        write_headers=write_headers,
        headers=headers,
    )


def tigris_storage(
    *,
    bucket: str,
    prefix: str | None,
    region: str | None = None,
    endpoint_url: str | None = None,
    use_weak_consistency: bool = False,
    allow_http: bool = False,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    session_token: str | None = None,
    expires_after: datetime | None = None,
    anonymous: bool | None = None,
    from_env: bool | None = None,
    get_credentials: Callable[[], S3StaticCredentials] | None = None,
    scatter_initial_credentials: bool = False,
    network_stream_timeout_seconds: int = 60,
    checksum_algorithm: ChecksumAlgorithm | None = None,
    legacy_rooted_keys: bool | None = None,
    read_headers: dict[str, str] | None = None,
    write_headers: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> Storage:
    """A bucket of Tigris.

    All reads and writes go to `region`, so that they are consistent. With `use_weak_consistency`,
    they go to the nearest region, which may not have the newest objects: such a storage is
    read-only. The other arguments are those of `s3_storage`.
    """
    credentials = s3_credentials(
        access_key_id=access_key_id,
        secret_access_key=secret_access_key,
        session_token=session_token,
        expires_after=expires_after,
        anonymous=anonymous,
        from_env=from_env,
        get_credentials=get_credentials,
        scatter_initial_credentials=scatter_initial_credentials,
    )
    config = S3Options(
        region=region,
        endpoint_url=endpoint_url,
        allow_http=allow_http,
        anonymous=bool(anonymous),
        network_stream_timeout_seconds=network_stream_timeout_seconds,
        checksum_algorithm=checksum_algorithm,
    )
    return Storage.new_tigris(
        config,
        bucket,
        prefix,
        use_weak_consistency,
        credentials,
        legacy_rooted_keys,
        read_headers=read_headers,
        write_headers=write_headers,
        headers=headers,
    )


def r2_storage(
    *,
    bucket: str | None = None,
    prefix: str | None = None,
    account_id: str | None = None,
    endpoint_url: str | None = None,
    region: str | None = None,
    allow_http: bool = False,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    session_token: str | None = None,
    expires_after: datetime | None = None,
    anonymous: bool | None = None,
    from_env: bool | None = None,
    get_credentials: Callable[[], S3StaticCredentials] | None = None,
    scatter_initial_credentials: bool = False,
    network_stream_timeout_seconds: int = 60,
    checksum_algorithm: ChecksumAlgorithm | None = None,
    legacy_rooted_keys: bool | None = None,
    read_headers: dict[str, str] | None = None,
    write_headers: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> Storage:
    """A bucket of Cloudflare R2.

    The endpoint is `endpoint_url`, or that of the account `account_id`; one of them is required.
    Without `bucket`, the first segment of `prefix` is the bucket. The other arguments are those of
    `s3_storage`.
    """
    credentials = s3_credentials(
        access_key_id=access_key_id,
        secret_access_key=secret_access_key,
        session_token=session_token,
        expires_after=expires_after,
        anonymous=anonymous,
        from_env=from_env,
        get_credentials=get_credentials,
        scatter_initial_credentials=scatter_initial_credentials,
    )
    config = S3Options(
        region=region,
        endpoint_url=endpoint_url,
        allow_http=allow_http,
        anonymous=bool(anonymous),
        network_stream_timeout_seconds=network_stream_timeout_seconds,
        checksum_algorithm=checksum_algorithm,
    )
    return Storage.new_r2(
        config,
        bucket,
        prefix,
        account_id,
        credentials,
        legacy_rooted_keys,
        read_headers=read_headers,
        write_headers=write_headers,
        headers=headers,
    )


def hf_storage(
    *,
    bucket: str,
    prefix: str | None,
    namespace: str,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    session_token: str | None = None,
    expires_after: datetime | None = None,
    from_env: bool | None = None,
    get_credentials: Callable[[], S3StaticCredentials] | None = None,
    scatter_initial_credentials: bool = False,
    network_stream_timeout_seconds: int = 60,
    legacy_rooted_keys: bool | None = None,
    read_headers: dict[str, str] | None = None,
    write_headers: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> Storage:
    """A storage bucket of Hugging Face, through its gateway for S3, which keeps no user metadata.

    `namespace` is the user or organisation. The key is a key for S3, not an access token. The other
    arguments are those of `s3_storage`.
    """
    credentials = s3_credentials(
        access_key_id=access_key_id,
        secret_access_key=secret_access_key,
        session_token=session_token,
        expires_after=expires_after,
        from_env=from_env,
        get_credentials=get_credentials,
        scatter_initial_credentials=scatter_initial_credentials,
    )
    config = S3Options(network_stream_timeout_seconds=network_stream_timeout_seconds)
    return Storage.new_hf(
        config,
        bucket,
        prefix,
        namespace,
        credentials,
        legacy_rooted_keys,
        read_headers=read_headers,
        write_headers=write_headers,
        headers=headers,
    )
