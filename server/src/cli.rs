//! The command line: what may be written, and what each word does.
//!
//! `serve` is the server; the other commands are clients that speak RocketMQ's own protocol with any server of
//! that protocol, through the name server they are given.

mod pending;
mod reach;
mod receive;
mod send;
mod show;
mod topic;
mod when;
mod words;

pub use pending::{
    count as count_pending, list as list_pending, recall as recall_pending, reschedule as reschedule_pending,
    show as show_pending,
};
pub use reach::say;
pub use receive::receive;
pub use send::send;
pub use topic::create as create_topic;

use crate::settings::{Origin, Raw, SettingsError};
use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::{Span, ZonedDateTime};
use std::path::PathBuf;

/// DueMQ delivers messages when they are due: a message broker for RocketMQ clients, in one binary.
#[derive(Debug, Parser)]
#[command(name = "duemq", version, propagate_version = true, after_help = AFTER_HELP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
In three terminals, with nothing to configure:
  duemq serve
  duemq receive orders --group workers
  duemq send orders 'cancel 4711 if unpaid' --delay 15m

Exit codes:
  0  done
  1  refused by the server, no message came in time, or none waited to be
     shown or called back
  2  a wrong flag or argument
 65  the data is damaged, or of a newer format
 69  no server answers
 70  the disk did not sync or the engine failed: start again
 71  a port is in use or cannot be opened
 74  a file cannot be read or written
 75  another process uses the data folder
 78  a setting is wrong
130  stopped by a second signal before all was saved";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the server: name server, broker and gRPC in one process.
    #[command(after_help = SERVE_HELP)]
    Serve(Box<Serve>),
    /// Print every setting of the server with its default, as a file to edit.
    Settings,
    /// Send a message, now or for later.
    #[command(after_help = SEND_HELP)]
    Send(Send),
    /// Receive messages of a topic and print them as they come.
    #[command(after_help = RECEIVE_HELP)]
    Receive(Receive),
    /// See, count, move and call back what waits for its moment.
    #[command(subcommand)]
    Pending(Pending),
    /// Make topics.
    #[command(subcommand)]
    Topic(Topic),
}

const SERVE_HELP: &str = "\
Examples:
  duemq serve                          all on loopback, data in ./duemq-data
  duemq serve --listen 0.0.0.0 --advertise 10.0.0.7
                                       for other machines
  duemq serve --set max_delay=30d --set flush=async
                                       any setting; `duemq settings` has all
  DUEMQ_MAX_DELAY=30d duemq serve      the same by the environment

A flag wins over the environment, the environment over the --config file.
The server's log goes to standard error; RUST_LOG=debug says more,
RUST_LOG=broker=debug more of one part.
SIGTERM, Ctrl-C or a hang-up ends it once accepted work is saved; a second one
half a second later or more ends it at once.";

/// Flags of `serve`. What is not given stays as the environment, the file or the table of settings has it.
#[derive(Debug, Args)]
pub struct Serve {
    /// The folder for all data [default: duemq-data].
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// A settings file (TOML).
    #[arg(long, value_name = "FILE", env = "DUEMQ_CONFIG")]
    config: Option<PathBuf>,
    /// The address to open the ports on [default: 127.0.0.1].
    #[arg(long, value_name = "HOST")]
    listen: Option<String>,
    /// The address clients are told to come to [default: follows from --listen].
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// The name server's port [default: 9876].
    #[arg(long, value_name = "PORT")]
    namesrv_port: Option<String>,
    /// The broker's port; the one two below it is opened as well [default: 10911].
    #[arg(long, value_name = "PORT")]
    broker_port: Option<String>,
    /// The proxy's remoting port [default: 8080].
    #[arg(long, value_name = "PORT")]
    proxy_port: Option<String>,
    /// The gRPC port [default: 8081].
    #[arg(long, value_name = "PORT")]
    grpc_port: Option<String>,
    /// When a send is acknowledged: sync (on disk) or async (written) [default: sync].
    #[arg(long, value_name = "WHEN")]
    flush: Option<String>,
    /// How the server logs: text or json [default: text].
    #[arg(long, value_name = "STYLE")]
    log: Option<String>,
    /// Any other setting; may be given again and again.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    settings: Vec<(String, String)>,
}

impl Serve {
    /// All that was written, in flags, in the environment and in the file.
    pub fn raw(&self, environment: impl Iterator<Item = (String, String)>) -> Result<Raw, SettingsError> {
        let mut raw = Raw::default();
        let flags = [
            ("data", &self.data),
            ("listen", &self.listen),
            ("advertise", &self.advertise),
            ("namesrv_port", &self.namesrv_port),
            ("broker_port", &self.broker_port),
            ("proxy_port", &self.proxy_port),
            ("grpc_port", &self.grpc_port),
            ("flush", &self.flush),
            ("log", &self.log),
        ];
        for (key, text) in flags {
            if let Some(text) = text {
                raw.set(key, text, Origin::Flag)?;
            }
        }
        for (key, text) in &self.settings {
            raw.set(key, text, Origin::Flag)?;
        }
        raw.read_environment(environment)?;
        if let Some(file) = &self.config {
            raw.read_file(file)?;
        }
        Ok(raw)
    }
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a setting is written KEY=VALUE, such as max_delay=30d")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Where the server is.
#[derive(Clone, Debug, Args)]
pub struct Server {
    /// The name server.
    #[arg(long, value_name = "HOST:PORT", env = "DUEMQ_NAMESRV", default_value = "127.0.0.1:9876", value_parser = words::address)]
    namesrv: String,
}

const SEND_HELP: &str = "\
Examples:
  duemq send orders 'hello'                       at once
  duemq send orders 'cancel 4711' --delay 15m     in a quarter of an hour
  duemq send orders 'hi' --delay '1 day 30 min'   units from ms to years
  duemq send orders 'merry xmas' --at 2026-12-25T00:00:00+08:00
  duemq send orders 'merry xmas' --at '2026-12-25 00:00[Asia/Shanghai]'
  duemq send orders 'again' --level 3             RocketMQ's delay level, 10 s

A moment without an offset or zone is one of this machine's time zone.";

/// `duemq send`.
#[derive(Debug, Args)]
pub struct Send {
    /// The topic; made where it is missing and the server may do so.
    pub topic: String,
    /// The message.
    pub body: String,
    /// Deliver it after so long, such as 500ms, 10s, 15m, 2h30m, '1 week'.
    #[arg(long, value_name = "DURATION", value_parser = when::delay, group = "when", allow_hyphen_values = true)]
    pub delay: Option<Span>,
    /// Deliver it at that moment, such as 2026-12-25T00:00:00+08:00.
    #[arg(long, value_name = "MOMENT", value_parser = when::moment, group = "when")]
    pub at: Option<ZonedDateTime>,
    /// Deliver it after the duration of that delay level, 1 to 18 unless the server has another table.
    #[arg(long, value_name = "LEVEL", group = "when", value_parser = words::level, allow_hyphen_values = true)]
    pub level: Option<u32>,
    /// A tag, by which consumers may choose.
    #[arg(long, value_parser = words::tag)]
    pub tag: Option<String>,
    /// A key to find it by, such as an order's number; may be given again and again.
    #[arg(long = "key", value_name = "KEY", value_parser = words::key)]
    pub keys: Vec<String>,
    /// Where the server is.
    #[command(flatten)]
    pub server: Server,
}

const RECEIVE_HELP: &str = "\
Examples:
  duemq receive orders --group workers            until Ctrl-C
  duemq receive orders --group workers --count 1 --timeout 30s
                                                  one message, or exit code 1

Each message is printed with its id, when it was due and when it was delivered,
and is then done with for that group. A group begins where it left off.
While the server is away, or has no such topic, it waits.
With --timeout alone it ends with 0 where any message came, else with 1; with
--count as well, with 0 where as many came.";

/// `duemq receive`.
#[derive(Debug, Args)]
pub struct Receive {
    /// The topic; waited for where it is missing.
    pub topic: String,
    /// The consumer group: each message goes to one member of it.
    #[arg(long)]
    pub group: String,
    /// Only messages with that tag; several are written 'a || b'.
    #[arg(long, default_value = "*", hide_default_value = true, value_parser = words::tags)]
    pub tag: String,
    /// End after so many messages.
    #[arg(long, value_name = "N", value_parser = words::count, allow_hyphen_values = true)]
    pub count: Option<u64>,
    /// End when nothing came for so long.
    #[arg(long, value_name = "DURATION", value_parser = when::timeout, allow_hyphen_values = true)]
    pub timeout: Option<std::time::Duration>,
    /// Where the server is.
    #[command(flatten)]
    pub server: Server,
}

/// `duemq pending …`.
#[derive(Debug, Subcommand)]
pub enum Pending {
    /// List what waits, in the order in which it falls due: moment, topic, id, keys.
    #[command(after_help = LIST_HELP)]
    List(ListPending),
    /// Count what waits, by topic or by when it is due.
    #[command(after_help = COUNT_HELP)]
    Count(CountPending),
    /// Show the messages of a topic that have a key, an id or a recall handle, and wait.
    Show(ShowPending),
    /// Call back the messages of a topic that have a key, an id or a recall handle, so that they are never delivered.
    #[command(after_help = RECALL_HELP)]
    Recall(RecallPending),
    /// Give the messages of a topic that have a key, an id or a recall handle another moment.
    #[command(after_help = RESCHEDULE_HELP)]
    Reschedule(ReschedulePending),
}

const LIST_HELP: &str = "\
Examples:
  duemq pending list                              the next 100 of all topics
  duemq pending list orders --count 1000
  duemq pending list orders --key 4711
  duemq pending list --from 2026-12-24 --until '2026-12-25 12:00'

A date without a time is its first moment; one without an offset or zone is of
this machine's time zone. The server answers from its own machine and from its
admin_networks only.";

const RECALL_HELP: &str = "\
Examples:
  duemq pending recall orders 4711                   what was sent with --key 4711
  duemq pending recall orders 7F0000012A9F…          the message of that id

With 0 something was called back, now or, by its id, before; with 1 nothing waited.";

const COUNT_HELP: &str = "\
Examples:
  duemq pending count                             how many wait, by topic
  duemq pending count --by 1h                     when they are due, by the hour
  duemq pending count orders --by 10m --until '2026-12-25 12:00'

Stretches are told in hours or smaller units, and begin at whole multiples of
their length since 1970, in UTC. Empty ones have no row; dots stand for them.";

const RESCHEDULE_HELP: &str = "\
Examples:
  duemq pending reschedule orders 4711 --in 30m   what was sent with --key 4711
  duemq pending reschedule orders 7F0000012A9F… --at '2026-12-25 18:30'

A moment that has passed is now. Ids and recall handles stay good. With 0
something was moved; with 1 nothing waited, which is told.";

/// `duemq pending list`.
#[derive(Debug, Args)]
pub struct ListPending {
    /// Only of this topic.
    pub topic: Option<String>,
    /// Only with this key or id; needs a topic.
    #[arg(long, requires = "topic", value_parser = words::one)]
    pub key: Option<String>,
    /// Only what is due at that moment or later.
    #[arg(long, value_name = "MOMENT", value_parser = when::moment, allow_hyphen_values = true)]
    pub from: Option<ZonedDateTime>,
    /// Only what is due by that moment.
    #[arg(long, value_name = "MOMENT", value_parser = when::moment, allow_hyphen_values = true)]
    pub until: Option<ZonedDateTime>,
    /// So many at most.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = words::count, allow_hyphen_values = true)]
    pub count: u64,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
    /// Where the server is.
    #[command(flatten)]
    pub server: Server,
}

/// `duemq pending count`.
#[derive(Debug, Args)]
pub struct CountPending {
    /// Only of this topic; needs --by.
    #[arg(requires = "by")]
    pub topic: Option<String>,
    /// By when they are due, in stretches of that length.
    #[arg(long, value_name = "DURATION", value_parser = when::timeout, allow_hyphen_values = true)]
    pub by: Option<std::time::Duration>,
    /// Only what is due at that moment or later; needs --by.
    #[arg(long, value_name = "MOMENT", requires = "by", value_parser = when::moment, allow_hyphen_values = true)]
    pub from: Option<ZonedDateTime>,
    /// Only what is due by that moment; needs --by.
    #[arg(long, value_name = "MOMENT", requires = "by", value_parser = when::moment, allow_hyphen_values = true)]
    pub until: Option<ZonedDateTime>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Where the server is.
    #[command(flatten)]
    pub server: Server,
}

/// `duemq pending show`.
#[derive(Debug, Args)]
pub struct ShowPending {
    /// The topic.
    pub topic: String,
    /// A key of the messages, their id, or a recall handle.
    #[arg(value_parser = words::one)]
    pub key: String,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
    /// Where the server is.
    #[command(flatten)]
    pub server: Server,
}

/// `duemq pending recall`.
#[derive(Debug, Args)]
pub struct RecallPending {
    /// The topic.
    pub topic: String,
    /// A key of the messages, their id, or a recall handle.
    #[arg(value_parser = words::one)]
    pub key: String,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Where the server is.
    #[command(flatten)]
    pub server: Server,
}

/// `duemq pending reschedule`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("moment").required(true).args(["at", "in"])))]
pub struct ReschedulePending {
    /// The topic.
    pub topic: String,
    /// A key of the messages, their id, or a recall handle.
    #[arg(value_parser = words::one)]
    pub key: String,
    /// Deliver them at that moment.
    #[arg(long, value_name = "MOMENT", value_parser = when::moment, allow_hyphen_values = true)]
    pub at: Option<ZonedDateTime>,
    /// Deliver them after so long from now.
    #[arg(long = "in", id = "in", value_name = "DURATION", value_parser = when::delay, allow_hyphen_values = true)]
    pub r#in: Option<jiff::Span>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Where the server is.
    #[command(flatten)]
    pub server: Server,
}

/// `duemq topic …`.
#[derive(Debug, Subcommand)]
pub enum Topic {
    /// Make a topic, or change what is given of the one of that name.
    #[command(after_help = TOPIC_HELP)]
    Create(CreateTopic),
}

const TOPIC_HELP: &str = "\
Examples:
  duemq topic create orders --type delay
  duemq topic create ledger --type fifo --queues 1

gRPC clients need a topic of the kind they send; remoting clients send any kind
to any topic. Of a topic that is there only what is given changes. With fewer
queues than before, what lies in those that go is not received until they are
there again.";

/// `duemq topic create`.
#[derive(Debug, Args)]
pub struct CreateTopic {
    /// The topic: 1 to 127 letters, digits and % | _ -.
    pub name: String,
    /// The kind of messages it takes [a new topic: mixed].
    #[arg(long = "type", value_enum)]
    pub kind: Option<Kind>,
    /// How many queues it has: as many consumers of a group can work side by side [a new topic: 8].
    #[arg(long, value_parser = words::queues, allow_hyphen_values = true)]
    pub queues: Option<u32>,
    /// Where the server is.
    #[command(flatten)]
    pub server: Server,
}

/// Kinds of topics, as they are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Kind {
    /// Delivered at once.
    Normal,
    /// Delivered later.
    Delay,
    /// In order, by message group.
    Fifo,
    /// Visible once its transaction commits.
    Transaction,
    /// Any of them.
    Mixed,
}

#[cfg(test)]
mod tests;
