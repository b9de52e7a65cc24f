//! Texts that are no keys, and what lies where.

use icefield_zarr_fs::{GetRange, ReadTree, WriteTree};
use icefield_zarr_fs::{KeyError, NameError, Naming, TEMPORARY, TreeError, TreeKey, TreePrefix};

use crate::world::{dir, get, key, list, names, prefix, set, words, world};

#[test]
fn fs01_texts_that_are_no_keys_or_prefixes() {
    assert_eq!(TreeKey::parse(""), Err(KeyError::Empty));
    for text in ["/", "a/", "/a", "a//b", "//", "a/b//"] {
        let refused = TreeKey::parse(text).unwrap_err();
        assert!(matches!(refused, KeyError::EmptySegment { .. }), "{text}");
    }
    for text in ["/", "//", "/a/", "a//"] {
        assert!(TreePrefix::parse(text).is_err(), "{text}");
    }
    let refused = TreePrefix::parse("a").unwrap_err();
    assert!(matches!(refused, KeyError::NoSlash { .. }));
    assert_eq!(TreePrefix::parse("").unwrap(), TreePrefix::all());
    assert_eq!(prefix("a/b/").segments().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn fs02_dots_that_would_leave_the_base() {
    for text in ["..", ".", "../x", "a/../../x", "a/..", "./a", "a/./b"] {
        let refused = TreeKey::parse(text).unwrap_err();
        assert!(matches!(refused, KeyError::DotSegment { .. }), "{text}");
        assert!(TreePrefix::parse(&format!("{text}/")).is_err(), "{text}");
    }
    for text in ["...", ".a", "a..", "..a/b"] {
        assert!(TreeKey::parse(text).is_ok(), "{text}");
    }
}

#[tokio::test]
async fn fs03_characters_that_mean_something_elsewhere() {
    let nul = TreeKey::parse("a\0b").unwrap_err();
    assert!(matches!(nul, KeyError::Nul { .. }));
    let world = world();
    for name in ["a\\b", "c:x", "tab\tnewline\n", "\u{7f}", "*?<>|\""] {
        set(&world.tree, name, "v").await;
        assert_eq!(get(&world.tree, name).await.as_deref(), Some(&b"v"[..]));
        Naming::Posix.check(&key(name)).unwrap();
    }
    assert_eq!(list(&world.tree, "").await.len(), 5);
    for name in ["a\\b", "c:x", "a\tb", "a*", "a?", "a<", "a>", "a|", "a\""] {
        let refused = Naming::Windows.check(&key(name)).unwrap_err();
        assert!(matches!(refused, NameError::Character { .. }), "{name}");
    }
}

#[test]
fn names_that_windows_cannot_have() {
    for name in [
        "CON",
        "con",
        "x/NUL.txt",
        "aux .c",
        "Com1",
        "lpt9.zarr",
        "COM¹",
    ] {
        let refused = Naming::Windows.check(&key(name)).unwrap_err();
        assert!(matches!(refused, NameError::Reserved { .. }), "{name}");
    }
    for name in ["a.", "a ", "b ./c"] {
        let refused = Naming::Windows.check(&key(name)).unwrap_err();
        assert!(
            matches!(refused, NameError::TrailingDotOrSpace { .. }),
            "{name}"
        );
    }
    for name in ["console", "com10", "c/0/1", ".zarray", "nul_", "0.0"] {
        Naming::Windows.check(&key(name)).unwrap();
    }
    // UTF-16 units, not bytes.
    Naming::Windows.check(&key(&"é".repeat(255))).unwrap();
    Naming::Posix.check(&key(&"é".repeat(128))).unwrap_err();
}

#[test]
fn paths_of_keys_and_keys_of_paths() {
    let table = [
        (Naming::Posix, "/data", "foo/bar", "/data/foo/bar"),
        (Naming::Posix, "/", "foo", "/foo"),
        (Naming::Posix, "/data", "v/0.0", "/data/v/0.0"),
        (Naming::Windows, r"C:\data", "foo/bar", r"C:\data\foo\bar"),
        (Naming::Windows, r"C:\", "foo", r"C:\foo"),
        (
            Naming::Windows,
            r"\\server\share",
            "a/b",
            r"\\server\share\a\b",
        ),
    ];
    for (naming, base, text, path) in table {
        assert_eq!(naming.path(base, &key(text)).unwrap(), path);
        assert_eq!(naming.key(base, path).unwrap(), key(text));
    }
    assert!(Naming::Posix.key("/data", "/database/x").is_err());
    assert!(Naming::Posix.key("/data", "/data").is_err());
    assert!(Naming::Posix.key("/data", "/data/../x").is_err());
    let long = key(&vec!["segment"; 40].join("/"));
    let path = Naming::Windows.path(r"C:\data", &long).unwrap();
    assert!(path.starts_with(r"\\?\C:\data\segment\"), "{path}");
    assert_eq!(Naming::Windows.key(r"C:\data", &path).unwrap(), long);
    let share = Naming::Windows.path(r"\\server\share", &long).unwrap();
    assert!(
        share.starts_with(r"\\?\UNC\server\share\segment"),
        "{share}"
    );
    assert_eq!(
        Naming::Windows.key(r"\\server\share", &share).unwrap(),
        long
    );
}

#[tokio::test]
async fn names_of_temporary_files_are_no_keys() {
    let world = world();
    for name in [
        format!("{TEMPORARY}x"),
        format!("a/{}y", TEMPORARY.to_uppercase()),
    ] {
        let refused = world.tree.set(&key(&name), "v".into()).await.unwrap_err();
        assert!(words(&refused).contains("temporary file"), "{refused}");
        assert!(world.tree.get(&key(&name), GetRange::All).await.is_err());
    }
    assert!(names(world.base()).is_empty());
}

#[tokio::test]
async fn fs04_a_value_and_values_below_it_exclude_each_other() {
    let world = world();
    set(&world.tree, "a", "v").await;
    let refused = world.tree.set(&key("a/b/c"), "w".into()).await.unwrap_err();
    let TreeError::BelowAValue {
        key: lower, parent, ..
    } = &refused
    else {
        panic!("{refused}");
    };
    assert_eq!((lower.as_str(), parent.as_str()), ("a/b/c", "a"));
    assert_eq!(names(world.base()), ["a"]);

    world.tree.erase(&key("a")).await.unwrap();
    set(&world.tree, "a/b", "w").await;
    let new = world.tree.set_if_not_exists(&key("a"), "v".into()).await;
    for refused in [world.tree.set(&key("a"), "v".into()).await.err(), new.err()] {
        let Some(TreeError::AboveKeys {
            key: upper, below, ..
        }) = &refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!((upper.as_str(), below.as_str()), ("a", "a/b"));
    }
    assert_eq!(names(world.base()), ["a", "a/b"]);
    assert_eq!(get(&world.tree, "a/b").await.as_deref(), Some(&b"w"[..]));
}

#[tokio::test]
async fn directories_without_keys_make_room_for_a_value() {
    let world = world();
    std::fs::create_dir_all(world.base().join("a/b/c")).unwrap();
    std::fs::create_dir_all(world.base().join("a/d")).unwrap();
    set(&world.tree, "a", "v").await;
    assert_eq!(names(world.base()), ["a"]);
}

#[tokio::test]
async fn fs05_a_file_where_a_directory_is_expected() {
    let world = world();
    set(&world.tree, "a", "v").await;
    set(&world.tree, "d/e", "v").await;
    for name in ["a/b", "a/b/c", "d", "x", "x/y"] {
        assert_eq!(get(&world.tree, name).await, None, "{name}");
        assert_eq!(world.tree.size(&key(name)).await.unwrap(), None, "{name}");
    }
    for below in ["a/", "a/b/", "x/"] {
        assert!(list(&world.tree, below).await.is_empty());
        assert_eq!(dir(&world.tree, below).await, (vec![], vec![]));
    }
}
