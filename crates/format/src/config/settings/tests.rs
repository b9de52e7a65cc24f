use super::*;

fn config(yaml: &str) -> RepositoryConfig {
    RepositoryConfig::decode(yaml.as_bytes()).expect("a configuration")
}

fn get(config: &RepositoryConfig, name: &str) -> Option<String> {
    config.setting(name).expect("a setting")
}

#[test]
fn every_known_setting_can_be_read_and_unset() {
    let known = RepositoryConfig::known_settings();
    let names: Vec<&str> = known.iter().map(|it| it.name.as_str()).collect();
    for name in [
        "inline_chunk_threshold_bytes",
        "compression.level",
        "storage.retries.max_tries",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(names.contains(&"virtual_chunk_containers"));
    assert!(names.contains(&"manifest.splitting.split_sizes"));
    let default = RepositoryConfig::default();
    for name in names {
        assert_eq!(get(&default, name), None, "{name}");
        assert_eq!(default.without_setting(name).expect("known"), default);
    }
}

#[test]
fn what_is_set_is_read_and_what_is_not_known_stays() {
    let before = config("storage: {storage_class: A, theirs: [1, 2]}\nnew: {deep: x}\n");
    let after = before.with_setting("storage.retries.max_tries", "7");
    let after = after.expect("allowed");
    assert_eq!(
        get(&after, "storage.retries.max_tries").as_deref(),
        Some("7")
    );
    assert_eq!(get(&after, "storage.storage_class").as_deref(), Some("A"));
    assert_eq!(get(&after, "new.deep").as_deref(), Some("x"));
    assert_eq!(get(&after, "storage.theirs").as_deref(), Some("- 1\n- 2"));
    let listed = after.set_settings().expect("it can be written");
    let listed: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "storage.retries.max_tries",
        "storage.storage_class",
        "storage.theirs",
        "new.deep",
    ];
    assert_eq!(listed, expected);

    let again = after
        .without_setting("storage.retries.max_tries")
        .expect("known");
    assert_eq!(get(&again, "storage.retries.max_tries"), None);
    assert_eq!(get(&again, "new.deep").as_deref(), Some("x"));
    let gone = again.without_setting("new").expect("it is there");
    assert!(matches!(
        gone.setting("new"),
        Err(SettingError::Unknown { .. })
    ));
    let whole = gone.with_setting("compression", "{algorithm: zstd, level: 9}");
    assert_eq!(
        get(&whole.expect("allowed"), "compression.level").as_deref(),
        Some("9")
    );
    let null = before
        .with_setting("storage.storage_class", "null")
        .expect("it unsets");
    assert_eq!(get(&null, "storage.storage_class"), None);
}

#[test]
fn values_that_are_not_allowed_are_refused_by_name() {
    let default = RepositoryConfig::default();
    for (name, value, at, allowed) in [
        (
            "inline_chunk_threshold_bytes",
            "70000",
            "inline_chunk_threshold_bytes",
            "0 to 65535",
        ),
        (
            "inline_chunk_threshold_bytes",
            "-1",
            "inline_chunk_threshold_bytes",
            "0 to 65535",
        ),
        ("compression.level", "23", "compression.level", "0 to 22"),
        (
            "compression.algorithm",
            "gzip",
            "compression.algorithm",
            "zstd",
        ),
        ("compression", "{level: x}", "compression.level", "0 to 22"),
        (
            "storage.retries.max_tries",
            "0",
            "storage.retries.max_tries",
            "1 to 65535",
        ),
        (
            "storage.unsafe_use_metadata",
            "maybe",
            "storage.unsafe_use_metadata",
            "true or false",
        ),
        ("storage", "5", "storage", "a mapping of its parts"),
        (
            "manifest.splitting.split_sizes",
            "[[any_array, [{condition: Any, num_chunks: 0}]]]",
            "manifest.splitting.split_sizes",
            "num_chunks is 0",
        ),
        (
            "manifest",
            "{splitting: {split_sizes: [[!path_matches {regex: 'a('}, []]]}}",
            "manifest.splitting.split_sizes",
            "the regular expression \"a(\": unclosed group",
        ),
        (
            "manifest.splitting.split_sizes",
            "[[any_array, [{condition: !DimensionName '[', num_chunks: 1}]]]",
            "manifest.splitting.split_sizes",
            "unclosed character class",
        ),
        (
            "manifest.splitting.split_sizes",
            "[[every_array, []]]",
            "manifest.splitting.split_sizes",
            "every_array",
        ),
        (
            "manifest.preload.preload_if",
            "!and ['true', !or [!name_matches {regex: '*'}]]",
            "manifest.preload.preload_if",
            "the regular expression \"*\"",
        ),
        (
            "virtual_chunk_containers",
            "{'s3://sea/': {url_prefix: 's3://sea/', store: !ftp {}}}",
            "virtual_chunk_containers",
            "s3://sea/ is no container",
        ),
        (
            "caching.num_chunk_refs",
            "[1]",
            "caching.num_chunk_refs",
            "a whole number",
        ),
    ] {
        match default.with_setting(name, value) {
            Err(error @ SettingError::Value { .. }) => {
                let said = error.to_string();
                assert!(said.starts_with(at) && said.contains(allowed), "{said}");
            }
            other => panic!("{name}: {value}: {other:?}"),
        }
    }
}

#[test]
fn a_value_that_is_no_yaml_is_refused() {
    match RepositoryConfig::default().with_setting("storage.retries", "{max_tries: [") {
        Err(SettingError::Yaml { name, .. }) => assert_eq!(name, "storage.retries"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_others_have_stored_does_not_stop_another_setting() {
    let before = config(
        "compression: {level: 99}\nmanifest: {splitting: {split_sizes: [[any_array, \
         [{condition: Any, num_chunks: 0}]]]}}\n",
    );
    let after = before
        .with_setting("max_concurrent_requests", "7")
        .expect("allowed");
    assert_eq!(get(&after, "compression.level").as_deref(), Some("99"));
    assert!(matches!(
        after.with_setting("compression.level", "98"),
        Err(SettingError::Value { .. })
    ));
}

#[test]
fn defaults_are_values_that_may_be_set() {
    let default = RepositoryConfig::default();
    for setting in RepositoryConfig::known_settings() {
        let Some(value) = setting.default else {
            continue;
        };
        let set = default.with_setting(&setting.name, value);
        let set = set.unwrap_or_else(|error| panic!("{}: {error}", setting.name));
        assert_eq!(get(&set, &setting.name).as_deref(), Some(value));
    }
    assert_eq!(default.inline_chunk_threshold(), 512);
}

#[test]
fn settings_of_spec_2_are_known_and_stay_out_of_a_file_that_has_none() {
    let (updates, section) = (
        "num_updates_per_repo_info_file",
        "manifest.virtual_chunk_location_compression",
    );
    let default = RepositoryConfig::default();
    assert!(!String::from_utf8_lossy(&default.encode().expect("written")).contains(updates));
    let set = |value: (&str, &str)| default.with_setting(value.0, value.1);
    let few = set((updates, "3")).expect("allowed");
    assert_eq!(few.updates_per_page(), 3);
    let on = few.with_setting(section, "{}").expect("allowed");
    assert_eq!(on.location_compression(), Some(Default::default()));
    assert_eq!(on.updates_per_page(), 3);
    let listed = on.set_settings().expect("it can be written");
    let expected = [(section, "{}"), (updates, "3")].map(|(name, it)| (name.into(), it.into()));
    assert_eq!(listed, expected);
    let some = "{min_num_chunks: 5, compression_level: -7, dictionary_max_size_bytes: null}";
    let some = on.with_setting(section, some).expect("allowed");
    let compression = some.location_compression().expect("on");
    assert_eq!(compression.min_num_chunks, 5);
    assert_eq!(compression.compression_level, -7);
    assert_eq!(
        get(&some, section).as_deref(),
        Some("min_num_chunks: 5\ncompression_level: -7\ndictionary_max_size_bytes: null")
    );
    for off in [
        some.without_setting(section).expect("known"),
        some.with_setting(section, "null").expect("allowed"),
    ] {
        assert_eq!(off.location_compression(), None);
        assert_eq!(get(&off, section), None);
    }
    for (wrong, said) in [
        ((updates, "0"), "1 to 65535"),
        ((updates, "65536"), "1 to 65535"),
        ((updates, "x"), "1 to 65535"),
        ((section, "true"), "or {} for the defaults"),
        ((section, "{min_num_chunk: 5}"), "none of these"),
        ((section, "{min_num_chunks: 65536}"), "from 0 to 65535"),
        (
            (section, "{dictionary_max_size_bytes: -1}"),
            "0 to 4294967295",
        ),
        (
            (section, "{compression_level: high}"),
            "compression_level is a whole",
        ),
    ] {
        let error = set(wrong).expect_err("refused").to_string();
        assert!(error.contains(wrong.0) && error.contains(said), "{error}");
    }
    // Members that another program has stored stay.
    let theirs = config("num_updates_per_repo_info_file: 0\n");
    assert!(theirs.with_setting("compression.level", "1").is_ok());
}

#[test]
fn a_name_that_is_none_is_refused_with_what_may_be_meant() {
    let default = RepositoryConfig::default();
    for (name, meant) in [
        ("compresion.level", Some("compression.level")),
        ("max_tries", Some("storage.retries.max_tries")),
        ("compression.", None),
        ("", None),
        ("something.else", None),
        ("compression.level.deeper", None),
    ] {
        match default.with_setting(name, "1") {
            Err(SettingError::Unknown { nearest, .. }) => {
                if meant.is_some() {
                    assert_eq!(nearest.as_deref(), meant, "{name}");
                }
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let long = "x".repeat(1 << 20);
    let said = default.setting(&long).expect_err("no setting").to_string();
    assert!(said.len() < 200, "{}", said.len());
}
