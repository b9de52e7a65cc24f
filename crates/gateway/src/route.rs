//! The meaning of a path. Everything but versions lies below `/-/`, which no ref hides: a branch called `-` is `branch:-`.

/// A view of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Zarr v3, groups with consolidated metadata: `/REF/…`.
    V3,
    /// Zarr v2: `/-/v2/REF/…`.
    V2,
    /// Zarr v3 as it is stored: `/-/raw/REF/…`.
    Stored,
}

impl View {
    /// The word for metrics and logs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::V3 => "v3",
            Self::V2 => "v2",
            Self::Stored => "raw",
        }
    }
}

/// The meaning of a path within a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// The list of versions.
    Versions,
    /// Something of a version.
    Data {
        view: View,
        version: &'a str,
        key: &'a [&'a str],
    },
    /// The snapshot of a version.
    Resolve { version: &'a str },
    /// A file of the repository.
    RepositoryFile { key: &'a [&'a str] },
    /// Nothing.
    Nothing,
}

impl<'a> Route<'a> {
    /// Reads the segments behind the base of a repository.
    pub(crate) fn of(segments: &'a [&'a str]) -> Self {
        match segments {
            [] => Self::Versions,
            ["-", "v2", version, key @ ..] => Self::Data {
                view: View::V2,
                version,
                key,
            },
            ["-", "raw", version, key @ ..] => Self::Data {
                view: View::Stored,
                version,
                key,
            },
            ["-", "resolve", version] => Self::Resolve { version },
            ["-", "repo", key @ ..] => Self::RepositoryFile { key },
            ["-", ..] => Self::Nothing,
            [version, key @ ..] => Self::Data {
                view: View::V3,
                version,
                key,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_the_first_segment_and_the_rest_is_ours() {
        let data = |view, version, key| Route::Data { view, version, key };
        assert_eq!(Route::of(&["main"]), data(View::V3, "main", &[]));
        assert_eq!(
            Route::of(&["explore", "a"]),
            data(View::V3, "explore", &["a"])
        );
        assert_eq!(
            Route::of(&["branch:-", "a"]),
            data(View::V3, "branch:-", &["a"])
        );
        assert_eq!(
            Route::of(&["-", "v2", "x", "a", "b"]),
            data(View::V2, "x", &["a", "b"])
        );
        assert_eq!(Route::of(&["-", "raw", "x"]), data(View::Stored, "x", &[]));
        assert_eq!(
            Route::of(&["-", "resolve", "x"]),
            Route::Resolve { version: "x" }
        );
        assert_eq!(Route::of(&["-", "else"]), Route::Nothing);
        assert_eq!(Route::of(&["-"]), Route::Nothing);
        assert_eq!(Route::of(&[]), Route::Versions);
    }
}
