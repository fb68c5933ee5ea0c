//! What breaks a rule gets the protocol's own error, and the connection lives on.

use super::message::batch;
use super::*;

/// Sends `request`, and sees that the connection serves the next one.
async fn refused(client: &mut Client, code: ResponseCode, request: Command, told: &str) {
    let what = format!("{request:?}");
    let answer = client.ask(request).await;
    assert_eq!(answer.code, code.number(), "{what:.200}: {}", remark(&answer));
    assert!(remark(&answer).contains(told), "{}", remark(&answer));
    client.ask_for(ResponseCode::Success, send("Alive", b"body", &[])).await;
}

fn with(mut command: Command, name: &str, value: &str) -> Command {
    command.ext.set(name, value);
    command
}

#[tokio::test(start_paused = true)]
async fn an_unknown_code_is_answered_not_supported() {
    let mut client = Server::start().connect();
    for code in [0, 9999, -1, 513, 3001] {
        let mut command = request(RequestCode::SendMessage, &[]);
        command.code = code;
        let told = format!(" request type {code} not supported");
        refused(&mut client, ResponseCode::RequestCodeNotSupported, command, &told).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_that_cannot_be_read_is_answered_with_the_field() {
    let mut client = Server::start().connect();
    let missing = request(RequestCode::GetMaxOffset, &[("topic", "T")]);
    refused(&mut client, ResponseCode::SystemError, missing, "header field queueId is missing").await;
    let odd = with(send("T", b"body", &[]), "e", "first");
    refused(&mut client, ResponseCode::SystemError, odd, "header field e is \"first\"").await;
    let body = request(RequestCode::HeartBeat, &[]);
    refused(&mut client, ResponseCode::SystemError, body, "the body is not JSON").await;
}

#[tokio::test(start_paused = true)]
async fn a_send_that_breaks_a_rule_is_answered_with_the_rule() {
    let server = Server::start_with(Settings::new(store_host()), |config| config.max_body_bytes = 100);
    let mut client = server.connect();
    let mut long = send("T", b"", &[]);
    long.body = vec![0; 101].into();
    let huge = "9223372036854775808";
    let far = (BEGIN_MS + 40 * 365 * 86_400_000).to_string();
    let value = "v".repeat(33_000);
    for (code, request, told) in [
        (ResponseCode::MessageIllegal, long, "101"),
        (ResponseCode::MessageIllegal, send("T", b"", &[]), "empty"),
        (ResponseCode::MessageIllegal, send("T", b"body", &[("x", &value)]), "32767"),
        (ResponseCode::MessageIllegal, send("T", b"body", &[("DELAY", "abc")]), "DELAY is \"abc\""),
        (ResponseCode::MessageIllegal, send("T", b"body", &[("TIMER_DELAY_SEC", "1.5")]), "TIMER_DELAY_SEC"),
        (ResponseCode::MessageIllegal, send("T", b"body", &[("TIMER_DELIVER_MS", huge)]), huge),
        (ResponseCode::MessageIllegal, send("T", b"body", &[("TIMER_DELIVER_MS", &far)]), "TIMER_DELIVER_MS"),
        (ResponseCode::MessageIllegal, batch("%RETRY%consumers", &[("x", "1")]), "%RETRY%consumers"),
        (ResponseCode::MessageIllegal, with(send("T", b"odd", &[]), "m", "true"), "batch"),
        (ResponseCode::InvalidParameter, send("bad topic", b"body", &[]), "bad topic"),
        (ResponseCode::InvalidParameter, with(send("Alive", b"body", &[]), "e", "99"), "99"),
        (ResponseCode::NoPermission, send("SCHEDULE_TOPIC_XXXX", b"body", &[]), "SCHEDULE_TOPIC_XXXX"),
        (ResponseCode::NoPermission, send("rmq_sys_wheel_timer", b"body", &[]), "rmq_sys_wheel_timer"),
        (ResponseCode::MessageIllegal, batch("T", &[("TRAN_MSG", "true")]), "TRAN_MSG"),
        (ResponseCode::MessageIllegal, batch("T", &[("DUEMQ_DEDUP_KEY", "k")]), "DUEMQ_DEDUP_KEY"),
        (
            ResponseCode::MessageIllegal,
            send("T", b"body", &[("DUEMQ_DEDUP_KEY", "k"), ("TRAN_MSG", "true"), ("PGROUP", "p")]),
            "DUEMQ_DEDUP_KEY",
        ),
        (
            ResponseCode::MessageIllegal,
            send("T", b"body", &[("DUEMQ_DEDUP_KEY", &value[..256])]),
            "has 256 bytes",
        ),
        (ResponseCode::TopicNotExist, with(send("V", b"body", &[]), "c", "other"), "topic V"),
    ] {
        refused(&mut client, code, request, told).await;
    }
    let answer = client.ask(send("T", b"", &[])).await;
    assert_eq!(
        (answer.ext.get("MSG_REGION"), answer.ext.get("TRACE_ON")),
        (Some("DefaultRegion"), Some("true"))
    );
}

#[tokio::test(start_paused = true)]
async fn without_auto_creation_a_send_to_no_topic_is_refused() {
    let mut settings = Settings::new(store_host());
    settings.auto_create_topics = false;
    let mut client = Server::start_with(settings, |_| {}).connect();
    let answer = client.ask_for(ResponseCode::TopicNotExist, send("T", b"body", &[])).await;
    assert!(remark(&answer).contains("topic T"), "{}", remark(&answer));
}

#[tokio::test(start_paused = true)]
async fn with_the_timer_off_a_moment_is_refused_and_a_level_is_not() {
    let server = Server::start_with(Settings::new(store_host()), |config| config.timer_enabled = false);
    let mut client = server.connect();
    let answer =
        client.ask_for(ResponseCode::SystemError, send("T", b"body", &[("TIMER_DELAY_SEC", "5")])).await;
    assert_eq!(remark(&answer), "accurate timer message is not enabled, timerWheelEnable is false");
    client.ask_for(ResponseCode::Success, send("T", b"body", &[("DELAY", "1")])).await;
}

#[tokio::test(start_paused = true)]
async fn beyond_a_limit_on_what_waits_a_delayed_message_is_refused_with_the_limit() {
    let server = Server::start_with(Settings::new(store_host()), |config| {
        (config.pending_max, config.pending_per_topic_max) = (Some(2), Some(1));
    });
    let mut client = server.connect();
    let delayed = |topic| send(topic, b"body", &[("DELAY", "5")]);
    client.ask_for(ResponseCode::Success, delayed("T")).await;
    let told = "1 of topic T pending, the limit pending_per_topic_max is 1";
    refused(&mut client, ResponseCode::SystemError, delayed("T"), told).await;
    client.ask_for(ResponseCode::Success, delayed("U")).await;
    let told = "2 pending, the limit pending_max is 2";
    refused(&mut client, ResponseCode::SystemError, delayed("V"), told).await;
    assert_eq!(server.stats().pending, 2);
}

#[tokio::test(start_paused = true)]
async fn beyond_the_limit_of_a_second_a_delayed_message_is_refused_with_the_limit() {
    let server = Server::start_with(Settings::new(store_host()), |config| {
        config.pending_per_second_max = Some(1);
    });
    let mut client = server.connect();
    let at = BEGIN_MS + 60_000;
    let due = |ms: i64| send("T", b"body", &[("TIMER_DELIVER_MS", &(at + ms).to_string())]);
    client.ask_for(ResponseCode::Success, due(0)).await;
    let told = format!("1 due in the second from {at}, the limit pending_per_second_max is 1");
    refused(&mut client, ResponseCode::SystemError, due(999), &told).await;
    client.ask_for(ResponseCode::Success, due(1000)).await;
    assert_eq!(server.stats().pending, 2);
}

#[tokio::test(start_paused = true)]
async fn on_a_port_that_checks_kinds_a_delay_needs_a_topic_that_takes_it() {
    let mut settings = Settings::new(store_host());
    settings.check_kind = true;
    let mut client = Server::start_with(settings, |_| {}).connect();
    let fields = [("topic", "N"), ("readQueueNums", "1"), ("writeQueueNums", "1"), ("perm", "6")];
    client.ask_for(ResponseCode::Success, request(RequestCode::UpdateAndCreateTopic, &fields)).await;
    client.ask_for(ResponseCode::MessageIllegal, send("N", b"body", &[("DELAY", "1")])).await;
    client.ask_for(ResponseCode::Success, send("N", b"body", &[])).await;
}

#[tokio::test(start_paused = true)]
async fn a_pull_that_breaks_a_rule_is_answered_with_the_rule() {
    let mut client = Server::start().connect();
    client.ask_for(ResponseCode::Success, send("T", b"body", &[])).await;
    for (code, request, told) in [
        (ResponseCode::TopicNotExist, pull("U", 0, 0), "U"),
        (ResponseCode::TopicNotExist, pull("bad topic", 0, 0), "bad topic"),
        (ResponseCode::InvalidParameter, with(pull("T", 0, 0), "queueId", "99"), "queueId[99] is illegal"),
        (ResponseCode::InvalidParameter, with(pull("T", 0, 0), "queueId", "-1"), "queueId[-1] is illegal"),
        (
            ResponseCode::SubscriptionGroupNotExist,
            with(pull("T", 0, 0), "consumerGroup", "bad name"),
            "bad name",
        ),
        (ResponseCode::NoPermission, pull("SCHEDULE_TOPIC_XXXX", 0, 0), "duemq pending list"),
    ] {
        refused(&mut client, code, request, told).await;
    }
}
