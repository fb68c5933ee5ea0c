//! A result: lines for people, and one line for programs.

use crate::machine;
use anyhow::Context as _;
use serde_json::{Map, Value, json};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// What was asked, with what, and what came of it.
#[derive(Debug)]
pub struct Report {
    question: &'static str,
    input: Value,
    result: Map<String, Value>,
}

impl Report {
    /// An empty one.
    pub fn new(question: &'static str, input: Value) -> Self {
        Self { question, input, result: Map::new() }
    }

    /// Adds a figure; its name ends with its unit.
    pub fn add(&mut self, name: &str, figure: impl Into<Value>) {
        self.result.insert(name.to_owned(), figure.into());
    }

    /// Adds a figure rounded to three places behind the point.
    pub fn add_rounded(&mut self, name: &str, figure: f64) {
        self.add(name, (figure * 1000.0).round() / 1000.0);
    }

    /// Writes it to standard output, a figure a line. Long lists are left to the file.
    pub fn print(&self) {
        println!("{} {}", self.question, self.input);
        for (name, figure) in &self.result {
            match figure {
                Value::Array(points) => println!("  {name}: {} points", points.len()),
                figure => println!("  {name}: {figure}"),
            }
        }
    }

    /// Adds it to a file, in one line, with when and where it was measured.
    pub fn append(&self, path: &Path, label: &str) -> anyhow::Result<()> {
        let line = json!({
            "label": label,
            "question": self.question,
            "at_ms": machine::now_us() / 1000,
            "machine": machine::description(),
            "input": self.input,
            "result": self.result,
        });
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| writeln!(file, "{line}"))
            .with_context(|| format!("adding the result to {}", path.display()))
    }
}
