//! The proxy's port: it tells clients no other address, and takes of each topic its own kind of message.

use super::*;
use wire::remoting::cluster::ClusterInfo;
use wire::remoting::json;
use wire::remoting::route::TopicRouteData;

fn settings() -> Settings {
    let route_host = "10.0.0.1:8080".parse().unwrap();
    Settings { route_host, check_kind: true, ..Settings::new(store_host()) }
}

async fn make(client: &mut Client, topic: &str, kind: &str) {
    let attributes = format!("+message.type={kind}");
    let fields = [
        ("topic", topic),
        ("defaultTopic", "TBW102"),
        ("readQueueNums", "1"),
        ("writeQueueNums", "1"),
        ("perm", "6"),
        ("topicFilterType", "SINGLE_TAG"),
        ("attributes", &attributes),
    ];
    client.ask_for(ResponseCode::Success, request(RequestCode::UpdateAndCreateTopic, &fields)).await;
}

#[tokio::test(start_paused = true)]
async fn clients_of_the_proxys_port_are_told_no_other_address() {
    let mut client = Server::start_with(settings(), |_| {}).connect();
    client.ask_for(ResponseCode::Success, send("T", b"x", &[])).await;
    let only = |addresses: &[&String]| addresses.iter().all(|address| *address == "10.0.0.1:8080");
    let route = request(RequestCode::GetRouteinfoByTopic, &[("topic", "T")]);
    let route = client.ask_for(ResponseCode::Success, route).await;
    let route: TopicRouteData = json::read(&route.body).unwrap();
    let addresses: Vec<_> =
        route.broker_datas.iter().flat_map(|broker| broker.broker_addrs.values()).collect();
    assert!(addresses.len() == 1 && only(&addresses), "{addresses:?}");
    let cluster =
        client.ask_for(ResponseCode::Success, request(RequestCode::GetBrokerClusterInfo, &[])).await;
    let cluster: ClusterInfo = json::read(&cluster.body).unwrap();
    let addresses: Vec<_> =
        cluster.broker_addr_table.values().flat_map(|broker| broker.broker_addrs.values()).collect();
    assert!(addresses.len() == 1 && only(&addresses), "{addresses:?}");
    for code in [RequestCode::GetSystemTopicListFromNs, RequestCode::GetSystemTopicListFromBroker] {
        let topics = client.ask_for(ResponseCode::Success, request(code, &[])).await;
        assert!(topics.body.starts_with(b"{\"brokerAddr\":\"10.0.0.1:8080\""), "{topics:?}");
    }
    // What was stored is known by the broker's own address, whichever port it came by.
    assert_eq!(messages(&client.ask(pull("T", 0, 0)).await)[0].1.store_host, store_host());
}

#[tokio::test(start_paused = true)]
async fn what_comes_by_the_proxys_port_is_of_its_topics_kind_and_delayed_as_it_says() {
    let mut client = Server::start_with(settings(), |_| {}).connect();
    make(&mut client, "Normal", "NORMAL").await;
    make(&mut client, "Delay", "DELAY").await;
    make(&mut client, "Transaction", "TRANSACTION").await;
    let delays =
        [("DELAY", "2"), ("TIMER_DELAY_SEC", "5"), ("TIMER_DELAY_MS", "5000"), ("TIMER_DELIVER_MS", "1")];
    for delay in delays {
        let refused = client.ask_for(ResponseCode::MessageIllegal, send("Normal", b"x", &[delay])).await;
        assert_eq!(remark(&refused), "topic Normal takes NORMAL messages, this one is DELAY");
    }
    client.ask_for(ResponseCode::Success, send("Normal", b"x", &[])).await;
    client.ask_for(ResponseCode::MessageIllegal, send("Delay", b"x", &[])).await;
    client.ask_for(ResponseCode::MessageIllegal, send("Transaction", b"x", &[])).await;
    let half = [("TRAN_MSG", "true"), ("PGROUP", "producers")];
    client.ask_for(ResponseCode::Success, send("Transaction", b"x", &half)).await;
    client.ask_for(ResponseCode::MessageIllegal, send("Normal", b"x", &half)).await;

    let began = Instant::now();
    client.ask_for(ResponseCode::Success, send("Delay", b"later", &[("DELAY", "2")])).await;
    client.ask_for(ResponseCode::Success, pull("Delay", 0, 15_000)).await;
    assert!((5000..5010).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());

    client.ask_for(ResponseCode::Success, send("Made", b"x", &[("DELAY", "1")])).await;
    client.ask_for(ResponseCode::Success, send("Made", b"x", &[])).await;
}
