//! The owner's sector: who has the file open, for the text of an error. Nothing depends on it.

use crate::disk::Disk;
use crate::error::Error;
use crate::superblock::OWNER_OFFSET_BYTES;

const SECTOR_BYTES: usize = 512;

/// Notes this process as the owner. Failure does not matter.
pub(crate) fn write(disk: &dyn Disk) {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    write_text(disk, &format!("pid {}\nhost {host}\n", std::process::id()));
}

/// Notes that nobody has the file open.
pub(crate) fn clear(disk: &dyn Disk) {
    write_text(disk, "");
}

fn write_text(disk: &dyn Disk, text: &str) {
    let mut sector = text.as_bytes().to_vec();
    sector.resize(SECTOR_BYTES, 0);
    // Not synced, and an error is not looked at: the sector is advice.
    let _ = disk.write_at(OWNER_OFFSET_BYTES, &sector);
}

/// The error of whoever finds the file locked.
pub(crate) fn locked(disk: &dyn Disk) -> Error {
    let mut sector = [0; SECTOR_BYTES];
    let text = match disk.read_at(OWNER_OFFSET_BYTES, &mut sector) {
        Ok(()) => String::from_utf8_lossy(&sector).into_owned(),
        Err(_) => String::new(),
    };
    let field = |name| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    Error::Locked {
        place: disk.place().to_owned(),
        pid: field("pid ").parse().ok(),
        host: field("host ").to_owned(),
    }
}
