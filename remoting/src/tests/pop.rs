//! Messages taken with leases, as Java's client asks for them and reads them.

use super::*;
use wire::remoting::ack::{Batch, BatchAck, Change};
use wire::remoting::assignment::{self, Query, SetMode};
use wire::remoting::{ack, json, pop};
use wire::{ReceiptHandle, receipt_handle::Retry};

fn pop(topic: &str, wait_ms: i64) -> Command {
    let header = pop::Header {
        group: "g".into(),
        topic: topic.into(),
        queue_id: -1,
        max_messages: 32,
        invisible_ms: 10_000,
        wait_ms,
        begin: 0,
        expression_type: Some("TAG".into()),
        expression: Some("*".into()),
        ..pop::Header::default()
    };
    let mut ext = Fields::new();
    header.write(&mut ext);
    Command::request(RequestCode::PopMessage, ext, Bytes::new())
}

fn infos(answer: &Command) -> (&str, &str) {
    (answer.ext.get("startOffsetInfo").unwrap(), answer.ext.get("msgOffsetInfo").unwrap())
}

/// A message's handle as Java's client builds it from an answer that holds messages of one queue.
fn handle(answer: &Command, queue_offset: i64) -> String {
    let [retry, queue_id, start] = infos(answer).0.split(' ').collect::<Vec<_>>()[..] else { panic!() };
    format!(
        "{start} {} {} {} {retry} broker-a {queue_id} {queue_offset}",
        field(answer, "popTime"),
        field(answer, "invisibleTime"),
        field(answer, "reviveQid")
    )
}

fn ack(topic: &str, handle: &str) -> Command {
    let parsed: ReceiptHandle = handle.parse().unwrap();
    let header = ack::Header {
        group: "g".into(),
        topic: topic.into(),
        queue_id: parsed.queue_id as i32,
        handle: handle.into(),
        queue_offset: parsed.queue_offset,
    };
    let mut ext = Fields::new();
    header.write(&mut ext);
    Command::request(RequestCode::AckMessage, ext, Bytes::new())
}

fn change(topic: &str, handle: &str, invisible_ms: i64) -> Command {
    let parsed: ReceiptHandle = handle.parse().unwrap();
    let header = Change {
        group: "g".into(),
        topic: topic.into(),
        queue_id: parsed.queue_id as i32,
        handle: handle.into(),
        queue_offset: parsed.queue_offset,
        invisible_ms,
    };
    let mut ext = Fields::new();
    header.write(&mut ext);
    Command::request(RequestCode::ChangeMessageInvisibletime, ext, Bytes::new())
}

fn bodies(answer: &Command) -> Vec<String> {
    let bodies = messages(answer).into_iter().map(|(message, _)| message.body);
    bodies.map(|body| String::from_utf8(body.to_vec()).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_popped_is_told_as_java_reads_it_and_acked_for_good() {
    let mut client = Server::start().connect();
    for body in [b"a", b"b", b"c"] {
        client.ask_for(ResponseCode::Success, send("T", body, &[])).await;
    }
    let popped = client.ask_for(ResponseCode::Success, pop("T", 0)).await;
    assert_eq!(infos(&popped), ("0 0 0", "0 0 0,1,2"));
    assert_eq!((field(&popped, "reviveQid"), field(&popped, "restNum")), (0, 0));
    assert_eq!((field(&popped, "invisibleTime"), popped.ext.get("orderCountInfo")), (10_000, None));
    assert_eq!(bodies(&popped), ["a", "b", "c"]);
    assert_eq!(messages(&popped)[0].0.properties.get("POP_CK"), None, "the client builds the handle itself");

    for offset in 0..3 {
        client.ask_for(ResponseCode::Success, ack("T", &handle(&popped, offset))).await;
    }
    client.ask_for(ResponseCode::Success, ack("T", &handle(&popped, 0))).await;
    let began = Instant::now();
    let nothing = client.ask_for(ResponseCode::PollingTimeout, pop("T", 15_000)).await;
    assert!((15_000..15_010).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    assert_eq!(
        (infos(&nothing), field(&nothing, "restNum")),
        (("", ""), 0),
        "clients read these all the same"
    );
}

#[tokio::test(start_paused = true)]
async fn a_delayed_message_comes_to_a_waiting_pop_at_its_moment() {
    let mut client = Server::start().connect();
    let began = Instant::now();
    client.ask_for(ResponseCode::Success, send("T", b"later", &[("TIMER_DELAY_MS", "2500")])).await;
    let popped = client.ask_for(ResponseCode::Success, pop("T", 15_000)).await;
    assert_eq!(bodies(&popped), ["later"]);
    assert!((2500..2510).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_unacked_message_comes_again_under_its_topic_with_the_handle_to_ack_it_by() {
    let mut client = Server::start().connect();
    client.ask_for(ResponseCode::Success, send("T", b"x", &[])).await;
    let first = client.ask_for(ResponseCode::Success, pop("T", 0)).await;
    client.ask_for(ResponseCode::Success, send("T", b"y", &[])).await;
    sleep(Duration::from_secs(11)).await;
    let again = client.ask_for(ResponseCode::Success, pop("T", 0)).await;
    let (start, offsets) = infos(&again);
    let sorted = |text: &str| {
        let mut entries: Vec<String> = text.split(';').map(str::to_owned).collect();
        entries.sort();
        entries
    };
    assert_eq!((sorted(start), sorted(offsets)), (sorted("0 0 1;1 0 0"), sorted("0 0 1;1 0 0")));
    let came = messages(&again);
    let (message, place) = came.iter().find(|(message, _)| message.body == "x").unwrap();
    assert_eq!((place.topic.as_str(), message.reconsume_times), ("T", 1));
    let handle = message.properties.get("POP_CK").unwrap();
    let parsed: ReceiptHandle = handle.parse().unwrap();
    assert_eq!((parsed.retry, parsed.queue_id, parsed.queue_offset), (Retry::RetryV1, 0, 0));
    assert_eq!((parsed.pop_time, parsed.log_offset), (field(&again, "popTime"), None));
    let other = came.iter().find(|(message, _)| message.body == "y").unwrap();
    assert!(
        other.0.properties.get("POP_CK").is_some(),
        "beside one from the retry topic each carries its own"
    );

    let lost = client.ask_for(ResponseCode::NoMessage, ack("T", &self::handle(&first, 0))).await;
    assert_eq!(remark(&lost), "receipt handle is expired");
    client.ask_for(ResponseCode::Success, ack("%RETRY%g_T", handle)).await;
    client.ask_for(ResponseCode::Success, ack("T", other.0.properties.get("POP_CK").unwrap())).await;
    sleep(Duration::from_secs(12)).await;
    client.ask_for(ResponseCode::PollingTimeout, pop("T", 0)).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_message_comes_again_after_the_step_its_client_asks_for_and_not_after_the_invisible_time() {
    let mut client = Server::start().connect();
    client.ask_for(ResponseCode::Success, send("T", b"x", &[])).await;
    let mut minute = pop("T", 0);
    minute.ext.set("invisibleTime", 60_000);
    let popped = client.ask_for(ResponseCode::Success, minute).await;
    let old = handle(&popped, 0);
    let changed = client.ask_for(ResponseCode::Success, change("T", &old, 10_000)).await;
    let began = Instant::now();
    assert_eq!((field(&changed, "invisibleTime"), field(&changed, "reviveQid")), (10_000, 0));
    let refused = client.ask_for(ResponseCode::NoMessage, change("T", &old, 10_000)).await;
    assert_eq!(field(&refused, "popTime"), 0, "clients read the fields of a refusal, too");
    client.ask_for(ResponseCode::NoMessage, ack("T", &old)).await;
    client.ask_for(ResponseCode::Success, pop("T", 15_000)).await;
    assert!((10_000..10_010).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_handle_that_a_client_builds_of_a_change_acks() {
    let mut client = Server::start().connect();
    client.ask_for(ResponseCode::Success, send("T", b"x", &[])).await;
    let popped = client.ask_for(ResponseCode::Success, pop("T", 0)).await;
    let changed = client.ask_for(ResponseCode::Success, change("T", &handle(&popped, 0), 20_000)).await;
    let built =
        format!("0 {} {} 0 0 broker-a 0 0", field(&changed, "popTime"), field(&changed, "invisibleTime"));
    client.ask_for(ResponseCode::Success, ack("T", &built)).await;
    sleep(Duration::from_secs(30)).await;
    client.ask_for(ResponseCode::PollingTimeout, pop("T", 0)).await;
}

#[tokio::test(start_paused = true)]
async fn in_order_the_same_attempt_gets_the_same_and_counts_are_told() {
    let mut client = Server::start().connect();
    for body in [b"a", b"b"] {
        client.ask_for(ResponseCode::Success, send("T", body, &[])).await;
    }
    let ordered = |attempt: &str| {
        let mut command = pop("T", 0);
        command.ext.set("order", true);
        command.ext.set("attemptId", attempt);
        command
    };
    let first = client.ask_for(ResponseCode::Success, ordered("x")).await;
    assert_eq!(first.ext.get("orderCountInfo"), Some("0 0 0"));
    assert_eq!(field(&first, "reviveQid"), 999);
    client.ask_for(ResponseCode::PollingTimeout, ordered("y")).await;
    let same = client.ask_for(ResponseCode::Success, ordered("x")).await;
    assert_eq!(bodies(&same), ["a", "b"]);
    client.ask_for(ResponseCode::Success, ack("T", &handle(&same, 0))).await;
    sleep(Duration::from_secs(11)).await;
    let again = client.ask_for(ResponseCode::Success, ordered("z")).await;
    assert_eq!((infos(&again), bodies(&again)), (("0 0 1", "0 0 1"), vec!["b".to_owned()]));
    assert_eq!(again.ext.get("orderCountInfo"), Some("0 qo0%1 1;0 0 1"));
}

#[tokio::test(start_paused = true)]
async fn filters_stand_in_the_pop_itself() {
    let mut client = Server::start().connect();
    for (body, tag, a) in [(b"1", "A", "1"), (b"2", "B", "2"), (b"3", "A", "3")] {
        client.ask_for(ResponseCode::Success, send("T", body, &[("TAGS", tag), ("a", a)])).await;
    }
    let filtered = |group: &str, kind: &str, expression: &str| {
        let mut command = pop("T", 0);
        for (name, value) in [("consumerGroup", group), ("expType", kind), ("exp", expression)] {
            command.ext.set(name, value);
        }
        command
    };
    let by_tag = client.ask_for(ResponseCode::Success, filtered("tags", "TAG", "A")).await;
    assert_eq!((bodies(&by_tag), infos(&by_tag).1), (vec!["1".to_owned(), "3".to_owned()], "0 0 0,2"));
    let by_value = client.ask_for(ResponseCode::Success, filtered("values", "SQL92", "a > 1")).await;
    assert_eq!(bodies(&by_value), ["2", "3"]);
    let all = client.ask_for(ResponseCode::Success, filtered("all", "", "")).await;
    assert_eq!(bodies(&all).len(), 3);
    for (kind, expression) in [("SQL92", "a >"), ("LUA", "x")] {
        client.ask_for(ResponseCode::SubscriptionParseFailed, filtered("bad", kind, expression)).await;
    }
}

fn batch(acks: Vec<BatchAck>) -> Command {
    let body = json::write(&Batch { broker_name: "broker-a".into(), acks });
    Command::request(RequestCode::BatchAckMessage, Fields::new(), body)
}

#[tokio::test(start_paused = true)]
async fn a_batch_acks_what_its_bits_name() {
    let mut client = Server::start().connect();
    for body in [b"a", b"b", b"c"] {
        client.ask_for(ResponseCode::Success, send("T", body, &[])).await;
    }
    let popped = client.ask_for(ResponseCode::Success, pop("T", 0)).await;
    let ack = |bits: &str| BatchAck {
        group: "g".into(),
        topic: "T".into(),
        retry: "0".into(),
        pop_time: field(&popped, "popTime"),
        invisible_ms: 10_000,
        bits: bits.into(),
        ..BatchAck::default()
    };
    // Bits 0 and 2, and 9, which was never popped.
    let answer = client.ask_for(ResponseCode::Success, batch(vec![ack("BQI=")])).await;
    assert_eq!(remark(&answer), "1 of 3 were not acked: offset is illegal, key:T@0, commit:9");
    client.ask_for(ResponseCode::NoMessage, batch(vec![])).await;
    client.ask_for(ResponseCode::NoMessage, batch(vec![ack("AAI=")])).await;
    client.ask_for(ResponseCode::MessageIllegal, batch(vec![ack("?")])).await;
    let none = Command::request(RequestCode::BatchAckMessage, Fields::new(), Bytes::new());
    client.ask_for(ResponseCode::NoMessage, none).await;
    sleep(Duration::from_secs(11)).await;
    let again = client.ask_for(ResponseCode::Success, pop("T", 0)).await;
    assert_eq!(bodies(&again), ["b"]);
    let of_retry = BatchAck { retry: "1".into(), pop_time: field(&again, "popTime"), ..ack("AQ==") };
    client.ask_for(ResponseCode::Success, batch(vec![of_retry])).await;
    sleep(Duration::from_secs(12)).await;
    client.ask_for(ResponseCode::PollingTimeout, pop("T", 0)).await;
}

#[tokio::test(start_paused = true)]
async fn pops_and_acks_are_refused_with_the_peers_codes() {
    let mut client = Server::start().connect();
    client.ask_for(ResponseCode::Success, send("T", b"x", &[])).await;
    let popped = client.ask_for(ResponseCode::Success, pop("T", 0)).await;
    let with = |mut command: Command, name: &str, value: &str| {
        command.ext.set(name, value);
        command
    };
    for (code, name, value) in [
        (ResponseCode::TopicNotExist, "topic", "none"),
        (ResponseCode::NoPermission, "topic", "SCHEDULE_TOPIC_XXXX"),
        (ResponseCode::InvalidParameter, "queueId", "8"),
        (ResponseCode::InvalidParameter, "maxMsgNums", "33"),
        (ResponseCode::InvalidParameter, "invisibleTime", "-1"),
        (ResponseCode::InvalidParameter, "invisibleTime", "43200001"),
        (ResponseCode::SubscriptionGroupNotExist, "consumerGroup", "a b"),
    ] {
        client.ask_for(code, with(pop("T", 0), name, value)).await;
    }
    let handle = handle(&popped, 0);
    for (code, name, value) in [
        (ResponseCode::TopicNotExist, "topic", "none"),
        (ResponseCode::MessageIllegal, "queueId", "8"),
        (ResponseCode::MessageIllegal, "queueId", "-1"),
        (ResponseCode::NoMessage, "offset", "9999"),
        (ResponseCode::MessageIllegal, "extraInfo", "1 2 3"),
    ] {
        client.ask_for(code, with(ack("T", &handle), name, value)).await;
    }
    client.ask_for(ResponseCode::InvalidParameter, change("T", &handle, 43_200_001)).await;
    client.ask_for(ResponseCode::Success, ack("T", &handle)).await;
}

#[tokio::test(start_paused = true)]
async fn peeks_notifications_and_waiting_pops_are_told() {
    let server = Server::start();
    let (mut client, mut other) = (server.connect(), server.connect());
    client.ask_for(ResponseCode::Success, send("T", b"x", &[])).await;
    let asked = |code, more: &[(&str, &str)]| {
        let mut command = request(code, &[("consumerGroup", "g"), ("topic", "T"), ("queueId", "-1")]);
        for (name, value) in more {
            command.ext.set(name, *value);
        }
        command
    };
    let peek = asked(RequestCode::PeekMessage, &[("maxMsgNums", "5")]);
    for _ in 0..2 {
        let peeked = client.ask_for(ResponseCode::Success, peek.clone()).await;
        assert_eq!((bodies(&peeked), field(&peeked, "restNum")), (vec!["x".to_owned()], 1));
    }
    let notification = asked(RequestCode::Notification, &[("pollTime", "5000"), ("bornTime", "0")]);
    let told = client.ask_for(ResponseCode::Success, notification.clone()).await;
    assert_eq!((told.ext.get("hasMsg"), told.ext.get("pollingFull")), (Some("true"), Some("false")));
    client.ask_for(ResponseCode::Success, pop("T", 0)).await;
    client.ask_for(ResponseCode::PullNotFound, peek).await;
    let waits = client.tell(pop("T", 5000)).await;
    sleep(Duration::from_millis(10)).await;
    let info = asked(RequestCode::PollingInfo, &[]);
    let counted = other.ask_for(ResponseCode::Success, info).await;
    assert_eq!(field(&counted, "pollingNum"), 1);
    let told = other.ask_for(ResponseCode::Success, notification).await;
    assert_eq!(told.ext.get("hasMsg"), Some("false"));
    assert_eq!(client.hear().await.unwrap().opaque, waits);
}

#[tokio::test(start_paused = true)]
async fn a_group_set_to_pop_is_assigned_all_queues_at_once() {
    let server = Server::start();
    let (mut client, mut member) = (server.connect(), server.connect());
    client.ask_for(ResponseCode::Success, send("T", b"x", &[])).await;
    let heartbeat = r#"{"clientID":"c","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",
        "consumeType":"CONSUME_PASSIVELY","groupName":"g","messageModel":"CLUSTERING","subscriptionDataSet":[],
        "unitMode":false}],"heartbeatFingerprint":0,"producerDataSet":[],"withoutSub":false}"#;
    let heartbeat = Bytes::from_static(heartbeat.as_bytes());
    member.tell(Command::request(RequestCode::HeartBeat, Fields::new(), heartbeat)).await;
    for _ in 0..2 {
        // The answer, and the word that the group has changed.
        member.hear().await.unwrap();
    }
    let query = |topic: &str, strategy: &str| {
        let body = Query {
            client_id: "c".into(),
            consumer_group: "g".into(),
            message_model: "CLUSTERING".into(),
            strategy_name: strategy.into(),
            topic: topic.into(),
        };
        Command::request(RequestCode::QueryAssignment, Fields::new(), json::write(&body))
    };
    let set = |topic: &str, mode: &str| {
        let body = SetMode {
            consumer_group: "g".into(),
            mode: mode.into(),
            pop_share_queue_num: 0,
            topic: topic.into(),
        };
        Command::request(RequestCode::SetMessageRequestMode, Fields::new(), json::write(&body))
    };
    let pulled = client.ask_for(ResponseCode::Success, query("T", "AVG")).await;
    let body: assignment::Answer = json::read(&pulled.body).unwrap();
    let assigned = body.message_queue_assignments.unwrap();
    assert_eq!((assigned.len(), assigned[0].mode.as_str()), (4, "PULL"));
    client.ask_for(ResponseCode::Success, set("T", "POP")).await;
    let popped = client.ask_for(ResponseCode::Success, query("T", "AVG_BY_CIRCLE")).await;
    let one = r#"{"messageQueue":{"brokerName":"broker-a","queueId":-1,"topic":"T"},"mode":"POP"}"#;
    assert_eq!(popped.body, format!(r#"{{"messageQueueAssignments":[{one}]}}"#));
    let unknown = client.ask_for(ResponseCode::Success, query("none", "AVG")).await;
    assert_eq!(unknown.body, "{}", "the client goes on as it is");
    client.ask_for(ResponseCode::InvalidParameter, query("T", "MACHINE_ROOM")).await;
    client.ask_for(ResponseCode::InvalidParameter, set("T", "PUSH")).await;
    client.ask_for(ResponseCode::NoPermission, set("%RETRY%g", "POP")).await;
    client.ask_for(ResponseCode::TopicNotExist, set("none", "POP")).await;
}
