//! Span: many small places of files, read in few calls.

use std::sync::Arc;

use bytes::Bytes;

use crate::Disk;

/// A gap that is read through rather than passed over: reading so much costs about what another call costs.
const GAP_BYTES: u64 = 1 << 10;
/// A gap that the disk had better read through, where it must be asked.
const DISK_GAP_BYTES: u64 = 64 << 10;
/// Bytes that are kept together at most, but one span always is: whoever keeps one of them keeps all.
const KEPT_BYTES: u64 = 1 << 20;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// What it is to whoever asks.
    pub id: usize,
    /// The file's name.
    pub file: Arc<str>,
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

/// Spans of one file that are read in one call.
struct Run<'a> {
    spans: &'a [Span],
    end: u64,
}

impl Run<'_> {
    fn at(&self) -> u64 {
        self.spans[0].at
    }

    /// Its bytes in a file of `file_end` bytes: nothing is allocated for what a file lacks.
    fn length(&self, file_end: u64) -> usize {
        self.end.min(file_end).saturating_sub(self.at()) as usize
    }
}

/// Reads spans, those that touch each other in one call, and hands each to `each` with its id, in the order of files and
/// places. One that cannot be read, or ends behind its file's end, is not handed on: whoever wants to know why reads it
/// alone. Blocks.
pub fn read_spans(disk: &dyn Disk, mut spans: Vec<Span>, each: &mut dyn FnMut(usize, Bytes)) {
    spans.sort_unstable_by(|a, b| (&a.file, a.at, a.length).cmp(&(&b.file, b.at, b.length)));
    for of_file in spans.chunk_by(|a, b| a.file == b.file) {
        let Ok(file_end) = disk.len(&of_file[0].file) else { continue };
        let mut rest = of_file;
        while !rest.is_empty() {
            let mut runs = Vec::new();
            let mut bytes = 0;
            while let Some(run) = first_run(rest) {
                bytes += run.length(file_end) as u64;
                if bytes > KEPT_BYTES && !runs.is_empty() {
                    break;
                }
                rest = &rest[run.spans.len()..];
                runs.push(run);
            }
            read_runs(disk, &runs, file_end, each);
        }
    }
}

/// The first spans of one file that are read in one call.
fn first_run(spans: &[Span]) -> Option<Run<'_>> {
    let first = spans.first()?;
    let (mut end, mut count) = (first.end(), 1);
    for span in &spans[1..] {
        let touches = span.at <= end.saturating_add(GAP_BYTES);
        if !touches || span.end().saturating_sub(first.at) > KEPT_BYTES {
            break;
        }
        end = end.max(span.end());
        count += 1;
    }
    Some(Run { spans: &spans[..count], end })
}

/// Reads runs of one file into one piece of memory.
fn read_runs(disk: &dyn Disk, runs: &[Run<'_>], file_end: u64, each: &mut dyn FnMut(usize, Bytes)) {
    advise(disk, runs);
    let mut bytes = vec![0; runs.iter().map(|run| run.length(file_end)).sum()];
    let mut rest = bytes.as_mut_slice();
    let mut read = Vec::with_capacity(runs.len());
    for run in runs {
        let (into, behind) = rest.split_at_mut(run.length(file_end));
        rest = behind;
        read.push(disk.read_at(&run.spans[0].file, run.at(), into).ok());
    }
    let bytes = Bytes::from(bytes);
    let mut begin = 0;
    for (run, read) in runs.iter().zip(read) {
        for span in run.spans {
            let from = (span.at - run.at()) as usize;
            let to = from.saturating_add(span.length);
            if read.is_some_and(|read| to <= read) {
                each(span.id, bytes.slice(begin + from..begin + to));
            }
        }
        begin += run.length(file_end);
    }
}

/// Tells the disk what will be read, so that it need not be asked for each run one after the other.
fn advise(disk: &dyn Disk, runs: &[Run<'_>]) {
    let near = |a: &Run<'_>, b: &Run<'_>| b.at() <= a.end.saturating_add(DISK_GAP_BYTES);
    for near in runs.chunk_by(near).filter(|near| near.len() > 1) {
        let (begin, end) = (near[0].at(), near[near.len() - 1].end);
        disk.will_read(&near[0].spans[0].file, begin, end - begin);
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
            file: file.into(),
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
