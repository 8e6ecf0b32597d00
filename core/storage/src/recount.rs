//! Free space without its list, and blocks with a bad copy: what an opener for writing puts right.

use crate::block::{BlockPointer, is_twin};
use crate::error::{Error, Result};
use crate::inspect::{self, Lost, Values, Visit};
use crate::pages::Pager;
use crate::space::{Extent, Space};
use crate::superblock::Superblock;
use crate::tree::Packed;

/// What is free in the file below its end.
pub(crate) struct Counted {
    pub(crate) space: Space,
    /// Whether that is all: where something cannot be read, nobody knows what it leads to, and nothing is free.
    pub(crate) is_exact: bool,
}

/// What is free as of a checkpoint: by its list, or where that cannot be read, by walking what it reaches.
pub(crate) fn space_of(pager: &Pager, superblock: &Superblock, file_len: u64) -> Result<Counted> {
    let Some(map) = &superblock.space_map else {
        return Ok(Counted { space: Space::new(), is_exact: true });
    };
    match inspect::space_map(pager, map) {
        Ok(mut space) => {
            // The file may have been shortened since, by what was free at its end.
            space.cut_to(file_len);
            match space.end() <= file_len {
                true => Ok(Counted { space, is_exact: true }),
                // What it says is in use is not there.
                false => by_walking(pager, superblock, map, file_len),
            }
        }
        Err(Error::Corrupt { .. } | Error::Io { .. }) => by_walking(pager, superblock, map, file_len),
        Err(error) => Err(error),
    }
}

fn by_walking(pager: &Pager, superblock: &Superblock, map: &BlockPointer, file_len: u64) -> Result<Counted> {
    let mut used = Used { extents: Vec::new(), is_whole: true };
    inspect::walk(pager, superblock, Values::Note, &mut used)?;
    let Used { mut extents, is_whole } = used;
    // The next checkpoint drops it, readable or not.
    extents.push(map.extent());
    extents.sort_unstable();
    let whole = is_whole.then(|| Space::with_used(&extents, file_len)).flatten();
    Ok(match whole {
        Some(space) => Counted { space, is_exact: true },
        None => Counted { space: Space::all_used(file_len), is_exact: false },
    })
}

struct Used {
    extents: Vec<Extent>,
    is_whole: bool,
}

impl Visit for Used {
    fn block(&mut self, extent: Extent) {
        self.extents.push(extent);
    }

    fn leaf(&mut self, _: u64, _: &Packed) -> Result<()> {
        Ok(())
    }

    fn problem(&mut self, _: u64, error: Error, lost: Lost<'_>) -> Result<()> {
        // The list itself, a bad copy, a wrong count: they hide nothing.
        let is_hidden = !matches!(lost, Lost::Nothing);
        self.is_whole &= !is_hidden;
        match error {
            // What cannot be read now may be readable later: taken for damage, it would keep its space for good.
            Error::Io { .. } if is_hidden => Err(error),
            _ => Ok(()),
        }
    }
}

/// Writes bad copies of the most important blocks again. Only while nobody else uses the file.
pub(crate) fn mend_twins(pager: &Pager, superblock: &Superblock) -> Result<()> {
    let mut found = BadCopies::default();
    inspect::list_of_free_space(pager, superblock, &mut found)?;
    let tables = inspect::tables(pager, superblock, &mut found)?;
    for (id, entry) in tables.iter().filter(|(id, _)| is_twin(*id)) {
        inspect::table(pager, *id, entry, Values::Read, &mut found)?;
    }
    let mut is_changed = false;
    for (table, pointer) in &found.blocks {
        // A disk that refuses this is no worse than before.
        is_changed |= matches!(pager.mend(pointer, *table), Ok(true));
    }
    if is_changed {
        let disk = pager.disk();
        disk.sync().map_err(|error| Error::io("sync repaired blocks of", disk.place(), &error))?;
    }
    Ok(())
}

#[derive(Default)]
struct BadCopies {
    blocks: Vec<(u64, BlockPointer)>,
}

impl Visit for BadCopies {
    fn block(&mut self, _: Extent) {}

    fn leaf(&mut self, _: u64, _: &Packed) -> Result<()> {
        Ok(())
    }

    fn problem(&mut self, _: u64, _: Error, _: Lost<'_>) -> Result<()> {
        Ok(())
    }

    fn bad_copy(&mut self, table: u64, pointer: &BlockPointer, _: Error) -> Result<()> {
        self.blocks.push((table, *pointer));
        Ok(())
    }
}
