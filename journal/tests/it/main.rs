//! The log as its callers see it, on simulated and real disks.

mod crash;
mod recovery;
mod world;
