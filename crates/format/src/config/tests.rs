use super::repository::{MAX_FILE_LEN, MAX_IN_MEMORY};
use super::*;
use crate::error::FormatError;

const DEFAULT: &str = "\
inline_chunk_threshold_bytes: null
get_partial_values_concurrency: null
compression: null
max_concurrent_requests: null
caching: null
storage: null
virtual_chunk_containers: null
manifest: null
";

fn decode(text: &str) -> RepositoryConfig {
    RepositoryConfig::decode(text.as_bytes()).unwrap()
}

fn encode(config: &RepositoryConfig) -> String {
    String::from_utf8(config.encode().unwrap().to_vec()).unwrap()
}

#[test]
fn defaults_are_eight_nulls() {
    let config = RepositoryConfig::default();
    assert!(config.is_default());
    assert_eq!(encode(&config), DEFAULT);
    assert_eq!(decode(DEFAULT), config);
    assert_eq!(config.inline_chunk_threshold(), 512);
    assert!(decode("compression:\n  level: null\n").is_default());
    assert!(!decode("unknown_key: 1\n").is_default());
}

#[test]
fn unknown_keys_survive_at_every_level() {
    let text =
        "future: [1, {a: b}]\nstorage:\n  timeouts: {read: 5}\n  retries:\n    jitter: 0.5\n";
    let again = decode(&encode(&decode(text)));
    assert_eq!(again, decode(text));
    assert_eq!(again.unknown.names().collect::<Vec<_>>(), ["future"]);
    let storage = again.storage.unwrap();
    assert_eq!(storage.unknown.names().collect::<Vec<_>>(), ["timeouts"]);
    assert_eq!(
        storage.retries.unwrap().unknown.names().collect::<Vec<_>>(),
        ["jitter"]
    );
}

#[test]
fn splitting_is_written_with_tags() {
    let text = "\
manifest:
  preload:
    max_total_refs: 0
    preload_if: 'false'
  splitting:
    split_sizes:
    - - !name_matches
        regex: ^t2m$
      - - condition: !DimensionName time
          num_chunks: 3
        - condition: !Axis 1
          num_chunks: 2
    - - any_array
      - - condition: Any
          num_chunks: 1
";
    let config = decode(text);
    assert!(encode(&config).ends_with(text), "{}", encode(&config));
    let rules = config.split_rules();
    assert_eq!(
        rules[0].arrays,
        SplitCondition::NameMatches {
            regex: "^t2m$".to_owned()
        }
    );
    assert_eq!(
        rules[0].dimensions[1].condition,
        DimensionCondition::Axis(1)
    );
    assert_eq!(rules[1].dimensions[0].condition, DimensionCondition::Any);
    let json = serde_json::to_string(&rules[1]).unwrap();
    assert_eq!(
        json,
        r#"["any_array",[{"condition":"Any","num_chunks":1}]]"#
    );
}

#[test]
fn containers_that_cannot_be_read_are_kept_and_ignored() {
    let text = "\
virtual_chunk_containers:
  s3://b/:
    name: null
    url_prefix: s3://b
    store: !s3
      region: us-east-1
      new_option: 1
  x:
    name: null
    url_prefix: q://c/
    store: !quantum {}
  mem:
    name: null
    url_prefix: memory://x/
    store: in_memory
";
    let config = decode(text);
    let prefixes: Vec<_> = config
        .containers()
        .map(|container| container.url_prefix.as_str())
        .collect();
    assert_eq!(prefixes, ["s3://b/", "memory://x/"]);
    let written = encode(&config);
    assert!(
        written.contains("store: !quantum {}") && written.contains("new_option: 1"),
        "{written}"
    );
    assert_eq!(decode(&written), config);
    // The reference implementation takes no null for a yes or no.
    for flag in [
        "anonymous",
        "allow_http",
        "force_path_style",
        "requester_pays",
    ] {
        assert!(written.contains(&format!("{flag}: false")), "{written}");
    }
}

#[test]
fn headers_of_a_web_server_are_kept_and_not_shown() {
    let text = "\
virtual_chunk_containers:
  https://host/x/:
    name: null
    url_prefix: https://host/x/
    store: !http
      timeout: 5s
      headers:
        authorization: Bearer SECRET
";
    let config = decode(text);
    let stores: Vec<_> = config.containers().map(|it| it.store.clone()).collect();
    let [VirtualStore::Http(options)] = &stores[..] else {
        panic!("{stores:?}");
    };
    assert_eq!(options.options["timeout"], "5s");
    assert_eq!(options.headers["authorization"], "Bearer SECRET");
    assert!(!format!("{config:?}").contains("SECRET"));
    let written = encode(&config);
    assert!(
        written.contains("authorization: Bearer SECRET"),
        "{written}"
    );
    assert_eq!(decode(&written), config);
}

#[test]
fn merging_is_key_by_key_but_for_the_whole_parts() {
    let base = decode(
        "compression: {level: 1}\nstorage: {retries: {max_tries: 4}, storage_class: A}\n\
         manifest: {preload: {max_total_refs: 7}, splitting: {split_sizes: []}}\nkept: 1\n",
    );
    let over = decode(
        "compression: {algorithm: zstd}\nstorage: {retries: {max_backoff_ms: 6}, storage_class: B}\n\
         manifest: {preload: {preload_if: 'true'}}\ninline_chunk_threshold_bytes: 9\n",
    );
    let merged = over.merged_over(&base);
    let wanted = decode(
        "inline_chunk_threshold_bytes: 9\ncompression: {algorithm: zstd, level: 1}\n\
         storage: {retries: {max_tries: 4, max_backoff_ms: 6}, storage_class: B}\n\
         manifest: {preload: {preload_if: 'true'}, splitting: {split_sizes: []}}\nkept: 1\n",
    );
    assert_eq!(merged, wanted);
    assert_eq!(merged.compression_level(), Some(1));
}

#[test]
fn errors_name_the_key() {
    let message = |text: &str| {
        RepositoryConfig::decode(text.as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert!(
        message("inline_chunk_threshold_bytes: 70000").ends_with("at inline_chunk_threshold_bytes")
    );
    assert!(
        message("storage: {retries: {max_tries: 0}}").ends_with("at storage.retries.max_tries")
    );
    assert!(message("storage: 3").ends_with("at storage"));
    assert!(
        message("manifest: {preload: {preload_if: maybe}}")
            .ends_with("at manifest.preload.preload_if")
    );
    assert_eq!(message("- 1"), "config.yaml has no mapping");
    assert_eq!(message("a: [").as_str(), "config.yaml has an invalid value");
}

#[test]
fn d44_d103_hostile_configurations() {
    let fails = |bytes: &[u8]| RepositoryConfig::decode(bytes).is_err();
    assert!(matches!(
        RepositoryConfig::decode(b""),
        Err(FormatError::Empty { .. })
    ));
    assert!(
        fails(b"null") && fails(b"# nothing") && fails(b"\xff\xfe") && fails(b"a: 1\n---\nb: 2\n")
    );
    assert!(fails(b"a: 1\na: 2\n"), "a key twice");
    let deep = format!("a: {}1{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(fails(deep.as_bytes()), "deep nesting");
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(9);
        laughs.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    assert!(fails(laughs.as_bytes()), "aliases that multiply");
    // Few jumps, but each to a long list.
    let items = "1, ".repeat(25_000);
    let quadratic = format!("a: &a [{items}]\nb: [{}]\n", "*a, ".repeat(12_000));
    let text = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(1 << 20),
        "*a, ".repeat(200)
    );
    for aliases in [quadratic, text] {
        let error = RepositoryConfig::decode(aliases.as_bytes()).unwrap_err();
        assert!(matches!(error, FormatError::TooLarge { limit, .. } if limit == MAX_IN_MEMORY));
    }
    let few = "a: &a [1, 2]\nb: *a\nc: !tag {d: *a}\n";
    assert_eq!(
        decode(few).unknown.names().count(),
        3,
        "aliases as such are fine"
    );
    assert!(matches!(
        RepositoryConfig::decode(&vec![b'#'; MAX_FILE_LEN + 1]),
        Err(FormatError::TooLarge { .. })
    ));
}
