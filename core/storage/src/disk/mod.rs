//! The one door to the disk: everything this crate does to a file passes this trait.
//!
//! The real implementation calls the operating system; the simulated one (`sim`) loses, tears and refuses things
//! the way disks do. Writes are whole or an error. An error of `sync`, `write_durable_at` or `write_at` means that
//! nobody knows what is on the disk: callers never try again, they poison the handle.

mod locks;
mod real;

pub(crate) use real::RealDisk;

use std::io;

/// Who may have the file open beside this handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// Nobody at all: for putting another file in its place.
    Alone,
    /// Those who [pin](Disk::pin) what they read: for writing.
    Writer,
    /// Everybody but a writer: for looking at all of it.
    NoWriter,
}

/// One file and the directory entry that names it.
pub trait Disk: Send + Sync {
    /// The file's name, for error texts.
    fn place(&self) -> &str;

    /// The file's length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file is empty.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file, or lengthens it by zeros that take no room yet.
    fn set_len(&self, len_bytes: u64) -> io::Result<()>;

    /// Makes the file at least so long and claims the disk's room for that part, as far as the file system can.
    fn reserve(&self, offset: u64, len_bytes: u64) -> io::Result<()>;

    /// Fills `buffer` from `offset` on; a file that ends earlier is an error.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes`; a crash before the next [`sync`](Disk::sync) may keep any part of it.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes all of `bytes` inside the file and returns when they are on the disk. Earlier writes elsewhere may
    /// still be lost, and so may a change of the file's length.
    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything written so far, and the length, is on the disk.
    fn sync(&self) -> io::Result<()>;

    /// Returns when the directory entry is on the disk.
    fn sync_parent(&self) -> io::Result<()>;

    /// Locks the file; false when somebody else has it. The lock belongs to this open file, not to the process.
    fn lock(&self, mode: LockMode) -> io::Result<bool>;

    /// Gives the lock back. Pins stay.
    fn unlock(&self) -> io::Result<()>;

    /// Tells writers, in other processes too, that what this checkpoint and later ones reach is being read. False when
    /// somebody has the file [alone](LockMode::Alone).
    fn pin(&self, checkpoint: u64) -> io::Result<bool>;

    /// Takes a pin back.
    fn unpin(&self, checkpoint: u64) -> io::Result<()>;

    /// Whether anybody else has pinned a checkpoint before this one.
    fn is_pinned_before(&self, checkpoint: u64) -> io::Result<bool>;

    /// A number that nobody can foresee, for salts.
    fn entropy(&self) -> io::Result<u64>;
}
