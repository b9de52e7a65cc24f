//! URIs of directories.

use icefield_zarr_fs::Naming::{Posix, Windows};
use icefield_zarr_fs::UriError;

use crate::world::world;

#[test]
fn fs23_canonical_uris_are_printed_and_parsed() {
    let table = [
        (Posix, "/my data", "file:///my%20data"),
        (Posix, "/ż%#?", "file:///%C5%BC%25%23%3F"),
        (Posix, "/", "file:///"),
        (Posix, "/a%20b", "file:///a%2520b"),
        (Posix, "/a:b@c,d(e)~f", "file:///a:b@c,d(e)~f"),
        (Posix, "/a\\b", "file:///a%5Cb"),
        (Posix, "/a\nb", "file:///a%0Ab"),
        (Windows, r"c:\my data", "file:///c:/my%20data"),
        (Windows, r"C:\", "file:///C:/"),
        (Windows, r"\\server\share\x y", "file://server/share/x%20y"),
    ];
    for (naming, path, uri) in table {
        assert_eq!(naming.file_uri(path).unwrap(), uri);
        assert_eq!(naming.path_of(uri).unwrap(), path);
    }
}

#[test]
fn fs23_other_ways_to_say_it_are_understood() {
    let table = [
        (Posix, "file:/p", "/p"),
        (Posix, "file://localhost/p", "/p"),
        (Posix, "FILE://LocalHost/p", "/p"),
        (Posix, "file:///a%2fb", "refused"),
        (Posix, "/my%20data", "/my%20data"),
        (Posix, "my data", "my data"),
        (Posix, "./a?b#c", "./a?b#c"),
        (Posix, "a:b", "a:b"),
        (Posix, "C://x", "refused"),
        (Windows, "file:///c|/x", r"c:\x"),
        (Windows, "file:/c:/x", r"c:\x"),
        (Windows, "file:c:/x", r"c:\x"),
        (Windows, "file:////server/share/x", r"\\server\share\x"),
        (Windows, r"c:\x%20y", r"c:\x%20y"),
    ];
    for (naming, text, path) in table {
        match path {
            "refused" => assert!(naming.path_of(text).is_err(), "{text}"),
            path => assert_eq!(naming.path_of(text).unwrap(), path, "{text}"),
        }
    }
}

#[test]
fn fs23_what_is_no_uri_of_a_directory_here() {
    let refusal = |naming: icefield_zarr_fs::Naming, text: &str| naming.path_of(text).unwrap_err();
    let host = refusal(Posix, "file://elsewhere/p");
    assert!(matches!(host, UriError::Host { .. }), "{host}");
    for text in ["", "file:", "file://", "file://localhost"] {
        let empty = refusal(Posix, text);
        assert!(matches!(empty, UriError::Empty { .. }), "{text}: {empty}");
    }
    for text in ["file:p", "file:p/q"] {
        let relative = refusal(Posix, text);
        assert!(
            matches!(relative, UriError::Relative { .. }),
            "{text}: {relative}"
        );
    }
    for text in ["file:///a%2Fb", "file:///a%00b"] {
        let taken = refusal(Posix, text);
        assert!(
            matches!(taken, UriError::Character { .. }),
            "{text}: {taken}"
        );
    }
    assert!(Posix.path_of("file:///a%5Cb").is_ok());
    assert!(Windows.path_of("file:///c:/a%5Cb").is_err());
    assert!(Windows.path_of("file:///x/y").is_err());
    for text in ["file:///a?b", "file:///a#b"] {
        let query = refusal(Posix, text);
        assert!(
            matches!(query, UriError::QueryOrFragment { .. }),
            "{text}: {query}"
        );
    }
    for text in ["file:///a%", "file:///a%2", "file:///a%zz", "file:///%ff"] {
        let bad = refusal(Posix, text);
        assert!(matches!(bad, UriError::Encoding { .. }), "{text}: {bad}");
    }
    let scheme = refusal(Posix, "s3://bucket/x");
    assert!(matches!(scheme, UriError::Scheme { .. }), "{scheme}");
    assert!(Posix.file_uri("relative").is_err());
    assert!(Windows.file_uri(r"\x").is_err());
}

#[test]
fn a_tree_tells_its_uri() {
    let world = world();
    let uri = world.tree.uri().unwrap();
    assert_eq!(Posix.path_of(&uri).unwrap(), world.base().to_str().unwrap());
}
