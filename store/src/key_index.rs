//! Where a topic's messages with a certain key lie.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use journal::Extent;
use model::{LogOffset, TopicId};

/// The hash of a key within a topic: 64-bit FNV-1a over the topic's id (little-endian) and the key's bytes,
/// stirred at the end so that every bit depends on all others.
///
/// It is the same on every machine and at every start. Different keys may share a hash: whoever finds
/// something by it compares the key itself.
pub fn key_hash(topic: TopicId, key: &str) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let bytes = topic.0.to_le_bytes().into_iter().chain(key.bytes());
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    // FNV leaves the highest bits poor; this is the finish of MurmurHash3.
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// Nodes, or list heads, of a block.
const BLOCK: usize = 4096;
/// Entries a list may hold; more than that are kept in a sorted map.
const CROWD: usize = 32;

/// One more than a node's place; 0 leads nowhere.
type Link = u32;
const NOWHERE: Link = 0;
/// Stands for the head of a list whose entries are in the sorted map.
const CROWDED: Link = Link::MAX;

/// A message that may have a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it lies.
    pub extent: Extent,
    /// Whether it lay there to wait for its moment.
    pub parked: bool,
}

/// The bit of a length that says that the message was parked.
const PARKED: u32 = 1 << 31;

impl Found {
    fn new(at: LogOffset, length: u32) -> Self {
        Self { extent: Extent { at, length: length & !PARKED }, parked: length & PARKED != 0 }
    }

    fn length(&self) -> u32 {
        assert!(self.extent.length & PARKED == 0, "a message of {} bytes", self.extent.length);
        self.extent.length | if self.parked { PARKED } else { 0 }
    }
}

/// Where keys occur: pairs of a key's hash and a message's place.
///
/// A hash table that grows by one list with every entry, so that no call pays for growing it. An entry is a
/// node of 24 bytes and a list head of 4. A list that gets long, because a producer gives every message the
/// same key or chooses keys whose hashes fall together, is put into a sorted map, so that no call ever walks
/// far. The table never shrinks; places that became free are used again.
///
/// There are always as many lists as there ever were entries in lists, and one. With `n` lists, an entry is
/// in the one its hash's lowest bits name, as many bits as it takes to count to `n`; where that list is not
/// there yet, the bit above decides nothing. So adding list `n` splits one other list and touches no other.
#[derive(Debug)]
pub struct KeyIndex {
    heads: Blocks<Link>,
    nodes: Blocks<Node>,
    free: Link,
    /// Entries in lists.
    listed: usize,
    /// The others. Their hashes' bits are reversed: then the entries of a list are side by side.
    crowds: BTreeMap<(u64, LogOffset), u32>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    hash: u64,
    at: LogOffset,
    length: u32,
    /// The entry in the same list that comes after this one in the log.
    next: Link,
}

const _: () = assert!(size_of::<Node>() == 24, "a node is paid for once a key");

impl Default for KeyIndex {
    fn default() -> Self {
        let mut heads = Blocks::default();
        heads.push(NOWHERE);
        Self { heads, nodes: Blocks::default(), free: NOWHERE, listed: 0, crowds: BTreeMap::new() }
    }
}

impl KeyIndex {
    /// Empty.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a message with the key. A message that is there already stays there once.
    pub fn insert(&mut self, topic: TopicId, key: &str, found: Found) {
        self.insert_hashed(key_hash(topic, key), found);
    }

    /// Takes `gone` with the key away, where it is there, and adds `found` with the key.
    pub fn replace(&mut self, topic: TopicId, key: &str, gone: Extent, found: Found) {
        let hash = key_hash(topic, key);
        self.remove_hashed(hash, gone);
        self.insert_hashed(hash, found);
    }

    fn insert_hashed(&mut self, hash: u64, found: Found) {
        let (extent, length) = (found.extent, found.length());
        let list = self.list_of(hash);
        let head = *self.heads.get(list);
        if head == CROWDED {
            self.crowds.insert((hash.reverse_bits(), extent.at), length);
            return;
        }
        let (mut before, mut after) = (NOWHERE, head);
        let (mut here, mut count) = (head, 0);
        while here != NOWHERE {
            let node = self.node(here);
            if (node.hash, node.at) == (hash, extent.at) {
                return;
            }
            if node.at <= extent.at {
                (before, after) = (here, node.next);
            }
            (here, count) = (node.next, count + 1);
        }
        if count == CROWD {
            self.crowd(list);
            self.crowds.insert((hash.reverse_bits(), extent.at), length);
            return;
        }
        let link = self.put(Node { hash, at: extent.at, length, next: after });
        self.relink(list, before, link);
        if self.listed > self.heads.len() {
            self.split();
        }
    }

    /// Takes a message with the key away; tells whether it was there.
    pub fn remove(&mut self, topic: TopicId, key: &str, extent: Extent) -> bool {
        self.remove_hashed(key_hash(topic, key), extent)
    }

    fn remove_hashed(&mut self, hash: u64, extent: Extent) -> bool {
        let list = self.list_of(hash);
        let head = *self.heads.get(list);
        if head == CROWDED {
            return self.crowds.remove(&(hash.reverse_bits(), extent.at)).is_some();
        }
        let (mut before, mut here) = (NOWHERE, head);
        while here != NOWHERE {
            let node = *self.node(here);
            if (node.hash, node.at) == (hash, extent.at) {
                self.relink(list, before, node.next);
                self.give_back(here);
                return true;
            }
            (before, here) = (here, node.next);
        }
        false
    }

    /// The messages that may have the key, in the order of the log, the newest last. The caller compares
    /// topic and key, and bounds how many it looks at.
    pub fn find(&self, topic: TopicId, key: &str) -> impl DoubleEndedIterator<Item = Found> {
        let hash = key_hash(topic, key);
        let head = *self.heads.get(self.list_of(hash));
        let listed: Vec<Found> = self
            .list(if head == CROWDED { NOWHERE } else { head })
            .filter(|node| node.hash == hash)
            .map(|node| Found::new(node.at, node.length))
            .collect();
        let reversed = hash.reverse_bits();
        let crowd = self.crowds.range((reversed, LogOffset(0))..=(reversed, LogOffset(u64::MAX)));
        listed.into_iter().chain(crowd.map(|(&(_, at), &length)| Found::new(at, length)))
    }

    /// All pairs, each by its key's hash, in no order. Looks at every one.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Found)> {
        let lists = (0..self.heads.len()).map(|list| *self.heads.get(list)).filter(|&head| head != CROWDED);
        let listed = lists.flat_map(|head| self.list(head));
        let crowds = self.crowds.iter();
        listed
            .map(|node| (node.hash, Found::new(node.at, node.length)))
            .chain(crowds.map(|(&(reversed, at), &length)| (reversed.reverse_bits(), Found::new(at, length))))
    }

    /// How many pairs of key and message there are.
    pub fn len(&self) -> u64 {
        (self.listed + self.crowds.len()) as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn list_of(&self, hash: u64) -> usize {
        let lists = self.heads.len();
        let all = lists.next_power_of_two();
        let list = hash as usize & (all - 1);
        if list < lists { list } else { list - all / 2 }
    }

    /// Adds a list, and divides between it and another the entries that list holds.
    fn split(&mut self) {
        let new = self.heads.len();
        let half = (new + 1).next_power_of_two() / 2;
        let old = new - half;
        self.heads.push(NOWHERE);
        if *self.heads.get(old) == CROWDED {
            *self.heads.get_mut(new) = CROWDED;
            self.thin(old, half);
            self.thin(new, half);
            return;
        }
        let mut here = std::mem::replace(self.heads.get_mut(old), NOWHERE);
        let mut ends = [NOWHERE; 2];
        while here != NOWHERE {
            let node = self.node(here);
            let (next, is_new) = (node.next, node.hash as usize & half != 0);
            let end = ends[usize::from(is_new)];
            self.relink(if is_new { new } else { old }, end, here);
            self.nodes.get_mut(here as usize - 1).next = NOWHERE;
            ends[usize::from(is_new)] = here;
            here = next;
        }
    }

    /// Puts a list's entries into the sorted map.
    fn crowd(&mut self, list: usize) {
        let mut here = std::mem::replace(self.heads.get_mut(list), CROWDED);
        while here != NOWHERE {
            let node = *self.node(here);
            self.crowds.insert((node.hash.reverse_bits(), node.at), node.length);
            self.give_back(here);
            here = node.next;
        }
    }

    /// Puts the entries of a list that has just been split back from the sorted map, where they are few.
    fn thin(&mut self, list: usize, half: usize) {
        let range = reversed_hashes(list, half);
        let mut few: Vec<Node> = self
            .crowds
            .range((*range.start(), LogOffset(0))..=(*range.end(), LogOffset(u64::MAX)))
            .take(CROWD / 2 + 1)
            .map(|(&(reversed, at), &length)| Node {
                hash: reversed.reverse_bits(),
                at,
                length,
                next: NOWHERE,
            })
            .collect();
        if few.len() > CROWD / 2 {
            return;
        }
        *self.heads.get_mut(list) = NOWHERE;
        few.sort_unstable_by_key(|node| node.at);
        for node in few.into_iter().rev() {
            self.crowds.remove(&(node.hash.reverse_bits(), node.at));
            let next = *self.heads.get(list);
            let link = self.put(Node { next, ..node });
            *self.heads.get_mut(list) = link;
        }
    }

    /// Makes `link` follow `before`, or be the first of the list.
    fn relink(&mut self, list: usize, before: Link, link: Link) {
        match before {
            NOWHERE => *self.heads.get_mut(list) = link,
            before => self.nodes.get_mut(before as usize - 1).next = link,
        }
    }

    fn put(&mut self, node: Node) -> Link {
        self.listed += 1;
        if self.free == NOWHERE {
            self.nodes.push(node);
            return Link::try_from(self.nodes.len()).expect("memory ends before the links do");
        }
        let link = self.free;
        self.free = std::mem::replace(self.nodes.get_mut(link as usize - 1), node).next;
        link
    }

    fn give_back(&mut self, link: Link) {
        self.nodes.get_mut(link as usize - 1).next = self.free;
        self.free = link;
        self.listed -= 1;
    }

    fn node(&self, link: Link) -> &Node {
        self.nodes.get(link as usize - 1)
    }

    fn list(&self, head: Link) -> impl Iterator<Item = &Node> {
        let mut link = head;
        std::iter::from_fn(move || {
            let node = (link != NOWHERE).then(|| self.node(link))?;
            link = node.next;
            Some(node)
        })
    }
}

/// The reversed hashes of the entries of a list, where lists are named by the bits up to `half`.
fn reversed_hashes(list: usize, half: usize) -> RangeInclusive<u64> {
    let first = (list as u64).reverse_bits();
    let free = u64::MAX >> (half.trailing_zeros() + 1);
    first..=first | free
}

/// An array that grows without moving what it holds.
#[derive(Debug)]
struct Blocks<T>(Vec<Vec<T>>);

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Blocks<T> {
    fn push(&mut self, item: T) {
        match self.0.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(item),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(item);
                self.0.push(block);
            }
        }
    }

    fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * BLOCK + last.len())
    }

    fn get(&self, at: usize) -> &T {
        &self.0[at / BLOCK][at % BLOCK]
    }

    fn get_mut(&mut self, at: usize) -> &mut T {
        &mut self.0[at / BLOCK][at % BLOCK]
    }
}

#[cfg(test)]
mod tests;
