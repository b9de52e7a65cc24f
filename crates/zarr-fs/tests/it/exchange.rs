//! Trees and zip files of other programs, and ours byte for byte.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use icefield_zarr_fs::{Bytes, DirectoryTree, ReadTree, TreePrefix, WriteTree};
use icefield_zarr_fs::{ZipLayout, ZipTree, ZipWriter};

use crate::world::{get, key, list, prefix, world};

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// All of a tree.
async fn content(tree: &dyn ReadTree) -> BTreeMap<String, Bytes> {
    let mut content = BTreeMap::new();
    for name in list(tree, "").await {
        let value = get(tree, &name).await.unwrap();
        content.insert(name, value);
    }
    content
}

#[tokio::test]
async fn fs24_a_directory_copied_by_us_is_the_same_byte_for_byte() {
    for name in ["zarr-python-v3-dir", "zarr-python-v2-dir"] {
        let theirs = DirectoryTree::open(fixture(name)).unwrap();
        let world = world();
        let content = content(&theirs).await;
        assert!(content.len() > 20);
        for (name, value) in &content {
            world.tree.set(&key(name), value.clone()).await.unwrap();
        }
        let same = std::process::Command::new("diff")
            .arg("-r")
            .args([fixture(name), world.base().to_owned()])
            .status();
        assert!(same.unwrap().success(), "{name}");
    }
}

#[tokio::test]
async fn fs24_zip_files_of_zarr_python_hold_what_its_directories_hold() {
    for format in ["v2", "v3"] {
        let zip = ZipTree::open(fixture(&format!("zarr-python-{format}.zip"))).unwrap();
        assert_eq!(zip.layout(), &ZipLayout::Flat);
        let directory = fixture(&format!("zarr-python-{format}-dir"));
        let directory = DirectoryTree::open(directory).unwrap();
        let zip = content(&zip).await;
        for (name, value) in content(&directory).await {
            assert_eq!(zip[&name], value, "{name}");
        }
    }
}

#[tokio::test]
async fn the_top_folder_of_netcdf_is_left_out() {
    for (name, keys) in [("attrs", 5), ("chunks", 34), ("groups", 20)] {
        let zip = ZipTree::open(fixture(&format!("netcdf-c-{name}.zip"))).unwrap();
        assert_eq!(zip.layout(), &ZipLayout::TopFolder(prefix("data/")));
        let listed = list(&zip, "").await;
        assert_eq!(listed.len(), keys, "{name}: {listed:?}");
        let root = get(&zip, ".zgroup").await.unwrap();
        assert!(root.starts_with(b"{"));
        // As it is in the file, when that is wanted.
        let builder = ZipTree::builder(zip.path()).layout(ZipLayout::Flat);
        let flat = builder.open().unwrap();
        assert_eq!(get(&flat, "data/.zgroup").await.unwrap(), root);
        assert_eq!(get(&flat, ".zgroup").await, None);
    }
}

#[tokio::test]
async fn deflated_flat_files_are_read() {
    let zip = ZipTree::open(fixture("zipped-nczarr-groups.zip")).unwrap();
    assert_eq!(zip.layout(), &ZipLayout::Flat);
    let children = zip.children(&TreePrefix::all()).await.unwrap();
    assert!(children.keys.contains(&key(".zgroup")));
    assert!(!children.prefixes.is_empty());
    for (name, value) in content(&zip).await {
        assert_eq!(
            zip.size(&key(&name)).await.unwrap(),
            Some(value.len() as u64)
        );
    }
}

#[tokio::test]
async fn a_copy_in_a_zip_file_of_ours_is_the_same_in_both_layouts() {
    let theirs = ZipTree::open(fixture("netcdf-c-groups.zip")).unwrap();
    let theirs = content(&theirs).await;
    let world = world();
    for layout in [ZipLayout::Flat, ZipLayout::TopFolder(prefix("other/"))] {
        let path = world.outer.path().join("copy.zip");
        let mut zip = ZipWriter::create(&path, layout.clone()).await.unwrap();
        for (name, value) in &theirs {
            zip.add(&key(name), value.clone()).await.unwrap();
        }
        zip.finish().await.unwrap();
        let ours = ZipTree::open(&path).unwrap();
        assert_eq!(ours.layout(), &layout);
        assert_eq!(content(&ours).await, theirs);
    }
}
