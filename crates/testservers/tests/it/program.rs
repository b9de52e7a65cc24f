//! The server as a program of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command, Stdio};

use aws_sdk_s3::Client;
use serde_json::{Value, json};

use crate::aws::{config, put};

fn answer(output: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    output.read_line(&mut line).expect("readable");
    serde_json::from_str(&line).expect("one line of JSON")
}

#[tokio::test]
async fn it_says_where_it_is_and_what_it_holds_and_ends_with_its_input() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_icefield-test-s3"));
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.spawn().expect("the program is built");
    let mut input = server.stdin.take().expect("piped");
    let mut output = BufReader::new(server.stdout.take().expect("piped"));
    let place = answer(&mut output);
    assert_eq!(place["bucket"], "bucket");
    assert_eq!(place["access_key"], "test");
    assert_eq!(place["secret_key"], "testtest");

    let endpoint = place["endpoint"].as_str().expect("a URL");
    let client = Client::from_conf(config(endpoint).build());
    for key in ["a/odd {é}~%#", "b"] {
        put(&client, key, "bytes").await;
    }
    let object = json!({ "length": 5, "content_type": "application/octet-stream", "metadata": {} });
    for (prefix, expected) in [
        ("a/", json!({ "a/odd {é}~%#": object })),
        ("", json!({ "a/odd {é}~%#": object, "b": object })),
        ("c", json!({})),
    ] {
        writeln!(input, "{prefix}").expect("it runs");
        assert_eq!(answer(&mut output), expected, "{prefix}");
    }
    drop(input);
    assert!(server.wait().expect("it ends").success());
}
