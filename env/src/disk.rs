//! The disk as the engine sees it: one flat folder of named files.

use std::io;

/// A folder of files, named `[a-z0-9._-]+`. Shared between threads; every call blocks until done.
///
/// Written is not durable: bytes survive a power loss only once [`Disk::sync`] of their file returned, and
/// a file's existence, name or absence only once [`Disk::sync_folder`] did.
pub trait Disk: Send + Sync {
    /// The names of all files, sorted.
    fn list(&self) -> io::Result<Vec<String>>;

    /// The length of the file in bytes. [`io::ErrorKind::NotFound`] where there is none.
    fn len(&self, name: &str) -> io::Result<u64>;

    /// Reads into `into` from byte `at` on; gives how many bytes there were, fewer only at the file's end.
    fn read_at(&self, name: &str, at: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Tells that these bytes will be read soon. Only advice: it waits for nothing, and nothing depends on it.
    fn will_read(&self, _name: &str, _at: u64, _length: u64) {}

    /// Writes all of `bytes` from byte `at` on. Makes the file where there is none, and grows it with zeros
    /// where `at` is past its end.
    fn write_at(&self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts or grows (with zeros) the file to `length` bytes.
    fn set_len(&self, name: &str, length: u64) -> io::Result<()>;

    /// Makes the file's bytes and length durable (`fdatasync`).
    fn sync(&self, name: &str) -> io::Result<()>;

    /// Makes the folder's names durable.
    fn sync_folder(&self) -> io::Result<()>;

    /// Gives `from` the name `to`, in place of a file of that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes the file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Bytes free for use on the device.
    fn free_bytes(&self) -> io::Result<u64>;
}
