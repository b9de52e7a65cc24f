//! The settings of a directory that are choices among words, and what lists leave out.

use std::fmt;

/// The treatment of symbolic links below the base. No write ever goes through one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Links {
    /// Reading through a link, or meeting one in a list, is an error that names it: without it, a part of the data
    /// would be missing unnoticed.
    #[default]
    Refuse,
    /// Reads and lists follow links that stay inside the base. Lists skip and report others, and those that lead in a
    /// circle or nowhere.
    FollowInside,
}

/// The part of a write that survives a loss of power once it has returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Nothing beyond what the system has written by itself: for scratch data and tests. A crash of the program alone
    /// loses nothing.
    None,
    /// The content of a file, so that a name never stands for half a value; the name itself may still be the old one.
    #[default]
    File,
    /// The content and the name.
    FileAndDirectory,
}

/// An entry of the directory that a list left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The path below the base, with bytes that are not UTF-8 replaced.
    pub name: String,
    /// The reason.
    pub why: WhySkipped,
}

/// The reason why an entry was left out of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhySkipped {
    /// The name is not UTF-8, so that no key can say it.
    NotUtf8,
    /// A FIFO, socket or device: never opened.
    NotAFile,
    /// A symbolic link out of the base, in a circle, or to nothing.
    Link,
}

impl fmt::Display for WhySkipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotUtf8 => "its name is not UTF-8",
            Self::NotAFile => "it is not a file",
            Self::Link => "it is a symbolic link out of the tree, in a circle or to nothing",
        })
    }
}
