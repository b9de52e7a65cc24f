//! The table of mounts that Linux keeps for a process, `/proc/self/mountinfo`, and which mount a directory lies in.

use std::os::unix::ffi::OsStrExt;

use crate::sys::FileSystem;

/// A mount, as far as the table tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mount {
    id: u64,
    /// Major and minor number.
    device: (u32, u32),
    point: Vec<u8>,
    /// The type, with its subtype: `ext4`, `nfs4`, `fuse.sshfs`.
    pub(crate) kind: String,
    /// The options of the mount, then those of the file system.
    options: Vec<String>,
}

impl Mount {
    /// Returns whether an option is set that has no value.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|it| it == option)
    }

    /// Returns the value of an option; of one that is given twice the last one.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        self.options.iter().rev().find_map(|it| {
            let (name, value) = it.split_once('=')?;
            (name == option).then_some(value)
        })
    }

    /// Returns the options as the table has them, shortened: an overlay names all its layers.
    pub(crate) fn shown_options(&self) -> String {
        const SHOWN: usize = 200;
        let all = self.options.join(",");
        match all.char_indices().nth(SHOWN) {
            None => all,
            Some((end, _)) => format!("{}…", &all[..end]),
        }
    }

    /// Returns the directory that it is mounted at.
    pub(crate) fn shown_point(&self) -> String {
        String::from_utf8_lossy(&self.point).into_owned()
    }
}

/// Finds the mount that a directory lies in.
///
/// The number of the mount decides where the kernel tells it. Otherwise it is the mount of the same device with the
/// longest path above the directory; the later one of two at one place covers the other. Lines that cannot be read are
/// passed over. A device that is mounted out of sight, in a `chroot` for instance, is known by any mount of it: the
/// options of the file system are the same.
pub(crate) fn find(table: &[u8], file_system: &FileSystem) -> Option<Mount> {
    let mounts: Vec<Mount> = table
        .split(|byte| *byte == b'\n')
        .filter_map(read)
        .collect();
    let by_id = file_system
        .mount_id
        .and_then(|id| mounts.iter().rev().find(|mount| mount.id == id));
    let path = file_system.path.as_ref().map(|path| path.as_os_str());
    let by_device = || {
        let ours = mounts
            .iter()
            .filter(|it| Some(it.device) == file_system.device);
        ours.max_by_key(|mount| {
            let above = path.is_some_and(|path| is_above(&mount.point, path.as_bytes()));
            above.then_some(mount.point.len())
        })
    };
    by_id.or_else(by_device).cloned()
}

/// Returns whether a path is that of a mount point, or below it.
fn is_above(point: &[u8], path: &[u8]) -> bool {
    let point = point.strip_suffix(b"/").unwrap_or(point);
    path.strip_prefix(point)
        .is_some_and(|below| below.is_empty() || below.starts_with(b"/"))
}

/// Reads a line: `id parent major:minor root point options [fields …] - type source options`.
fn read(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let text = |at: usize| std::str::from_utf8(fields.get(at)?).ok();
    let (major, minor) = text(2)?.split_once(':')?;
    // Optional fields may come in any number before the lone hyphen.
    let end = 6 + fields.get(6..)?.iter().position(|field| *field == b"-")?;
    let options = [Some(5), Some(end + 3)]
        .into_iter()
        .flatten()
        .filter_map(|at| fields.get(at))
        .flat_map(|options| options.split(|byte| *byte == b','))
        .map(lossy);
    Some(Mount {
        id: text(0)?.parse().ok()?,
        device: (major.parse().ok()?, minor.parse().ok()?),
        point: unescape(fields.get(4)?),
        kind: lossy(fields.get(end + 1)?),
        options: options.filter(|option| !option.is_empty()).collect(),
    })
}

fn lossy(field: &[u8]) -> String {
    String::from_utf8_lossy(&unescape(field)).into_owned()
}

/// Decodes `\040` and its likes: the kernel writes white space and backslashes in octal.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, tail)) = rest.split_first() {
        let digits = tail.get(..3).filter(|_| *byte == b'\\');
        let decoded = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| (b'0'..b'8').contains(&digit)))
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match decoded {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, device: (u32, u32)) -> FileSystem {
        FileSystem {
            path: Some(path.into()),
            device: Some(device),
            ..FileSystem::default()
        }
    }

    fn point(table: &str, file_system: &FileSystem) -> Option<String> {
        find(table.as_bytes(), file_system).map(|mount| mount.shown_point())
    }

    const TABLE: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
30 22 0:50 / /mnt/sea rw,nosuid shared:9 master:2 propagate_from:1 - nfs4 host:/sea rw,vers=4.2,local_lock=none
31 22 0:50 /deep /srv/deep rw - nfs4 host:/sea rw,vers=4.2,local_lock=none
32 30 0:51 / /mnt/sea/inner rw - fuse.sshfs me@host:/x rw,user_id=0
33 22 0:50 / /mnt/sea\\040of\\011\\134x rw - nfs4 host:/sea rw,vers=4.2,local_lock=none
";

    #[test]
    fn the_mount_is_the_longest_one_above_on_the_same_device() {
        for (path, device, expected) in [
            ("/mnt/sea", (0, 50), "/mnt/sea"),
            ("/mnt/sea/a/b", (0, 50), "/mnt/sea"),
            ("/srv/deep/x", (0, 50), "/srv/deep"),
            ("/mnt/sea/inner/x", (0, 51), "/mnt/sea/inner"),
            ("/mnt/seaside", (8, 1), "/"),
            ("/", (8, 1), "/"),
            ("/mnt/sea of\t\\x/r", (0, 50), "/mnt/sea of\t\\x"),
        ] {
            assert_eq!(
                point(TABLE, &at(path, device)).as_deref(),
                Some(expected),
                "{path}"
            );
        }
    }

    #[test]
    fn the_number_of_a_mount_wins_over_device_and_path() {
        let mut directory = at("/mnt/sea/x", (0, 50));
        directory.mount_id = Some(31);
        assert_eq!(point(TABLE, &directory).as_deref(), Some("/srv/deep"));
        // Of a mount that the table does not show, the device is known all the same.
        directory.mount_id = Some(99);
        assert_eq!(point(TABLE, &directory).as_deref(), Some("/mnt/sea"));
        // btrfs gives each subvolume a device that the table does not have.
        directory.device = Some((0, 77));
        assert_eq!(point(TABLE, &directory), None);
        directory.mount_id = Some(22);
        assert_eq!(point(TABLE, &directory).as_deref(), Some("/"));
    }

    #[test]
    fn a_mount_that_covers_another_is_the_later_line() {
        let table = "1 0 8:1 / / rw - ext4 a rw\n2 1 0:9 / /x rw - nfs4 a vers=4.2\n3 2 0:9 / /x ro - nfs4 a nocto\n";
        let mount = find(table.as_bytes(), &at("/x/y", (0, 9))).expect("there");
        assert!(mount.has("nocto") && mount.has("ro") && mount.value("vers").is_none());
    }

    #[test]
    fn a_device_whose_mount_point_is_out_of_sight_is_still_known() {
        let mount = find(TABLE.as_bytes(), &at("/elsewhere", (0, 51))).expect("there");
        assert_eq!(mount.kind, "fuse.sshfs");
        let mut nowhere = at("/x", (0, 51));
        nowhere.path = None;
        assert!(find(TABLE.as_bytes(), &nowhere).is_some());
        nowhere.device = None;
        assert!(find(TABLE.as_bytes(), &nowhere).is_none());
    }

    #[test]
    fn lines_that_cannot_be_read_are_passed_over() {
        let long = "x".repeat(1 << 20);
        let torn = [
            "",
            "-",
            "1",
            "1 2 3 4 5 6",
            "x 1 8:1 / / rw - ext4 a rw",
            "1 1 8 / / rw - ext4 a rw",
            "1 1 8:x / / rw - ext4 a rw",
            "1 1 8:1 / / rw ext4 a rw",
            "1 1 8:1 / / rw -",
        ];
        for line in torn {
            assert_eq!(read(line.as_bytes()), None, "{line}");
        }
        let table = format!(
            "{}\n7 1 0:3 / /m\\04 rw - fuse.x\\040y \\377 rw,lowerdir={long},last=1\n",
            torn.join("\n")
        );
        let mount = find(table.as_bytes(), &at("/m\\04/x", (0, 3))).expect("there");
        assert_eq!(
            (mount.kind.as_str(), mount.value("last")),
            ("fuse.x y", Some("1"))
        );
        let shown = mount.shown_options();
        assert!(
            shown.chars().count() <= 201 && shown.ends_with('…'),
            "{shown}"
        );
        // Without a source and options.
        assert!(read(b"7 1 0:3 / /m rw - tmpfs").is_some());
    }

    #[test]
    fn of_an_option_that_is_given_twice_the_last_one_counts() {
        let mount =
            read(b"7 1 0:3 / /m rw - nfs4 a vers=3,vers=4.1,nolockx,xnolock").expect("read");
        assert_eq!(mount.value("vers"), Some("4.1"));
        assert!(!mount.has("nolock") && mount.has("rw"));
    }
}
