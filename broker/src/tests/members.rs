//! Who is connected.

use super::*;
use model::{ClientId, ConnectionId};

fn produce(rig: &mut Rig, connection: u64, client: &str, groups: &[&str]) {
    let register = Register {
        connection: ConnectionId(connection),
        client: ClientId(client.into()),
        language: "JAVA".into(),
        version: 479,
        address: "10.0.0.1:1".parse().unwrap(),
        producers: groups.iter().map(ToString::to_string).collect(),
        consumers: vec![],
    };
    rig.ask(register).unwrap();
}

fn leave(rig: &mut Rig, connection: u64, group: &str) {
    rig.ask(Unregister {
        connection: ConnectionId(connection),
        client: ClientId("any".into()),
        producer: Some(group.to_owned()),
        consumer: None,
    });
}

fn found(rig: &mut Rig, client: &str) -> Option<u64> {
    let found = rig.ask(FindRequester { client: ClientId(client.into()) });
    found.map(|requester| requester.connection.0)
}

#[test]
fn a_requester_is_found_as_long_as_it_produces_for_any_group() {
    let mut rig = Rig::new();
    assert_eq!(found(&mut rig, "a"), None);
    produce(&mut rig, 1, "a", &["p", "q"]);
    produce(&mut rig, 2, "b", &["p"]);
    assert_eq!((found(&mut rig, "a"), found(&mut rig, "b"), found(&mut rig, "")), (Some(1), Some(2), None));
    leave(&mut rig, 1, "p");
    leave(&mut rig, 1, "never");
    assert_eq!(found(&mut rig, "a"), Some(1));
    leave(&mut rig, 1, "q");
    assert_eq!((found(&mut rig, "a"), found(&mut rig, "b")), (None, Some(2)));
    let groups = rig.ask(GetProducers { group: None });
    assert_eq!(groups.into_keys().collect::<Vec<_>>(), ["p"], "a group without members is none");
    rig.ask(Disconnect { connection: ConnectionId(2) });
    assert_eq!(found(&mut rig, "b"), None);
    assert!(rig.ask(GetProducers { group: None }).is_empty());
}

#[test]
fn a_connection_that_changes_its_clients_name_is_found_by_the_new_one_alone() {
    let mut rig = Rig::new();
    produce(&mut rig, 1, "a", &["p"]);
    produce(&mut rig, 1, "b", &["p"]);
    assert_eq!((found(&mut rig, "a"), found(&mut rig, "b")), (None, Some(1)));
}
