use std::io::ErrorKind;

use super::{FileDisk, LockError, OPEN_MAX};
use crate::Disk;

#[test]
fn a_second_open_of_the_folder_is_refused_and_names_folder_and_process() {
    let folder = tempfile::tempdir().unwrap();
    let first = FileDisk::open(folder.path()).unwrap();
    let error = FileDisk::open(folder.path()).unwrap_err();
    assert!(matches!(&error, LockError::Held { holder: Some(pid), .. } if *pid == std::process::id()));
    let text = error.to_string();
    assert!(text.contains(&folder.path().display().to_string()), "{text}");
    drop(first);
    FileDisk::open(folder.path()).expect("the lock goes with the disk that held it");
}

#[test]
fn a_path_that_is_no_folder_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "x").unwrap();
    let error = FileDisk::open(&path).unwrap_err();
    assert!(error.to_string().ends_with(&path.display().to_string()), "{error}");
}

#[test]
fn missing_parents_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FileDisk::open(folder.path().join("a/b")).unwrap();
    disk.write_at("x", 0, b"1").unwrap();
    assert!(folder.path().join("a/b/x").is_file());
}

#[test]
fn files_read_back_what_was_written_and_zeros_between() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FileDisk::open(folder.path()).unwrap();
    assert_eq!(disk.len("a").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(disk.read_at("a", 0, &mut [0]).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(disk.set_len("a", 0).unwrap_err().kind(), ErrorKind::NotFound);
    disk.write_at("a", 3, b"xyz").unwrap();
    let mut into = [9; 8];
    assert_eq!(disk.read_at("a", 0, &mut into).unwrap(), 6);
    assert_eq!(&into[..6], b"\0\0\0xyz");
    assert_eq!(disk.read_at("a", 6, &mut into).unwrap(), 0);
    disk.set_len("a", 4).unwrap();
    assert_eq!(disk.len("a").unwrap(), 4);
    disk.sync("a").unwrap();
    disk.sync_folder().unwrap();
    assert!(disk.free_bytes().unwrap() > 0);
}

#[test]
fn a_renamed_file_is_read_under_its_new_name_though_the_old_one_was_open() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FileDisk::open(folder.path()).unwrap();
    disk.write_at("old", 0, b"old").unwrap();
    disk.write_at("new", 0, b"new").unwrap();
    disk.rename("new", "old").unwrap();
    let mut into = [0; 3];
    disk.read_at("old", 0, &mut into).unwrap();
    assert_eq!(&into, b"new");
    assert_eq!(disk.list().unwrap(), ["old"]);
    disk.remove("old").unwrap();
    assert_eq!(disk.len("old").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(disk.remove("old").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn the_list_holds_our_files_alone_and_can_be_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    std::fs::write(folder.path().join("README"), "x").unwrap();
    let disk = FileDisk::open(folder.path()).unwrap();
    disk.write_at("b", 0, b"").unwrap();
    disk.write_at("a", 0, b"").unwrap();
    assert_eq!(disk.list().unwrap(), ["a", "b"]);
    assert_eq!(disk.list().unwrap(), ["a", "b"]);
}

#[test]
fn names_that_leave_the_folder_or_touch_the_lock_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FileDisk::open(folder.path()).unwrap();
    for name in ["../x", "lock", "A", ""] {
        assert_eq!(disk.write_at(name, 0, b"x").unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
        assert_eq!(disk.remove(name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
    }
}

#[test]
fn more_files_than_may_be_open_are_still_served() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FileDisk::open(folder.path()).unwrap();
    for round in 0..2u8 {
        for i in 0..OPEN_MAX + 10 {
            disk.write_at(&format!("f{i}"), u64::from(round), &[i as u8]).unwrap();
        }
    }
    assert_eq!(disk.files().by_name.len(), OPEN_MAX);
    let mut into = [0; 2];
    disk.read_at("f3", 0, &mut into).unwrap();
    assert_eq!(into, [3, 3]);
}
