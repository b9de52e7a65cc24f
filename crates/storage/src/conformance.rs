//! The conformance suite: what every backend has to pass, one test for each promise of
//! [`Storage`](crate::Storage).
//!
//! A backend runs it from `tests/conformance.rs`:
//!
//! ```
//! use std::sync::Arc;
//! use icefield_storage::Storage;
//! use icefield_storage_memory::MemoryStorage;
//!
//! /// Returns an empty store for one case; a backend with a server takes `case` into its prefix.
//! async fn fresh(_case: &str) -> Arc<dyn Storage> {
//!     Arc::new(MemoryStorage::new())
//! }
//!
//! icefield_storage::conformance_tests! { fresh }
//! ```
//!
//! The macro makes one `#[test]` for each case, so that one failure does not hide the rest, each on a tokio
//! runtime of its own with several threads. Further arguments, in this order:
//!
//! - `skip_unless_env = "VAR"`: the cases pass without running, and say so, unless the variable is set.
//! - `effort = Effort::slow()`: smaller races and fewer objects, for a store behind a network.
//! - `except = [case, …]`: promises that this store cannot keep. Say why in the README of the backend.
//!
//! A store into which other programs may put names that are no keys, or things that are no objects, returns a [`Subject`]
//! with a way to plant them instead of an `Arc<dyn Storage>`: a list must not drop them.
//!
//! Where [`Capabilities`](crate::Capabilities) say that a store lacks a condition, the cases about it ask for
//! an error instead of a lie. [`cases`] and [`failures`] run the suite from a program; so it is tested itself,
//! against stores that are broken on purpose.

mod case;
mod copies;
mod deletes;
mod effort;
mod keys;
mod lists;
mod payloads;
mod puts;
mod races;
mod ranges;
mod reads;
mod subject;
mod table;
mod trial;
mod unreadable;

use futures::FutureExt;

pub use case::Case;
pub use effort::Effort;
pub use subject::Subject;
pub use table::cases;
pub use trial::Trial;

/// Runs one case as a test; the macro [`conformance_tests`](crate::conformance_tests) calls it.
///
/// # Panics
/// If the store fails the case.
pub fn run_as_test<F: Future<Output: Into<Subject>>>(
    name: &'static str,
    make: impl FnOnce(&'static str) -> F,
    settings: &Settings,
) {
    // Past the capture of libtest: that a case passes must not look as if it had run.
    let skipped = |why: &str| {
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), "SKIPPED {name}: {why}");
    };
    if let Some(variable) = settings.skip_unless_env
        && std::env::var_os(variable).is_none()
    {
        return skipped(&format!("{variable} is not set"));
    }
    if settings.except.contains(&name) {
        return skipped("this store does not keep it");
    }
    let case = cases()
        .into_iter()
        .find(|case| case.name == name)
        .expect("BUG: the macro and the table come from one list");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .expect("the test has threads");
    runtime.block_on(async {
        let subject = make(name).await.into();
        let effort = settings.effort.clone();
        let patience = effort.patience;
        let run = (case.run)(Trial::new(subject, effort));
        tokio::time::timeout(patience, run)
            .await
            .expect("the case ends");
    });
}

/// The arguments of [`conformance_tests`](crate::conformance_tests).
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Runs nothing unless this variable is set.
    pub skip_unless_env: Option<&'static str>,
    /// How much to do.
    pub effort: Effort,
    /// The names of cases not to run.
    pub except: &'static [&'static str],
}

/// Runs all cases, each on an empty store from `make`, and returns those that the store fails, with what
/// they said. Must be called on a runtime with several threads, or no race is one.
pub async fn failures<F>(
    mut make: impl FnMut(&'static str) -> F,
    effort: &Effort,
) -> Vec<(&'static str, String)>
where
    F: Future<Output: Into<Subject>>,
{
    let mut failures = Vec::new();
    for case in cases() {
        let trial = Trial::new(make(case.name).await.into(), effort.clone());
        let run = std::panic::AssertUnwindSafe((case.run)(trial)).catch_unwind();
        let message = match tokio::time::timeout(effort.patience, run).await {
            Ok(Ok(())) => continue,
            Ok(Err(panic)) => {
                match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
                    (Some(text), _) => text.clone(),
                    (None, Some(text)) => (*text).to_owned(),
                    (None, None) => "panicked".to_owned(),
                }
            }
            Err(_) => "did not end".to_owned(),
        };
        failures.push((case.name, message));
    }
    failures
}

/// Makes one test for each case of the [`conformance`](crate::conformance) suite.
#[macro_export]
macro_rules! conformance_tests {
    (
        $make:path
        $(, skip_unless_env = $variable:expr)?
        $(, effort = $effort:expr)?
        $(, except = [$($except:ident),* $(,)?])?
        $(,)?
    ) => {
        /// Returns the arguments of the suite.
        fn conformance_settings() -> $crate::conformance::Settings {
            #[allow(unused_mut, reason = "without arguments the defaults stay")]
            let mut settings = $crate::conformance::Settings::default();
            $(settings.skip_unless_env = ::core::option::Option::Some($variable);)?
            $(settings.effort = $effort;)?
            $(settings.except = &[$(stringify!($except)),*];)?
            settings
        }

        $crate::__conformance_cases! { __conformance_tests ($make) }
    };
}

/// Expands to the tests of all cases.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_tests {
    (($make:path) $($module:ident: $($case:ident)*;)*) => {
        $($(
            #[test]
            fn $case() {
                $crate::conformance::run_as_test(stringify!($case), $make, &conformance_settings());
            }
        )*)*
    };
}
