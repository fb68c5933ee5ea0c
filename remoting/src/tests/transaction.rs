//! Half messages: out of sight until their producer says, and asked after.

use super::*;
use wire::remoting::heartbeat::{HeartbeatData, ProducerData};
use wire::remoting::json;
use wire::remoting::transaction::{COMMIT, Check, End, ROLLBACK};

const HALF: [(&str, &str); 3] = [("TRAN_MSG", "true"), ("PGROUP", "producers"), ("TAGS", "a")];

fn end(log_offset: i64, resolution: i32) -> Command {
    let header = End { producer_group: "producers".into(), queue_offset: 0, log_offset, resolution };
    let mut ext = Fields::new();
    header.write(&mut ext);
    Command::request(RequestCode::EndTransaction, ext, Bytes::new())
}

fn log_offset(sent: &Command) -> i64 {
    wire::message_id::decode(sent.ext.get("msgId").unwrap()).unwrap().1.0 as i64
}

/// Says that this client produces for the group.
async fn introduce(client: &mut Client) {
    let data = HeartbeatData {
        client_id: "one".into(),
        producer_data_set: vec![ProducerData { group_name: "producers".into() }],
        ..HeartbeatData::default()
    };
    let command = Command::request(RequestCode::HeartBeat, Fields::new(), json::write(&data));
    client.ask_for(ResponseCode::Success, command).await;
}

#[tokio::test(start_paused = true)]
async fn a_half_message_is_seen_once_committed_and_never_where_rolled_back() {
    let mut client = Server::start().connect();
    let committed = client.ask_for(ResponseCode::Success, send("T", b"yes", &HALF)).await;
    let rolled_back = client.ask_for(ResponseCode::Success, send("T", b"no", &HALF)).await;
    client.ask_for(ResponseCode::PullNotFound, pull("T", 0, 0)).await;
    client.ask_for(ResponseCode::Success, end(log_offset(&rolled_back), ROLLBACK)).await;
    client.ask_for(ResponseCode::Success, end(log_offset(&committed), COMMIT)).await;
    let pulled = client.ask_for(ResponseCode::Success, pull("T", 0, 0)).await;
    let [(message, _)] = &messages(&pulled)[..] else { panic!("one message") };
    assert_eq!(
        (&message.body[..], message.prepared_transaction_offset),
        (&b"yes"[..], log_offset(&committed))
    );
    assert_eq!(message.sys_flag & wire::sys_flag::TRANSACTION_MASK, wire::sys_flag::TRANSACTION_COMMIT);
    client.ask_for(ResponseCode::SystemError, end(log_offset(&committed), COMMIT)).await;
    client.ask_for(ResponseCode::SystemError, end(-1, COMMIT)).await;
}

#[tokio::test(start_paused = true)]
async fn a_producer_that_does_not_say_is_asked_with_the_places_of_its_half() {
    let mut client = Server::start().connect();
    let began = Instant::now();
    let sent = client.ask_for(ResponseCode::Success, send("T", b"perhaps", &HALF)).await;
    introduce(&mut client).await;
    let asked = client.hear().await.unwrap();
    assert_eq!((asked.code, asked.flag, began.elapsed().as_secs()), (39, 2, 6));
    let check = Check::read(&asked.ext).unwrap();
    assert_eq!((check.log_offset, check.queue_offset), (log_offset(&sent), field(&sent, "queueOffset")));
    assert_eq!(check.offset_message_id.as_deref(), sent.ext.get("msgId"));
    assert_eq!(check.transaction_id.as_deref(), sent.ext.get("transactionId"));
    let (message, place) = messages(&asked).remove(0);
    assert_eq!((&message.body[..], place.topic.as_str()), (&b"perhaps"[..], "T"));
    assert_eq!(message.properties.get("PGROUP"), Some("producers"));

    client.tell(end(check.log_offset, COMMIT).one_way()).await;
    let pulled = client.ask_for(ResponseCode::Success, pull("T", 0, 1000)).await;
    assert_eq!(messages(&pulled)[0].0.body, "perhaps");
}
