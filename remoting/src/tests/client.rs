//! What clients do besides messages: heartbeats, members, offsets.

use super::*;
use wire::remoting::heartbeat::{ConsumerData, HeartbeatData, ProducerData, SubscriptionData};
use wire::remoting::lock::{self, MessageQueue};
use wire::remoting::{consumers, json};

fn heartbeat(client: &str, topic: &str, tags: &str) -> Command {
    let subscription = SubscriptionData {
        expression_type: "TAG".into(),
        sub_string: tags.into(),
        sub_version: 1,
        topic: topic.into(),
        ..SubscriptionData::default()
    };
    let consumer = ConsumerData {
        consume_from_where: "CONSUME_FROM_LAST_OFFSET".into(),
        consume_type: "CONSUME_PASSIVELY".into(),
        group_name: "consumers".into(),
        message_model: "CLUSTERING".into(),
        subscription_data_set: vec![subscription],
        unit_mode: false,
    };
    let data = HeartbeatData {
        client_id: client.into(),
        consumer_data_set: vec![consumer],
        producer_data_set: vec![ProducerData { group_name: "producers".into() }],
        ..HeartbeatData::default()
    };
    Command::request(RequestCode::HeartBeat, Fields::new(), json::write(&data))
}

fn members() -> Command {
    request(RequestCode::GetConsumerListByGroup, &[("consumerGroup", "consumers")])
}

fn ids(answer: &Command) -> Vec<String> {
    json::read::<consumers::Body>(&answer.body).unwrap().consumer_id_list
}

#[tokio::test(start_paused = true)]
async fn members_see_each_other_and_hear_of_who_comes_and_goes() {
    let server = Server::start();
    let (mut one, mut two) = (server.connect(), server.connect());
    let answer = one.ask(members()).await;
    assert_eq!((answer.code, remark(&answer)), (1, "no consumer for this group, consumers"));

    let opaque = one.tell(heartbeat("one", "T", "*")).await;
    let (mut answered, mut told) = (false, false);
    while !(answered && told) {
        let command = one.hear().await.unwrap();
        if command.is_answer() {
            assert_eq!((command.opaque, command.code), (opaque, 0));
            assert_eq!(command.ext.get("IS_SUPPORT_HEART_BEAT_V2"), Some("false"));
            assert_eq!(command.ext.get("IS_SUB_CHANGE"), Some("true"));
            answered = true;
        } else {
            assert_eq!(
                (command.code, command.flag, command.ext.get("consumerGroup")),
                (40, 2, Some("consumers"))
            );
            told = true;
        }
    }
    assert_eq!(ids(&one.ask(members()).await), ["one"]);

    two.tell(heartbeat("two", "T", "*")).await;
    assert_eq!(one.hear().await.unwrap().code, 40);
    assert_eq!(ids(&one.ask(members()).await), ["one", "two"]);

    drop(two);
    assert_eq!(one.hear().await.unwrap().code, 40, "the member that is left hears that the other has gone");
    assert_eq!(ids(&one.ask(members()).await), ["one"]);

    let leave =
        request(RequestCode::UnregisterClient, &[("clientID", "one"), ("consumerGroup", "consumers")]);
    one.ask_for(ResponseCode::Success, leave).await;
    one.ask_for(ResponseCode::SystemError, members()).await;
}

#[tokio::test(start_paused = true)]
async fn a_pull_without_an_expression_uses_the_heartbeats() {
    let mut client = Server::start().connect();
    for tag in ["a", "b", "a"] {
        client.ask_for(ResponseCode::Success, send("T", b"body", &[("TAGS", tag)])).await;
    }
    let mut command = pull("T", 0, 0);
    command.ext.set("sysFlag", 0);
    client.tell(heartbeat("one", "T", "a || c")).await;
    while !client.hear().await.unwrap().is_answer() {}
    let pulled = loop {
        client.tell(command.clone()).await;
        let answer = client.hear().await.unwrap();
        if answer.is_answer() {
            break answer;
        }
    };
    let tags: Vec<_> = messages(&pulled)
        .iter()
        .map(|(message, _)| message.properties.get("TAGS").unwrap().to_owned())
        .collect();
    assert_eq!((tags, field(&pulled, "nextBeginOffset")), (vec!["a".to_owned(), "a".to_owned()], 3));
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_leaves_out_names_that_break_the_rules_and_filters_not_served() {
    let mut client = Server::start().connect();
    let body = r#"{"clientID":"c","consumerDataSet":[{"groupName":"bad name"},{"groupName":"consumers","subscriptionDataSet":[
        {"topic":"T","subString":"a > 1","expressionType":"CLASS"},{"topic":"bad topic","subString":"*"}]}],"producerDataSet":[]}"#;
    let mut command = request(RequestCode::HeartBeat, &[]);
    command.body = body.into();
    client.tell(command).await;
    while !client.hear().await.unwrap().is_answer() {}
    client.tell(members()).await;
    let answer = loop {
        let command = client.hear().await.unwrap();
        if command.is_answer() {
            break command;
        }
    };
    assert_eq!(ids(&answer), ["c"]);

    client.ask_for(ResponseCode::Success, send("T", b"body", &[])).await;
    let mut command = pull("T", 0, 0);
    command.ext.set("sysFlag", 0);
    let answer = client.ask_for(ResponseCode::SystemError, command).await;
    assert!(remark(&answer).contains("CLASS"), "an unfiltered answer would be wrong: {}", remark(&answer));
    client.ask_for(ResponseCode::Success, pull("T", 0, 0)).await;
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_there_is_is_held_by_one_member_until_it_lets_go() {
    let mut client = Server::start().connect();
    let body = |client: &str| {
        let queue =
            |queue_id| MessageQueue { broker_name: "as the client says".into(), queue_id, topic: "T".into() };
        let mq_set = vec![queue(0), queue(3), queue(4), queue(-1)];
        let body = lock::Body {
            client_id: client.into(),
            consumer_group: "consumers".into(),
            mq_set,
            ..lock::Body::default()
        };
        json::write(&body)
    };
    let lock = |client| Command::request(RequestCode::LockBatchMq, Fields::new(), body(client));
    let unlock = |client| Command::request(RequestCode::UnlockBatchMq, Fields::new(), body(client));
    let held = |answer: &Command| {
        let locked = json::read::<lock::Answer>(&answer.body).unwrap().locked;
        assert!(locked.iter().all(|queue| queue.broker_name == "as the client says"));
        locked.iter().map(|queue| queue.queue_id).collect::<Vec<_>>()
    };
    client.ask_for(ResponseCode::Success, send("T", b"body", &[])).await;
    let refused = client.ask_for(ResponseCode::SubscriptionGroupNotExist, lock("one")).await;
    assert_eq!(remark(&refused), "group consumers does not exist");
    client.ask_for(ResponseCode::Success, pull("T", 0, 0)).await;
    assert_eq!(held(&client.ask_for(ResponseCode::Success, lock("one")).await), [0, 3]);
    assert_eq!(held(&client.ask_for(ResponseCode::Success, lock("two")).await), [0; 0]);
    let long = "x".repeat(1025);
    let refused = client.ask_for(ResponseCode::InvalidParameter, lock(&long)).await;
    assert_eq!(remark(&refused), "the client's id has 1025 bytes, the limit is 1024");
    client.ask_for(ResponseCode::Success, unlock("two")).await;
    assert_eq!(held(&client.ask_for(ResponseCode::Success, lock("two")).await), [0; 0]);
    client.tell(unlock("one").one_way()).await;
    assert_eq!(held(&client.ask_for(ResponseCode::Success, lock("two")).await), [0, 3]);
}

#[tokio::test(start_paused = true)]
async fn offsets_are_committed_asked_for_and_searched() {
    let mut client = Server::start().connect();
    for _ in 0..3 {
        client.ask_for(ResponseCode::Success, send("T", b"body", &[])).await;
        sleep(Duration::from_secs(1)).await;
    }
    let queue = [("topic", "T"), ("queueId", "0")];
    assert_eq!(field(&client.ask(request(RequestCode::GetMaxOffset, &queue)).await, "offset"), 3);
    assert_eq!(field(&client.ask(request(RequestCode::GetMinOffset, &queue)).await, "offset"), 0);
    for nowhere in [
        [("topic", "U"), ("queueId", "0")],
        [("topic", "bad topic"), ("queueId", "0")],
        [("topic", "T"), ("queueId", "-1")],
    ] {
        assert_eq!(field(&client.ask(request(RequestCode::GetMaxOffset, &nowhere)).await, "offset"), 0);
    }

    let search = |ms: i64, boundary: &str| {
        let at = (BEGIN_MS + ms).to_string();
        request(
            RequestCode::SearchOffsetByTimestamp,
            &[("topic", "T"), ("queueId", "0"), ("timestamp", &at), ("boundaryType", boundary)],
        )
    };
    for (ms, boundary, offset) in
        [(-1, "", 0), (500, "lower", 1), (500, "upper", 0), (9000, "LOWER", 3), (9000, "UPPER", 2)]
    {
        assert_eq!(field(&client.ask(search(ms, boundary)).await, "offset"), offset, "{ms} {boundary}");
    }

    let commit = |offset: &str| {
        let fields =
            [("consumerGroup", "consumers"), ("topic", "T"), ("queueId", "0"), ("commitOffset", offset)];
        request(RequestCode::UpdateConsumerOffset, &fields)
    };
    client.tell(commit("2").one_way()).await;
    let query = [("consumerGroup", "consumers"), ("topic", "T"), ("queueId", "0")];
    let answer =
        client.ask_for(ResponseCode::Success, request(RequestCode::QueryConsumerOffset, &query)).await;
    assert_eq!(
        field(&answer, "offset"),
        2,
        "requests of a connection are taken in order, and one-way ones not answered"
    );
    client.ask_for(ResponseCode::InvalidParameter, commit("-1")).await;
    let unknown = [("consumerGroup", "c"), ("topic", "U"), ("queueId", "0"), ("commitOffset", "0")];
    client.ask_for(ResponseCode::TopicNotExist, request(RequestCode::UpdateConsumerOffset, &unknown)).await;
    let never = [("consumerGroup", "never"), ("topic", "U"), ("queueId", "0")];
    let answer =
        client.ask_for(ResponseCode::QueryNotFound, request(RequestCode::QueryConsumerOffset, &never)).await;
    assert!(remark(&answer).starts_with("Not found"), "{}", remark(&answer));
}

#[tokio::test(start_paused = true)]
async fn a_consumer_whose_filters_are_not_served_is_told_before_it_starts() {
    let mut client = Server::start().connect();
    let check = |kind: &str| {
        let mut command = request(RequestCode::CheckClientConfig, &[]);
        command.body = format!(
            r#"{{"clientId":"c","group":"g","subscriptionData":{{"expressionType":"{kind}","topic":"T"}}}}"#
        )
        .into();
        command
    };
    client.ask_for(ResponseCode::Success, check("TAG")).await;
    let answer = client.ask_for(ResponseCode::SystemError, check("CLASS")).await;
    assert!(remark(&answer).contains("CLASS"), "{}", remark(&answer));
    let mut command = pull("T", 0, 0);
    command.ext.set("expressionType", "CLASS");
    let answer = client.ask_for(ResponseCode::SystemError, command).await;
    assert!(remark(&answer).contains("CLASS"), "{}", remark(&answer));
}

#[tokio::test(start_paused = true)]
async fn a_new_groups_retry_topic_has_a_route_before_its_first_heartbeat() {
    let server = Server::start();
    let mut client = server.connect();
    let route = |topic: &str| request(RequestCode::GetRouteinfoByTopic, &[("topic", topic)]);
    let before = client.ask_for(ResponseCode::Success, route("%RETRY%consumers")).await;
    client.ask_for(ResponseCode::TopicNotExist, route("%DLQ%consumers")).await;
    let exists = request(RequestCode::GetTopicConfig, &[("topic", "%RETRY%consumers")]);
    client.ask_for(ResponseCode::TopicNotExist, exists).await;
    client.tell(heartbeat("one", "T", "*")).await;
    while !client.hear().await.unwrap().is_answer() {}
    client.tell(route("%RETRY%consumers")).await;
    let after = loop {
        let command = client.hear().await.unwrap();
        if command.is_answer() {
            break command;
        }
    };
    assert_eq!(before.body, after.body);

    let mut client =
        Server::start_with(Settings::new(store_host()), |config| config.auto_create_groups = false).connect();
    client.ask_for(ResponseCode::TopicNotExist, route("%RETRY%consumers")).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_client_invents_beyond_a_limit_is_refused_with_the_limit() {
    let change = |config: &mut broker::Config| {
        (config.client_bytes_max, config.clients_bytes_max) = (2000, 3000);
        (config.topics_max, config.groups_max) = (1, 0);
    };
    let mut client = Server::start_with(Settings::new(store_host()), change).connect();
    let named = |client: &str, groups: usize| {
        let producer = |n| ProducerData { group_name: format!("producers {n}") };
        let producer_data_set = (0..groups).map(producer).collect();
        let data = HeartbeatData { client_id: client.into(), producer_data_set, ..HeartbeatData::default() };
        Command::request(RequestCode::HeartBeat, Fields::new(), json::write(&data))
    };
    let refused = client.ask_for(ResponseCode::InvalidParameter, named("one", 8)).await;
    let told = "the groups and subscriptions of this connection have 2136 bytes, the limit is 2000";
    assert_eq!(remark(&refused), told);
    client.ask_for(ResponseCode::Success, named("one", 7)).await;
    let long = "x".repeat(1025);
    let refused = client.ask_for(ResponseCode::InvalidParameter, named(&long, 1)).await;
    assert_eq!(remark(&refused), "the client's id has 1025 bytes, the limit is 1024");
    let blanks = vec![b' '; (4 << 20) + 1];
    let huge = Command::request(RequestCode::HeartBeat, Fields::new(), blanks.into());
    let refused = client.ask_for(ResponseCode::InvalidParameter, huge).await;
    assert_eq!(remark(&refused), "the heartbeat has 4194305 bytes, the limit is 4194304");

    let refused = client.ask_for(ResponseCode::TopicNotExist, send("new", b"body", &[])).await;
    assert!(remark(&refused).contains("a send makes none") && remark(&refused).ends_with("the limit is 1"));
    let system = pull("BenchmarkTest", 0, 0);
    let refused = client.ask_for(ResponseCode::SubscriptionGroupNotExist, system).await;
    assert!(remark(&refused).ends_with("there are 0 groups, the limit is 0"), "{}", remark(&refused));
    let mut tags = pull("BenchmarkTest", 0, 0);
    tags.ext.set("subscription", vec!["t"; 1025].join("||"));
    let refused = client.ask_for(ResponseCode::SubscriptionParseFailed, tags).await;
    assert_eq!(remark(&refused), "the expression has 1025 tags, the limit is 1024");
}
