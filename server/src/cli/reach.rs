//! How a command reaches the server: the name server first, then the brokers it names.

use super::Server;
use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use client::{AskError, Client, ConnectError};
use std::future::Future;
use std::io::{self, Write};
use wire::remoting::route::{BrokerData, TopicRouteData};

/// The topic whose route tells where topics may be made by a send.
const TEMPLATE: &str = "TBW102";

/// Runs a command's work on a small runtime of its own.
pub fn run(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::new(Exit::Io, error))?.block_on(work)
}

/// Connects to the name server.
pub async fn name_server(server: &Server) -> Result<Client, Failure> {
    let address = server.namesrv.as_str();
    Client::connect(address).await.map_err(|error| {
        let hint = format!(
            "no server at {address}: start one with `duemq serve`, or tell where it is with --namesrv"
        );
        Failure::new(Exit::NoServer, anyhow::Error::new(error).context(hint))
    })
}

/// A question to the name server that was not answered as hoped.
pub fn names_refused(server: &Server) -> impl Fn(AskError) -> Failure {
    let address = server.namesrv.clone();
    move |error| match error {
        AskError::Call(_) => {
            let hint = format!("asking {address}: is that a name server's port?");
            Failure::new(Exit::NoServer, anyhow::Error::new(error).context(hint))
        }
        error => refused(error),
    }
}

/// Where a send to `topic` goes: the topic's brokers, or for a topic that does not exist those that would make it.
pub async fn route_for_send(names: &Client, server: &Server, topic: &str) -> Result<TopicRouteData, Failure> {
    for name in [topic, TEMPLATE] {
        if let Some(route) = names.route(name).await.map_err(names_refused(server))? {
            return Ok(route);
        }
    }
    Err(no_topic(topic))
}

/// There is no such topic, and the server makes none.
pub fn no_topic(topic: &str) -> Failure {
    let error =
        anyhow!("there is no topic {topic}, and the server makes none by itself: duemq topic create {topic}");
    Failure::new(Exit::Refused, error)
}

/// The address of a broker's master.
pub fn master(broker: &BrokerData) -> Result<&str, Failure> {
    let address = broker.broker_addrs.get(&0).map(String::as_str);
    address
        .ok_or_else(|| Failure::new(Exit::NoServer, anyhow!("broker {} has no master", broker.broker_name)))
}

/// Connects to a broker.
pub async fn broker(address: &str) -> Result<Client, Failure> {
    Client::connect(address).await.map_err(unreachable)
}

/// A broker that is told of and not there.
pub fn unreachable(error: ConnectError) -> Failure {
    let hint = "the broker that the name server tells of does not answer; is its advertised address right?";
    Failure::new(Exit::NoServer, anyhow::Error::new(error).context(hint))
}

/// A question to a broker that was not answered as hoped.
pub fn refused(error: AskError) -> Failure {
    let exit = if matches!(error, AskError::Call(_)) { Exit::NoServer } else { Exit::Refused };
    Failure::new(exit, error)
}

/// The same, where the broker's address is known.
pub fn refused_at(address: &str) -> impl Fn(AskError) -> Failure {
    let address = address.to_owned();
    move |error| {
        let Failure { exit, error } = refused(error);
        let error = if exit == Exit::NoServer {
            error.context(format!("asking the broker {address}"))
        } else {
            error
        };
        Failure { exit, error }
    }
}

/// What was written and cannot be meant.
pub fn wrong(error: impl Into<anyhow::Error>) -> Failure {
    Failure::new(Exit::Usage, error)
}

/// Prints to standard output. Whoever reads it may have left, as `head` does: that ends the command, and well.
pub fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(unwritten)
}

/// Standard output that takes no more.
pub fn unwritten(error: io::Error) -> Failure {
    let exit = if error.kind() == io::ErrorKind::BrokenPipe { Exit::Done } else { Exit::Io };
    Failure::new(exit, anyhow::Error::new(error).context("writing to standard output"))
}
