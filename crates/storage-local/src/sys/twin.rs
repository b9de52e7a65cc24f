//! The twin of the operating system for tests: the real calls on a real directory, recorded, failing where
//! it is told to, with the [`Habits`] of another file system.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use super::habits::{Ground, Habits, Lazy};
pub(crate) use super::plan::Call;
use super::plan::Fault;
use super::real::RealSys;
use super::record::{Event, Recording};
use super::{EntryKind, Errno, FileSystem, Open, Result, Stat, Sys};

/// The action to take when a call is reached, besides the call.
type Hook = Arc<dyn Fn(usize, Call) + Send + Sync>;

#[derive(Default)]
struct TwinState {
    calls: Vec<Call>,
    faults: Vec<Fault>,
    recording: Option<Recording>,
    hook: Option<Hook>,
    overlooked: Option<String>,
    ground: Option<Ground>,
}

/// The twin.
pub(crate) struct Twin {
    real: RealSys,
    pub(crate) habits: Habits,
    state: Mutex<TwinState>,
}

impl std::fmt::Debug for Twin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Twin")
            .field("habits", &self.habits)
            .finish_non_exhaustive()
    }
}

impl Twin {
    pub(crate) fn new(habits: Habits) -> Arc<Self> {
        Arc::new(Self {
            real: RealSys::new(),
            habits,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, TwinState> {
        self.state.lock().expect("no test panics in here")
    }

    /// Begins to record what happens below `root`.
    pub(crate) fn record(&self, root: &Path) {
        self.state().recording = Some(Recording::start(root));
    }

    /// Ends the recording.
    pub(crate) fn recorded(&self) -> Recording {
        self.state()
            .recording
            .take()
            .expect("a recording was begun")
    }

    /// Notes in the recording how far the test is.
    pub(crate) fn mark(&self, text: &str) {
        if let Some(recording) = &mut self.state().recording {
            recording.events.push(Event::Mark(text.to_owned()));
        }
    }

    /// Fails `times` calls of a kind after letting `skip` pass.
    pub(crate) fn fail(
        &self,
        call: impl Into<Option<Call>>,
        skip: usize,
        times: usize,
        errno: Errno,
    ) {
        self.state().faults.push(Fault {
            call: call.into(),
            skip,
            times,
            errno,
            with_effect: false,
        });
    }

    /// Fails one call of a kind, after it took effect.
    pub(crate) fn fail_late(&self, call: impl Into<Option<Call>>, skip: usize, errno: Errno) {
        self.state().faults.push(Fault {
            call: call.into(),
            skip,
            times: 1,
            errno,
            with_effect: true,
        });
    }

    /// Forgets all faults and returns the calls so far.
    pub(crate) fn reset(&self) -> Vec<Call> {
        let mut state = self.state();
        state.faults.clear();
        std::mem::take(&mut state.calls)
    }

    /// Calls `hook` with the number and the kind of every call before it is made.
    pub(crate) fn hook(&self, hook: impl Fn(usize, Call) + Send + Sync + 'static) {
        self.state().hook = Some(Arc::new(hook));
    }

    /// Leaves a name out of the next reading of a directory, as a file system does that moves the entry
    /// of a replaced file.
    pub(crate) fn overlook(&self, name: &str) {
        self.state().overlooked = Some(name.to_owned());
    }

    /// Puts another file system in the place of the one that was there.
    pub(crate) fn mount(&self, ground: Ground) {
        self.state().ground = Some(ground);
    }

    fn ground(&self) -> Ground {
        let mounted = self.state().ground.clone();
        mounted.unwrap_or_else(|| self.habits.ground.clone())
    }

    /// Counts a call and returns the fault that it meets.
    fn meet(&self, call: Call) -> Option<Fault> {
        let mut state = self.state();
        let number = state.calls.len();
        state.calls.push(call);
        if let Some(hook) = state.hook.clone() {
            drop(state);
            hook(number, call);
            state = self.state();
        }
        let mut met = None;
        for fault in &mut state.faults {
            if fault.call.is_some_and(|wanted| wanted != call) || fault.times == 0 {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if met.is_none() {
                fault.times -= 1;
                met = Some(*fault);
            }
        }
        met
    }

    /// Makes a call, unless it is to fail, and records it if it took effect.
    fn call<T>(
        &self,
        call: Call,
        make: impl FnOnce() -> Result<T>,
        record: impl FnOnce(&mut Recording, &T),
    ) -> Result<T> {
        let fault = self.meet(call);
        if let Some(fault) = fault.filter(|fault| !fault.with_effect) {
            return Err(fault.errno);
        }
        // Held during the call, so that the order of the recording is the order of the effects.
        let result = if call.mutates() {
            let mut state = self.state();
            let result = make();
            if let (Ok(made), Some(recording)) = (&result, &mut state.recording) {
                record(recording, made);
            }
            result
        } else {
            make()
        };
        match fault {
            Some(fault) => result.and(Err(fault.errno)),
            None => result,
        }
    }

    fn plain<T>(&self, call: Call, make: impl FnOnce() -> Result<T>) -> Result<T> {
        self.call(call, make, |_, _| ())
    }

    fn stat_of(&self, fd: BorrowedFd<'_>) -> Stat {
        self.real.stat(fd).expect("an open file can be described")
    }

    fn spell(&self, dir: BorrowedFd<'_>, path: &str) -> String {
        self.habits.spell(&self.real, dir, path)
    }

    /// Opens the directory that holds the last segment of `path`.
    fn parent(&self, dir: BorrowedFd<'_>, path: &str) -> Option<(Stat, String)> {
        match path.rsplit_once('/') {
            None => Some((self.stat_of(dir), path.to_owned())),
            Some((parent, name)) => {
                let parent = self.real.open(dir, parent, Open::Directory).ok()?;
                Some((self.stat_of(parent.as_fd()), name.to_owned()))
            }
        }
    }

    fn record_new(&self, recording: &mut Recording, dir: BorrowedFd<'_>, path: &str, new: &Stat) {
        let Some((parent, name)) = self.parent(dir, path) else {
            return;
        };
        if let Some(dir) = recording.id(&parent) {
            let child = recording.fresh(new);
            recording.events.push(Event::Make {
                dir,
                name,
                child,
                is_dir: new.kind == EntryKind::Directory,
            });
        }
    }

    fn is_new(&self, dir: BorrowedFd<'_>, path: &str) -> bool {
        self.real.open(dir, path, Open::Read).is_err()
    }
}

impl Sys for Twin {
    fn open_root(&self, path: &Path) -> Result<OwnedFd> {
        self.plain(Call::OpenRoot, || self.real.open_root(path))
    }

    fn open(&self, dir: BorrowedFd<'_>, path: &str, how: Open) -> Result<OwnedFd> {
        let path = &self.spell(dir, path);
        let open = |how| self.real.open(dir, path, how);
        match how {
            Open::Read => self.plain(Call::OpenRead, || open(how)),
            Open::Directory | Open::DirectoryHere => self.plain(Call::OpenDirectory, || open(how)),
            Open::CreateNew | Open::ReadWrite => {
                let call = match how {
                    Open::CreateNew => Call::Create,
                    _ => Call::OpenLock,
                };
                let new = self.is_new(dir, path);
                let make = || match open(how) {
                    Err(Errno::EXIST) if self.habits.weak_create => open(Open::ReadWrite),
                    other => other,
                };
                self.call(call, make, |recording, fd| {
                    if new {
                        self.record_new(recording, dir, path, &self.stat_of(fd.as_fd()));
                    }
                })
            }
        }
    }

    fn mkdir(&self, dir: BorrowedFd<'_>, name: &str) -> Result<()> {
        let name = &self.spell(dir, name);
        self.call(
            Call::Mkdir,
            || self.real.mkdir(dir, name),
            |recording, ()| {
                let new = self.real.stat_at(dir, name).expect("just made");
                self.record_new(recording, dir, name, &new);
            },
        )
    }

    fn stat(&self, file: BorrowedFd<'_>) -> Result<Stat> {
        let mut stat = self.plain(Call::Stat, || self.real.stat(file))?;
        stat.mtime = self.habits.keep(stat.mtime);
        Ok(stat)
    }

    fn stat_at(&self, dir: BorrowedFd<'_>, name: &str) -> Result<Stat> {
        let name = &self.spell(dir, name);
        let mut stat = self.plain(Call::StatAt, || self.real.stat_at(dir, name))?;
        stat.mtime = self.habits.keep(stat.mtime);
        Ok(stat)
    }

    fn visit_dir(&self, dir: BorrowedFd<'_>, each: &mut dyn FnMut(&[u8], EntryKind)) -> Result<()> {
        let mut entries = Vec::new();
        self.plain(Call::ReadDir, || {
            let mut gather = |name: &[u8], kind| entries.push((name.to_vec(), kind));
            self.real.visit_dir(dir, &mut gather)
        })?;
        let overlooked = self.state().overlooked.take();
        for (name, kind) in entries {
            if overlooked.as_ref().is_some_and(|it| it.as_bytes() == name) {
                continue;
            }
            let kind = match self.habits.untyped_entries {
                true => EntryKind::Unknown,
                false => kind,
            };
            each(&name, kind);
        }
        Ok(())
    }

    fn read_at(&self, file: BorrowedFd<'_>, length: usize, offset: u64) -> Result<Vec<u8>> {
        self.plain(Call::Read, || self.real.read_at(file, length, offset))
    }

    fn reserve(&self, file: BorrowedFd<'_>, length: u64) -> Result<()> {
        self.plain(Call::Reserve, || self.real.reserve(file, length))
    }

    fn is_reserving_worth_it(&self, dir: BorrowedFd<'_>) -> bool {
        self.habits.reserves || self.real.is_reserving_worth_it(dir)
    }

    fn write_at(&self, file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<usize> {
        let most = self.habits.short_writes.unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(most)];
        self.call(
            Call::Write,
            || self.real.write_at(file, bytes, offset),
            |recording, written| {
                if let Some(file) = recording.id(&self.stat_of(file)) {
                    recording.events.push(Event::Write {
                        file,
                        offset,
                        bytes: bytes[..*written].to_vec(),
                    });
                }
            },
        )
    }

    fn copy_range(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        offset: u64,
        length: usize,
    ) -> Result<usize> {
        self.habits.unsupported(self.habits.no_copy_range)?;
        self.call(
            Call::CopyRange,
            || self.real.copy_range(from, to, offset, length),
            |recording, copied| {
                if let Some(file) = recording.id(&self.stat_of(to)) {
                    let bytes = self.real.read_at(from, *copied, offset).expect("read");
                    recording.events.push(Event::Write {
                        file,
                        offset,
                        bytes,
                    });
                }
            },
        )
    }

    fn set_mtime(&self, file: BorrowedFd<'_>, mtime: i128) -> Result<()> {
        let mtime = self.habits.keep(mtime);
        self.plain(Call::SetMtime, || self.real.set_mtime(file, mtime))
    }

    fn fsync(&self, file: BorrowedFd<'_>) -> Result<()> {
        let stat = self.stat_of(file);
        if self.habits.no_folder_flush && stat.kind == EntryKind::Directory {
            return Err(Errno::INVAL);
        }
        let lazy = match self.habits.lazy {
            Lazy::Nothing => false,
            Lazy::Files => stat.kind == EntryKind::File,
            Lazy::Directories => stat.kind == EntryKind::Directory,
        };
        // Not really flushed: no test cuts the power of this machine, and the disk is shared.
        let make = || Ok(());
        self.call(Call::Fsync, make, |recording, ()| {
            if let Some(id) = recording.id(&stat).filter(|_| !lazy) {
                recording.events.push(Event::Fsync(id));
            }
        })
    }

    fn syncfs(&self, _: BorrowedFd<'_>) -> Result<()> {
        let lazy = self.habits.lazy != Lazy::Nothing;
        self.call(
            Call::Syncfs,
            || Ok(()),
            |recording, ()| {
                if !lazy {
                    recording.events.push(Event::Syncfs);
                }
            },
        )
    }

    fn can_syncfs(&self, dir: BorrowedFd<'_>) -> bool {
        !self.habits.no_syncfs && self.real.can_syncfs(dir)
    }

    fn rename(
        &self,
        from: BorrowedFd<'_>,
        name: &str,
        to: BorrowedFd<'_>,
        new: &str,
    ) -> Result<()> {
        let new = &self.spell(to, new);
        self.call(
            Call::Rename,
            || self.real.rename(from, name, to, new),
            |recording, ()| self.record_rename(recording, from, name, to, new),
        )
    }

    fn rename_new(
        &self,
        from: BorrowedFd<'_>,
        name: &str,
        to: BorrowedFd<'_>,
        new: &str,
    ) -> Result<()> {
        self.habits.unsupported(self.habits.no_rename_new)?;
        let new = &self.spell(to, new);
        self.call(
            Call::RenameNew,
            || match self.habits.weak_rename_new {
                true => self.real.rename(from, name, to, new),
                false => self.real.rename_new(from, name, to, new),
            },
            |recording, ()| self.record_rename(recording, from, name, to, new),
        )
    }

    fn link(&self, from: BorrowedFd<'_>, name: &str, to: BorrowedFd<'_>, new: &str) -> Result<()> {
        self.habits.unsupported(self.habits.no_link)?;
        let new = &self.spell(to, new);
        self.call(
            Call::Link,
            || self.real.link(from, name, to, new),
            |recording, ()| {
                let child = self.real.stat_at(to, new).expect("just made");
                if let (Some(child), Some(to)) =
                    (recording.id(&child), recording.id(&self.stat_of(to)))
                {
                    let new = new.to_owned();
                    recording.events.push(Event::Link { child, to, new });
                }
            },
        )
    }

    fn unlink(&self, dir: BorrowedFd<'_>, name: &str) -> Result<()> {
        let name = &self.spell(dir, name);
        self.call(
            Call::Unlink,
            || self.real.unlink(dir, name),
            |recording, ()| {
                if let Some(dir) = recording.id(&self.stat_of(dir)) {
                    let name = name.to_owned();
                    recording.events.push(Event::Unlink { dir, name });
                }
            },
        )
    }

    fn lock(&self, file: BorrowedFd<'_>, wait: bool) -> Result<()> {
        self.habits.unsupported(self.habits.no_lock)?;
        self.plain(Call::Lock, || match self.habits.weak_lock {
            true => Ok(()),
            false => self.real.lock(file, wait),
        })
    }

    fn unlock(&self, file: BorrowedFd<'_>) -> Result<()> {
        self.plain(Call::Unlock, || self.real.unlock(file))
    }

    fn file_system(&self, _: BorrowedFd<'_>) -> FileSystem {
        self.ground().file_system
    }

    fn mounts(&self) -> Option<Vec<u8>> {
        self.ground().mounts
    }

    fn kernel(&self) -> Option<(u32, u32)> {
        self.ground().kernel
    }

    fn refresh(&self, dir: BorrowedFd<'_>) -> Result<()> {
        self.plain(Call::Refresh, || self.real.refresh(dir))
    }

    fn open_files_limit(&self) -> u64 {
        self.habits
            .open_files
            .unwrap_or_else(|| self.real.open_files_limit())
    }
}

impl Twin {
    fn record_rename(
        &self,
        recording: &mut Recording,
        from: BorrowedFd<'_>,
        name: &str,
        to: BorrowedFd<'_>,
        new: &str,
    ) {
        let ids = (
            recording.id(&self.stat_of(from)),
            recording.id(&self.stat_of(to)),
        );
        if let (Some(from), Some(to)) = ids {
            recording.events.push(Event::Rename {
                from,
                name: name.to_owned(),
                to,
                new: new.to_owned(),
            });
        }
    }
}
