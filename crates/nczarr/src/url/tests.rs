//! Combinations of words and forms, and what they mean; each must mean the same once it was written again.

use super::*;

/// The format, the storage and whether names of dimensions count, in short.
fn triple(text: &str) -> Result<String, UrlError> {
    let url = DatasetUrl::parse(text)?;
    let again = url.to_string();
    assert_eq!(
        DatasetUrl::parse(&again),
        Ok(url.clone()),
        "{text} as {again}"
    );
    let format = match url.format {
        Some(Format::NcZarr) => "nczarr",
        Some(Format::Zarr) => "zarr",
        Some(Format::Bytes) => "bytes",
        None => "none",
    };
    let store = match url.store {
        Store::File => "file",
        Store::Zip => "zip",
        Store::S3 => "s3",
        Store::Http => "http",
    };
    let xarray = if url.xarray { "names" } else { "no names" };
    Ok(format!("{format} {store} {xarray}"))
}

#[test]
fn combinations_of_words() {
    // As netCDF-C 4.10.1 resolves them, where it does not ignore or lose a word.
    for (fragment, expected) in [
        ("", "none file names"),
        ("#", "none file names"),
        ("#mode=file", "none file names"),
        ("#mode=zip", "none zip names"),
        ("#log", "none file names"),
        ("#mode=nczarr", "nczarr file names"),
        ("#mode=nczarr,file", "nczarr file names"),
        ("#mode=file,nczarr", "nczarr file names"),
        ("#mode=nczarr&mode=file", "nczarr file names"),
        ("#log&mode=nczarr,file&show=fetch", "nczarr file names"),
        ("#mode=nczarr,zip", "nczarr zip names"),
        ("#mode=nczarr,consolidated", "nczarr file names"),
        ("#mode=nczarr,v2", "nczarr file names"),
        ("#mode=zarr", "zarr file names"),
        ("#mode=zarr,file", "zarr file names"),
        ("#mode=zarr,nczarr,file", "zarr file names"),
        ("#mode=nczarr,zarr", "zarr file names"),
        ("#mode=zarr,zip", "zarr zip names"),
        ("#mode=zarr,v3", "zarr file names"),
        ("#mode=xarray", "zarr file names"),
        ("#mode=nczarr,xarray", "zarr file names"),
        ("#mode=noxarray", "zarr file no names"),
        ("#mode=nczarr,noxarray", "zarr file no names"),
        ("#mode=xarray,noxarray", "zarr file no names"),
        ("#mode=zarr&mode=noxarray", "zarr file no names"),
        ("#zarr", "zarr file names"),
        ("#xarray", "zarr file names"),
        ("#noxarray", "zarr file no names"),
        ("#zarr&mode=zip", "zarr zip names"),
        ("#mode=bytes", "bytes file names"),
        ("#bytes", "bytes file names"),
        ("#mode=bytes,nczarr", "bytes file names"),
        ("#mode=zarr,bytes", "bytes file names"),
        ("#mode=bytes,noxarray", "bytes file no names"),
    ] {
        let text = format!("file:///data/sea.zarr{fragment}");
        assert_eq!(triple(&text).as_deref(), Ok(expected), "{fragment}");
    }
}

#[test]
fn combinations_with_buckets_and_servers() {
    for (text, expected) in [
        ("s3://b/k", "none s3 names"),
        ("s3://b/k#mode=nczarr", "nczarr s3 names"),
        ("s3://b/k#mode=zarr,s3", "zarr s3 names"),
        ("s3://b/k#noxarray", "zarr s3 no names"),
        ("s3://b/k.nc#mode=bytes", "bytes s3 names"),
        ("gs3://b/k#mode=nczarr", "nczarr s3 names"),
        (
            "https://b.s3.eu-west-1.amazonaws.com/k#s3",
            "nczarr s3 names",
        ),
        (
            "https://s3.eu-west-1.amazonaws.com/b/k#mode=zarr",
            "zarr s3 names",
        ),
        (
            "http://localhost:9000/b/k#mode=nczarr,s3",
            "nczarr s3 names",
        ),
        ("https://example.org/f.nc#mode=bytes", "bytes http names"),
        (
            "https://s3.amazonaws.com/b/f.nc#mode=bytes",
            "bytes http names",
        ),
        ("https://example.org/f.nc?a=1&b", "none http names"),
        ("/data/sea.zarr", "none file names"),
    ] {
        assert_eq!(triple(text).as_deref(), Ok(expected), "{text}");
    }
}

fn s3(text: &str) -> S3Place {
    assert!(triple(text).is_ok(), "{text}");
    match DatasetUrl::parse(text).unwrap().place {
        DatasetLocation::S3(place) => place,
        other => panic!("{text} is {other:?}"),
    }
}

#[test]
fn all_forms_of_one_key_are_one_place() {
    let place = S3Place {
        bucket: "b.example".to_owned(),
        key: "a/sea.zarr".to_owned(),
        region: Some("eu-west-1".to_owned()),
        ..S3Place::default()
    };
    for text in [
        "https://s3.eu-west-1.amazonaws.com/b.example/a/sea.zarr#mode=nczarr,s3",
        "https://s3.eu-west-1.amazonaws.com/b.example/a/sea.zarr/#mode=nczarr",
        "https://b.example.s3.eu-west-1.amazonaws.com/a/sea.zarr#mode=nczarr,s3",
        "https://b.example.s3.amazonaws.com/a/sea.zarr#mode=nczarr,s3&aws.region=eu-west-1",
        "https://s3.amazonaws.com/b.example/a/sea.zarr#mode=nczarr&aws.region=eu-west-1",
        "s3://b.example/a/sea.zarr#mode=nczarr&aws.region=eu-west-1",
        "s3://b.example/a/sea.zarr#mode=nczarr,s3&awsregion=eu-west-1",
        "s3://s3.eu-west-1.amazonaws.com/b.example/a/sea.zarr#mode=nczarr",
    ] {
        assert_eq!(s3(text), place, "{text}");
        let url = DatasetUrl::parse(text).unwrap();
        assert_eq!(
            url.to_string(),
            "https://s3.eu-west-1.amazonaws.com/b.example/a/sea.zarr#mode=nczarr,s3"
        );
    }
    // A whole bucket, without a region.
    let whole = s3("https://b.s3.amazonaws.com#mode=zarr");
    assert_eq!((&*whole.bucket, &*whole.key, whole.region), ("b", "", None));
}

#[test]
fn other_providers_and_servers() {
    let google = s3("https://b.storage.googleapis.com/k#mode=nczarr,gs3");
    assert_eq!(google, s3("https://storage.googleapis.com/b/k#mode=nczarr"));
    assert_eq!(google, s3("gs3://b/k#mode=nczarr"));
    assert_eq!(google.provider, Provider::Google);
    let own = s3("http://localhost:9000/b/k/l#mode=nczarr,s3&aws.profile=me&aws.region=here");
    assert_eq!(own.endpoint.as_deref(), Some("http://localhost:9000"));
    assert_eq!((&*own.bucket, &*own.key), ("b", "k/l"));
    assert_eq!(own.profile.as_deref(), Some("me"));
    assert_eq!(own.region.as_deref(), Some("here"));
}

#[test]
fn paths_are_taken_letter_by_letter() {
    for (text, path) in [
        ("file:///a/b%20c#mode=nczarr", "/a/b%20c"),
        ("file:///a b#mode=nczarr", "/a b"),
        ("file://name#mode=nczarr", "name"),
        ("file://./n/m;p@q:r#mode=nczarr", "./n/m;p@q:r"),
        ("file:///a?q#mode=nczarr", "/a"),
        ("file:///a/#mode=nczarr", "/a/"),
        ("file://s3://b", "s3://b"),
        ("a#mode=nczarr,file", "a#mode=nczarr,file"),
        ("1://b#zarr", "1://b#zarr"),
        (r"C:\data", r"C:\data"),
    ] {
        let url = DatasetUrl::parse(text).unwrap();
        assert_eq!(url.place, DatasetLocation::File(path.to_owned()), "{text}");
        assert_eq!(DatasetUrl::parse(&url.to_string()), Ok(url), "{text}");
    }
    // No format in what is only a path.
    assert_eq!(
        DatasetUrl::parse("a#mode=nczarr,file").unwrap().format,
        None
    );
}

#[test]
fn other_keys_are_kept_in_order() {
    let url = DatasetUrl::parse("file://a#log&mode=zarr,v3,consolidated&show=fetch&x=a=b").unwrap();
    let own = |key: &str, value: Option<&str>| (key.to_owned(), value.map(str::to_owned));
    let keys = [
        own("log", None),
        own("show", Some("fetch")),
        own("x", Some("a=b")),
    ];
    assert_eq!(url.keys, keys);
    assert!(url.consolidated);
    assert_eq!(url.version, Some(ZarrVersion::V3));
    assert_eq!(
        url.to_string(),
        "file://a#mode=zarr,file,consolidated,v3&log&show=fetch&x=a=b"
    );
    // A profile means nothing to a directory, and is not lost.
    let url = DatasetUrl::parse("file://a#mode=zarr&aws.profile=me").unwrap();
    assert_eq!(url.keys, [own("aws.profile", Some("me"))]);
}

#[test]
fn what_a_path_is_written_as() {
    let url = |path, zipped| DatasetUrl::file(path, Format::NcZarr, zipped);
    let text = |path, zipped| url(path, zipped).unwrap().to_string();
    assert_eq!(
        text("/a b/c%20d", false),
        "file:///a b/c%20d#mode=nczarr,file"
    );
    assert_eq!(text("a.zip", true), "file://a.zip#mode=nczarr,zip");
    assert_eq!(DatasetUrl::parse(&text("a.zip", true)), url("a.zip", true));
    assert_eq!(
        url("/a#b", false),
        Err(UrlError::Unwritable {
            path: "/a#b".to_owned(),
            character: '#'
        })
    );
    assert_eq!(url("", false), Err(UrlError::NoPath));
}

#[test]
fn what_cannot_be_meant() {
    let refused = |text: &str| DatasetUrl::parse(text).unwrap_err().to_string();
    for (text, part) in [
        ("", "names no path"),
        ("file://#mode=nczarr", "names no path"),
        ("file:name#mode=nczarr", "write file://name#mode=nczarr"),
        ("file:/data", "write file:///data"),
        ("FILE://a", "`FILE`"),
        ("ftp://a/b", "`ftp`"),
        ("file://a#mode=nczarr,frob", "\"frob\""),
        ("file://a#mode=NCZARR", "\"NCZARR\""),
        ("file://a#mode=nczarr, file", "\" file\""),
        ("file://a#mode=nczarr,", "\"\""),
        ("file://a#mode=", "no words"),
        ("file://a#mode", "no words"),
        ("file://a#nczarr,file", "write mode=nczarr,file"),
        ("file://a#zarr,file", "write mode=zarr,file"),
        ("file://a#zip", "write mode=zip"),
        ("file://a#b#mode=nczarr", "#"),
        ("file://a#mode=nczarr,file,zip", "`file` in mode and `zip`"),
        ("file://a#mode=bytes,zip", "contradict"),
        ("file://a#mode=zarr,v2,v3", "contradict"),
        ("file://a#mode=nczarr,s3", "a `file://` URL and `s3`"),
        ("file://a#s3", "contradict"),
        ("s3://b/k#mode=nczarr,file", "the scheme `s3` and `file`"),
        ("s3://b/k#mode=nczarr,gs3", "contradict"),
        ("https://h/b/k#mode=nczarr,zip", "contradict"),
        (
            "https://storage.googleapis.com/b#mode=nczarr,s3",
            "contradict",
        ),
        ("https://h/b/k#mode=nczarr", "h is no host of S3"),
        ("https:///b/k#mode=nczarr,s3", "no host"),
        (
            "https://ec2.eu.amazonaws.com/b#mode=nczarr,s3",
            "is not a host of S3",
        ),
        ("s3://", "no bucket"),
        ("s3:///k", "no bucket"),
        (
            "https://s3.eu-west-1.amazonaws.com#mode=nczarr",
            "no bucket",
        ),
        (
            "s3://b/k#aws.region=a&aws.region=b",
            "the region a and `aws.region=b`",
        ),
        (
            "https://b.s3.eu.amazonaws.com/k#mode=zarr&aws.region=us",
            "contradict",
        ),
        ("https://me:secret@h/b/k#mode=nczarr,s3", "credentials"),
    ] {
        let message = refused(text);
        assert!(message.contains(part), "{text}: {message}");
        assert!(!message.contains("secret"), "{message}");
    }
    assert!(!refused("https://me:secret@h/b#mode=nczarr").contains("secret"));
}
