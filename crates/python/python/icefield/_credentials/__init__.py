"""Credentials of storages, one file per service."""
