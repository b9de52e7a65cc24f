"""Who asks a storage, one file for each service."""
