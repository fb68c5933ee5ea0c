//! The note of how far the log is known to be durable, beside the segments.

use std::io;

use env::Disk;

/// The file the note is in.
pub(crate) const NOTE_FILE: &str = "log-durable";

const MAGIC: &[u8; 8] = b"DueMQdur";
const NOTE_BYTES: usize = 24;

/// Slots are sectors apart, so that a write that is torn or fails in part spoils one of them at most.
const SLOT_BYTES: u64 = 512;

/// What a slot of the file `log-durable` says. Little-endian, 24 bytes, at byte 0 and at byte 512.
///
/// It is written after each sync, to the slots in turn, and itself synced when a segment is full, at a start
/// and at a clean shutdown. So it never claims too much, and after a loss of power perhaps too little; of two
/// good slots the one that claims more counts.
///
/// | at | bytes | field     | meaning                                              |
/// |---:|------:|-----------|------------------------------------------------------|
/// |  0 |     8 | magic     | `DueMQdur`                                           |
/// |  8 |     8 | `durable` | every byte of the log before this place was durable  |
/// | 16 |     4 |           | zeros                                                |
/// | 20 |     4 | `crc`     | CRC-32 (IEEE) of bytes 0 to 20                       |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) durable: u64,
    slot: u64,
}

impl Note {
    /// The note of a log that has none yet.
    pub(crate) const EMPTY: Self = Self { durable: 0, slot: 1 };

    /// The note that takes the other slot, and leaves this one standing.
    #[must_use]
    pub(crate) const fn next(self, durable: u64) -> Self {
        Self { durable, slot: 1 - self.slot }
    }

    pub(crate) fn write(self, disk: &dyn Disk) -> io::Result<()> {
        disk.write_at(NOTE_FILE, self.slot * SLOT_BYTES, &self.encode())
    }

    /// The newest note; `None` where there is no good one, so that nothing is known.
    pub(crate) fn read(disk: &dyn Disk) -> io::Result<Option<Self>> {
        let mut newest: Option<Self> = None;
        for slot in 0..2 {
            let mut bytes = [0; NOTE_BYTES];
            match disk.read_at(NOTE_FILE, slot * SLOT_BYTES, &mut bytes) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
            let note = Self::decode(&bytes, slot);
            newest = newest.into_iter().chain(note).max_by_key(|note| note.durable);
        }
        Ok(newest)
    }

    fn encode(self) -> [u8; NOTE_BYTES] {
        let mut bytes = [0; NOTE_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..16].copy_from_slice(&self.durable.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..20]);
        bytes[20..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; NOTE_BYTES], slot: u64) -> Option<Self> {
        let durable = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
        let note = Self { durable, slot };
        (note.encode() == *bytes).then_some(note)
    }
}

#[cfg(test)]
mod tests {
    use env::{Disk, Fault, SimDisk};

    use super::{NOTE_FILE, Note};

    #[test]
    fn the_newest_good_note_counts() {
        let disk = SimDisk::new(1);
        assert_eq!(Note::read(&disk).unwrap(), None);
        let first = Note::EMPTY.next(40);
        first.write(&disk).unwrap();
        assert_eq!(Note::read(&disk).unwrap(), Some(first));
        let second = first.next(80);
        second.write(&disk).unwrap();
        assert_eq!(Note::read(&disk).unwrap(), Some(second));
        disk.inject(Fault::FlipBit { file: NOTE_FILE.into(), byte: 512 + 9 });
        assert_eq!(Note::read(&disk).unwrap(), Some(first), "the other slot still stands");
        second.write(&disk).unwrap();
        assert_eq!(Note::read(&disk).unwrap(), Some(second));
        disk.set_len(NOTE_FILE, 10).unwrap();
        assert_eq!(Note::read(&disk).unwrap(), None);
    }
}
