//! Tests that run for both versions of the format, without a word of it in each.
//!
//! ```
//! icefield_testkit::both_versions!(what_is_made_is_of_the_version);
//! async fn what_is_made_is_of_the_version() {
//!     let spec = icefield_testkit::versions::spec();
//!     # let _ = spec;
//! }
//! # fn main() {}
//! ```

use std::cell::Cell;

use icefield_format::SpecVersion;

thread_local! {
    static SPEC: Cell<SpecVersion> = const { Cell::new(SpecVersion::V1) };
}

/// Puts back the version that was before.
struct Before(SpecVersion);

impl Drop for Before {
    fn drop(&mut self) {
        SPEC.set(self.0);
    }
}

/// Returns the version that this test is to make repositories of: 1, unless it runs [`in_version`].
pub fn spec() -> SpecVersion {
    SPEC.get()
}

/// Runs a test in a version. Its runtime polls it on one thread, as `tokio::test` does.
pub async fn in_version(spec: SpecVersion, test: impl Future<Output = ()>) {
    let _before = Before(SPEC.replace(spec));
    test.await;
}

/// Makes a test for each version of the format of a function.
#[macro_export]
macro_rules! both_versions {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        mod $name {
            #[tokio::test]
            async fn spec_1() {
                let spec = $crate::versions::SPEC_1;
                $crate::versions::in_version(spec, super::$name()).await;
            }

            #[tokio::test]
            async fn spec_2() {
                let spec = $crate::versions::SPEC_2;
                $crate::versions::in_version(spec, super::$name()).await;
            }
        }
    };
}

/// Version 1, for the tests that [`both_versions`] makes.
pub const SPEC_1: SpecVersion = SpecVersion::V1;

/// Version 2, for the tests that [`both_versions`] makes.
pub const SPEC_2: SpecVersion = SpecVersion::V2;
