//! On Azure, where the environment names a server that speaks for it: there is none in this process.

use icefield_testservers::Outside;
use icefield_testservers::outside::{AZURE, fresh_prefix, is_there};

use super::*;

fn url(account: &Outside, container: &str) -> String {
    format!(
        "az://{}/{container}/{}?endpoint={}",
        account.account,
        fresh_prefix("doctor"),
        account.endpoint
    )
}

#[test]
fn a_good_container_and_bad_ones() {
    if !is_there(AZURE, "a_good_container_and_bad_ones") {
        return;
    }
    let account = Outside::azure();
    let key = |command: &mut Command| {
        command.env("AZURE_STORAGE_KEY", &account.secret);
    };
    let place = examine(&[&url(&account, &account.bucket), "--write"], key);
    place.is_well();
    assert_eq!(
        place.verdicts(),
        [
            "read good",
            "list good",
            "write good",
            "conditions good",
            "delete good",
            "repository note"
        ]
    );
    let place = examine(&[&url(&account, "no-such-container"), "--write"], key);
    place.is_ill("read", &["container"]);
    let place = examine(&[&url(&account, &account.bucket)], |command| {
        // Of the right length, in base 64.
        command.env(
            "AZURE_STORAGE_KEY",
            "aGlkZGVuLWhpZGRlbi1oaWRkZW4taGlkZGVuLWhpZGQ=",
        );
    });
    place.is_ill("read", &["credentials"]);
}
