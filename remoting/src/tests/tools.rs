//! What RocketMQ's tools ask, in the shapes that they read.

use super::*;
use broker::Configure;
use service::{ChangeError, Process};
use std::collections::BTreeSet;
use wire::remoting::json;

const TOPIC: &str = "T";

fn ask(code: RequestCode, fields: &[(&str, &str)], body: &str) -> Command {
    let ext = fields.iter().copied().collect::<Fields>();
    Command::request(code, ext, Bytes::copy_from_slice(body.as_bytes()))
}

fn text(answer: &Command) -> String {
    String::from_utf8(answer.body.to_vec()).unwrap()
}

async fn ok(client: &mut Client, code: RequestCode, fields: &[(&str, &str)], body: &str) -> Command {
    let answer = client.ask(ask(code, fields, body)).await;
    assert_eq!(answer.code, 0, "{}: {:?}", code.name(), answer.remark);
    answer
}

async fn make_topic(client: &mut Client) {
    let fields = [
        ("topic", TOPIC),
        ("defaultTopic", "TBW102"),
        ("readQueueNums", "2"),
        ("writeQueueNums", "2"),
        ("perm", "6"),
        ("topicFilterType", "SINGLE_TAG"),
        ("topicSysFlag", "0"),
        ("order", "false"),
    ];
    ok(client, RequestCode::UpdateAndCreateTopic, &fields, "").await;
}

fn heartbeat() -> String {
    r#"{"clientID":"c1","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET",
    "consumeType":"CONSUME_PASSIVELY","groupName":"g","messageModel":"CLUSTERING","subscriptionDataSet":
    [{"expressionType":"TAG","subString":"a || b","subVersion":7,"topic":"T"}]}],
    "producerDataSet":[{"groupName":"p"}]}"#
        .to_owned()
}

/// A consumer that is online, with what it is told at once taken off its connection.
async fn consumer(server: &Server) -> Client {
    let mut client = server.connect_from("127.0.0.1:4001");
    client.tell(ask(RequestCode::HeartBeat, &[], &heartbeat())).await;
    while !heard(&mut client).await.is_answer() {}
    client
}

async fn heard(client: &mut Client) -> Command {
    client.hear().await.expect("the server does not close")
}

#[tokio::test(start_paused = true)]
async fn maps_by_queue_have_objects_as_keys() {
    let server = Server::start();
    let mut client = server.connect();
    make_topic(&mut client).await;
    let answer = ok(&mut client, RequestCode::GetTopicStatsInfo, &[("topic", TOPIC)], "").await;
    let queue = |id: i32| format!(r#"{{"brokerName":"broker-a","queueId":{id},"topic":"T"}}"#);
    let end = r#"{"lastUpdateTimestamp":0,"maxOffset":0,"minOffset":0}"#;
    let expected =
        format!(r#"{{"offsetTable":{{{}:{end},{}:{end}}},"topicPutTps":0.0}}"#, queue(0), queue(1));
    assert_eq!(text(&answer), expected);
    let unknown = client.ask(ask(RequestCode::GetTopicStatsInfo, &[("topic", "none")], "")).await;
    assert_eq!((unknown.code, unknown.remark.as_deref()), (17, Some("topic[none] not exist")));
    let nobody = [("consumerGroup", "nobody")];
    let answer = ok(&mut client, RequestCode::GetConsumeStats, &nobody, "").await;
    assert_eq!(text(&answer), r#"{"consumeTps":0.0,"offsetTable":{}}"#);
}

#[tokio::test(start_paused = true)]
async fn connections_are_told_with_what_they_want() {
    let server = Server::start();
    let mut tool = server.connect();
    make_topic(&mut tool).await;
    let offline = ask(RequestCode::GetConsumerConnectionList, &[("consumerGroup", "g")], "");
    let answer = tool.ask(offline).await;
    assert_eq!((answer.code, answer.remark.as_deref()), (206, Some("the consumer group[g] not online")));

    let _consumer = consumer(&server).await;
    let asked = [("consumerGroup", "g")];
    let answer = text(&ok(&mut tool, RequestCode::GetConsumerConnectionList, &asked, "").await);
    for part in [
        r#""clientAddr":"127.0.0.1:4001","clientId":"c1""#,
        r#""consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","consumeType":"CONSUME_PASSIVELY""#,
        r#""messageModel":"CLUSTERING""#,
        r#""expressionType":"TAG","subString":"a || b","subVersion":7,"tagsSet":["a","b"],"topic":"T""#,
    ] {
        assert!(answer.contains(part), "{part} in {answer}");
    }
    let producers =
        text(&ok(&mut tool, RequestCode::GetProducerConnectionList, &[("producerGroup", "p")], "").await);
    assert!(producers.starts_with(r#"{"connectionSet":[{"clientAddr":"127.0.0.1:4001""#), "{producers}");
    let all = text(&ok(&mut tool, RequestCode::GetAllProducerInfo, &[], "").await);
    assert!(all.starts_with(r#"{"data":{"p":[{"clientId":"c1""#) && all.contains("remoteIP"), "{all}");
    let nobody = tool.ask(ask(RequestCode::GetProducerConnectionList, &[("producerGroup", "x")], "")).await;
    assert_eq!((nobody.code, nobody.remark.as_deref()), (1, Some("the producer group[x] not exist")));
    let who = text(&ok(&mut tool, RequestCode::QueryTopicConsumeByWho, &[("topic", TOPIC)], "").await);
    assert_eq!(who, r#"{"groupList":["g"]}"#);
}

#[tokio::test(start_paused = true)]
async fn a_question_for_a_consumer_is_answered_by_it() {
    let server = Server::start();
    let mut tool = server.connect();
    make_topic(&mut tool).await;
    let mut consumer = consumer(&server).await;
    let fields = [("consumerGroup", "g"), ("clientId", "c1"), ("jstackEnable", "false")];
    let opaque = tool.tell(ask(RequestCode::GetConsumerRunningInfo, &fields, "")).await;
    let question = loop {
        let told = heard(&mut consumer).await;
        if told.code == RequestCode::GetConsumerRunningInfo.number() {
            break told;
        }
    };
    assert!(!question.is_answer() && !question.is_one_way());
    assert_eq!(question.ext.get("consumerGroup"), Some("g"));
    let mut answer = question.answer(ResponseCode::Success);
    answer.body = Bytes::from_static(b"{\"mqTable\":{{\"queueId\":0}:{}}}");
    let mut bytes = BytesMut::new();
    answer.encode(&mut bytes);
    consumer.send_bytes(&bytes).await;
    let passed_on = heard(&mut tool).await;
    assert_eq!((passed_on.opaque, passed_on.code), (opaque, 0));
    assert_eq!(passed_on.body, answer.body);
}

#[tokio::test(start_paused = true)]
async fn a_consumer_that_does_not_answer_is_waited_for_ten_seconds() {
    let server = Server::start();
    let mut tool = server.connect();
    let _silent = consumer(&server).await;
    let began = Instant::now();
    let fields = [("consumerGroup", "g"), ("clientId", "c1")];
    let answer = tool.ask(ask(RequestCode::GetConsumerRunningInfo, &fields, "")).await;
    assert_eq!((answer.code, began.elapsed().as_secs()), (207, 10));
    let absent = [("consumerGroup", "g"), ("clientId", "c2")];
    let answer = tool.ask(ask(RequestCode::GetConsumerRunningInfo, &absent, "")).await;
    assert_eq!((answer.code, answer.remark.as_deref()), (1, Some("The Consumer <g> <c2> not online")));
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_the_consumer_that_leaves() {
    let server = Server::start();
    let mut tool = server.connect();
    let consumer = consumer(&server).await;
    let fields = [("consumerGroup", "g"), ("clientId", "c1")];
    tool.tell(ask(RequestCode::GetConsumerRunningInfo, &fields, "")).await;
    sleep(Duration::from_millis(50)).await;
    drop(consumer);
    let began = Instant::now();
    assert_eq!((heard(&mut tool).await.code, began.elapsed().as_secs()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn offsets_are_reset_and_the_next_pull_hears_of_it() {
    let server = Server::start();
    let mut client = server.connect();
    make_topic(&mut client).await;
    let _consumer = consumer(&server).await;
    let fields =
        [("topic", TOPIC), ("group", "g"), ("timestamp", "0"), ("isForce", "true"), ("queueId", "-1")];
    let answer = text(&ok(&mut client, RequestCode::InvokeBrokerToResetOffset, &fields, "").await);
    assert!(
        answer.starts_with(r#"{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:0,"#),
        "{answer}"
    );
    let unknown = [("topic", "none"), ("group", "g"), ("timestamp", "0"), ("isForce", "true")];
    assert_eq!(client.ask(ask(RequestCode::InvokeBrokerToResetOffset, &unknown, "")).await.code, 17);
    let unknown = [("topic", TOPIC), ("group", "none"), ("timestamp", "0"), ("isForce", "true")];
    assert_eq!(client.ask(ask(RequestCode::InvokeBrokerToResetOffset, &unknown, "")).await.code, 26);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_topic_has_no_route_and_no_configuration() {
    let server = Server::start();
    let mut client = server.connect();
    make_topic(&mut client).await;
    let named = [("topic", TOPIC)];
    let configs = text(&ok(&mut client, RequestCode::GetAllTopicConfig, &[], "").await);
    assert!(
        configs.contains(r#""topicName":"T""#) && configs.contains(r#""mappingDataVersion":"#),
        "{configs}"
    );
    ok(&mut client, RequestCode::GetRouteinfoByTopic, &named, "").await;
    ok(&mut client, RequestCode::DeleteTopicInBroker, &named, "").await;
    ok(&mut client, RequestCode::DeleteTopicInNamesrv, &named, "").await;
    assert_eq!(client.ask(ask(RequestCode::GetRouteinfoByTopic, &named, "")).await.code, 17);
    let list = text(&ok(&mut client, RequestCode::GetAllTopicListFromNameserver, &[], "").await);
    assert!(!list.contains("\"T\""), "{list}");
    let system = client.ask(ask(RequestCode::DeleteTopicInBroker, &[("topic", "TBW102")], "")).await;
    assert_eq!(system.code, 29);
}

#[tokio::test(start_paused = true)]
async fn values_are_kept_by_the_name_server() {
    let server = Server::start();
    let mut client = server.connect();
    let key = [("namespace", "n"), ("key", "k")];
    assert_eq!(client.ask(ask(RequestCode::GetKvConfig, &key, "")).await.code, 22);
    ok(&mut client, RequestCode::PutKvConfig, &[("namespace", "n"), ("key", "k"), ("value", "v")], "").await;
    assert_eq!(ok(&mut client, RequestCode::GetKvConfig, &key, "").await.ext.get("value"), Some("v"));
    let list = ok(&mut client, RequestCode::GetKvlistByNamespace, &[("namespace", "n")], "").await;
    assert_eq!(text(&list), r#"{"table":{"k":"v"}}"#);
    ok(&mut client, RequestCode::DeleteKvConfig, &key, "").await;
    let gone = client.ask(ask(RequestCode::GetKvlistByNamespace, &[("namespace", "n")], "")).await;
    assert_eq!(gone.code, 22);
}

#[tokio::test(start_paused = true)]
async fn producers_are_kept_away_from_a_broker_and_sent_back_to_it() {
    let server = Server::start();
    let mut client = server.connect();
    make_topic(&mut client).await;
    let broker = [("brokerName", "broker-a")];
    let answer = ok(&mut client, RequestCode::WipeWritePermOfBroker, &broker, "").await;
    assert!(answer.ext.get("wipeTopicCount").unwrap().parse::<u32>().unwrap() > 0);
    let route = text(&ok(&mut client, RequestCode::GetRouteinfoByTopic, &[("topic", TOPIC)], "").await);
    assert!(route.contains(r#""perm":4"#), "{route}");
    let answer = ok(&mut client, RequestCode::AddWritePermOfBroker, &broker, "").await;
    assert!(answer.ext.get("addTopicCount").is_some());
    let route = text(&ok(&mut client, RequestCode::GetRouteinfoByTopic, &[("topic", TOPIC)], "").await);
    assert!(route.contains(r#""perm":6"#), "{route}");
}

#[tokio::test(start_paused = true)]
async fn runtime_information_has_every_number_that_tools_read() {
    let server = Server::start();
    let mut client = server.connect();
    make_topic(&mut client).await;
    let answer = ok(&mut client, RequestCode::GetBrokerRuntimeInfo, &[], "").await;
    let body = json::parse(&answer.body).unwrap();
    let value =
        |key: &str| body["table"][key].as_str().unwrap_or_else(|| panic!("{key} is missing")).to_owned();
    for key in [
        "sendThreadPoolQueueSize",
        "pullThreadPoolQueueSize",
        "sendThreadPoolQueueHeadWaitTimeMills",
        "pullThreadPoolQueueHeadWaitTimeMills",
        "pageCacheLockTimeMills",
        "earliestMessageTimeStamp",
        "commitLogDiskRatio",
        "consumeQueueDiskRatio",
        "timerReadBehind",
        "timerOffsetBehind",
        "timerCongestNum",
        "timerEnqueueTps",
        "timerDequeueTps",
        "msgPutTotalYesterdayMorning",
        "msgPutTotalTodayMorning",
        "msgPutTotalTodayNow",
        "msgGetTotalYesterdayMorning",
        "msgGetTotalTodayMorning",
        "msgGetTotalTodayNow",
        "putMessageAverageSize",
        "bootTimestamp",
    ] {
        assert!(value(key).parse::<f64>().is_ok(), "{key} is {}", value(key));
    }
    for key in ["putTps", "getTransferredTps", "getTotalTps", "getFoundTps", "getMissTps"] {
        assert_eq!(value(key).split(' ').filter(|part| part.parse::<f64>().is_ok()).count(), 3, "{key}");
    }
    assert_eq!(
        (value("brokerVersionDesc").as_str(), value("scheduleMessageOffset_1").as_str()),
        ("V5_3_3", "0,0")
    );
}

#[tokio::test(start_paused = true)]
async fn counts_are_of_what_was_sent() {
    let server = Server::start();
    let mut client = server.connect();
    make_topic(&mut client).await;
    for _ in 0..3 {
        client.ask_for(ResponseCode::Success, send(TOPIC, b"body", &[])).await;
    }
    let stats = [("statsName", "TOPIC_PUT_NUMS"), ("statsKey", TOPIC)];
    let body =
        json::parse(&ok(&mut client, RequestCode::ViewBrokerStatsData, &stats, "").await.body).unwrap();
    assert_eq!((body["statsMinute"]["sum"].as_u64(), body["statsDay"]["sum"].as_u64()), (Some(3), Some(3)));
    let unknown = [("statsName", "NO_SUCH"), ("statsKey", TOPIC)];
    let answer = client.ask(ask(RequestCode::ViewBrokerStatsData, &unknown, "")).await;
    assert_eq!((answer.code, answer.remark.as_deref()), (1, Some("The stats <NO_SUCH> <T> not exist")));
}

/// A process with one setting that can be changed, and one that cannot.
struct Fake;

impl Process for Fake {
    fn broker_settings(&self) -> Vec<(String, String)> {
        vec![("brokerName".into(), "broker-a".into()), ("messageDelayLevel".into(), "1s 5s".into())]
    }

    fn name_server_settings(&self) -> Vec<(String, String)> {
        vec![("listenPort".into(), "9876".into())]
    }

    fn change(&self, changes: &[(String, String)]) -> Result<Configure, ChangeError> {
        let (name, value) = changes[0].clone();
        match name.as_str() {
            "maxMessageSize" => Ok(Configure {
                flush: broker::Flush::Sync,
                max_delay_ms: 1000,
                levels: model::LevelTable::default(),
                timer_enabled: true,
                max_body_bytes: value.parse().unwrap(),
                auto_create_topics: true,
                auto_create_groups: true,
                default_queues: 8,
                pending_max: None,
                pending_per_topic_max: None,
                pending_per_second_max: None,
                dedup_window: Duration::from_secs(1),
            }),
            "data" => Err(ChangeError::Fixed { name }),
            _ => Err(ChangeError::Unknown { name }),
        }
    }

    fn disk_used(&self) -> Option<f64> {
        Some(0.5)
    }
}

#[tokio::test(start_paused = true)]
async fn settings_are_shown_and_changed() {
    let server = Server::start();
    server.service.set_process(Arc::new(Fake));
    let mut client = server.connect();
    make_topic(&mut client).await;
    let answer = ok(&mut client, RequestCode::GetBrokerConfig, &[], "").await;
    assert_eq!(text(&answer), "brokerName=broker-a\nmessageDelayLevel=1s 5s\n");
    assert!(answer.ext.get("version").unwrap().starts_with("{\"counter\":"));
    ok(&mut client, RequestCode::UpdateBrokerConfig, &[], "maxMessageSize=10\n").await;
    let sent = client.ask(send(TOPIC, b"a body of more than ten", &[])).await;
    assert_eq!(sent.code, 13, "it holds at once");
    let refused = client.ask(ask(RequestCode::UpdateBrokerConfig, &[], "data=/tmp\n")).await;
    assert_eq!((refused.code, refused.remark.unwrap().contains("data")), (16, true));
    let refused = client.ask(ask(RequestCode::UpdateBrokerConfig, &[], "noSuchKey=1\n")).await;
    assert_eq!((refused.code, refused.remark.unwrap().contains("noSuchKey")), (29, true));
    let shown = ok(&mut client, RequestCode::GetNamesrvConfig, &[], "").await;
    assert_eq!(text(&shown), "listenPort=9876\n");
    let refused = client.ask(ask(RequestCode::UpdateNamesrvConfig, &[], "listenPort=1\n")).await;
    assert_eq!(refused.code, 16);
}

/// The codes in the rows of docs/compatibility.md that begin with `first`.
fn documented(first: &str) -> BTreeSet<i32> {
    let page = include_str!("../../../docs/compatibility.md");
    let (_, table) = page.split_once("### Requests by code").expect("the page has the table");
    let rows =
        table.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let rows: Vec<&str> = rows.filter(|row| row.starts_with(&format!("| {first}"))).collect();
    assert!(!rows.is_empty(), "no row begins with {first:?}");
    let codes =
        rows.iter().flat_map(|row| row.split('|').nth(3).expect("the codes are the third column").split(' '));
    let range = |text: &str| match text.split_once('-') {
        Some((from, to)) => from.parse().unwrap()..=to.parse().unwrap(),
        None => text.parse().unwrap()..=text.parse().unwrap(),
    };
    codes.filter(|text| !text.is_empty()).flat_map(range).collect()
}

#[tokio::test(start_paused = true)]
async fn each_code_is_served_or_not_as_the_page_says() {
    let mut client = Server::start().connect();
    let (served, refused, told) = (documented("served"), documented("code 3"), documented("to clients"));
    let all: BTreeSet<i32> = RequestCode::ALL.iter().map(|code| code.number()).collect();
    let listed: BTreeSet<i32> = served.iter().chain(&refused).chain(&told).copied().collect();
    assert_eq!(listed.len(), served.len() + refused.len() + told.len(), "each code stands once");
    assert!(all.is_subset(&listed), "not on the page: {:?}", all.difference(&listed).collect::<Vec<_>>());
    for &code in &listed {
        let mut request = request(RequestCode::SendMessage, &[]);
        request.code = code;
        let answer = client.ask(request).await;
        let refused_code = answer.code == 3 && remark(&answer).contains("request type");
        assert_eq!(!refused_code, served.contains(&code), "{code}: {answer:?}");
        if refused.contains(&code) {
            assert!(remark(&answer).contains("are not supported: request type"), "{}", remark(&answer));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_is_kept_away_from_a_topic() {
    let mut client = Server::start().connect();
    make_topic(&mut client).await;
    let group = r#"{"groupName":"consumers"}"#;
    ok(&mut client, RequestCode::UpdateAndCreateSubscriptiongroup, &[], group).await;
    let asked = |readable: &'static str| [("group", "consumers"), ("topic", TOPIC), ("readable", readable)];
    let set = RequestCode::UpdateAndGetGroupForbidden;
    for (readable, told, pulled, table) in [
        ("", "true", 19, "{}"),
        ("false", "false", 16, r#"{"consumers":{"T":4}}"#),
        ("", "false", 16, r#"{"consumers":{"T":4}}"#),
        ("true", "true", 19, "{}"),
    ] {
        let answer = text(&ok(&mut client, set, &asked(readable), "").await);
        assert_eq!(answer, format!(r#"{{"group":"consumers","readable":{told},"topic":"T"}}"#));
        let answer = client.ask(pull(TOPIC, 0, 0)).await;
        assert_eq!((answer.code, readable), (pulled, readable), "{answer:?}");
        let all = text(&ok(&mut client, RequestCode::GetAllSubscriptiongroupConfig, &[], "").await);
        assert!(all.contains(&format!(r#""forbiddenTable":{table}"#)), "{all}");
    }
    for (wrong, code) in [(("group", "none"), 26), (("topic", "none"), 17), (("topic", "bad topic"), 17)] {
        let mut request = ask(set, &asked("false"), "");
        request.ext.set(wrong.0, wrong.1);
        assert_eq!(client.ask(request).await.code, code, "{wrong:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_broker_tells_that_it_has_no_replicas() {
    let mut client = Server::start().connect();
    let answer = text(&ok(&mut client, RequestCode::GetBrokerHaStatus, &[], "").await);
    let begin = r#"{"haConnectionInfo":[],"inSyncSlaveNums":0,"master":true,"masterCommitLogMaxOffset":"#;
    assert!(answer.starts_with(begin), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn the_least_offsets_of_all_groups_are_told_by_queue() {
    let mut client = Server::start().connect();
    make_topic(&mut client).await;
    client.ask_for(ResponseCode::Success, send(TOPIC, b"body", &[])).await;
    for group in ["a", "b"] {
        let fields = [("consumerGroup", group), ("topic", TOPIC), ("queueId", "0"), ("commitOffset", "1")];
        ok(&mut client, RequestCode::UpdateConsumerOffset, &fields, "").await;
    }
    let fields = [("topic", TOPIC), ("compareGroup", "a"), ("filterGroups", "b,c")];
    let answer = text(&ok(&mut client, RequestCode::QueryCorrectionOffset, &fields, "").await);
    assert_eq!(answer, r#"{"correctionOffsets":{"0":1}}"#);
}

#[tokio::test(start_paused = true)]
async fn only_a_half_that_was_put_aside_is_asked_for_again() {
    let mut client = Server::start().connect();
    let sent = client.ask_for(ResponseCode::Success, send(TOPIC, b"body", &[])).await;
    for id in [sent.ext.get("msgId").unwrap(), "no id"] {
        let answer = client.ask(ask(RequestCode::ResumeCheckHalfMessage, &[("msgId", id)], "")).await;
        assert_eq!(answer.code, 1, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn users_and_access_lists_are_not_supported_and_said_so() {
    let mut client = Server::start().connect();
    let mut request = ask(RequestCode::GetBrokerConfig, &[], "");
    request.code = 3005;
    let answer = client.ask(request).await;
    assert_eq!(answer.code, 3);
    assert!(answer.remark.unwrap().contains("users and access lists are not supported"));
}

#[tokio::test(start_paused = true)]
async fn what_tools_ask_is_refused_from_afar() {
    let server = Server::start();
    let mut far = server.connect_from("192.0.2.7:4000");
    for code in [
        RequestCode::DeleteTopicInBroker,
        RequestCode::DeleteSubscriptiongroup,
        RequestCode::UpdateBrokerConfig,
        RequestCode::GetBrokerConfig,
        RequestCode::PutKvConfig,
        RequestCode::WipeWritePermOfBroker,
        RequestCode::InvokeBrokerToResetOffset,
        RequestCode::ConsumeMessageDirectly,
    ] {
        assert_eq!(far.ask(ask(code, &[], "")).await.code, 16, "{}", code.name());
    }
    assert_eq!(far.ask(ask(RequestCode::GetRouteinfoByTopic, &[("topic", "none")], "")).await.code, 17);
}
