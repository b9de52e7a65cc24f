"""Constructors of storages as class methods, one for each service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from icefield._credentials.azure import AnyAzureCredential
from icefield._credentials.gcs import AnyGcsCredential
from icefield._credentials.s3 import AnyS3Credential
from icefield._storage import s3, services
from icefield._storage.description import Description, Headers, HeadersGiven
from icefield._store_options import S3Options

if TYPE_CHECKING:
    from icefield._storage.storage import Storage


class _Constructors:
    __slots__ = ()

    @classmethod
    def _made(cls, description: Description) -> Storage:
        raise NotImplementedError

    @classmethod
    def new_in_memory(cls) -> Storage:
        """A new, empty storage in the memory of this process. Its contents are lost when the last
        reference to it is dropped.
        """
        return cls._made(services.memory())

    @classmethod
    def new_local_filesystem(
        cls, path: str, *, locks: Literal["detect", "trusted"] = "detect"
    ) -> Storage:
        """A directory, created at the first write; see `icefield.local_filesystem_storage`."""
        return cls._made(services.local(path, locks))

    @classmethod
    def new_s3(
        cls,
        config: S3Options,
        bucket: str,
        prefix: str | None,
        credentials: AnyS3Credential | None = None,
        legacy_rooted_keys: bool | None = None,
        *,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """A bucket of S3, or of a server with its protocol; see `icefield.s3_storage`."""
        given = HeadersGiven(headers, read_headers, write_headers)
        return cls._made(
            s3.s3(config, bucket, prefix, credentials, legacy_rooted_keys, given)
        )

    @classmethod
    def new_s3_object_store(
        cls,
        config: S3Options,
        bucket: str,
        prefix: str | None,
        credentials: AnyS3Credential | None = None,
        *,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """The same as `new_s3`: this package has one client of S3."""
        given = HeadersGiven(headers, read_headers, write_headers)
        kind = "S3 (object store)"
        return cls._made(s3.s3(config, bucket, prefix, credentials, None, given, kind=kind))

    @classmethod
    def new_tigris(
        cls,
        config: S3Options,
        bucket: str,
        prefix: str | None,
        use_weak_consistency: bool,
        credentials: AnyS3Credential | None = None,
        legacy_rooted_keys: bool | None = None,
        *,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """A bucket of Tigris; see `icefield.tigris_storage`."""
        given = HeadersGiven(headers, read_headers, write_headers)
        return cls._made(
            s3.tigris(
                config,
                bucket,
                prefix,
                use_weak_consistency,
                credentials,
                legacy_rooted_keys,
                given,
            )
        )

    @classmethod
    def new_r2(
        cls,
        config: S3Options,
        bucket: str | None = None,
        prefix: str | None = None,
        account_id: str | None = None,
        credentials: AnyS3Credential | None = None,
        legacy_rooted_keys: bool | None = None,
        *,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """A bucket of Cloudflare R2; see `icefield.r2_storage`."""
        given = HeadersGiven(headers, read_headers, write_headers)
        return cls._made(
            s3.r2(config, bucket, prefix, account_id, credentials, legacy_rooted_keys, given)
        )

    @classmethod
    def new_hf(
        cls,
        config: S3Options,
        bucket: str,
        prefix: str | None,
        namespace: str,
        credentials: AnyS3Credential | None = None,
        legacy_rooted_keys: bool | None = None,
        *,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """A storage bucket of Hugging Face; see `icefield.hf_storage`."""
        given = HeadersGiven(headers, read_headers, write_headers)
        return cls._made(
            s3.hf(config, bucket, prefix, namespace, credentials, legacy_rooted_keys, given)
        )

    @classmethod
    def new_gcs(
        cls,
        bucket: str,
        prefix: str | None,
        credentials: AnyGcsCredential | None = None,
        *,
        config: dict[str, str] | None = None,
        read_headers: Headers = None,
        write_headers: Headers = None,
        headers: Headers = None,
    ) -> Storage:
        """A bucket of Google Cloud Storage; see `icefield.gcs_storage`."""
        given = {"headers": headers, "read_headers": read_headers, "write_headers": write_headers}
        return cls._made(services.gcs(bucket, prefix, credentials, config, given))

    @classmethod
    def new_azure_blob(
        cls,
        account: str,
        container: str,
        prefix: str,
        credentials: AnyAzureCredential | None = None,
        *,
        config: dict[str, str] | None = None,
    ) -> Storage:
        """A container of Azure Blob Storage; see `icefield.azure_storage`."""
        return cls._made(services.azure(account, container, prefix, credentials, config))

    @classmethod
    def new_http(
        cls,
        base_url: str,
        config: dict[str, str] | None = None,
        headers: Headers = None,
    ) -> Storage:
        """A read-only storage of the files below a URL of a web server; see `icefield.http_storage`."""
        return cls._made(services.http(base_url, config, headers))

    @classmethod
    def new_redirect(cls, base_url: str) -> Storage:
        """The storage that a web server redirects to; see `icefield.redirect_storage`."""
        return cls._made(services.redirect(base_url))
