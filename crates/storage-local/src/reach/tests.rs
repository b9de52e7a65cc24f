//! One row for each type of file system and each option that changes the answer.

use std::os::fd::AsFd;

use super::*;
use crate::sys::habits::{Ground, Habits};
use crate::sys::twin::Twin;

fn standing(ground: Ground) -> Standing {
    let twin = Twin::new(Habits {
        ground,
        ..Habits::default()
    });
    let anywhere = std::fs::File::open("/").expect("there is a root");
    Standing::find(&*twin, anywhere.as_fd(), true)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Machine,
    Cluster,
    /// Refused, for a reason in which this is said.
    Refused(&'static str),
}
use Expect::{Cluster, Machine, Refused};

const FUSE: u32 = 0x6573_5546;
const NFS: u32 = 0x6969;
const CIFS: u32 = 0xFF53_4D42;
const SMB3: u32 = 0xFE53_4D42;
const LUSTRE: u32 = 0x0BD0_0BD0;
const NINE_P: u32 = 0x0102_1997;

/// Number, type and options as Linux shows them.
const ROWS: &[(u32, &str, &str, Expect)] = &[
    // Disks and memory of this machine.
    (0xEF53, "ext4", "rw,errors=remount-ro", Machine),
    (0xEF53, "ext3", "rw", Machine),
    (0xEF53, "ext2", "rw", Machine),
    (0x5846_5342, "xfs", "rw,attr2,inode64", Machine),
    (0x9123_683E, "btrfs", "rw,subvol=/home", Machine),
    (0xF2F5_2010, "f2fs", "rw", Machine),
    (0x2FC1_2FC1, "zfs", "rw,xattr,posixacl", Machine),
    (0xCA45_1A4E, "bcachefs", "rw", Machine),
    (0x3153_464A, "jfs", "rw", Machine),
    (0x5265_4973, "reiserfs", "rw", Machine),
    (0x3434, "nilfs2", "rw", Machine),
    (0x482B, "hfsplus", "rw", Machine),
    (0x4244, "hfs", "rw", Machine),
    (0x7366_746E, "ntfs3", "rw", Machine),
    (0x5346_544E, "ntfs", "rw", Machine),
    (0x2011_BAB0, "exfat", "rw", Machine),
    (0x4D44, "vfat", "rw,utf8", Machine),
    (0x1501_3346, "udf", "rw", Machine),
    (0x2405_1905, "ubifs", "rw", Machine),
    (0x72B6, "jffs2", "rw", Machine),
    (0x7371_7368, "squashfs", "ro", Machine),
    (0xE0F5_E1E2, "erofs", "ro", Machine),
    (0x9660, "iso9660", "ro", Machine),
    (0x0102_1994, "tmpfs", "rw,size=1024k", Machine),
    (0x0102_1994, "devtmpfs", "rw", Machine),
    (0x8584_58F6, "ramfs", "rw", Machine),
    (0x5346_4846, "wslfs", "rw", Machine),
    // Layers in containers. The upper layer belongs to one overlay, wherever it lies.
    (
        0x794C_7630,
        "overlay",
        "rw,lowerdir=/l,upperdir=/mnt/nfs/u,workdir=/mnt/nfs/w",
        Machine,
    ),
    (0x6175_6673, "aufs", "rw,si=1", Machine),
    (FUSE, "fuse.fuse-overlayfs", "rw,user_id=0", Machine),
    // FUSE.
    (FUSE, "fuseblk", "rw,user_id=0,blksize=4096", Machine),
    (FUSE, "fuse.sshfs", "rw,user_id=0", Refused("FUSE")),
    (FUSE, "fuse.rclone", "rw,user_id=0", Refused("FUSE")),
    (FUSE, "fuse.gcsfuse", "rw", Refused("FUSE")),
    (FUSE, "fuse.s3fs", "rw", Refused("FUSE")),
    (FUSE, "fuse.glusterfs", "rw", Refused("FUSE")),
    (FUSE, "fuse.ceph-fuse", "rw", Refused("FUSE")),
    (FUSE, "fuse.bindfs", "rw", Refused("FUSE")),
    (FUSE, "fuse", "rw", Refused("FUSE")),
    (FUSE, "virtiofs", "rw", Refused("host")),
    // Shared with the host of a virtual machine.
    (
        NINE_P,
        "9p",
        "rw,access=client,trans=virtio",
        Refused("host"),
    ),
    (
        NINE_P,
        "9p",
        "rw,trans=virtio,cache=fscache",
        Refused("host"),
    ),
    (
        NINE_P,
        "9p",
        "rw,aname=drvfs;path=C:,mmap,trans=fd,rfd=8,wfd=8",
        Refused("host"),
    ),
    (
        NINE_P,
        "9p",
        "rw,trans=fd,rfdno=4,wfdno=4,cache=remote_revalidating",
        Refused("host"),
    ),
    // The root of a sandbox of gVisor, which nothing else changes.
    (
        NINE_P,
        "9p",
        "rw,trans=fd,rfdno=4,wfdno=4,cache=fscache",
        Machine,
    ),
    (0x786F_4256, "vboxsf", "rw", Refused("host")),
    (0xBACB_ACBC, "vmhgfs", "rw", Refused("host")),
    (0x7C7C_6673, "prl_fs", "rw", Refused("host")),
    // NFS.
    (NFS, "nfs4", "rw,vers=4.2,hard,local_lock=none", Cluster),
    (NFS, "nfs4", "rw,vers=4.0,hard,local_lock=none", Cluster),
    (
        NFS,
        "nfs4",
        "rw,vers=4.1,hard,noac,local_lock=none",
        Cluster,
    ),
    (NFS, "nfs", "rw,vers=3,hard,local_lock=none", Cluster),
    (NFS, "nfs", "rw,vers=3,hard,local_lock=posix", Cluster),
    (NFS, "nfs", "rw,vers=3,hard", Cluster),
    (
        NFS,
        "nfs",
        "rw,vers=3,hard,nolock,local_lock=all",
        Refused("nolock"),
    ),
    (NFS, "nfs", "rw,vers=3,nolock", Refused("nolock")),
    (
        NFS,
        "nfs",
        "rw,vers=3,local_lock=flock",
        Refused("local_lock=flock"),
    ),
    (
        NFS,
        "nfs4",
        "rw,vers=4.2,local_lock=all",
        Refused("local_lock=all"),
    ),
    (
        NFS,
        "nfs4",
        "rw,vers=4.2,nocto,local_lock=none",
        Refused("nocto"),
    ),
    (
        NFS,
        "nfs4",
        "rw,vers=4.2,soft,local_lock=none",
        Refused("soft"),
    ),
    (
        NFS,
        "nfs4",
        "rw,vers=4.2,softerr,local_lock=none",
        Refused("softerr"),
    ),
    (
        NFS,
        "nfs4",
        "rw,vers=4.2,softreval,local_lock=none",
        Refused("softreval"),
    ),
    (
        NFS,
        "nfs",
        "rw,vers=2,local_lock=none",
        Refused("version 2"),
    ),
    (NFS, "nfs", "rw,local_lock=none", Refused("which version")),
    // SMB.
    (CIFS, "cifs", "rw,vers=3.0,cache=strict,soft", Cluster),
    (
        SMB3,
        "cifs",
        "rw,vers=3.1.1,cache=strict,serverino",
        Cluster,
    ),
    (SMB3, "smb3", "rw,vers=3.1.1,cache=none", Cluster),
    (
        SMB3,
        "cifs",
        "rw,vers=3.1.1,cache=strict,nobrl",
        Refused("nobrl"),
    ),
    (CIFS, "cifs", "rw,nolock", Refused("nolock")),
    (
        SMB3,
        "cifs",
        "rw,vers=3.1.1,cache=loose",
        Refused("cache=loose"),
    ),
    (0x517B, "smbfs", "rw", Refused("never asks")),
    // Clusters.
    (LUSTRE, "lustre", "rw,flock,lazystatfs", Cluster),
    (
        LUSTRE,
        "lustre",
        "rw,localflock,lazystatfs",
        Refused("localflock"),
    ),
    (
        LUSTRE,
        "lustre",
        "rw,noflock",
        Refused("not mounted with flock"),
    ),
    (
        LUSTRE,
        "lustre",
        "rw,lazystatfs",
        Refused("not mounted with flock"),
    ),
    (
        0x00C3_6400,
        "ceph",
        "rw,name=admin,secret=<hidden>,acl",
        Cluster,
    ),
    (
        0x7461_636F,
        "ocfs2",
        "rw,heartbeat=local,coherency=full",
        Cluster,
    ),
    (
        0x7461_636F,
        "ocfs2",
        "rw,localflocks",
        Refused("localflocks"),
    ),
    (0x0116_1970, "gfs2", "rw", Cluster),
    (
        0x0116_1970,
        "gfs2",
        "rw,localflocks",
        Refused("localflocks"),
    ),
    // Where nothing shows how far locks reach.
    (0x4750_4653, "gpfs", "rw", Refused("setting")),
    (
        0x1983_0326,
        "beegfs",
        "rw,cfgFile=/etc/beegfs/x",
        Refused("setting"),
    ),
    (0x2003_0528, "pvfs2", "rw", Refused("setting")),
    (0x6B41_4653, "afs", "rw,flock=openafs", Refused("setting")),
    (0x5346_414F, "afs", "rw", Refused("setting")),
    (0x7375_7245, "coda", "rw", Refused("setting")),
    (0xF15F, "ecryptfs", "rw", Refused("another file system")),
    (0x1234_5678, "novelfs", "rw", Refused("nothing is known")),
    (0, "novelfs", "rw,flock", Refused("nothing is known")),
];

#[track_caller]
fn check(standing: &Standing, expected: Expect, row: &str) {
    match (&standing.reach, expected) {
        (Reach::Machine, Machine) | (Reach::Cluster, Cluster) => assert!(standing.is_proven()),
        (Reach::Unproven(why), Refused(word)) if why.contains(word) => {
            assert!(!standing.is_proven(), "{row}");
            assert!(standing.consequence().contains(why), "{row}");
        }
        (found, _) => panic!("{row} must be {expected:?}, is {found:?}"),
    }
}

#[test]
fn every_file_system_is_judged_by_its_type_and_its_options() {
    for (number, kind, options, expected) in ROWS {
        let row = format!("{kind} {options}");
        let found = standing(Ground::mounted(*number, kind, options));
        check(&found, *expected, &row);
        assert_eq!(found.kind, *kind);
        let said = found.describe();
        assert_eq!(
            said,
            format!("{kind}, mounted at /mnt with rw,relatime,{options}")
        );
    }
    let rows = ROWS
        .iter()
        .map(|row| row.0)
        .collect::<std::collections::HashSet<_>>();
    for (number, name, _) in KNOWN {
        assert!(rows.contains(number), "{name} has no row");
    }
    let mut numbers: Vec<u32> = KNOWN.iter().map(|known| known.0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), KNOWN.len(), "a number is there twice");
}

/// In a sandbox without `/proc` the type is all there is.
#[test]
fn without_a_table_of_mounts_the_type_alone_decides() {
    for (number, kind, options, expected) in ROWS {
        let mut ground = Ground::mounted(*number, kind, options);
        ground.mounts = None;
        let found = standing(ground);
        let known = KNOWN.iter().find(|known| known.0 == *number);
        let expected = match known {
            Some((.., Rule::Machine)) => Machine,
            Some((.., Rule::Cluster { unless: None })) => Cluster,
            Some((.., Rule::Unproven(_))) | None => *expected,
            Some(_) => Refused("mountinfo"),
        };
        check(&found, expected, kind);
        let name = known.map_or("a file system of type", |known| known.1);
        assert!(found.describe().starts_with(name), "{}", found.describe());
    }
}

#[test]
fn a_table_without_the_mount_is_as_good_as_none() {
    for table in [
        "",
        "garbage\n",
        "40 1 0:44 / /mnt rw nfs4 source vers=4.2\n",
        "41 1 0:45 / /mnt rw - nfs4 source vers=4.2\n",
    ] {
        let mut ground = Ground::mounted(NFS, "nfs4", "rw,vers=4.2");
        ground.mounts = Some(table.as_bytes().to_vec());
        check(&standing(ground), Refused("mountinfo"), table);
    }
}

#[test]
fn smb_locks_are_trusted_from_the_kernel_on_that_asks_the_server() {
    for (kernel, expected) in [
        (Some((6, 1)), Cluster),
        (Some((5, 5)), Cluster),
        (Some((5, 4)), Refused("5.5")),
        (Some((4, 18)), Refused("5.5")),
        (None, Refused("5.5")),
    ] {
        let mut ground = Ground::mounted(SMB3, "cifs", "rw,vers=3.1.1,cache=strict");
        ground.kernel = kernel;
        check(&standing(ground), expected, &format!("{kernel:?}"));
    }
}

/// As macOS and FreeBSD tell it.
#[test]
fn elsewhere_the_system_says_whether_a_file_system_is_local() {
    let told = |name: Option<&str>, is_local| {
        let mut ground = Ground {
            mounts: None,
            ..Ground::default()
        };
        ground.file_system = FileSystem {
            name: name.map(str::to_owned),
            is_local,
            ..FileSystem::default()
        };
        standing(ground)
    };
    let disk = told(Some("apfs"), Some(true));
    check(&disk, Machine, "apfs");
    assert_eq!(disk.describe(), "apfs");
    check(
        &told(Some("smbfs"), Some(false)),
        Refused("network"),
        "smbfs",
    );
    let unknown = told(None, None);
    check(&unknown, Refused("nothing is known"), "unknown");
    assert!(unknown.describe().contains("does not name"));
}

/// The directories that tests and temporary data live in, on whatever machine this runs.
#[test]
fn the_file_systems_of_this_machine_are_named() {
    let sys = crate::sys::real::RealSys::new();
    for place in ["/", "/tmp", "/dev/shm", "/proc"] {
        let Ok(directory) = std::fs::File::open(place) else {
            continue;
        };
        let found = Standing::find(&sys, directory.as_fd(), true);
        assert!(!found.kind.is_empty());
        // Not in a chroot without /proc, or whose root is no mount.
        if found.mount.is_some() {
            let own = std::fs::metadata(place).expect("described");
            assert!(own.is_dir() && found.describe().contains("mounted at "));
        }
        sys.refresh(directory.as_fd()).expect("asked anew");
    }
}
