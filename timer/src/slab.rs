//! Room for the entries of the wheels' lists.

use crate::Entry;

/// Nodes of a block.
const BLOCK: usize = 4096;

/// One more than a node's place; 0 leads nowhere, so that an array of links is made of zeros.
pub(crate) type Link = u32;
pub(crate) const NOWHERE: Link = 0;

/// An entry in the list of its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) entry: Entry,
    /// The entry accepted after this one.
    pub(crate) next: Link,
    /// In the last node of a list only: how many nodes were ever put into the list, less one.
    pub(crate) behind: u32,
}

const _: () = assert!(size_of::<Node>() == 56, "a node is paid for once a pending message that is near");

/// Nodes in blocks. It grows without moving any. Once all nodes are free, the blocks are given back one at
/// a time, so that no call pays for a whole burst.
#[derive(Debug, Default)]
pub(crate) struct Slab {
    blocks: Vec<Vec<Node>>,
    /// The block that gets the next new node. Those behind it are empty.
    filling: usize,
    free: Link,
    used: usize,
}

impl Slab {
    pub(crate) fn insert(&mut self, entry: Entry, next: Link, behind: u32) -> Link {
        let node = Node { entry, next, behind };
        self.used += 1;
        if self.free != NOWHERE {
            let link = self.free;
            let place = self.get_mut(link);
            let free = std::mem::replace(place, node).next;
            self.free = free;
            return link;
        }
        if self.blocks.get(self.filling).is_some_and(|block| block.len() == BLOCK) {
            self.filling += 1;
        }
        match self.blocks.len() {
            blocks if blocks <= self.filling => self.blocks.push(Vec::with_capacity(BLOCK)),
            blocks if blocks > self.filling + 2 => self.blocks.truncate(blocks - 1),
            _ => {}
        }
        let block = &mut self.blocks[self.filling];
        block.push(node);
        Link::try_from(self.filling * BLOCK + block.len()).expect("memory ends before the links do")
    }

    pub(crate) fn remove(&mut self, link: Link) -> Node {
        let free = self.free;
        let place = self.get_mut(link);
        let node = *place;
        place.next = free;
        self.free = link;
        self.used -= 1;
        if self.used == 0 {
            self.blocks.iter_mut().for_each(Vec::clear);
            (self.filling, self.free) = (0, NOWHERE);
        }
        node
    }

    pub(crate) fn get(&self, link: Link) -> &Node {
        let at = link as usize - 1;
        &self.blocks[at / BLOCK][at % BLOCK]
    }

    pub(crate) fn get_mut(&mut self, link: Link) -> &mut Node {
        let at = link as usize - 1;
        &mut self.blocks[at / BLOCK][at % BLOCK]
    }
}

#[cfg(test)]
mod tests;
