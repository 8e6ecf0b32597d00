//! Files of the operating system.
//!
//! A durable write is one system call on Linux (`pwritev2` with `RWF_DSYNC`), which flushes only its own range.

use super::{Disk, LockMode, locks};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// An open file.
pub(crate) struct RealDisk {
    file: File,
    path: PathBuf,
    place: String,
}

impl RealDisk {
    pub(crate) fn open(path: &Path, read_only: bool, create: bool) -> io::Result<RealDisk> {
        // The link is followed once, so that the directory that is synced is the one that holds the file.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let file = OpenOptions::new()
            .read(true)
            .write(!read_only)
            .create(create && !read_only)
            .truncate(false)
            .open(&path)?;
        let kind = file.metadata()?.file_type();
        if !kind.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file"));
        }
        let place = path.display().to_string();
        Ok(RealDisk { file, path, place })
    }

    /// A compaction may have put another file in this one's place between opening and locking.
    fn check_place(&self) -> io::Result<()> {
        let (own, there) = (self.file.metadata()?, std::fs::metadata(&self.path)?);
        match (own.dev(), own.ino()) == (there.dev(), there.ino()) {
            true => Ok(()),
            false => Err(io::Error::other("another file has taken its place: open it again")),
        }
    }
}

impl Disk for RealDisk {
    fn place(&self) -> &str {
        &self.place
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.file.set_len(len_bytes)
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        match fallocate(&self.file, FallocateFlags::empty(), offset, len_bytes) {
            Ok(()) => Ok(()),
            // A file system that cannot promise room: the checkpoint will see.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                lengthen(&self.file, offset + len_bytes)
            }
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn reserve(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        lengthen(&self.file, offset + len_bytes)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    #[cfg(target_os = "linux")]
    fn write_durable_at(&self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        use rustix::io::{Errno, ReadWriteFlags, pwritev2};
        while !bytes.is_empty() {
            match pwritev2(&self.file, &[io::IoSlice::new(bytes)], offset, ReadWriteFlags::DSYNC) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    offset += written as u64;
                    bytes = bytes.get(written..).unwrap_or_default();
                }
                Err(Errno::INTR) => {}
                // A file system that does not know the flag; nothing was written.
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    self.file.write_all_at(bytes, offset)?;
                    return self.file.sync_data();
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)?;
        self.file.sync_data()
    }

    fn sync(&self) -> io::Result<()> {
        // On macOS the standard library asks for F_FULLFSYNC, which is what reaches the medium there.
        self.file.sync_all()
    }

    fn sync_parent(&self) -> io::Result<()> {
        let parent = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(parent)?.sync_all()
    }

    fn lock(&self, mode: LockMode) -> io::Result<bool> {
        match locks::lock(&self.file, mode)? {
            true => self.check_place().map(|()| true),
            false => Ok(false),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        locks::unlock(&self.file)
    }

    fn pin(&self, checkpoint: u64) -> io::Result<bool> {
        locks::pin(&self.file, checkpoint)
    }

    fn unpin(&self, checkpoint: u64) -> io::Result<()> {
        locks::unpin(&self.file, checkpoint)
    }

    fn is_pinned_before(&self, checkpoint: u64) -> io::Result<bool> {
        locks::is_pinned_before(&self.file, checkpoint)
    }

    fn entropy(&self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
        Ok(u64::from_le_bytes(bytes))
    }
}

fn lengthen(file: &File, len_bytes: u64) -> io::Result<()> {
    if file.metadata()?.len() < len_bytes { file.set_len(len_bytes) } else { Ok(()) }
}
