use std::future::pending;
use std::sync::Arc;
use std::thread;

use super::*;

fn workers(count: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(count)
        .build()
        .unwrap()
}

/// Work that is done only after the runtime has run it a few times.
async fn slow() -> u32 {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    tokio::spawn(async { 7 }).await.unwrap()
}

#[test]
fn a_plain_thread_waits() {
    let runtime = workers(1);
    assert_eq!(wait_on(runtime.handle(), slow()), Ok(7));
}

#[test]
fn h110_a_thread_of_another_runtime_waits() {
    let runtime = workers(1);
    let other = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    assert_eq!(other.block_on(async { wait_on(&handle, slow()) }), Ok(7));
}

#[test]
fn h110_the_only_worker_of_the_runtime_waits_for_its_own_work() {
    let runtime = workers(1);
    let handle = runtime.handle().clone();
    let on_worker = runtime.spawn(async move { wait_on(&handle, slow()) });
    assert_eq!(runtime.block_on(on_worker).unwrap(), Ok(7));
}

#[test]
fn h110_all_workers_wait_at_once() {
    let runtime = Arc::new(workers(2));
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let handle = runtime.handle().clone();
            runtime.spawn(async move { wait_on(&handle, slow()) })
        })
        .collect();
    for task in tasks {
        assert_eq!(runtime.block_on(task).unwrap(), Ok(7));
    }
}

#[test]
fn h110_a_blocking_thread_of_the_runtime_waits() {
    let runtime = workers(1);
    let handle = runtime.handle().clone();
    let on_thread = runtime.spawn_blocking(move || wait_on(&handle, slow()));
    assert_eq!(runtime.block_on(on_thread).unwrap(), Ok(7));
}

#[test]
fn h110_a_runtime_without_workers_does_not_wait_for_itself() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    let result = runtime.block_on(async { wait_on(&handle, slow()) });
    assert_eq!(result, Err(BlockingError::OnRuntimeThread));
}

#[test]
fn h110_a_local_set_does_not_wait_for_itself() {
    let runtime = workers(1);
    let handle = runtime.handle().clone();
    let local = tokio::task::LocalSet::new();
    let result = local.block_on(&runtime, async { wait_on(&handle, slow()) });
    assert_eq!(result, Err(BlockingError::OnRuntimeThread));
}

#[test]
fn h110_a_runtime_that_was_shut_down_is_an_error() {
    let runtime = workers(1);
    let handle = runtime.handle().clone();
    runtime.shutdown_background();
    assert_eq!(wait_on(&handle, slow()), Err(BlockingError::Dropped));
}

#[test]
fn h110_a_shutdown_ends_the_wait() {
    let runtime = workers(1);
    let handle = runtime.handle().clone();
    let (started, has_started) = mpsc::sync_channel(1);
    let waiting = thread::spawn(move || {
        wait_on(&handle, async move {
            let _ = started.send(());
            pending::<u32>().await
        })
    });
    has_started.recv().unwrap();
    runtime.shutdown_background();
    assert_eq!(waiting.join().unwrap(), Err(BlockingError::Dropped));
}

#[test]
fn h106_a_panic_in_the_work_is_an_error() {
    let runtime = workers(1);
    let result = wait_on(runtime.handle(), async { panic!("on purpose") });
    assert_eq!(result, Err::<u32, _>(BlockingError::Dropped));
}
