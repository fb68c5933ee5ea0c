use super::*;
use crate::fake;
use broker::{Popped, Reply, Request};
use bytes::Bytes;
use model::{Group, LogOffset, Message, Properties, QueueOffset, Timestamp};
use prost_types::Duration as WireDuration;
use std::sync::Mutex;
use tokio::sync::mpsc;
use wire::stored::{Placed, encode};

fn popped(offset: i64) -> PoppedMessage {
    let host = std::net::SocketAddr::from(([127, 0, 0, 1], 10_911));
    let message = Message {
        flag: 0,
        sys_flag: 0,
        born_at: Timestamp::from_millis(1),
        born_host: host,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        properties: Properties::new(),
        body: Bytes::from_static(b"x"),
    };
    let placed = Placed {
        topic: "t",
        queue_id: QueueId(0),
        queue_offset: QueueOffset(offset),
        log_offset: LogOffset(4096),
        stored_at: Timestamp::from_millis(2),
        store_host: host,
    };
    let mut bytes = Vec::new();
    encode(&message, &placed, &mut bytes);
    let handle = format!("0 1700000000000 60000 0 0 b 0 {offset} 4096").parse().unwrap();
    PoppedMessage { bytes: bytes.into(), handle, queue_offset: QueueOffset(offset), attempt: 1 }
}

fn request() -> ReceiveMessageRequest {
    let resource =
        |name: &str| Some(v2::Resource { resource_namespace: String::new(), name: name.to_owned() });
    ReceiveMessageRequest {
        group: resource("g"),
        message_queue: Some(v2::MessageQueue { topic: resource("t"), id: 1, ..Default::default() }),
        batch_size: 16,
        invisible_duration: Some(WireDuration { seconds: 30, nanos: 0 }),
        long_polling_timeout: Some(WireDuration { seconds: 5, nanos: 0 }),
        ..Default::default()
    }
}

struct Front {
    proxy: Proxy,
    pops: Arc<Mutex<Vec<Pop>>>,
    given_back: mpsc::UnboundedReceiver<ChangeInvisible>,
}

/// A front whose broker hands out messages of these offsets; the group is ordered or not.
fn given(offsets: &'static [i64], ordered: bool) -> Front {
    let pops = Arc::new(Mutex::new(Vec::new()));
    let (back, given_back) = mpsc::unbounded_channel();
    let seen = Arc::clone(&pops);
    let proxy = fake::proxy(move |request| match request {
        Request::GetGroup(ask) => Some(Reply::GetGroup(Some(Group { ordered, ..Group::new(ask.name) }))),
        Request::Pop(ask) => {
            seen.lock().unwrap().push(ask);
            let messages = offsets.iter().map(|&offset| popped(offset)).collect();
            Some(Reply::Pop(Ok(Popped { messages, pop_time: 1, invisible_ms: 1, rest: 0 })))
        }
        Request::ChangeInvisible(ask) => {
            let handle = ask.handle.clone();
            back.send(ask).unwrap();
            Some(Reply::ChangeInvisible(Ok(handle)))
        }
        _ => None,
    });
    Front { proxy, pops, given_back }
}

async fn frames(proxy: &Proxy, request: ReceiveMessageRequest) -> Vec<Content> {
    let frames: Vec<Frame> = receive(proxy.clone(), Ok(fake::context()), request).collect().await;
    frames.into_iter().map(|frame| frame.unwrap().content.unwrap()).collect()
}

fn code(content: &Content) -> Code {
    let Content::Status(status) = content else { panic!("not a status: {content:?}") };
    status.code()
}

#[tokio::test]
async fn status_messages_and_the_moment_come_in_this_order() {
    let Front { proxy, mut given_back, pops } = given(&[7, 8], false);
    let frames = frames(&proxy, request()).await;
    let [status, Content::Message(first), Content::Message(_), Content::DeliveryTimestamp(_)] =
        frames.as_slice()
    else {
        panic!("other frames: {frames:?}");
    };
    assert_eq!(code(status), Code::Ok);
    assert_eq!(first.topic, request().message_queue.unwrap().topic);
    drop(proxy);
    assert!(given_back.recv().await.is_none(), "all was taken by the client, nothing is given back");
    let pops = pops.lock().unwrap();
    assert_eq!((pops[0].queue_id, pops[0].max_messages, pops[0].from_end), (None, 16, true));
    assert_eq!((pops[0].invisible, pops[0].wait), (Duration::from_secs(30), Duration::from_secs(5)));
}

#[tokio::test]
async fn nothing_found_is_a_status_and_the_moment_and_so_is_a_refusal() {
    let Front { proxy, .. } = given(&[], false);
    let mut short = request();
    short.invisible_duration = Some(WireDuration { seconds: 9, nanos: 999_999_999 });
    let mut sql = request();
    sql.filter_expression =
        Some(v2::FilterExpression { r#type: FilterType::Sql.into(), expression: "a >".to_owned() });
    for (request, expected) in [
        (request(), Code::MessageNotFound),
        (short, Code::IllegalInvisibleTime),
        (sql, Code::IllegalFilterExpression),
        (ReceiveMessageRequest { batch_size: 0, ..request() }, Code::BadRequest),
        (ReceiveMessageRequest { group: None, ..request() }, Code::IllegalConsumerGroup),
        (ReceiveMessageRequest { message_queue: None, ..request() }, Code::IllegalTopic),
    ] {
        let frames = frames(&proxy, request).await;
        let [status, Content::DeliveryTimestamp(_)] = frames.as_slice() else { panic!("{frames:?}") };
        assert_eq!(code(status), expected);
    }
}

#[tokio::test]
async fn a_receive_given_up_before_its_end_gives_all_its_messages_back_soon() {
    let Front { proxy, mut given_back, .. } = given(&[7, 8], false);
    let mut frames = Box::pin(receive(proxy.clone(), Ok(fake::context()), request()));
    for _ in 0..3 {
        frames.next().await.unwrap().unwrap();
    }
    drop(frames);
    for offset in [7, 8] {
        let ask = given_back.recv().await.unwrap();
        assert_eq!((ask.handle.queue_offset, ask.invisible), (offset, Duration::from_secs(1)));
        assert_eq!((ask.group.as_str(), ask.topic.as_str()), ("g", "t"));
    }
}

#[tokio::test]
async fn messages_in_order_stay_with_the_attempt_that_took_them() {
    let Front { proxy, mut given_back, pops } = given(&[7], true);
    let attempt = ReceiveMessageRequest { attempt_id: Some("a".to_owned()), auto_renew: true, ..request() };
    let mut frames = Box::pin(receive(proxy.clone(), Ok(fake::context()), attempt));
    frames.next().await.unwrap().unwrap();
    drop((frames, proxy));
    assert!(given_back.recv().await.is_none());
    let pop = &pops.lock().unwrap()[0];
    assert_eq!((pop.ordered, pop.attempt_id.as_deref()), (true, Some("a")));
    assert_eq!((pop.queue_id, pop.invisible), (Some(QueueId(1)), Duration::from_mins(1)));
}

#[tokio::test]
async fn a_long_poll_ends_at_once_when_the_server_stops() {
    let proxy = fake::proxy(|request| match request {
        Request::GetGroup(_) => Some(Reply::GetGroup(None)),
        _ => None,
    });
    proxy.stopping.cancel();
    assert_eq!(code(&frames(&proxy, request()).await[0]), Code::MessageNotFound);
}

#[test]
fn a_poll_lasts_as_asked_within_the_limit_and_ends_before_the_client_stops_waiting() {
    let settings = Settings::default();
    let known = |ms| Known {
        register: Arc::new(broker::Register {
            connection: model::ConnectionId(1),
            client: model::ClientId("c".into()),
            language: String::new(),
            version: 0,
            address: "127.0.0.1:1".parse().unwrap(),
            producers: Vec::new(),
            consumers: Vec::new(),
        }),
        fifo: false,
        request_timeout: Some(Duration::from_millis(ms)),
    };
    for (asked, left, expected, what) in [
        (Some(6000), Some(11_000), 6000, "as asked"),
        (Some(1000), Some(4000), 1000, "a short one is no error"),
        (Some(0), Some(3000), 0, "at once"),
        (Some(60_000), Some(63_000), 20_000, "the limit"),
        (Some(30_000), None, 20_000, "the limit, without a deadline"),
        (None, None, 20_000, "neither asked nor limited"),
        (None, Some(8000), 6000, "all but half a request's timeout"),
        (None, Some(500), 0, "no time left"),
        (Some(20_000), Some(20_000), 19_500, "ahead of the deadline"),
        (Some(20_000), Some(1000), 750, "ahead of a short one"),
        (Some(20_000), Some(0), 0, "the deadline is over"),
        // As clients set it: what they wait for, and as long again as a request may take.
        (Some(4000), Some(7000), 4000, "below RocketMQ's least"),
        (Some(20_000), Some(23_000), 20_000, "the limit itself"),
        (Some(30_000), Some(33_000), 20_000, "above the limit, with a short timeout"),
        (Some(60_000), Some(90_000), 20_000, "above the limit, with a long one"),
        (Some(30_000), Some(30_000), 20_000, "as long as the deadline"),
    ] {
        let request = ReceiveMessageRequest {
            long_polling_timeout: asked
                .map(|ms: i64| WireDuration { seconds: ms / 1000, nanos: (ms % 1000 * 1_000_000) as i32 }),
            ..request()
        };
        let left = left.map(Duration::from_millis);
        let waited = wait(&request, Some(&known(4000)), left, &settings);
        assert_eq!(waited, Duration::from_millis(expected), "{what}");
    }
    let negative = ReceiveMessageRequest {
        long_polling_timeout: Some(WireDuration { seconds: -1, nanos: 0 }),
        ..request()
    };
    assert!(wait(&negative, None, None, &settings) <= settings.poll_max);
}

#[test]
fn a_lease_is_ten_seconds_to_twelve_hours_or_the_servers_choice() {
    let settings = Settings::default();
    let of = |renew, seconds| lease(renew, Some(WireDuration { seconds, nanos: 0 }), &settings);
    assert_eq!(of(false, 10), Ok(Duration::from_secs(10)));
    assert_eq!(of(false, 43_200), Ok(Duration::from_hours(12)));
    for seconds in [9, 43_201, 0, -1, i64::MAX, i64::MIN] {
        let refused = of(false, seconds).unwrap_err();
        assert_eq!(refused.code, Code::IllegalInvisibleTime);
        assert!(refused.text.contains(&seconds.to_string()), "{}", refused.text);
    }
    assert_eq!(lease(false, None, &settings).unwrap_err().code, Code::IllegalInvisibleTime);
    assert_eq!(of(true, 5), Ok(Duration::from_mins(1)));
    assert_eq!(lease(true, None, &settings), Ok(Duration::from_mins(1)));
}

#[test]
fn a_batch_is_at_most_thirty_two_messages() {
    assert_eq!((batch(1), batch(32), batch(i32::MAX)), (Ok(1), Ok(32), Ok(32)));
    for asked in [0, -1, i32::MIN] {
        assert_eq!(batch(asked).unwrap_err().code, Code::BadRequest);
    }
}

#[test]
fn only_a_push_consumer_in_order_takes_from_the_queue_it_names() {
    for (id, ordered, push, queue) in [
        (2, true, true, Some(QueueId(2))),
        (-1, true, true, None),
        (-7, true, true, None),
        (2, false, true, None),
        (2, true, false, None),
    ] {
        assert_eq!(asked_queue(id, ordered, push), queue, "id {id}, ordered {ordered}, push {push}");
    }
}

#[test]
fn expressions_are_read_by_their_kind_and_an_unspecified_kind_counts_as_tags() {
    let of = |kind: FilterType, expression: &str| {
        filter(&v2::FilterExpression { r#type: kind.into(), expression: expression.to_owned() })
    };
    assert_eq!(of(FilterType::Tag, "*"), Ok(Filter::All));
    assert_eq!(of(FilterType::Unspecified, ""), Ok(Filter::All));
    assert_eq!(of(FilterType::Tag, "a || b"), Ok(Filter::tags("a || b").unwrap()));
    assert!(matches!(of(FilterType::Sql, "n > 2 AND TAGS <> 'C'"), Ok(Filter::Sql(_))));
    for wrong in ["", "n >", "*"] {
        assert_eq!(of(FilterType::Sql, wrong).unwrap_err().code, Code::IllegalFilterExpression, "{wrong:?}");
    }
}
