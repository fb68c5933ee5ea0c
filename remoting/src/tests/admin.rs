//! Names: topics, groups, routes, brokers.

use super::*;
use crate::Network;
use wire::remoting::cluster::ClusterInfo;
use wire::remoting::group::{RetryPolicy, SubscriptionGroupConfig};
use wire::remoting::json;
use wire::remoting::route::TopicRouteData;
use wire::remoting::topic::{TopicConfig, TopicList};

fn create(topic: &str, changes: &[(&str, &str)]) -> Command {
    let fields = [
        ("topic", topic),
        ("defaultTopic", "TBW102"),
        ("readQueueNums", "2"),
        ("writeQueueNums", "2"),
        ("perm", "6"),
        ("topicFilterType", "SINGLE_TAG"),
    ];
    let mut command = request(RequestCode::UpdateAndCreateTopic, &fields);
    for (name, value) in changes {
        command.ext.set(name, value);
    }
    command
}

#[tokio::test(start_paused = true)]
async fn a_topic_made_has_a_route_at_once_and_is_listed_and_shown() {
    let mut client = Server::start().connect();
    let route = request(RequestCode::GetRouteinfoByTopic, &[("topic", "T")]);
    let answer = client.ask_for(ResponseCode::TopicNotExist, route.clone()).await;
    assert!(
        remark(&answer).starts_with("No topic route info in name server for the topic: T"),
        "{}",
        remark(&answer)
    );
    client.ask_for(ResponseCode::Success, create("T", &[("attributes", "+message.type=DELAY")])).await;

    let answer = client.ask_for(ResponseCode::Success, route).await;
    let data: TopicRouteData = json::read(&answer.body).unwrap();
    assert_eq!(data.broker_datas[0].broker_addrs[&0], "10.0.0.1:10911");
    let queues = &data.queue_datas[0];
    assert_eq!(
        (queues.broker_name.as_str(), queues.perm, queues.read_queue_nums, queues.write_queue_nums),
        ("broker-a", 6, 2, 2)
    );

    let answer =
        client.ask_for(ResponseCode::Success, request(RequestCode::GetTopicConfig, &[("topic", "T")])).await;
    let config: TopicConfig = json::read(&answer.body).unwrap();
    assert_eq!((config.topic_name.as_str(), config.attributes["message.type"].as_str()), ("T", "DELAY"));
    let answer =
        client.ask_for(ResponseCode::Success, request(RequestCode::GetAllTopicListFromNameserver, &[])).await;
    assert!(json::read::<TopicList>(&answer.body).unwrap().topic_list.contains(&"T".to_owned()));
    client
        .ask_for(ResponseCode::TopicNotExist, request(RequestCode::GetTopicConfig, &[("topic", "U")]))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_cannot_be_is_refused_with_what_is_wrong() {
    let mut client = Server::start().connect();
    for (topic, change, told) in [
        ("bad topic", ("perm", "6"), "' '"),
        ("SCHEDULE_TOPIC_XXXX", ("perm", "6"), "SCHEDULE_TOPIC_XXXX"),
        ("T", ("readQueueNums", "0"), "readQueueNums"),
        ("T", ("writeQueueNums", "-1"), "writeQueueNums is -1"),
        ("T", ("writeQueueNums", "100000"), "100000"),
        ("T", ("perm", "64"), "perm is 64"),
        ("T", ("attributes", "+message.type=ODD"), "message.type = ODD"),
        ("T", ("attributes", "+queue.type=BatchCQ"), "queue.type = BatchCQ"),
        ("T", ("attributes", "message.type=DELAY"), "message.type=DELAY"),
    ] {
        let answer = client.ask_for(ResponseCode::InvalidParameter, create(topic, &[change])).await;
        assert!(remark(&answer).contains(told), "{change:?}: {}", remark(&answer));
    }
    let answer = client.ask_for(ResponseCode::SystemError, create("T", &[("perm", "six")])).await;
    assert_eq!(remark(&answer), "header field perm is \"six\", not a whole number of 32 bits");
    let given = "+queue.type=SimpleCQ,+message.type=UNSPECIFIED,-message.type";
    client.ask_for(ResponseCode::Success, create("T", &[("attributes", given)])).await;
}

#[tokio::test(start_paused = true)]
async fn a_group_made_is_shown_as_it_was_made() {
    let mut client = Server::start().connect();
    let create = |config: &SubscriptionGroupConfig| {
        let code = RequestCode::UpdateAndCreateSubscriptiongroup;
        Command::request(code, Fields::new(), json::write(config))
    };
    let config = SubscriptionGroupConfig {
        group_name: "g".into(),
        retry_max_times: 3,
        consume_message_orderly: true,
        ..SubscriptionGroupConfig::default()
    };
    let policy = |text: &str| json::read::<RetryPolicy>(text.as_bytes()).unwrap();
    let with = |text| SubscriptionGroupConfig { group_retry_policy: policy(text), ..config.clone() };
    for shown in [
        config.clone(),
        with(r#"{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[1000,5000]}}"#),
        with(r#"{"type":"EXPONENTIAL","exponentialRetryPolicy":{"initial":1000,"max":9000,"multiplier":3}}"#),
    ] {
        client.ask_for(ResponseCode::Success, create(&shown)).await;
        let get = request(RequestCode::GetSubscriptiongroupConfig, &[("group", "g")]);
        let answer = client.ask_for(ResponseCode::Success, get).await;
        assert_eq!(json::read::<SubscriptionGroupConfig>(&answer.body).unwrap(), shown);
    }
    let get = request(RequestCode::GetSubscriptiongroupConfig, &[("group", "h")]);
    client.ask_for(ResponseCode::SubscriptionGroupNotExist, get).await;
    for bad in [
        SubscriptionGroupConfig { group_name: "bad name".into(), ..config.clone() },
        SubscriptionGroupConfig { retry_max_times: -1, ..config.clone() },
        SubscriptionGroupConfig { retry_queue_nums: -1, ..config.clone() },
        with(r#"{"type":"NEVER"}"#),
        with(r#"{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[]}}"#),
        with(r#"{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[-1]}}"#),
        with(r#"{"type":"EXPONENTIAL","exponentialRetryPolicy":{"multiplier":-2}}"#),
    ] {
        client.ask_for(ResponseCode::InvalidParameter, create(&bad)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_cluster_is_told_with_its_brokers() {
    let mut client = Server::start().connect();
    let answer = client.ask_for(ResponseCode::Success, request(RequestCode::GetBrokerClusterInfo, &[])).await;
    let info: ClusterInfo = json::read(&answer.body).unwrap();
    assert_eq!(info.broker_addr_table["broker-a"].broker_addrs[&0], "10.0.0.1:10911");
    assert_eq!(info.cluster_addr_table["DefaultCluster"], ["broker-a"]);
}

#[tokio::test(start_paused = true)]
async fn only_this_machine_and_listed_networks_may_administer() {
    let mut settings = Settings::new(store_host());
    settings.admin_networks = vec![Network { address: "10.1.0.0".parse().unwrap(), bits: 16 }];
    let server = Server::start_with(settings, |_| {});
    let mut stranger = server.connect_from("10.2.0.1:4000");
    let answer = stranger.ask_for(ResponseCode::NoPermission, create("T", &[])).await;
    assert!(remark(&answer).contains("UPDATE_AND_CREATE_TOPIC"), "{}", remark(&answer));
    stranger.ask_for(ResponseCode::Success, send("U", b"body", &[])).await;
    for address in ["[::1]:1", "127.0.0.2:1", "[::ffff:10.1.2.3]:1"] {
        server.connect_from(address).ask_for(ResponseCode::Success, create("T", &[])).await;
    }
}
