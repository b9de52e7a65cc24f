//! How far the locks of a file system reach: whether a lock taken here keeps out a writer on another machine.
//!
//! No probe can tell. Two descriptors of one process exclude each other on every file system whose locks the kernel keeps
//! for itself, and the directory may be mounted on a hundred machines. So the type of the file system decides, and where
//! its mount options change the answer, these. What is not known here is not trusted: the caller may know better, and
//! says so with [`Locks::Trusted`](crate::Locks::Trusted).

use std::os::fd::BorrowedFd;

use crate::mounts::Mount;
use crate::sys::{FileSystem, Sys};

/// How far locks reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To every writer there is: one machine only has the file system mounted.
    Machine,
    /// To all machines: the servers of the file system keep the locks.
    Cluster,
    /// Not known, or known to end at this machine; why.
    Unproven(String),
}

/// A file system, and how far its locks reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) reach: Reach,
    /// The type, as messages call it.
    pub(crate) kind: String,
    /// Where it is mounted and how, if that was looked at.
    mount: Option<Mount>,
}

impl Standing {
    /// Finds out how far locks in a directory reach. The table of mounts is read only where it matters, or if it is
    /// `wanted`: a container may have thousands.
    pub(crate) fn find(sys: &dyn Sys, dir: BorrowedFd<'_>, wanted: bool) -> Self {
        let file_system = sys.file_system(dir);
        let known = file_system
            .number
            .and_then(|number| KNOWN.iter().find(|(one, ..)| *one == number));
        let needed = !matches!(known, Some((.., Rule::Machine)));
        let mount = (wanted || needed)
            .then(|| sys.mounts())
            .flatten()
            .and_then(|table| crate::mounts::find(&table, &file_system));
        let reach = match known {
            Some((.., rule)) => rule.judge(mount.as_ref(), sys.kernel()),
            None => without_number(&file_system),
        };
        let kind = match (&mount, known) {
            (Some(mount), _) => mount.kind.clone(),
            (None, Some((_, name, _))) => (*name).to_owned(),
            (None, None) => unnamed(&file_system),
        };
        Self { reach, kind, mount }
    }

    /// Returns whether the locks are known to keep out all other writers.
    pub(crate) fn is_proven(&self) -> bool {
        !matches!(self.reach, Reach::Unproven(_))
    }

    /// Returns the type, and where and how it is mounted.
    pub(crate) fn describe(&self) -> String {
        match &self.mount {
            Some(mount) => format!(
                "{}, mounted at {} with {}",
                self.kind,
                mount.shown_point(),
                mount.shown_options()
            ),
            None => self.kind.clone(),
        }
    }

    /// Returns what follows for writers.
    pub(crate) fn consequence(&self) -> String {
        match &self.reach {
            Reach::Machine => {
                "its locks keep out all other writers, which are on this machine".into()
            }
            Reach::Cluster => "its locks keep out all other writers, on any machine".into(),
            Reach::Unproven(why) => {
                format!("its locks are not known to keep out writers on other machines: {why}")
            }
        }
    }
}

/// The advice where locks are not trusted, for the end of a message.
pub(crate) const OPT_IN: &str = "if they do, or if all writers are on this machine, open it with `locks=trusted`: as \
                                 file:///path?locks=trusted, or as an argument in Rust and Python";

/// How a type of file system is judged.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// On a disk, or in the memory, of one machine.
    Machine,
    Nfs,
    Cifs,
    Lustre,
    /// The cluster keeps locks, unless this option says otherwise.
    Cluster {
        unless: Option<&'static str>,
    },
    Fuse,
    NineP,
    /// Not trusted, whatever the options.
    Unproven(&'static str),
}

const SHARED_WITH_HOST: &str =
    "it is shared with the host of this virtual machine, and locks end at the guest";
const BY_SERVER: &str =
    "whether they reach other machines is a setting that the mount does not show";
const STACKED: &str = "it stands on another file system that the mount does not show";

/// The types of file systems by their numbers in `statfs`.
///
/// An overlay counts as one of this machine wherever its upper layer lies: it keeps locks for itself, and one upper layer
/// under two overlays is undefined, on one machine and on two.
const KNOWN: &[(u32, &str, Rule)] = &[
    (0xEF53, "ext4", Rule::Machine),
    (0x5846_5342, "xfs", Rule::Machine),
    (0x9123_683E, "btrfs", Rule::Machine),
    (0xF2F5_2010, "f2fs", Rule::Machine),
    (0x2FC1_2FC1, "zfs", Rule::Machine),
    (0xCA45_1A4E, "bcachefs", Rule::Machine),
    (0x3153_464A, "jfs", Rule::Machine),
    (0x5265_4973, "reiserfs", Rule::Machine),
    (0x3434, "nilfs2", Rule::Machine),
    (0x482B, "hfsplus", Rule::Machine),
    (0x4244, "hfs", Rule::Machine),
    (0x7366_746E, "ntfs3", Rule::Machine),
    (0x5346_544E, "ntfs", Rule::Machine),
    (0x2011_BAB0, "exfat", Rule::Machine),
    (0x4D44, "vfat", Rule::Machine),
    (0x1501_3346, "udf", Rule::Machine),
    (0x2405_1905, "ubifs", Rule::Machine),
    (0x72B6, "jffs2", Rule::Machine),
    (0x7371_7368, "squashfs", Rule::Machine),
    (0xE0F5_E1E2, "erofs", Rule::Machine),
    (0x9660, "iso9660", Rule::Machine),
    (0x0102_1994, "tmpfs", Rule::Machine),
    (0x8584_58F6, "ramfs", Rule::Machine),
    (0x794C_7630, "overlay", Rule::Machine),
    (0x6175_6673, "aufs", Rule::Machine),
    (0x5346_4846, "wslfs", Rule::Machine),
    (0x6969, "nfs", Rule::Nfs),
    (0xFF53_4D42, "cifs", Rule::Cifs),
    (0xFE53_4D42, "smb3", Rule::Cifs),
    (
        0x517B,
        "smbfs",
        Rule::Unproven("this client never asks the server for locks"),
    ),
    (0x0BD0_0BD0, "lustre", Rule::Lustre),
    (0x00C3_6400, "ceph", Rule::Cluster { unless: None }),
    (
        0x7461_636F,
        "ocfs2",
        Rule::Cluster {
            unless: Some("localflocks"),
        },
    ),
    (
        0x0116_1970,
        "gfs2",
        Rule::Cluster {
            unless: Some("localflocks"),
        },
    ),
    (0x6573_5546, "fuse", Rule::Fuse),
    (0x0102_1997, "9p", Rule::NineP),
    (0x4750_4653, "gpfs", Rule::Unproven(BY_SERVER)),
    (0x1983_0326, "beegfs", Rule::Unproven(BY_SERVER)),
    (0x2003_0528, "orangefs", Rule::Unproven(BY_SERVER)),
    (0x6B41_4653, "afs", Rule::Unproven(BY_SERVER)),
    (0x5346_414F, "openafs", Rule::Unproven(BY_SERVER)),
    (0x7375_7245, "coda", Rule::Unproven(BY_SERVER)),
    (0x786F_4256, "vboxsf", Rule::Unproven(SHARED_WITH_HOST)),
    (0xBACB_ACBC, "vmhgfs", Rule::Unproven(SHARED_WITH_HOST)),
    (0x7C7C_6673, "prl_fs", Rule::Unproven(SHARED_WITH_HOST)),
    (0xF15F, "ecryptfs", Rule::Unproven(STACKED)),
];

impl Rule {
    fn judge(self, mount: Option<&Mount>, kernel: Option<(u32, u32)>) -> Reach {
        let unproven = |why: &str| Reach::Unproven(why.to_owned());
        match (self, mount) {
            (Self::Machine, _) => Reach::Machine,
            (Self::Unproven(why), _) => unproven(why),
            // No option changes it.
            (Self::Cluster { unless: None }, _) => Reach::Cluster,
            (_, None) => {
                unproven("its mount options decide, and /proc/self/mountinfo does not show them")
            }
            (Self::Nfs, Some(mount)) => nfs(mount),
            (Self::Cifs, Some(mount)) => cifs(mount, kernel),
            (Self::Lustre, Some(mount)) => lustre(mount),
            (
                Self::Cluster {
                    unless: Some(option),
                },
                Some(mount),
            ) if mount.has(option) => unproven(&format!(
                "it is mounted with {option}, so that they end at this machine"
            )),
            (Self::Cluster { .. }, Some(_)) => Reach::Cluster,
            (Self::Fuse, Some(mount)) => fuse(mount),
            (Self::NineP, Some(mount)) => nine_p(mount),
        }
    }
}

/// The client turns `flock` into a lock of the server since Linux 2.6.12.
fn nfs(mount: &Mount) -> Reach {
    let unproven = |why: String| Reach::Unproven(why);
    // No locks, or none of the server.
    if mount.has("nolock") {
        return unproven("it is mounted with nolock, so that they end at this machine".into());
    }
    if let Some(local @ ("flock" | "all")) = mount.value("local_lock") {
        return unproven(format!(
            "it is mounted with local_lock={local}, so that they end at this machine"
        ));
    }
    // A writer that holds the lock must see what the one before it wrote, and must know what became of its own rename.
    if mount.has("nocto") {
        return unproven("it is mounted with nocto, so that a stale copy may be compared".into());
    }
    if let Some(soft) = ["soft", "softerr", "softreval"]
        .iter()
        .find(|it| mount.has(it))
    {
        return unproven(format!(
            "it is mounted with {soft}, so that a write that timed out may land after its lock was given back"
        ));
    }
    match mount.value("vers").or_else(|| mount.value("nfsvers")) {
        Some(version) if version.starts_with(['3', '4']) => Reach::Cluster,
        Some(version) => unproven(format!("they are not known of version {version} of NFS")),
        None => unproven("the mount does not show which version of NFS it is".into()),
    }
}

fn cifs(mount: &Mount, kernel: Option<(u32, u32)>) -> Reach {
    /// Before, the client kept `flock` to itself.
    const SINCE: (u32, u32) = (5, 5);

    let unproven = |why: &str| Reach::Unproven(why.to_owned());
    if let Some(option) = ["nobrl", "nolock"].iter().find(|it| mount.has(it)) {
        return unproven(&format!(
            "it is mounted with {option}, so that they end at this machine"
        ));
    }
    if mount.value("cache") == Some("loose") {
        return unproven("it is mounted with cache=loose, so that a stale copy may be compared");
    }
    match kernel {
        Some(kernel) if kernel >= SINCE => Reach::Cluster,
        _ => unproven("only kernels since 5.5 are known to ask the server for them"),
    }
}

fn lustre(mount: &Mount) -> Reach {
    let unproven = |why: &str| Reach::Unproven(why.to_owned());
    if mount.has("localflock") {
        unproven("it is mounted with localflock, so that they end at this machine")
    } else if mount.has("flock") {
        Reach::Cluster
    } else {
        unproven("it is not mounted with flock, which would make them reach all machines")
    }
}

fn fuse(mount: &Mount) -> Reach {
    match mount.kind.as_str() {
        // The kernel lends a block device to one of these, on one machine. The other is an overlay.
        "fuseblk" | "fuse.fuse-overlayfs" => Reach::Machine,
        "virtiofs" => Reach::Unproven(SHARED_WITH_HOST.to_owned()),
        _ => Reach::Unproven(
            "most programs behind FUSE leave locks to the kernel, so that they end at this machine, and names are cached"
                .to_owned(),
        ),
    }
}

/// gVisor shows the root of a sandbox like this, and says of one that nothing else changes that it may cache all of it.
fn nine_p(mount: &Mount) -> Reach {
    match (mount.value("trans"), mount.value("cache")) {
        (Some("fd"), Some("fscache")) => Reach::Machine,
        _ => Reach::Unproven(SHARED_WITH_HOST.to_owned()),
    }
}

/// Judges by what systems other than Linux tell.
fn without_number(file_system: &FileSystem) -> Reach {
    match (file_system.is_local, file_system.number) {
        (Some(true), _) => Reach::Machine,
        (Some(false), _) => Reach::Unproven("the system calls it a network file system".to_owned()),
        (None, _) => Reach::Unproven("nothing is known of this type of file system".to_owned()),
    }
}

fn unnamed(file_system: &FileSystem) -> String {
    match (&file_system.name, file_system.number) {
        (Some(name), _) => name.clone(),
        (None, Some(number)) => format!("a file system of type {number:#x}"),
        (None, None) => "a file system that the system does not name".to_owned(),
    }
}

#[cfg(test)]
mod tests;
