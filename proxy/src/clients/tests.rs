use super::*;
use crate::fake;
use broker::{Reply, Request};
use tokio::sync::mpsc;

fn clients(limit: usize) -> (Arc<Clients>, mpsc::UnboundedReceiver<ConnectionId>) {
    let (gone, disconnected) = mpsc::unbounded_channel();
    let service = fake::service(move |request| match request {
        Request::Disconnect(ask) => {
            let _ = gone.send(ask.connection);
            Some(Reply::Disconnect(()))
        }
        _ => None,
    });
    (Arc::new(Clients::new(service, limit)), disconnected)
}

fn teller() -> Teller {
    mpsc::channel(1).0
}

fn id(name: &str) -> ClientId {
    ClientId(name.into())
}

fn known(connection: ConnectionId) -> Known {
    Known {
        register: Arc::new(Register {
            connection,
            client: id("c"),
            language: String::new(),
            version: 0,
            address: "127.0.0.1:1".parse().unwrap(),
            producers: Vec::new(),
            consumers: Vec::new(),
        }),
        fifo: true,
        request_timeout: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_forgotten_two_minutes_after_its_last_stream_and_word() {
    let (clients, mut disconnected) = clients(10);
    let (stream, connection) = clients.enter(&id("c"), teller()).unwrap();
    assert!(clients.settle(&id("c"), connection, known(connection)));
    tokio::time::advance(Duration::from_mins(10)).await;
    clients.expire(Instant::now());
    assert!(clients.known(&id("c")).is_some(), "its stream is open");
    drop(stream);
    tokio::time::advance(Duration::from_secs(119)).await;
    clients.expire(Instant::now());
    assert!(clients.known(&id("c")).is_some(), "it was silent for 119 s, and has just spoken");
    tokio::time::advance(Duration::from_secs(121)).await;
    clients.expire(Instant::now());
    assert!(clients.known(&id("c")).is_none());
    assert_eq!(disconnected.recv().await, Some(connection), "the broker is told");
}

#[tokio::test]
async fn a_client_that_left_is_taken_out_of_the_broker_and_its_old_stream_counts_no_more() {
    let (clients, mut disconnected) = clients(10);
    let (old, connection) = clients.enter(&id("c"), teller()).unwrap();
    clients.settle(&id("c"), connection, known(connection));
    assert!(clients.leave(&id("c")));
    assert_eq!(disconnected.recv().await, Some(connection));
    assert_eq!(old.connection(), None);
    assert!(!clients.settle(&id("c"), connection, known(connection)), "its connection is gone");
    assert!(!clients.leave(&id("c")), "it is not known any more");
    let (new, again) = clients.enter(&id("c"), teller()).unwrap();
    assert_ne!(again, connection);
    assert!(!clients.settle(&id("c"), connection, known(connection)), "what it said before it left");
    assert!(clients.known(&id("c")).is_none());
    drop(old);
    assert_eq!(clients.lock()[&id("c")].streams, 1, "the new stream still counts");
    drop(new);
    assert_eq!(clients.lock()[&id("c")].streams, 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_beyond_the_limit_is_refused_until_another_is_silent_for_long() {
    let (clients, _disconnected) = clients(1);
    let (first, _) = clients.enter(&id("a"), teller()).unwrap();
    assert_eq!(clients.enter(&id("b"), teller()).err(), Some(Full { limit: 1 }));
    assert!(clients.enter(&id("a"), teller()).is_ok(), "who is in may have more streams");
    drop(first);
    tokio::time::advance(Duration::from_mins(3)).await;
    assert!(clients.enter(&id("b"), teller()).is_ok());
}
