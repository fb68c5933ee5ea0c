//! The rule of file names, the same for every disk.

use std::io;

/// The file a real disk keeps its lock in; no disk lists it or lets it be touched.
pub(crate) const LOCK: &str = "lock";

/// Whether a file may be called `name`: `[a-z0-9._-]+`, not beginning with a dot, and not the lock's name.
pub(crate) fn is_allowed(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
    !name.is_empty() && !name.starts_with('.') && name != LOCK && name.bytes().all(allowed)
}

/// Refuses a name that is not allowed, as [`io::ErrorKind::InvalidInput`].
pub(crate) fn check(name: &str) -> io::Result<()> {
    if is_allowed(name) {
        return Ok(());
    }
    let text = format!("file name {name:?} is not of a-z, 0-9, '.', '_' and '-', or is reserved");
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn names_that_could_leave_the_folder_are_refused() {
        for bad in ["", ".", "..", ".hidden", "a/b", "../a", "A", "a b", "ä", "a\0", "lock"] {
            assert!(!is_allowed(bad), "{bad:?}");
        }
        for good in ["a", "log-00000000000000000000", "manifest.new", "0_1"] {
            assert!(is_allowed(good), "{good:?}");
        }
    }
}
