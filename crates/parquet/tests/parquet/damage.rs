//! Damaged files give an error or a table, but never a panic.

use super::fixtures::files;
use proptest::prelude::*;
use straggler_parquet::{Error, Reader};

/// Reads all flat columns.
fn read(file: &[u8], step: usize) -> Result<(), Error> {
    let reader = Reader::open(&file)?;
    let columns = &reader.schema().columns;
    let flat: Vec<usize> = (0..columns.len()).filter(|&column| !columns[column].nested).collect();
    for group in 0..reader.groups().len() {
        let mut rows = reader.rows(group, &flat)?;
        while rows.next(step)? > 0 {
            assert!((0..flat.len()).all(|place| rows.column(place).len() <= step));
        }
    }
    Ok(())
}

/// Every other byte of every file, with one bit, some bits or all bits changed in turn.
#[test]
fn changed_bytes_never_panic() {
    let (mut refused, mut all) = (0, 0);
    for (name, file) in files() {
        let mut bad = file.clone();
        for at in (0..file.len()).step_by(2) {
            bad[at] ^= [1 << (at / 8 % 8), 0x80, 0xff, (at * 37) as u8 | 1][at / 2 % 4];
            all += 1;
            if let Err(error) = read(&bad, 64) {
                refused += 1;
                let text = error.to_string();
                let is_named = ["footer", "column ", "PAR1"].iter().any(|part| text.contains(part));
                assert!(is_named, "{name}, byte {at}: {text}");
            }
            bad[at] = file[at];
        }
    }
    assert!(refused > all / 4, "{refused} of {all}");
}

#[test]
fn cut_files_are_refused() {
    for (name, file) in files() {
        for length in 0..file.len() {
            assert!(read(&file[..length], 64).is_err(), "{name}, {length} of {} bytes", file.len());
        }
    }
}

proptest! {
    /// Several bytes changed, moved or removed. Half of them near the end, where all lengths are.
    #[test]
    fn damaged_files_never_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), any::<u8>(), 0..4u8), 1..12),
    ) {
        let files = files();
        let (_, mut file) = files[which.index(files.len())].clone();
        for (place, is_near_end, byte, what) in changes {
            let reach = if is_near_end { file.len().min(1500) } else { file.len() };
            let at = file.len() - 1 - place.index(reach);
            match what {
                0 => drop(file.remove(at)),
                1 => file.insert(at, byte),
                _ => file[at] = byte,
            }
        }
        let _ = read(&file, 100);
    }

    #[test]
    fn any_footer_is_refused_or_read(footer in prop::collection::vec(any::<u8>(), 0..200)) {
        let length = (footer.len() as u32).to_le_bytes();
        let file = [&b"PAR1"[..], &[7; 50], &footer, &length, b"PAR1"].concat();
        let _ = read(&file, 100);
    }
}
