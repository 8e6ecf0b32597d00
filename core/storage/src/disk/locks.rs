//! Locks of parts of a file: who writes, and which checkpoints others read.
//!
//! Open-file-description locks: they belong to the open file, so closing another descriptor of the same file does not
//! lose them as the older record locks would, and a second open in the same process is refused like any other. They
//! lie far behind all data: one byte for the writer, and behind it one for every checkpoint that can be pinned.

use super::LockMode;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The writer's byte; that of checkpoint 0 follows.
const WRITER_BYTE: i64 = 1 << 62;
const FIRST_PIN_BYTE: i64 = WRITER_BYTE + 1;
/// Pins of later checkpoints than this would not fit; there are none.
const MAX_PIN: u64 = (1 << 61) - 1;

#[derive(Clone, Copy)]
struct Part {
    start: i64,
    /// 0: to the end of all files.
    len_bytes: i64,
}

fn part_of(mode: LockMode) -> Part {
    Part { start: WRITER_BYTE, len_bytes: if mode == LockMode::Alone { 0 } else { 1 } }
}

fn pin_byte(checkpoint: u64) -> Part {
    Part { start: FIRST_PIN_BYTE + checkpoint.min(MAX_PIN) as i64, len_bytes: 1 }
}

/// Locks the file; false when somebody else has it.
pub(super) fn lock(file: &File, mode: LockMode) -> io::Result<bool> {
    let kind = if mode == LockMode::NoWriter { libc::F_RDLCK } else { libc::F_WRLCK };
    set(file, kind, part_of(mode))
}

pub(super) fn unlock(file: &File) -> io::Result<()> {
    set(file, libc::F_UNLCK, part_of(LockMode::Writer)).map(drop)
}

pub(super) fn pin(file: &File, checkpoint: u64) -> io::Result<bool> {
    set(file, libc::F_RDLCK, pin_byte(checkpoint))
}

pub(super) fn unpin(file: &File, checkpoint: u64) -> io::Result<()> {
    set(file, libc::F_UNLCK, pin_byte(checkpoint)).map(drop)
}

pub(super) fn is_pinned_before(file: &File, checkpoint: u64) -> io::Result<bool> {
    if checkpoint == 0 {
        return Ok(false);
    }
    let len_bytes = pin_byte(checkpoint).start - FIRST_PIN_BYTE;
    let mut found = flock(libc::F_WRLCK, Part { start: FIRST_PIN_BYTE, len_bytes });
    // SAFETY: the descriptor is open while `file` is borrowed, and the call writes into a `flock` of ours.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut found) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(i32::from(found.l_type) != libc::F_UNLCK),
    }
}

/// Locks or unlocks a part; false when somebody else's lock is in the way.
fn set(file: &File, kind: libc::c_int, part: Part) -> io::Result<bool> {
    let wanted = flock(kind, part);
    loop {
        // SAFETY: the descriptor is open while `file` is borrowed, and the call only reads the `flock`.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const wanted) } != -1 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN | libc::EACCES) => return Ok(false),
            _ => return Err(error),
        }
    }
}

fn flock(kind: libc::c_int, part: Part) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: part.start,
        l_len: part.len_bytes,
        // Has to be 0 for locks of open files.
        l_pid: 0,
    }
}
