//! The way of a message: send, pull, send back, find.

use super::*;
use wire::remoting::batch::{self, Item};
use wire::{message_id, recall_handle::RecallHandle};

#[tokio::test(start_paused = true)]
async fn a_message_sent_is_pulled_as_it_was_sent() {
    let mut client = Server::start().connect();
    let answer =
        client.ask_for(ResponseCode::Success, send("T", b"body", &[("TAGS", "a"), ("x", "y")])).await;
    assert_eq!((field(&answer, "queueId"), field(&answer, "queueOffset")), (0, 0));
    assert_eq!(
        (answer.ext.get("MSG_REGION"), answer.ext.get("TRACE_ON")),
        (Some("DefaultRegion"), Some("true"))
    );
    assert_eq!(answer.ext.get("recallHandle"), None);
    assert_eq!((answer.flag, answer.language, answer.version), (1, Language::Java, 479));

    let pulled = client.ask_for(ResponseCode::Success, pull("T", 0, 0)).await;
    assert_eq!(
        (field(&pulled, "nextBeginOffset"), field(&pulled, "minOffset"), field(&pulled, "maxOffset")),
        (1, 0, 1)
    );
    assert_eq!(field(&pulled, "suggestWhichBrokerId"), 0);
    let [(message, place)] = &messages(&pulled)[..] else { panic!("one message") };
    assert_eq!(
        (&message.body[..], message.flag, message.born_at.as_millis()),
        (&b"body"[..], 7, BEGIN_MS - 5)
    );
    assert_eq!(message.born_host, "127.0.0.1:4000".parse().unwrap());
    assert_eq!((message.properties.get("TAGS"), message.properties.get("x")), (Some("a"), Some("y")));
    assert_eq!(message.properties.get("UNIQ_KEY"), answer.ext.get("transactionId"));
    assert_eq!((place.topic.as_str(), place.queue_offset.0, place.store_host), ("T", 0, store_host()));
    let (host, log_offset) = message_id::decode(answer.ext.get("msgId").unwrap()).unwrap();
    assert_eq!((host, log_offset), (store_host(), place.log_offset));
}

#[tokio::test(start_paused = true)]
async fn a_second_message_with_a_key_is_answered_with_the_first_and_marked() {
    let mut client = Server::start().connect();
    let keyed = |body: &'static [u8], ms| {
        send("T", body, &[("TIMER_DELAY_MS", ms), ("UNIQ_KEY", "mine"), ("DUEMQ_DEDUP_KEY", "order 4711")])
    };
    let first = client.ask_for(ResponseCode::Success, keyed(b"first", "60000")).await;
    assert_eq!(first.ext.get("duplicate"), None);
    let mut second = keyed(b"second", "90000");
    let other = [("TIMER_DELAY_MS", "90000"), ("UNIQ_KEY", "other"), ("DUEMQ_DEDUP_KEY", "order 4711")];
    second.ext = send("T", b"second", &other).ext;
    let second = client.ask_for(ResponseCode::Success, second).await;
    assert_eq!(second.ext.get("duplicate"), Some("true"));
    for name in ["msgId", "queueId", "transactionId", "recallHandle"] {
        assert!(first.ext.get(name).is_some());
        assert_eq!(second.ext.get(name), first.ext.get(name), "{name}");
    }
    assert!(remark(&second).contains("is there, due at 17"), "{}", remark(&second));
    sleep(Duration::from_secs(100)).await;
    let got = messages(&client.ask(pull("T", 0, 0)).await);
    assert_eq!(got.iter().map(|(message, _)| &message.body[..]).collect::<Vec<_>>(), [b"first"]);
    let third = client.ask_for(ResponseCode::Success, keyed(b"third", "90000")).await;
    assert_eq!((third.ext.get("duplicate"), third.ext.get("transactionId")), (Some("true"), Some("mine")));
    assert_eq!(third.ext.get("recallHandle"), first.ext.get("recallHandle"), "and so when it was due");
}

#[tokio::test(start_paused = true)]
async fn a_header_in_words_and_the_binary_dialect_are_served_alike() {
    let mut client = Server::start().connect();
    let mut ext = Fields::new();
    let header = Header::read(&send("T", b"", &[]).ext, Spelling::V2).unwrap();
    header.write(&mut ext, Spelling::V1);
    let mut command = Command::request(RequestCode::SendMessage, ext, Bytes::from_static(b"go"));
    command.serialize = Serialize::RocketMq;
    let answer = client.ask_for(ResponseCode::Success, command).await;
    assert_eq!(answer.serialize, Serialize::RocketMq);
    assert_eq!(messages(&client.ask(pull("T", 0, 0)).await)[0].0.body, "go");
}

#[tokio::test(start_paused = true)]
async fn a_client_by_ipv4_on_a_listener_for_both_is_one_by_ipv4() {
    let mut client = Server::start().connect_from("[::ffff:10.0.0.7]:4000");
    client.ask_for(ResponseCode::Success, send("T", b"body", &[])).await;
    let pulled = client.ask(pull("T", 0, 0)).await;
    assert_eq!(messages(&pulled)[0].0.born_host, "10.0.0.7:4000".parse().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_delayed_message_comes_to_a_waiting_pull_at_its_moment_and_not_before() {
    let mut client = Server::start().connect();
    for (n, property) in
        [("DELAY", "2"), ("TIMER_DELAY_SEC", "5"), ("TIMER_DELAY_MS", "5000")].into_iter().enumerate()
    {
        let began = Instant::now();
        let answer = client.ask_for(ResponseCode::Success, send("T", b"later", &[property])).await;
        let handle = RecallHandle::decode(answer.ext.get("recallHandle").unwrap()).unwrap();
        assert_eq!((handle.topic.as_str(), handle.broker.as_str()), ("T", "broker-a"));
        let pulled = client.ask_for(ResponseCode::Success, pull("T", n as i64, 15_000)).await;
        let (message, place) = &messages(&pulled)[0];
        assert!(
            place.stored_at >= handle.deliver_at,
            "{property:?}: {} before {}",
            place.stored_at,
            handle.deliver_at
        );
        assert!((5000..5010).contains(&began.elapsed().as_millis()), "{property:?}: {:?}", began.elapsed());
        assert_eq!(message.properties.get("UNIQ_KEY"), Some(handle.unique_key.as_str()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiting_pull_is_answered_nothing_when_its_time_is_over() {
    let mut client = Server::start().connect();
    client.ask_for(ResponseCode::Success, send("T", b"one", &[])).await;
    let began = Instant::now();
    let answer = client.ask_for(ResponseCode::PullNotFound, pull("T", 1, 20_000)).await;
    assert_eq!((field(&answer, "nextBeginOffset"), field(&answer, "maxOffset")), (1, 1));
    assert!((20_000..20_010).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    let mut at_once = pull("T", 1, 20_000);
    at_once.ext.set("sysFlag", pull::SUBSCRIPTION);
    let began = Instant::now();
    client.ask_for(ResponseCode::PullNotFound, at_once).await;
    assert!(began.elapsed().as_millis() < 10, "it waits only where its bit says so");
    let answer = client.ask_for(ResponseCode::PullOffsetMoved, pull("T", 9, 20_000)).await;
    assert_eq!((field(&answer, "nextBeginOffset"), answer.body.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_pull_commits_only_where_its_bit_says_so() {
    let mut client = Server::start().connect();
    client.ask_for(ResponseCode::Success, send("T", b"one", &[])).await;
    let offset =
        [("consumerGroup", "consumers"), ("topic", "T"), ("queueId", "0"), ("setZeroIfNotFound", "false")];
    let mut command = pull("T", 0, 0);
    command.ext.set("commitOffset", 1);
    client.ask_for(ResponseCode::Success, command.clone()).await;
    let query = request(RequestCode::QueryConsumerOffset, &offset);
    client.ask_for(ResponseCode::QueryNotFound, query.clone()).await;
    command.ext.set("sysFlag", pull::SUBSCRIPTION | pull::COMMIT_OFFSET);
    client.ask_for(ResponseCode::Success, command).await;
    assert_eq!(field(&client.ask_for(ResponseCode::Success, query).await, "offset"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_stored_whole_and_in_order() {
    let mut client = Server::start().connect();
    let answer =
        client.ask_for(ResponseCode::Success, batch("T", &[("x", "1"), ("x", "2"), ("x", "3")])).await;
    let ids: Vec<_> =
        answer.ext.get("msgId").unwrap().split(',').map(|id| message_id::decode(id).unwrap().1).collect();
    let pulled = messages(&client.ask(pull("T", 0, 0)).await);
    assert_eq!(ids, pulled.iter().map(|(_, place)| place.log_offset).collect::<Vec<_>>());
    let came: Vec<_> =
        pulled.iter().map(|(message, _)| (message.flag, message.properties.get("x").unwrap())).collect();
    assert_eq!(came, [(0, "1"), (1, "2"), (2, "3")]);

    let answer =
        client.ask_for(ResponseCode::MessageIllegal, batch("T", &[("x", "1"), ("DELAY", "1")])).await;
    assert!(
        remark(&answer).contains("message 1") && remark(&answer).contains("DELAY"),
        "{}",
        remark(&answer)
    );
    assert_eq!(field(&client.ask(pull("T", 3, 0)).await, "maxOffset"), 3, "none of it is stored");
}

/// A batch of a message for each property.
pub(super) fn batch(topic: &str, properties: &[(&str, &str)]) -> Command {
    let mut command = send(topic, b"", &[]);
    let mut body = Vec::new();
    for (flag, &property) in properties.iter().enumerate() {
        let properties = encoded(&[property]).into();
        batch::encode(&Item { flag: flag as i32, body: Bytes::from_static(b"inner"), properties }, &mut body);
    }
    command.code = RequestCode::SendBatchMessage.number();
    command.ext.set("m", true);
    command.body = body.into();
    command
}

#[tokio::test(start_paused = true)]
async fn a_message_given_back_returns_by_the_retry_topic_after_ten_seconds() {
    let mut client = Server::start().connect();
    client.ask_for(ResponseCode::Success, send("T", b"hard", &[])).await;
    let (_, place) = messages(&client.ask(pull("T", 0, 0)).await).remove(0);
    let began = Instant::now();
    let offset = place.log_offset.to_string();
    let fields = [("offset", offset.as_str()), ("group", "consumers"), ("delayLevel", "0")];
    client.ask_for(ResponseCode::Success, request(RequestCode::ConsumerSendMsgBack, &fields)).await;
    let pulled = client.ask_for(ResponseCode::Success, pull("%RETRY%consumers", 0, 15_000)).await;
    assert!((10_000..10_010).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    let (message, _) = &messages(&pulled)[0];
    assert_eq!((message.reconsume_times, message.properties.get("RETRY_TOPIC")), (1, Some("T")));
    let nowhere =
        request(RequestCode::ConsumerSendMsgBack, &[("offset", "-1"), ("group", "g"), ("delayLevel", "0")]);
    client.ask_for(ResponseCode::SystemError, nowhere).await;
}

#[tokio::test(start_paused = true)]
async fn a_message_is_found_by_key_by_unique_key_and_by_place() {
    let mut client = Server::start().connect();
    let sent = client
        .ask_for(ResponseCode::Success, send("T", b"keyed", &[("KEYS", "k1 k2"), ("UNIQ_KEY", "U1")]))
        .await;
    let query = |key: &str, unique: &str| {
        let end = i64::MAX.to_string();
        let fields = [
            ("topic", "T"),
            ("key", key),
            ("maxNum", "5"),
            ("beginTimestamp", "0"),
            ("endTimestamp", &end),
            ("_UNIQUE_KEY_QUERY", unique),
        ];
        request(RequestCode::QueryMessage, &fields)
    };
    for (key, unique) in [("k2", "false"), ("U1", "true")] {
        let found = client.ask_for(ResponseCode::Success, query(key, unique)).await;
        assert_eq!(messages(&found)[0].0.body, "keyed", "{key}");
    }
    let missing = client.ask_for(ResponseCode::QueryNotFound, query("k3", "false")).await;
    assert_eq!(field(&missing, "indexLastUpdatePhyoffset"), 0);

    let (_, log_offset) = message_id::decode(sent.ext.get("msgId").unwrap()).unwrap();
    let view = |offset: &str| request(RequestCode::ViewMessageById, &[("offset", offset), ("topic", "T")]);
    let seen = client.ask_for(ResponseCode::Success, view(&log_offset.to_string())).await;
    assert_eq!(messages(&seen)[0].0.body, "keyed");
    client.ask_for(ResponseCode::SystemError, view("1")).await;
    client.ask_for(ResponseCode::SystemError, view("-1")).await;
}

#[tokio::test(start_paused = true)]
async fn a_message_called_back_is_never_delivered_and_every_answer_says_what_became_of_it() {
    let mut client = Server::start().connect();
    let sent =
        client.ask_for(ResponseCode::Success, send("T", b"regretted", &[("TIMER_DELAY_SEC", "5")])).await;
    let handle = sent.ext.get("recallHandle").unwrap().to_owned();
    let key = RecallHandle::decode(&handle).unwrap().unique_key;
    let recall = |topic: &str, handle: &str| {
        request(RequestCode::RecallMessage, &[("topic", topic), ("recallHandle", handle)])
    };
    let answer = client.ask_for(ResponseCode::Success, recall("T", &handle)).await;
    assert_eq!((answer.ext.get("msgId"), answer.ext.get("outcome")), (Some(key.as_str()), Some("recalled")));
    assert_eq!(answer.ext.get("MSG_REGION"), Some("DefaultRegion"));
    client.ask_for(ResponseCode::PullNotFound, pull("T", 0, 15_000)).await;

    let sent = client.ask_for(ResponseCode::Success, send("T", b"late", &[("TIMER_DELAY_SEC", "5")])).await;
    let late = sent.ext.get("recallHandle").unwrap().to_owned();
    client.ask_for(ResponseCode::Success, pull("T", 0, 15_000)).await;
    let mut unknown = RecallHandle::decode(&handle).unwrap();
    unknown.deliver_at = Timestamp::from_millis(BEGIN_MS + 1_000_000);
    unknown.unique_key = "NOBODY".into();
    let mut foreign = RecallHandle::decode(&late).unwrap();
    foreign.broker = "broker-b".into();
    client.ask_for(ResponseCode::Success, send("U", b"body", &[])).await;
    for (code, topic, handle, outcome) in [
        (ResponseCode::IllegalOperation, "T", late.as_str(), Some("too_late")),
        (ResponseCode::NoMessage, "T", &unknown.encode(), Some("unknown")),
        (ResponseCode::IllegalOperation, "T", "no handle", Some("illegal")),
        (ResponseCode::IllegalOperation, "U", &handle, Some("illegal")),
        (ResponseCode::IllegalOperation, "T", &foreign.encode(), Some("illegal")),
        (ResponseCode::TopicNotExist, "V", &handle, None),
    ] {
        let answer = client.ask_for(code, recall(topic, handle)).await;
        assert_eq!(answer.ext.get("outcome"), outcome, "{}", remark(&answer));
        assert_eq!(answer.ext.get("MSG_REGION"), Some("DefaultRegion"));
    }
}
