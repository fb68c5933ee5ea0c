//! House rules that no compiler knows: who may use whom, and what a room may be called.

use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use std::fs;
use std::path::Path;

/// Each room and the rooms it may use. What is not listed is forbidden.
const MAY_USE: [(&str, &[&str]); 16] = [
    ("model", &[]),
    ("wire", &["model"]),
    ("env", &["model"]),
    ("journal", &["model", "env"]),
    ("store", &["model", "wire", "env", "journal"]),
    ("timer", &["model", "wire", "env", "journal"]),
    ("broker", &["model", "wire", "env", "journal", "store", "timer"]),
    ("nameserver", &["model"]),
    ("client", &["model", "wire"]),
    ("service", &["model", "wire", "env", "journal", "broker", "nameserver", "client"]),
    ("proto", &[]),
    ("remoting", &["model", "wire", "broker", "nameserver", "service"]),
    ("proxy", &["model", "wire", "broker", "nameserver", "service", "proto"]),
    ("server", &EVERYTHING),
    ("sim", &EVERYTHING),
    ("bench", &["model", "wire", "env", "broker", "client", "proto"]),
];

const EVERYTHING: [&str; 13] = [
    "model",
    "wire",
    "env",
    "journal",
    "store",
    "timer",
    "broker",
    "nameserver",
    "service",
    "client",
    "proto",
    "remoting",
    "proxy",
];

/// The rooms that are synchronous and deterministic.
const ENGINE: [&str; 8] = ["model", "wire", "env", "journal", "store", "timer", "broker", "nameserver"];

/// What would make them otherwise.
const NOT_IN_THE_ENGINE: [&str; 10] = [
    "tokio",
    "tokio-util",
    "tonic",
    "async-trait",
    "futures-util",
    "crossbeam-channel",
    "rayon",
    "rand",
    "tracing",
    "anyhow",
];

/// Names that say nothing: a helper lives with its noun.
const NO_NAMES: [&str; 6] = ["common", "util", "utils", "helper", "helpers", "misc"];

fn rooms() -> Vec<Package> {
    let metadata = MetadataCommand::new().no_deps().other_options(["--offline".to_owned()]).exec().unwrap();
    metadata.packages
}

/// The names of what a room's own code (not its tests) is built from.
fn uses(room: &Package) -> impl Iterator<Item = &str> {
    room.dependencies
        .iter()
        .filter(|used| used.kind != DependencyKind::Development)
        .map(|used| used.name.as_str())
}

fn none(broken: &[String]) {
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn rooms_use_only_the_rooms_they_may() {
    let rooms = rooms();
    let names: Vec<&str> = rooms.iter().map(|room| room.name.as_str()).collect();
    let mut broken = Vec::new();
    for room in &rooms {
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == room.name.as_str()) else {
            broken.push(format!(
                "{}: a new room; say in this test which rooms it may use, and draw it into ARCHITECTURE.md",
                room.name
            ));
            continue;
        };
        for used in uses(room).filter(|used| names.contains(used) && !allowed.contains(used)) {
            broken.push(format!("{} uses {used}; it may use {}", room.name, said(allowed)));
        }
    }
    none(&broken);
}

fn said(rooms: &[&str]) -> String {
    if rooms.is_empty() { "no other room".to_owned() } else { rooms.join(", ") }
}

#[test]
fn the_engine_has_no_runtime_no_threads_and_no_chance() {
    let mut broken = Vec::new();
    for room in rooms().iter().filter(|room| ENGINE.contains(&room.name.as_str())) {
        for used in uses(room).filter(|used| NOT_IN_THE_ENGINE.contains(used)) {
            broken.push(format!(
                "{} is an engine room and uses {used}: what it needs of the world comes through env",
                room.name
            ));
        }
    }
    none(&broken);
}

#[test]
fn the_nouns_have_no_wire_shape_of_their_own() {
    let broken: Vec<String> = rooms()
        .iter()
        .filter(|room| room.name.as_str() == "model")
        .flat_map(|room| {
            uses(room).filter(|used| used.starts_with("serde")).map(str::to_owned).collect::<Vec<_>>()
        })
        .map(|used| format!("model uses {used}: each front owns its wire shapes and converts by hand"))
        .collect();
    none(&broken);
}

#[test]
fn no_room_is_named_after_nothing() {
    let broken: Vec<String> = rooms()
        .iter()
        .filter(|room| NO_NAMES.iter().any(|bad| room.name.split(['-', '_']).any(|word| word == *bad)))
        .map(|room| format!("{}: no room is called that; a helper lives with its noun", room.name))
        .collect();
    none(&broken);
}

#[test]
fn every_room_obeys_the_workspaces_lints_and_stands_on_the_map() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let map = fs::read_to_string(format!("{root}/ARCHITECTURE.md")).unwrap();
    let mut broken = Vec::new();
    for room in rooms() {
        let manifest = fs::read_to_string(&room.manifest_path).unwrap();
        if !manifest.contains("[lints]\nworkspace = true") {
            broken.push(format!("{}: its Cargo.toml lacks [lints] workspace = true", room.name));
        }
        if !map.contains(&format!("`{}`", room.name)) {
            broken.push(format!("{}: ARCHITECTURE.md does not name it", room.name));
        }
        let engine = ENGINE.contains(&room.name.as_str()) && room.name.as_str() != "env";
        if engine && room.manifest_path.with_file_name("clippy.toml").exists() {
            broken.push(format!(
                "{}: an engine room obeys the root clippy.toml and has none of its own",
                room.name
            ));
        }
    }
    none(&broken);
}

#[test]
fn every_test_that_the_documents_name_is_there() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut sources = String::new();
    for room in rooms() {
        read_sources(room.manifest_path.parent().unwrap().as_std_path(), &mut sources);
    }
    let mut broken = Vec::new();
    for document in ["docs/guarantees.md", "docs/testing.md"] {
        let text = fs::read_to_string(format!("{root}/{document}")).unwrap();
        let missing = quoted(&text).filter(|word| is_test(word) && !sources.contains(&format!("fn {word}(")));
        broken.extend(missing.map(|test| format!("{document} names the test {test}, which is not there")));
    }
    none(&broken);
}

#[test]
fn every_report_of_others_names_what_keeps_it_from_here_or_what_is_not_built_yet() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let testing = fs::read_to_string(format!("{root}/docs/testing.md")).unwrap();
    let passing = fs::read_to_string(format!("{root}/acceptance/passing.txt")).unwrap();
    let table = testing.split("## What others have reported").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert!(rows.len() > 40, "the table is there");
    let mut broken = Vec::new();
    for row in rows {
        let held_by = row.split('|').nth(3).unwrap().trim();
        let scenarios: Vec<&str> = quoted(held_by).filter(|word| word.starts_with("scenarios/")).collect();
        for name in &scenarios {
            if !passing.split_whitespace().any(|word| word == *name) {
                broken.push(format!("{name} is not in acceptance/passing.txt: {row}"));
            }
        }
        let holds = quoted(held_by).any(is_test) || !scenarios.is_empty();
        if !holds && !held_by.starts_with("not built yet: ") {
            broken.push(format!("nothing holds it: {row}"));
        }
    }
    none(&broken);
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether a word is the name of a test: no other has so many underscores.
fn is_test(word: &str) -> bool {
    word.matches('_').count() >= 3 && !word.contains([' ', '/', '.'])
}

fn read_sources(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}
