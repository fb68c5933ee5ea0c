use super::*;
use crate::fake;
use broker::{Reply, Request};
use futures_util::stream;
use std::sync::{Arc, Mutex};

fn resource(name: &str) -> v2::Resource {
    v2::Resource { resource_namespace: "ns".to_owned(), name: name.to_owned() }
}

fn producer() -> v2::Settings {
    let publishing = v2::Publishing { topics: vec![resource("t")], ..Default::default() };
    v2::Settings {
        client_type: Some(ClientType::Producer.into()),
        request_timeout: Some(duration(Duration::from_secs(3))),
        pub_sub: Some(PubSub::Publishing(publishing)),
        ..Default::default()
    }
}

fn consumer_settings(expression: &str) -> v2::Settings {
    let expression =
        v2::FilterExpression { r#type: FilterType::Tag.into(), expression: expression.to_owned() };
    let entry = v2::SubscriptionEntry { topic: Some(resource("t")), expression: Some(expression) };
    let subscription =
        v2::Subscription { group: Some(resource("g")), subscriptions: vec![entry], ..Default::default() };
    v2::Settings {
        client_type: Some(ClientType::PushConsumer.into()),
        pub_sub: Some(PubSub::Subscription(subscription)),
        ..Default::default()
    }
}

fn frame(settings: v2::Settings) -> TelemetryCommand {
    TelemetryCommand { status: None, command: Some(Command::Settings(settings)) }
}

fn group(ordered: bool) -> Group {
    Group { ordered, retry_max: 2, ..Group::new(GroupName::new("g").unwrap()) }
}

#[test]
fn a_producer_keeps_its_settings_and_gets_limits_and_exponential_pauses() {
    let merged = merged(producer(), "PYTHON", None, &Settings::default());
    let Some(PubSub::Publishing(publishing)) = &merged.pub_sub else { panic!("another kind of settings") };
    assert_eq!(publishing.topics, [resource("t")]);
    assert_eq!((publishing.max_body_size, publishing.validate_message_type), (4 << 20, true));
    let policy = merged.backoff_policy.unwrap();
    assert_eq!(policy.max_attempts, 3);
    assert!(matches!(policy.strategy, Some(Strategy::ExponentialBackoff(_))), "Java starts with no other");
    assert_eq!(merged.request_timeout, producer().request_timeout);
    assert_eq!(merged.metric, Some(v2::Metric { on: false, endpoints: None }));
}

#[test]
fn a_consumer_gets_the_pauses_its_language_reads() {
    let policy = |language| {
        let group = group(false);
        let merged = merged(consumer_settings("*"), language, Some(&group), &Settings::default());
        merged.backoff_policy.unwrap()
    };
    for language in ["JAVA", "GO", "PYTHON", "DOTNET", "CPP", "RUST", ""] {
        let policy = policy(language);
        let Some(Strategy::CustomizedBackoff(pauses)) = policy.strategy else { panic!("{language}") };
        assert_eq!((pauses.next.len(), pauses.next[0].seconds, pauses.next[17].seconds), (18, 1, 7200));
        assert_eq!(policy.max_attempts, 3, "the group's retries and the first try");
    }
    assert!(matches!(policy("HTTP").strategy, Some(Strategy::ExponentialBackoff(_))), "Node reads no other");
}

#[test]
fn pauses_of_a_group_reach_each_language_as_near_as_it_can_read_them() {
    let policy = |language, pauses| {
        let group = Group { pauses: Some(pauses), ..group(false) };
        merged(consumer_settings("*"), language, Some(&group), &Settings::default())
            .backoff_policy
            .unwrap()
            .strategy
            .unwrap()
    };
    let listed = || Pauses::Listed(vec![500, 2500, 60_000]);
    let grown = || Pauses::Growing { initial_ms: 2000, max_ms: 5000, multiplier: 2 };
    let list = |all: &[u64]| {
        let next = all.iter().map(|&ms| duration(Duration::from_millis(ms))).collect();
        Strategy::CustomizedBackoff(v2::CustomizedBackoff { next })
    };
    let growth = |initial, max| {
        Strategy::ExponentialBackoff(v2::ExponentialBackoff {
            initial: Some(duration(Duration::from_millis(initial))),
            max: Some(duration(Duration::from_millis(max))),
            multiplier: 2.0,
        })
    };
    for language in ["JAVA", "GO", "DOTNET", "CPP"] {
        assert_eq!(policy(language, listed()), list(&[500, 2500, 60_000]), "{language}");
        assert_eq!(policy(language, grown()), growth(2000, 5000), "{language}");
    }
    assert_eq!(policy("PYTHON", listed()), list(&[500, 2500, 60_000]));
    assert_eq!(policy("PYTHON", grown()), list(&[2000, 4000, 5000]), "one for each of its attempts");
    assert_eq!(policy("HTTP", listed()), growth(1000, 60_000), "it reads whole seconds");
    assert_eq!(policy("HTTP", grown()), growth(2000, 5000));
}

#[test]
fn a_consumer_is_told_whether_its_group_is_ordered_and_polls_in_whole_seconds() {
    for (kind, ordered, seconds) in
        [(ClientType::PushConsumer, false, 15), (ClientType::SimpleConsumer, true, 20)]
    {
        let group = group(ordered);
        let settings = v2::Settings { client_type: Some(kind.into()), ..consumer_settings("*") };
        let merged = merged(settings, "JAVA", Some(&group), &Settings::default());
        let Some(PubSub::Subscription(subscription)) = merged.pub_sub else { panic!("another kind") };
        assert_eq!(subscription.fifo, Some(ordered));
        assert_eq!(subscription.receive_batch_size, Some(32));
        assert_eq!(subscription.long_polling_timeout, Some(duration(Duration::from_secs(seconds))));
        assert_eq!(subscription.group, Some(resource("g")));
        assert_eq!(subscription.subscriptions.len(), 1);
    }
}

#[tokio::test]
async fn each_frame_of_settings_is_answered_and_the_client_registered_with_what_it_wants() {
    let registered = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&registered);
    let proxy = fake::proxy(move |request| match request {
        Request::Register(ask) => {
            seen.lock().unwrap().push(ask);
            Some(Reply::Register(Ok(())))
        }
        Request::GetGroup(_) => Some(Reply::GetGroup(Some(group(true)))),
        _ => None,
    });
    let unknown = TelemetryCommand::default();
    let inbound = [frame(consumer_settings("a || b")), unknown, frame(consumer_settings("a"))];
    let inbound = stream::iter(inbound.map(Ok)).chain(stream::pending());
    let mut answers = telemetry(proxy.clone(), fake::context(), inbound);
    for _ in 0..2 {
        let answer = answers.next().await.unwrap().unwrap();
        assert_eq!(answer.status, Some(status::ok()), "Python looks for it");
        assert!(matches!(answer.command, Some(Command::Settings(_))));
    }
    assert!(proxy.clients.known(&fake::context().client).unwrap().fifo);
    let registered = registered.lock().unwrap();
    assert_eq!(registered.len(), 2);
    let consumer = &registered[0].consumers[0];
    assert_eq!((consumer.group.as_str(), consumer.kind), ("g", ConsumeKind::Push));
    assert_eq!(consumer.subscriptions[0].filter, Filter::tags("a || b").unwrap());
    assert_eq!(registered[0].connection, registered[1].connection, "one connection for each client");
}

#[tokio::test]
async fn settings_that_say_nothing_or_too_much_end_the_stream_as_the_callers_fault() {
    let mut system = producer();
    system.pub_sub = Some(PubSub::Publishing(v2::Publishing {
        topics: vec![resource("rmq_sys_wheel_timer")],
        ..Default::default()
    }));
    let mut large = producer();
    large.client_properties.insert("x".to_owned(), "y".repeat(SETTINGS_MAX));
    for settings in [v2::Settings::default(), system, large] {
        let proxy = fake::proxy(|_| panic!("nothing may be asked of the broker"));
        let inbound = stream::iter([Ok(frame(settings))]).chain(stream::pending());
        let mut answers = telemetry(proxy, fake::context(), inbound);
        let error = answers.next().await.unwrap().unwrap_err();
        assert_eq!(error.code(), tonic::Code::InvalidArgument);
        assert!(answers.next().await.is_none());
    }
}

#[tokio::test]
async fn a_stream_ends_when_the_client_ends_it_or_the_server_stops() {
    let mut answers = telemetry(fake::proxy(|_| None), fake::context(), stream::iter([]));
    assert!(answers.next().await.is_none());
    let proxy = fake::proxy(|_| None);
    let stopping = proxy.stopping.clone();
    let mut answers = telemetry(proxy, fake::context(), stream::pending());
    stopping.cancel();
    assert!(answers.next().await.is_none());
}
