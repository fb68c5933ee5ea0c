//! SQL92: what a consumer says of its expressions, and what its pulls give.

use super::*;
use wire::remoting::heartbeat::{ConsumerData, HeartbeatData, SubscriptionData};
use wire::remoting::json;

fn subscription(expression: &str, version: i64) -> SubscriptionData {
    SubscriptionData {
        topic: "T".into(),
        sub_string: expression.into(),
        expression_type: "SQL92".into(),
        sub_version: version,
        ..SubscriptionData::default()
    }
}

async fn register(client: &mut Client, expression: &str, version: i64) {
    let body = HeartbeatData {
        client_id: "c".into(),
        consumer_data_set: vec![ConsumerData {
            group_name: "consumers".into(),
            subscription_data_set: vec![subscription(expression, version)],
            ..ConsumerData::default()
        }],
        ..HeartbeatData::default()
    };
    client.tell(Command::request(RequestCode::HeartBeat, Fields::new(), json::write(&body))).await;
    while !client.hear().await.unwrap().is_answer() {}
}

/// A pull as Java's push consumer makes it: it says of what type its expression is, but not which it is.
fn push(kind: &str, version: i64) -> Command {
    let mut command = pull("T", 0, 0);
    command.language = Language::Java;
    command.ext.set("sysFlag", 0);
    command.ext.set("expressionType", kind);
    command.ext.set("subVersion", version);
    command
}

/// Sends three messages, `n` of each is its number.
async fn send_numbers(client: &mut Client) {
    for n in ["1", "2", "3"] {
        client.ask_for(ResponseCode::Success, send("T", b"body", &[("n", n)])).await;
    }
}

fn numbers(answer: &Command) -> String {
    messages(answer).iter().map(|(message, _)| message.properties.get("n").unwrap().to_owned()).collect()
}

/// Asks past what the server says without having been asked.
async fn ask(client: &mut Client, code: ResponseCode, command: Command) -> Command {
    client.tell(command).await;
    loop {
        let answer = client.hear().await.unwrap();
        if answer.is_answer() {
            assert_eq!(answer.code, code.number(), "{answer:?}");
            return answer;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_pull_that_brings_a_condition_is_filtered_by_it() {
    let mut client = Server::start().connect();
    send_numbers(&mut client).await;
    let pull = |expression: &str| {
        let mut command = pull("T", 0, 0);
        command.ext.set("expressionType", "SQL92");
        command.ext.set("subscription", expression);
        command
    };
    let answer = client.ask_for(ResponseCode::Success, pull("n >= 2 AND n <> 3")).await;
    assert_eq!((numbers(&answer), field(&answer, "nextBeginOffset")), ("2".into(), 3));
    let nothing = client.ask_for(ResponseCode::PullRetryImmediately, pull("n > 9")).await;
    assert_eq!(field(&nothing, "nextBeginOffset"), 3);
    let answer = client.ask_for(ResponseCode::SubscriptionParseFailed, pull("n >")).await;
    assert_eq!(
        remark(&answer),
        "the SQL92 expression cannot be read: at character 4: expected a property, a value, NOT or (, found the end"
    );
}

#[tokio::test(start_paused = true)]
async fn a_pull_without_an_expression_is_filtered_by_the_heartbeats_condition() {
    let mut client = Server::start().connect();
    send_numbers(&mut client).await;
    register(&mut client, "n > 1", 7).await;
    // Go's client says that it filters by tags, and nothing of a version.
    for (kind, version) in [("SQL92", 7), ("TAG", 0)] {
        let answer = ask(&mut client, ResponseCode::Success, push(kind, version)).await;
        assert_eq!(numbers(&answer), "23", "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pull_by_a_condition_that_is_not_known_yet_is_refused_and_not_answered_unfiltered() {
    let mut client = Server::start().connect();
    send_numbers(&mut client).await;
    let go = || Command { language: Language::Go, ..push("TAG", 0) };
    client.ask_for(ResponseCode::SubscriptionNotExist, push("SQL92", 7)).await;
    client.ask_for(ResponseCode::SubscriptionNotExist, go()).await;
    assert_eq!(numbers(&client.ask_for(ResponseCode::Success, push("TAG", 0)).await), "123");
    register(&mut client, "n > 1", 7).await;
    ask(&mut client, ResponseCode::SubscriptionNotLatest, push("SQL92", 8)).await;
    assert_eq!(numbers(&ask(&mut client, ResponseCode::Success, go()).await), "23");
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_with_a_bad_condition_leaves_its_pulls_refused_with_the_reason() {
    let mut client = Server::start().connect();
    send_numbers(&mut client).await;
    register(&mut client, "n ! 1", 7).await;
    for kind in ["SQL92", "TAG"] {
        let answer = ask(&mut client, ResponseCode::SubscriptionParseFailed, push(kind, 0)).await;
        assert!(remark(&answer).contains("at character 3: expected"), "{}", remark(&answer));
    }
    register(&mut client, "n = 1", 8).await;
    assert_eq!(numbers(&ask(&mut client, ResponseCode::Success, push("SQL92", 8)).await), "1");
}

#[tokio::test(start_paused = true)]
async fn a_condition_is_checked_before_its_consumer_starts() {
    let mut client = Server::start().connect();
    let check = |expression: &str| {
        let body = wire::remoting::client_config::CheckClientRequestBody {
            client_id: "c".into(),
            group: "consumers".into(),
            subscription_data: subscription(expression, 1),
            ..Default::default()
        };
        Command::request(RequestCode::CheckClientConfig, Fields::new(), json::write(&body))
    };
    client.ask_for(ResponseCode::Success, check("n > 1 AND TAGS IN ('a')")).await;
    for (expression, why) in [("n > 1 AND", "found the end"), ("", "the expression is empty")] {
        let answer = client.ask_for(ResponseCode::SubscriptionParseFailed, check(expression)).await;
        assert!(remark(&answer).contains(why), "{}", remark(&answer));
    }
}
