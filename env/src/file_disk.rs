//! The real disk: one folder of the file system.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::fs::{Advice, FlockOperation, Mode, OFlags};

use crate::disk::Disk;
use crate::name;

/// Files kept open at most. Far buckets are many and rarely touched, so they take turns.
const OPEN_MAX: usize = 128;

/// Reads of this many bytes are taken as a sequential scan: what follows is asked for ahead.
const SCAN_BYTES: usize = 1 << 20;

/// A data folder, locked against other processes while this value lives.
///
/// Positional reads and writes go through a bounded set of open files. Nothing is mapped into memory: a
/// full disk or a bad sector is then an error of a call, not a signal.
#[derive(Debug)]
pub struct FileDisk {
    folder: File,
    open: Mutex<OpenFiles>,
    /// Holds the lock; closed, and so unlocked, with this value.
    _lock: File,
}

/// Why a data folder was not opened. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The operator's move: another process serves this folder.
    #[error("data folder {folder} is in use by {}", holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}")))]
    Held {
        /// The folder.
        folder: PathBuf,
        /// The process that holds it, where it left its number.
        holder: Option<u32>,
    },
    /// The operator's move: the folder cannot be made, opened or written to.
    #[error("{doing} data folder {folder}")]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl FileDisk {
    /// Opens the folder, making it and its parents where missing, and takes its lock.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LockError> {
        let path = path.as_ref();
        let failed = |doing| move |source| LockError::Io { doing, folder: path.to_owned(), source };
        make_folder(path).map_err(failed("making"))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty());
        let folder = File::from(folder.map_err(io::Error::from).map_err(failed("opening"))?);
        let lock = open_at(&folder, name::LOCK, OFlags::CREATE).map_err(failed("making the lock of"))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(LockError::Held { folder: path.to_owned(), holder: holder_of(&lock) });
            }
            Err(error) => return Err(failed("locking")(error.into())),
        }
        let pid = format!("{}\n", std::process::id());
        lock.set_len(0)
            .and_then(|()| lock.write_all_at(pid.as_bytes(), 0))
            .map_err(failed("writing the lock of"))?;
        Ok(Self { folder, open: Mutex::default(), _lock: lock })
    }

    fn files(&self) -> MutexGuard<'_, OpenFiles> {
        self.open.lock().expect("no call panics while it holds the open files")
    }

    /// The open file called `name`, opened now where it was not; made where missing if `create` says so.
    fn file(&self, name: &str, create: OFlags) -> io::Result<Arc<File>> {
        name::check(name)?;
        loop {
            let renames = {
                let mut files = self.files();
                if let Some(file) = files.get(name) {
                    return Ok(file);
                }
                files.renames
            };
            // Opened without the lock: the engine must not wait while another thread opens a cold file.
            let file = Arc::new(open_at(&self.folder, name, create)?);
            let mut files = self.files();
            // A rename or removal meanwhile may have left the name with another file.
            if files.renames == renames {
                return Ok(files.insert(name, file));
            }
        }
    }
}

impl Disk for FileDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name::is_allowed(name) && self.is_file(name)? {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        Ok(self.file(name, OFlags::empty())?.metadata()?.len())
    }

    fn read_at(&self, name: &str, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let file = self.file(name, OFlags::empty())?;
        if into.len() >= SCAN_BYTES {
            let length = NonZeroU64::new(into.len() as u64);
            // Only advice: where it is refused the read is slower, not wrong.
            let _ =
                rustix::fs::fadvise(&*file, at.saturating_add(into.len() as u64), length, Advice::WillNeed);
        }
        let mut done = 0;
        while done < into.len() {
            match file.read_at(&mut into[done..], at + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn will_read(&self, name: &str, at: u64, length: u64) {
        if let (Ok(file), Some(length)) = (self.file(name, OFlags::empty()), NonZeroU64::new(length)) {
            let _ = rustix::fs::fadvise(&*file, at, Some(length), Advice::WillNeed);
        }
    }

    fn write_at(&self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file(name, OFlags::CREATE)?.write_all_at(bytes, at)
    }

    fn set_len(&self, name: &str, length: u64) -> io::Result<()> {
        self.file(name, OFlags::empty())?.set_len(length)
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.file(name, OFlags::empty())?.sync_data()
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.folder.sync_all()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        name::check(from)?;
        name::check(to)?;
        let mut files = self.files();
        rustix::fs::renameat(&self.folder, from, &self.folder, to)?;
        files.forget(&[from, to]);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        name::check(name)?;
        let mut files = self.files();
        rustix::fs::unlinkat(&self.folder, name, rustix::fs::AtFlags::empty())?;
        files.forget(&[name]);
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let stat = rustix::fs::fstatvfs(&self.folder)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

impl FileDisk {
    fn is_file(&self, name: &str) -> io::Result<bool> {
        match rustix::fs::statat(&self.folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file()),
            // Removed by another thread since the folder was read.
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// The files open now, at most [`OPEN_MAX`] of them; the one unused longest gives way.
#[derive(Debug, Default)]
struct OpenFiles {
    by_name: HashMap<String, (Arc<File>, u64)>,
    uses: u64,
    renames: u64,
}

impl OpenFiles {
    fn get(&mut self, name: &str) -> Option<Arc<File>> {
        self.uses += 1;
        let (file, used) = self.by_name.get_mut(name)?;
        *used = self.uses;
        Some(Arc::clone(file))
    }

    /// Keeps `file` open, unless another thread was first: then that one's.
    fn insert(&mut self, name: &str, file: Arc<File>) -> Arc<File> {
        if let Some(file) = self.get(name) {
            return file;
        }
        if self.by_name.len() >= OPEN_MAX {
            let oldest = self.by_name.iter().min_by_key(|(_, (_, used))| *used);
            let oldest = oldest.map(|(name, _)| name.clone()).expect("it is full, so not empty");
            self.by_name.remove(&oldest);
        }
        self.by_name.insert(name.to_owned(), (Arc::clone(&file), self.uses));
        file
    }

    fn forget(&mut self, names: &[&str]) {
        self.renames += 1;
        for name in names {
            self.by_name.remove(*name);
        }
    }
}

/// Makes the folder where missing, its name durable.
fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(path)?;
    match fs::canonicalize(path)?.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// Opens a file of the folder for reading and writing. Readable by its owner alone: it holds messages.
fn open_at(folder: &File, name: &str, create: OFlags) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | create;
    Ok(File::from(rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?))
}

/// The process that wrote its number into the lock.
fn holder_of(lock: &File) -> Option<u32> {
    let mut text = [0; 16];
    let length = lock.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
