//! `duemq-bench`: how late, how fast and how large, from outside, beside what the machine can do at all.
//!
//! It knows a server by its ports alone (and, to fill a folder before one is started, its engine), so that the same question is put to DueMQ and to Apache RocketMQ. Each
//! command asks one question, first measures in the same run what the machine can do at all where the answer is a
//! ratio to that, prints lines for people, and with `--json` adds one line for programs to a file.

#![expect(clippy::cast_precision_loss, reason = "figures are rounded, and counts lie far below 2^53")]

mod burst;
mod drain;
mod due;
mod fill;
mod latency;
mod limits;
mod load;
mod machine;
mod pending;
mod report;
mod send;
mod sender;
mod target;
#[cfg(test)]
mod tests;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use target::Target;

/// Measure a RocketMQ server: DueMQ, or another that speaks its protocols.
#[derive(Debug, Parser)]
#[command(name = "duemq-bench", version)]
struct Args {
    #[command(flatten)]
    target: Target,
    /// Add the result as one JSON line to this file.
    #[arg(long, global = true, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// What this machine can do at all: append and sync, loopback, waking up at a moment.
    Limits(limits::Args),
    /// How fast are sends acknowledged, with so many under way at a time?
    Send(send::Args),
    /// How late do messages with random due times reach a consumer?
    Due(due::Args),
    /// How late does the last of very many become visible that are all due in one second, and what do others feel?
    Burst(burst::Args),
    /// What does a message cost that waits for long?
    Pending(pending::Args),
    /// How fast are messages taken that can all be read already?
    Drain(drain::Args),
    /// Put very many messages that wait into a data folder, without a server.
    Fill(fill::Args),
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let report = match &args.question {
        Question::Limits(limits) => limits::report(limits)?,
        Question::Send(send) => runtime.block_on(send::run(&args.target, send))?,
        Question::Due(due) => runtime.block_on(due::run(&args.target, due))?,
        Question::Burst(burst) => runtime.block_on(burst::run(&args.target, burst))?,
        Question::Pending(pending) => runtime.block_on(pending::run(&args.target, pending))?,
        Question::Drain(drain) => runtime.block_on(drain::run(&args.target, drain))?,
        Question::Fill(fill) => fill::run(fill)?,
    };
    report.print();
    if let Some(path) = &args.json {
        report.append(path, &args.target.label)?;
    }
    Ok(())
}
