//! Every verb's header goes over the wire and comes back, in both dialects.

use super::frame::{self, MAX_BYTES};
use super::*;
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use std::fmt::Debug;

fn check<H: PartialEq + Debug>(
    header: &H,
    read: fn(&Fields) -> Result<H, FieldError>,
    write: fn(&H, &mut Fields),
) {
    let mut ext = Fields::new();
    write(header, &mut ext);
    for serialize in [Serialize::Json, Serialize::RocketMq] {
        let mut command = Command::request(RequestCode::SendMessage, ext.clone(), Bytes::new());
        command.serialize = serialize;
        let mut bytes = BytesMut::new();
        command.encode(&mut bytes);
        let came = frame::decode(&mut bytes, MAX_BYTES).unwrap().unwrap();
        assert_eq!(&read(&came.ext).unwrap(), header, "{serialize:?}");
    }
}

fn any_send() -> impl Strategy<Value = send::Header> {
    let texts = (
        any::<String>(),
        any::<String>(),
        any::<String>(),
        proptest::option::of(".+"),
        proptest::option::of(".+"),
    );
    let numbers = any::<(i32, i32, i32, i64, i32, Option<i32>, bool, Option<i32>, bool)>();
    (texts, numbers).prop_map(|(texts, numbers)| send::Header {
        producer_group: texts.0,
        topic: texts.1,
        default_topic: texts.2,
        default_topic_queues: numbers.0,
        queue_id: numbers.1,
        sys_flag: numbers.2,
        born_at: numbers.3,
        flag: numbers.4,
        properties: texts.3,
        reconsume_times: numbers.5,
        unit_mode: numbers.6,
        max_reconsume_times: numbers.7,
        batch: numbers.8,
        broker: texts.4,
    })
}

macro_rules! round_trips {
    ($($test:ident: $header:ty;)*) => {
        proptest! {
            $(#[test] fn $test(header in any::<$header>()) {
                check(&header, <$header>::read, <$header>::write);
            })*
        }
    };
}

round_trips! {
    a_send_answer_survives_the_wire: send::Answer;
    what_is_said_of_a_reply_survives_the_wire: reply::Handed;
    a_send_back_survives_the_wire: send_back::Header;
    a_pull_survives_the_wire: pull::Header;
    a_pull_answer_survives_the_wire: pull::Answer;
    an_offset_query_survives_the_wire: offset::Query;
    an_offset_commit_survives_the_wire: offset::Commit;
    a_question_for_a_queue_survives_the_wire: offset::Queue;
    an_offset_search_survives_the_wire: offset::Search;
    an_offset_answer_survives_the_wire: offset::Answer;
    a_route_question_survives_the_wire: route::Header;
    a_heartbeat_answer_survives_the_wire: heartbeat::Answer;
    a_consumers_question_survives_the_wire: consumers::Header;
    an_unregister_survives_the_wire: unregister::Header;
    a_topic_survives_the_wire: topic::Header;
    a_query_survives_the_wire: query::Header;
    a_query_answer_survives_the_wire: query::Answer;
    a_view_survives_the_wire: query::View;
    a_recall_survives_the_wire: recall::Header;
    a_recall_answer_survives_the_wire: recall::Answer;
    a_registration_survives_the_wire: register::Header;
    a_registration_answer_survives_the_wire: register::Answer;
    a_brokers_member_survives_the_wire: register::OfMember;
    a_change_of_consumers_survives_the_wire: notify::ConsumersChanged;
    a_pop_survives_the_wire: pop::Header;
    a_pop_answer_survives_the_wire: pop::Answer;
    a_peek_survives_the_wire: pop::Peek;
    a_notification_survives_the_wire: pop::Notification;
    a_notification_answer_survives_the_wire: pop::NotificationAnswer;
    a_question_for_waiting_pops_survives_the_wire: pop::PollingInfo;
    a_number_of_waiting_pops_survives_the_wire: pop::PollingInfoAnswer;
    an_ack_survives_the_wire: ack::Header;
    a_changed_lease_survives_the_wire: ack::Change;
    a_changed_lease_answer_survives_the_wire: ack::ChangeAnswer;
}

proptest! {
    #[test]
    fn a_send_survives_the_wire_in_words_and_in_letters(header in any_send()) {
        check(&header, |fields| send::Header::read(fields, send::Spelling::V1), |header, fields| header.write(fields, send::Spelling::V1));
        check(&header, |fields| send::Header::read(fields, send::Spelling::V2), |header, fields| header.write(fields, send::Spelling::V2));
    }
}

#[test]
fn a_heartbeat_as_java_writes_it_is_read() {
    let body = r#"{"clientID":"10.0.0.2@1234#567","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",
        "consumeType":"CONSUME_PASSIVELY","groupName":"g","messageModel":"CLUSTERING","subscriptionDataSet":[
        {"classFilterMode":false,"codeSet":[65],"expressionType":"TAG","subString":"A","subVersion":1700000000000,
        "tagsSet":["A"],"topic":"T"},{"$ref":"$.x"}],"unitMode":false}],"heartbeatFingerprint":0,
        "producerDataSet":[{"groupName":"p"}],"withoutSub":false,"unheard":{"of":1}}"#;
    let heartbeat: heartbeat::HeartbeatData = json::read(body.as_bytes()).unwrap();
    assert_eq!(
        (heartbeat.client_id.as_str(), heartbeat.producer_data_set[0].group_name.as_str()),
        ("10.0.0.2@1234#567", "p")
    );
    let [subscription] = &heartbeat.consumer_data_set[0].subscription_data_set[..] else {
        panic!("one subscription")
    };
    assert_eq!(
        (subscription.topic.as_str(), subscription.sub_version, &subscription.code_set[..]),
        ("T", 1_700_000_000_000, &[65][..])
    );
    assert_eq!(json::read::<heartbeat::HeartbeatData>(&json::write(&heartbeat)).unwrap(), heartbeat);
}

#[test]
fn a_route_is_written_as_gos_reader_needs_it() {
    let route = route::TopicRouteData {
        broker_datas: vec![route::BrokerData {
            broker_addrs: [(0, "10.0.0.1:10911".to_owned())].into(),
            broker_name: "broker-a".into(),
            cluster: "DefaultCluster".into(),
            enable_acting_master: false,
        }],
        queue_datas: vec![route::QueueData {
            broker_name: "broker-a".into(),
            perm: 6,
            read_queue_nums: 4,
            topic_sys_flag: 0,
            write_queue_nums: 4,
        }],
        ..route::TopicRouteData::default()
    };
    let wanted = concat!(
        r#"{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"DefaultCluster","#,
        r#""enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,"#,
        r#""readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}"#
    );
    assert_eq!(json::write(&route), wanted);
    assert_eq!(json::read::<route::TopicRouteData>(wanted.replace("\"0\"", "0").as_bytes()).unwrap(), route);
}

#[test]
fn locks_are_read_and_written_as_java_does() {
    let body = r#"{"clientId":"c","consumerGroup":"g","mqSet":[{"brokerName":"b","queueId":3,"topic":"T"}],"onlyThisBroker":false}"#;
    let lock: lock::Body = json::read(body.as_bytes()).unwrap();
    assert_eq!(
        (lock.client_id.as_str(), lock.consumer_group.as_str(), lock.mq_set[0].queue_id),
        ("c", "g", 3)
    );
    assert_eq!(json::write(&lock), body);
    let answer = lock::Answer { locked: lock.mq_set };
    assert_eq!(json::write(&answer), r#"{"lockOKMQSet":[{"brokerName":"b","queueId":3,"topic":"T"}]}"#);
}

#[test]
fn a_group_without_settings_has_the_peers_defaults() {
    let group: group::SubscriptionGroupConfig =
        json::read(br#"{"groupName":"g","retryMaxTimes":3}"#).unwrap();
    let wanted =
        group::SubscriptionGroupConfig { group_name: "g".into(), retry_max_times: 3, ..Default::default() };
    assert_eq!(group, wanted);
    assert_eq!(
        json::write(&group),
        concat!(
            r#"{"attributes":{},"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"#,
            r#""consumeFromMinEnable":true,"consumeMessageOrderly":false,"consumeTimeoutMinute":15,"groupName":"g","#,
            r#""groupRetryPolicy":{"type":"CUSTOMIZED"},"groupSysFlag":0,"notifyConsumerIdsChangedEnable":true,"#,
            r#""retryMaxTimes":3,"retryQueueNums":1,"whichBrokerWhenConsumeSlowly":1}"#
        )
    );
}
