//! References in Parquet files.
