//! Request and reply: the answer to a request that was a message.

use super::*;
use wire::remoting::heartbeat::{HeartbeatData, ProducerData};
use wire::remoting::json;

const REPLIES: &str = "DefaultCluster_REPLY_TOPIC";

/// The connection of a client that produces, and so may ask.
async fn requester(server: &Server, id: &str) -> Client {
    let mut client = server.connect_from("127.0.0.1:4001");
    let data = HeartbeatData {
        client_id: id.into(),
        producer_data_set: vec![ProducerData { group_name: "askers".into() }],
        ..HeartbeatData::default()
    };
    client
        .ask_for(
            ResponseCode::Success,
            Command::request(RequestCode::HeartBeat, Fields::new(), json::write(&data)),
        )
        .await;
    client
}

/// A reply as Java's producer makes it.
fn reply(to: Option<&str>, correlation: &str) -> Command {
    let mut properties = vec![("MSG_TYPE", "reply"), ("CORRELATION_ID", correlation), ("TTL", "3000")];
    properties.extend(to.map(|to| ("REPLY_TO_CLIENT", to)));
    let mut command = send(REPLIES, b"the answer", &properties);
    command.code = RequestCode::SendReplyMessageV2.number();
    command
}

/// Answers a push.
async fn take(client: &mut Client, push: &Command, code: ResponseCode) {
    let mut bytes = BytesMut::new();
    push.answer(code).encode(&mut bytes);
    client.send_bytes(&bytes).await;
}

#[tokio::test(start_paused = true)]
async fn a_reply_reaches_who_asked_and_is_stored() {
    let server = Server::start();
    let mut asker = requester(&server, "10.0.0.2@17").await;
    let mut replier = server.connect();
    for (spelling, code) in
        [(Spelling::V2, RequestCode::SendReplyMessageV2), (Spelling::V1, RequestCode::SendReplyMessage)]
    {
        let mut command = reply(Some("10.0.0.2@17"), "c-1");
        let header = Header::read(&command.ext, Spelling::V2).unwrap();
        command.ext = Fields::new();
        header.write(&mut command.ext, spelling);
        command.code = code.number();
        let opaque = replier.tell(command).await;

        let push = asker.hear().await.unwrap();
        assert_eq!((push.code, push.is_answer(), push.is_one_way()), (326, false, false));
        assert_eq!(push.body, "the answer");
        assert_eq!(push.ext.get("topic"), Some(REPLIES));
        assert_eq!(push.ext.get("producerGroup"), Some("producers"));
        assert_eq!(push.ext.get("bornHost"), Some("127.0.0.1:4000"));
        assert_eq!(push.ext.get("storeHost"), Some("10.0.0.1:10911"));
        assert!(field(&push, "storeTimestamp") >= BEGIN_MS);
        assert_eq!(field(&push, "flag"), 7);
        let properties = property::decode(push.ext.get("properties").unwrap().as_bytes()).unwrap();
        assert_eq!(properties.get("CORRELATION_ID"), Some("c-1"));
        assert_eq!(
            properties.get("PUSH_REPLY_TIME"),
            push.ext.get("storeTimestamp"),
            "clients measure by it"
        );
        take(&mut asker, &push, ResponseCode::Success).await;

        let answer = replier.hear().await.unwrap();
        assert_eq!((answer.opaque, answer.code), (opaque, 0), "{answer:?}");
        assert_eq!(answer.ext.get("MSG_REGION"), Some("DefaultRegion"));
        let offset = field(&answer, "queueOffset");
        let stored = replier.ask_for(ResponseCode::Success, pull(REPLIES, offset, 0)).await;
        let (message, _) = messages(&stored).remove(0);
        assert_eq!(
            (&*message.body, message.properties.get("CORRELATION_ID")),
            (&b"the answer"[..], Some("c-1"))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_to_somebody_who_is_not_there_is_an_error_and_stored_all_the_same() {
    let server = Server::start();
    let mut replier = server.connect();
    let answer = replier.ask_for(ResponseCode::SystemError, reply(Some("gone"), "c")).await;
    assert_eq!(remark(&answer), "push reply message fail, channel of <gone> not found.");
    assert_eq!(field(&answer, "queueOffset"), 0);
    assert_eq!(answer.ext.get("msgId").map(str::len), Some(32));

    let answer = replier.ask_for(ResponseCode::SystemError, reply(None, "c")).await;
    assert!(remark(&answer).contains("REPLY_TO_CLIENT"), "{}", remark(&answer));
    assert_eq!(field(&answer, "queueOffset"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_not_taken_is_an_error() {
    let server = Server::start();
    let mut replier = server.connect();
    let mut asker = requester(&server, "asker").await;
    replier.tell(reply(Some("asker"), "c")).await;
    let push = asker.hear().await.unwrap();
    take(&mut asker, &push, ResponseCode::SystemError).await;
    let answer = replier.hear().await.unwrap();
    assert_eq!((answer.code, remark(&answer)), (1, "push reply message to asker fail: it was not taken"));

    let began = Instant::now();
    replier.tell(reply(Some("asker"), "c")).await;
    let answer = replier.hear().await.unwrap();
    assert_eq!((answer.code, began.elapsed().as_secs()), (1, 10), "a client that says nothing is waited for");
    assert!(remark(&answer).contains("did not answer within 10 s"), "{}", remark(&answer));

    replier.tell(reply(Some("asker"), "c")).await;
    while asker.hear().await.unwrap().opaque <= push.opaque + 1 {}
    drop(asker);
    let answer = replier.hear().await.unwrap();
    assert_eq!((answer.code, began.elapsed().as_secs()), (1, 10), "one that leaves is not");
    assert!(remark(&answer).ends_with("the client is gone, or cannot answer"), "{}", remark(&answer));
    replier.tell(reply(Some("asker"), "c")).await;
    let answer = replier.hear().await.unwrap();
    assert!(remark(&answer).contains("channel of <asker> not found"), "{}", remark(&answer));
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_reached_who_asked_is_no_failure_though_it_cannot_be_stored() {
    let server = Server::start();
    let mut replier = server.connect();
    let mut asker = requester(&server, "asker").await;
    let mut command = reply(Some("asker"), "c");
    command.body = Bytes::new();
    replier.tell(command).await;
    let push = asker.hear().await.unwrap();
    take(&mut asker, &push, ResponseCode::Success).await;
    let answer = replier.hear().await.unwrap();
    assert_eq!((answer.code, answer.ext.get("msgId"), field(&answer, "queueOffset")), (0, Some("0"), 0));
}

#[tokio::test(start_paused = true)]
async fn hundreds_of_replies_at_once_wait_for_their_turn() {
    let server = Server::start();
    let mut replier = server.connect();
    let mut asker = requester(&server, "asker").await;
    for number in 0..300 {
        replier.tell(reply(Some("asker"), &number.to_string())).await;
    }
    // Those that come before the first answer are no more than one client may have open.
    let mut open = Vec::new();
    while let Ok(push) = tokio::time::timeout(Duration::from_secs(1), asker.hear()).await {
        open.push(push.unwrap());
    }
    assert_eq!(open.len(), 64);
    let mut taken = 0;
    loop {
        for push in std::mem::take(&mut open) {
            take(&mut asker, &push, ResponseCode::Success).await;
            taken += 1;
        }
        if taken == 300 {
            break;
        }
        open.push(asker.hear().await.unwrap());
    }
    for _ in 0..300 {
        assert_eq!(replier.hear().await.unwrap().code, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn replies_that_wait_for_their_turn_hear_that_the_client_has_gone() {
    let server = Server::start();
    let mut replier = server.connect();
    let asker = requester(&server, "asker").await;
    let began = Instant::now();
    for number in 0..300 {
        replier.tell(reply(Some("asker"), &number.to_string())).await;
    }
    sleep(Duration::from_secs(1)).await;
    drop(asker);
    for _ in 0..300 {
        assert_eq!(replier.hear().await.unwrap().code, 1);
    }
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn replies_for_a_client_that_does_not_read_are_given_up_and_not_heaped_up() {
    let server = Server::start();
    let mut replier = server.connect();
    let mut asker = requester(&server, "asker").await;
    for _ in 0..40 {
        let mut command = reply(Some("asker"), "c");
        command.body = vec![7; 1 << 20].into();
        replier.tell(command).await;
    }
    for _ in 0..40 {
        assert_eq!(replier.hear().await.unwrap().code, 1);
    }
    let mut pushes = 0;
    while let Ok(push) = tokio::time::timeout(Duration::from_secs(1), asker.hear()).await {
        push.unwrap();
        pushes += 1;
    }
    assert!((1..=8).contains(&pushes), "{pushes} replies of a megabyte were put into an outbox of four");
}

#[tokio::test(start_paused = true)]
async fn a_reply_goes_by_the_newest_connection_that_is_left() {
    let server = Server::start();
    let mut replier = server.connect();
    let mut first = requester(&server, "asker").await;
    let second = requester(&server, "asker").await;
    let mut third = requester(&server, "asker").await;
    replier.tell(reply(Some("asker"), "c")).await;
    let push = third.hear().await.unwrap();
    take(&mut third, &push, ResponseCode::Success).await;
    assert_eq!(replier.hear().await.unwrap().code, 0);

    let leave = request(RequestCode::UnregisterClient, &[("clientID", "asker"), ("producerGroup", "askers")]);
    third.ask_for(ResponseCode::Success, leave).await;
    drop(second);
    sleep(Duration::from_secs(1)).await;
    replier.tell(reply(Some("asker"), "c")).await;
    let push = first.hear().await.unwrap();
    take(&mut first, &push, ResponseCode::Success).await;
    assert_eq!(replier.hear().await.unwrap().code, 0);
}
