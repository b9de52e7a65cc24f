//! The tests of repositories, sessions, commits and refs, for every backend and every spec version: one test
//! for each promise of [`Repository`](crate::Repository) and [`Session`](crate::Session).
//!
//! They are run from the facade's tests, once per backend, and from this crate's own on memory:
//!
//! ```
//! use std::sync::Arc;
//! use icefield_storage::Storage;
//! use icefield_storage_memory::MemoryStorage;
//!
//! /// Returns an empty store; a backend with a server takes `case` into its prefix. Called as often as a
//! /// case needs stores.
//! async fn fresh(_case: &'static str) -> Arc<dyn Storage> {
//!     Arc::new(MemoryStorage::new())
//! }
//!
//! icefield_core::session_tests! { fresh }
//! ```
//!
//! The macro makes one `#[test]` for each case, so that one failure does not hide the rest, each on a tokio
//! runtime of its own with one thread. Further arguments, in this order:
//!
//! - `spec = SpecVersion::V1`: the version of the format; cases about the files of one version pass without
//!   running on the others.
//! - `skip_unless_env = "VAR"`: the cases pass without running unless the variable is set.
//! - `except = [case, …]`: promises that cannot be kept there. Say why beside it.
//!
//! Ids come from a seed and time from a clock that stands still, both printed if a case fails.
//! [`cases`] runs the suite from a program. Beside the cases stand [`crash`], which stops a scenario at each
//! storage operation in each way, [`serial`], which plays random interleavings of sessions against a model, and [`walk`], which
//! says whether a repository is sound.

pub mod crash;
pub mod serial;
pub mod view;
pub mod walk;
pub mod words;

mod amends;
mod boxes;
mod chunks;
mod commits;
mod configs;
mod diffs;
mod files;
mod grids;
mod logs;
mod moves;
mod nodes;
mod refs;
mod repositories;
mod resizes;
mod revisions;
mod sessions;
mod shifts;
mod table;
mod trial;
mod virtuals;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use icefield_format::SpecVersion;
use icefield_storage::Storage;

pub use table::cases;
pub use trial::Trial;

/// When a case is given up as hanging.
const PATIENCE: Duration = Duration::from_secs(300);

/// One case: a promise by name, and the function that panics if it is not kept.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The promise.
    pub name: &'static str,
    /// Tries it.
    pub run: fn(Trial) -> BoxFuture<'static, ()>,
}

/// The arguments of [`session_tests`](crate::session_tests).
#[derive(Clone, Debug)]
pub struct Settings {
    /// The version of the format to create repositories in.
    pub spec: SpecVersion,
    /// Runs nothing unless this variable is set.
    pub skip_unless_env: Option<&'static str>,
    /// The names of cases not to run.
    pub except: &'static [&'static str],
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            spec: SpecVersion::V1,
            skip_unless_env: None,
            except: &[],
        }
    }
}

/// Runs one case as a test; the macro [`session_tests`](crate::session_tests) calls it.
///
/// # Panics
/// If the promise is not kept.
pub fn run_as_test<F>(
    name: &'static str,
    make: impl Fn(&'static str) -> F + Send + Sync + 'static,
    settings: &Settings,
) where
    F: Future<Output = Arc<dyn Storage>> + Send + 'static,
{
    if settings.except.contains(&name) {
        return;
    }
    if let Some(variable) = settings.skip_unless_env
        && std::env::var_os(variable).is_none()
    {
        return;
    }
    let case = cases()
        .into_iter()
        .find(|case| case.name == name)
        .expect("BUG: the macro and the table come from one list");
    let trial = Trial::new(name, settings.spec, make);
    block_on(async {
        tokio::time::timeout(PATIENCE, (case.run)(trial))
            .await
            .expect("the case ends");
    });
}

/// Runs `work` on a runtime of its own with one thread, so that it runs the same each time.
///
/// # Panics
/// If there are no threads left.
pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a test can have a runtime")
        .block_on(work)
}

/// Makes one test for each case of the [`test_suite`](crate::test_suite).
#[macro_export]
macro_rules! session_tests {
    (
        $make:path
        $(, spec = $spec:expr)?
        $(, skip_unless_env = $variable:expr)?
        $(, except = [$($except:ident),* $(,)?])?
        $(,)?
    ) => {
        /// Returns the arguments of the suite.
        fn session_settings() -> $crate::test_suite::Settings {
            #[allow(unused_mut, reason = "without arguments the defaults stay")]
            let mut settings = $crate::test_suite::Settings::default();
            $(settings.spec = $spec;)?
            $(settings.skip_unless_env = ::core::option::Option::Some($variable);)?
            $(settings.except = &[$(stringify!($except)),*];)?
            settings
        }

        $crate::__session_cases! { __session_tests ($make) }
    };
}

/// Expands to the tests of all cases.
#[doc(hidden)]
#[macro_export]
macro_rules! __session_tests {
    (($make:path) $($module:ident: $($case:ident)*;)*) => {
        $($(
            #[test]
            fn $case() {
                $crate::test_suite::run_as_test(stringify!($case), $make, &session_settings());
            }
        )*)*
    };
}
