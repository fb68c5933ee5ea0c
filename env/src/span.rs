//! Span: many small places of files, read in few calls.

use bytes::Bytes;

use crate::Disk;

/// A gap that is read through rather than passed over: reading 64 KiB costs about what another call costs.
const GAP_BYTES: u64 = 64 << 10;
/// Bytes read in one call at most, but one span always is.
const READ_BYTES: u64 = 1 << 20;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// What it is to whoever asks.
    pub id: usize,
    /// The file's name.
    pub file: String,
    /// Where it begins, in bytes.
    pub at: u64,
    /// Its bytes.
    pub length: usize,
}

impl Span {
    fn end(&self) -> u64 {
        self.at.saturating_add(self.length as u64)
    }
}

/// Reads spans, those near each other in one go, and hands each to `each` with its id, in the order of files and places.
/// One that cannot be read, or ends behind its file's end, is not handed on: whoever wants to know why reads it alone.
/// Blocks.
pub fn read_spans(disk: &dyn Disk, mut spans: Vec<Span>, each: &mut dyn FnMut(usize, Bytes)) {
    spans.sort_unstable_by(|a, b| (&a.file, a.at, a.length).cmp(&(&b.file, b.at, b.length)));
    let mut rest = spans.as_slice();
    while let Some(first) = rest.first() {
        let (mut end, mut count, mut wanted) = (first.end(), 0, 0);
        for span in rest {
            let is_near = span.file == first.file && span.at <= end.saturating_add(GAP_BYTES);
            if count > 0 && (!is_near || span.end().saturating_sub(first.at) > READ_BYTES) {
                break;
            }
            end = end.max(span.end());
            count += 1;
            wanted += span.length;
        }
        let (here, behind) = rest.split_at(count);
        rest = behind;
        read_one(disk, here, end, wanted, each);
    }
}

/// Reads spans of one file that end by `end`, in one call.
fn read_one(disk: &dyn Disk, spans: &[Span], end: u64, wanted: usize, each: &mut dyn FnMut(usize, Bytes)) {
    let (file, begin) = (&spans[0].file, spans[0].at);
    // Nothing is allocated for what a file lacks.
    let Ok(file_end) = disk.len(file) else { return };
    let length = end.min(file_end).saturating_sub(begin) as usize;
    let mut bytes = vec![0; length];
    let Ok(read) = disk.read_at(file, begin, &mut bytes) else { return };
    bytes.truncate(read);
    let bytes = Bytes::from(bytes);
    for span in spans {
        let from = (span.at - begin) as usize;
        let Some(part) =
            from.checked_add(span.length).filter(|&to| to <= read).map(|to| bytes.slice(from..to))
        else {
            continue;
        };
        // A slice keeps all in memory that was read with it: where most of that was gaps, it is not worth it.
        each(span.id, if wanted * 2 > read { part } else { Bytes::copy_from_slice(&part) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimDisk;
    use std::collections::BTreeMap;

    fn read(disk: &SimDisk, spans: &[(&str, u64, usize)]) -> BTreeMap<usize, Bytes> {
        let spans = spans.iter().enumerate().map(|(id, &(file, at, length))| Span {
            id,
            file: file.to_owned(),
            at,
            length,
        });
        let mut found = BTreeMap::new();
        read_spans(disk, spans.collect(), &mut |id, bytes| drop(found.insert(id, bytes)));
        found
    }

    #[test]
    fn each_span_gets_its_bytes_whatever_their_order_and_whoever_lies_beside_it() {
        let disk = SimDisk::new(1);
        let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        disk.write_at("a", 0, &content).unwrap();
        disk.write_at("b", 0, &content[7..]).unwrap();
        let spans = [
            ("b", 100_000, 4),
            ("a", 700_000, 300_000),
            ("a", 10, 20),
            ("a", 12, 5),
            ("a", 1_199_990, 10),
            ("a", 60_000, 100),
            ("b", 0, 0),
        ];
        let found = read(&disk, &spans);
        assert_eq!(found.len(), spans.len());
        for (id, (file, at, length)) in spans.into_iter().enumerate() {
            let from = at as usize + if file == "b" { 7 } else { 0 };
            assert_eq!(found[&id], content[from..from + length], "span {id}");
        }
    }

    #[test]
    fn what_cannot_be_read_holds_up_nothing_else() {
        let disk = SimDisk::new(1);
        disk.write_at("a", 0, b"0123456789").unwrap();
        let found = read(&disk, &[("a", 8, 4), ("a", 2, 3), ("none", 0, 1), ("a", u64::MAX - 1, 9)]);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [(1, Bytes::from_static(b"234"))]);
    }
}
