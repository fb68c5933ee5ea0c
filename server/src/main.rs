//! `duemq`: the binary. It wires the rooms together and decides nothing about messages.
//!
//! [`cli`] reads the command line. `duemq serve` is the server: [`settings`] are checked, [`listen`] opens the
//! ports, [`engine`] owns the one thread that owns the broker, and [`serve`] is its life from lock to last
//! sync. All other commands are clients: they speak the remoting protocol with a server through the `client`
//! room, and use nothing of this process but its terminal.
//!
//! Threads, clocks and sockets of the server exist only here. What comes in by a socket is handed to a front
//! (`remoting`, `proxy`); this room never looks into it, beyond the first byte.

mod cli;
mod clock_watch;
mod engine;
mod exit;
mod listen;
mod logging;
mod name;
mod process;
mod realtime;
mod registrar;
mod serve;
mod settings;
mod signals;
mod tls;

use clap::Parser;
use cli::{Cli, Command, Pending, Topic};
use exit::{Exit, Failure};
use settings::Settings;
use std::process::ExitCode;
use std::time::Instant;

/// A send allocates some thirty times, on one thread, and is freed on another: this one is made for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let began = Instant::now();
    match run(Cli::parse(), began) {
        Ok(()) => Exit::Done.into(),
        Err(Failure { exit, error }) => {
            if exit != Exit::Done {
                // `:#` says the whole chain of causes on one line.
                eprintln!("duemq: {error:#}");
            }
            exit.into()
        }
    }
}

fn run(cli: Cli, began: Instant) -> Result<(), Failure> {
    match cli.command {
        Command::Serve(flags) => {
            let raw = flags.raw(environment());
            serve::serve(raw.and_then(Settings::with_changes), began)
        }
        Command::Settings => cli::say(&settings::as_file()),
        Command::Send(args) => cli::send(&args),
        Command::Receive(args) => cli::receive(&args),
        Command::Pending(Pending::List(args)) => cli::list_pending(&args),
        Command::Pending(Pending::Count(args)) => cli::count_pending(&args),
        Command::Pending(Pending::Show(args)) => cli::show_pending(&args),
        Command::Pending(Pending::Recall(args)) => cli::recall_pending(&args),
        Command::Pending(Pending::Reschedule(args)) => cli::reschedule_pending(&args),
        Command::Topic(Topic::Create(args)) => cli::create_topic(&args),
    }
}

/// The environment as text. What is none is shown as near as can be: no setting takes it then.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
}
