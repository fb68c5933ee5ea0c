//! Foreign brokers: what they tell the name server, and what clients are then told of them.

use super::*;
use wire::remoting::admin::{DataVersion, TopicList};
use wire::remoting::cluster::ClusterInfo;
use wire::remoting::json;
use wire::remoting::register::{self, Body, MemberGroupBody, Topics};
use wire::remoting::route::TopicRouteData;
use wire::remoting::topic::TopicConfig;

const ADDRESS: &str = "10.9.9.9:10911";

fn version() -> DataVersion {
    DataVersion { counter: 4, state_version: 0, timestamp: BEGIN_MS }
}

/// What a broker `foreign` says that serves these topics with four queues each.
fn registration(topics: &[&str]) -> Command {
    let config = |name: &str| TopicConfig {
        topic_name: name.to_owned(),
        read_queue_nums: 4,
        write_queue_nums: 4,
        ..TopicConfig::default()
    };
    let table = topics.iter().map(|name| ((*name).to_owned(), config(name))).collect();
    let topic_config_serialize_wrapper = Topics { data_version: version(), topic_config_table: table };
    let body = Body { topic_config_serialize_wrapper, ..Body::default() }.write();
    let header = register::Header {
        name: "foreign".into(),
        address: ADDRESS.into(),
        cluster: "DefaultCluster".into(),
        ha_address: Some("10.9.9.9:10912".into()),
        body_crc32: Some(register::checksum(&body)),
        ..register::Header::default()
    };
    let mut ext = Fields::new();
    header.write(&mut ext);
    Command::request(RequestCode::RegisterBroker, ext, body)
}

fn of_broker(code: RequestCode, body: Bytes) -> Command {
    let fields = [
        ("brokerName", "foreign"),
        ("brokerAddr", ADDRESS),
        ("clusterName", "DefaultCluster"),
        ("brokerId", "0"),
    ];
    Command::request(code, fields.into_iter().collect(), body)
}

async fn route(client: &mut Client, topic: &str) -> Option<TopicRouteData> {
    let answer = client.ask(request(RequestCode::GetRouteinfoByTopic, &[("topic", topic)])).await;
    (answer.code == 0).then(|| json::read(&answer.body).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_topic_on_two_brokers_is_shown_with_both() {
    let server = Server::start();
    let (mut broker, mut client) = (server.connect(), server.connect());
    client.ask_for(ResponseCode::Success, send("T", b"body", &[])).await;
    broker.ask_for(ResponseCode::Success, registration(&["T", "U", "bad name"])).await;
    let found = route(&mut client, "T").await.unwrap();
    let names: Vec<&str> = found.broker_datas.iter().map(|broker| broker.broker_name.as_str()).collect();
    assert_eq!(names, ["broker-a", "foreign"]);
    assert_eq!(
        (found.broker_datas[1].broker_addrs[&0].as_str(), found.queue_datas[1].write_queue_nums),
        (ADDRESS, 4)
    );
    assert_eq!(route(&mut client, "U").await.unwrap().queue_datas.len(), 1);

    let cluster =
        client.ask_for(ResponseCode::Success, request(RequestCode::GetBrokerClusterInfo, &[])).await;
    let cluster: ClusterInfo = json::read(&cluster.body).unwrap();
    assert_eq!(cluster.cluster_addr_table["DefaultCluster"], ["broker-a", "foreign"]);
    let asked = [("clusterName", "DefaultCluster"), ("brokerName", "foreign")];
    let members =
        client.ask_for(ResponseCode::Success, request(RequestCode::GetBrokerMemberGroup, &asked)).await;
    let members: MemberGroupBody = json::read(&members.body).unwrap();
    assert_eq!(members.broker_member_group.broker_addrs[&0], ADDRESS);

    let wiped = request(RequestCode::WipeWritePermOfBroker, &[("brokerName", "foreign")]);
    assert_eq!(field(&client.ask_for(ResponseCode::Success, wiped).await, "wipeTopicCount"), 2);
    assert_eq!(route(&mut client, "U").await.unwrap().queue_datas[0].perm, 4);
    let of_cluster = request(RequestCode::GetTopicsByCluster, &[("cluster", "nowhere")]);
    let topics = client.ask_for(ResponseCode::Success, of_cluster).await;
    assert_eq!(json::read::<TopicList>(&topics.body).unwrap().topic_list, Vec::<String>::new());
    assert_eq!(client.ask(pull("T", 0, 0)).await.code, 0, "the broker of this process still finds itself");
}

#[tokio::test(start_paused = true)]
async fn a_broker_is_told_the_order_of_queues_and_whether_it_must_register_again() {
    let mut broker = Server::start().connect();
    let ask_version = |version: &DataVersion| of_broker(RequestCode::QueryDataVersion, json::write(version));
    let unknown = broker.ask_for(ResponseCode::Success, ask_version(&version())).await;
    assert_eq!((unknown.ext.get("changed"), unknown.body.len()), (Some("true"), 0));
    let put = [("namespace", "ORDER_TOPIC_CONFIG"), ("key", "T"), ("value", "foreign:4")];
    broker.ask_for(ResponseCode::Success, request(RequestCode::PutKvConfig, &put)).await;
    let answer = broker.ask_for(ResponseCode::Success, registration(&["T", "U"])).await;
    assert_eq!(answer.body, r#"{"table":{"T":"foreign:4"}}"#);
    let same = broker.ask_for(ResponseCode::Success, ask_version(&version())).await;
    assert_eq!((same.ext.get("changed"), &same.body), (Some("false"), &json::write(&version())));
    let later = DataVersion { counter: 5, ..version() };
    let changed = broker.ask_for(ResponseCode::Success, ask_version(&later)).await;
    assert_eq!(changed.ext.get("changed"), Some("true"));
}

#[tokio::test(start_paused = true)]
async fn a_broker_is_gone_with_its_connection() {
    let server = Server::start();
    let (mut broker, mut client) = (server.connect(), server.connect());
    broker.ask_for(ResponseCode::Success, registration(&["T", "U"])).await;
    drop(broker);
    sleep(Duration::from_millis(10)).await;
    assert_eq!(route(&mut client, "T").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_broker_lives_by_its_heartbeats_and_is_gone_without() {
    let server = Server::start();
    let mut broker = server.connect();
    let mut registration = registration(&["T", "U"]);
    registration.ext.set("heartbeatTimeoutMillis", 3000);
    broker.ask_for(ResponseCode::Success, registration).await;
    for _ in 0..3 {
        sleep(Duration::from_millis(2900)).await;
        broker.ask_for(ResponseCode::Success, of_broker(RequestCode::BrokerHeartbeat, Bytes::new())).await;
    }
    sleep(Duration::from_millis(2900)).await;
    assert!(route(&mut broker, "T").await.is_some());
    sleep(Duration::from_millis(200)).await;
    assert_eq!(route(&mut broker, "T").await, None, "an open connection alone is no sign of life");
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_leaves_takes_its_topics_along() {
    let server = Server::start();
    let mut broker = server.connect();
    broker.ask_for(ResponseCode::Success, registration(&["T", "U"])).await;
    let deleted =
        request(RequestCode::DeleteTopicInNamesrv, &[("topic", "T"), ("clusterName", "DefaultCluster")]);
    broker.ask_for(ResponseCode::Success, deleted).await;
    assert_eq!(route(&mut broker, "T").await, None);
    let mut again = request(RequestCode::RegisterTopicInNamesrv, &[("topic", "T")]);
    again.body = Bytes::from_static(
        br#"{"queueDatas":[{"brokerName":"foreign","perm":6,"readQueueNums":2,"topicSysFlag":0,"writeQueueNums":2}]}"#,
    );
    broker.ask_for(ResponseCode::Success, again).await;
    assert_eq!(route(&mut broker, "T").await.unwrap().queue_datas[0].read_queue_nums, 2);
    broker.ask_for(ResponseCode::Success, of_broker(RequestCode::UnregisterBroker, Bytes::new())).await;
    assert_eq!((route(&mut broker, "T").await, route(&mut broker, "U").await), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_registration_that_cannot_be_taken_is_refused_with_a_reason() {
    let server = Server::start();
    let mut broker = server.connect();
    let mut damaged = registration(&["T", "U"]);
    damaged.ext.set("bodyCrc32", 1);
    let answer = broker.ask_for(ResponseCode::SystemError, damaged).await;
    assert_eq!(remark(&answer), "crc32 not match");
    let mut not_compressed = registration(&["T", "U"]);
    not_compressed.ext.set("compressed", true);
    broker.ask_for(ResponseCode::SystemError, not_compressed).await;
    let mut ours = registration(&["T", "U"]);
    ours.ext.set("brokerName", "broker-a");
    let answer = broker.ask_for(ResponseCode::SystemError, ours).await;
    assert!(remark(&answer).contains("10.0.0.1:10911"), "{}", remark(&answer));

    let answer = server.connect_from("10.2.0.1:4000").ask(registration(&["T", "U"])).await;
    assert_eq!((answer.code, route(&mut broker, "U").await), (ResponseCode::NoPermission.number(), None));
}
