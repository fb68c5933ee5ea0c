use super::*;
use crate::fake;
use broker::{Reply, Request, SendError, SendRefusal};
use bytes::Bytes;
use model::{LogOffset, QueueId, QueueOffset};
use std::sync::{Arc, Mutex};

fn message(topic: &str, id: &str) -> v2::Message {
    v2::Message {
        topic: Some(v2::Resource { resource_namespace: String::new(), name: topic.to_owned() }),
        system_properties: Some(v2::SystemProperties { message_id: id.to_owned(), ..Default::default() }),
        body: Bytes::from_static(b"x"),
        ..Default::default()
    }
}

fn sent(id: &str) -> Sent {
    Sent {
        queue_id: QueueId(1),
        queue_offset: QueueOffset(41),
        log_offset: LogOffset(4096),
        unique_key: id.to_owned(),
        recall_handle: Some("handle".to_owned()),
        remark: None,
        duplicate: false,
    }
}

#[tokio::test]
async fn each_message_of_a_call_has_an_entry_of_its_own() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let proxy = fake::proxy(move |request| match request {
        Request::Send(ask) => {
            let ids: Vec<_> =
                ask.messages.iter().map(|m| m.properties.get("UNIQ_KEY").unwrap().to_owned()).collect();
            let mut all: Vec<Sent> = ids.iter().map(|id| sent(id)).collect();
            all[1].recall_handle = None;
            all[1].remark = Some("duplicate=true".to_owned());
            seen.lock().unwrap().push(ask);
            Some(Reply::Send(Ok(all)))
        }
        _ => None,
    });
    let request = SendMessageRequest { messages: vec![message("t", "1"), message("t", "2")] };
    let answer = send(&proxy, &fake::context(), request).await.unwrap();
    assert_eq!(answer.status.unwrap().code(), Code::Ok);
    let [first, second] = answer.entries.as_slice() else { panic!("{} entries", answer.entries.len()) };
    assert_eq!((first.message_id.as_str(), first.offset, first.recall_handle.as_str()), ("1", 41, "handle"));
    assert_eq!((second.message_id.as_str(), second.recall_handle.as_str()), ("2", ""));
    assert_eq!(second.status.as_ref().unwrap().message, "duplicate=true");
    assert_eq!(first.transaction_id, "");
    let asked = asked.lock().unwrap();
    let ask = &asked[0];
    assert!(!ask.as_level, "a moment stays one unless the server is set so");
    assert!(ask.check_kind && !ask.batch && ask.auto_create.is_none() && ask.queue_id.is_none());
}

#[tokio::test]
async fn a_call_with_one_bad_message_stores_nothing_and_says_which() {
    let proxy = fake::proxy(|_| panic!("nothing may be asked of the broker"));
    let calls = [
        (vec![], Code::MessageCorrupted, ""),
        (vec![message("t", "1"), message("u", "2")], Code::MessageCorrupted, "message 1"),
        (vec![message("t", "1"), message("t", "")], Code::IllegalMessageId, "message 1"),
        (vec![message("a b", "1")], Code::IllegalTopic, "a b"),
        (vec![message("rmq_sys_wheel_timer", "1")], Code::IllegalTopic, "belongs to the server"),
    ];
    for (messages, code, word) in calls {
        let refused = send(&proxy, &fake::context(), SendMessageRequest { messages }).await.unwrap_err();
        assert_eq!(refused.code, code);
        assert!(refused.text.contains(word), "{word:?} is missing in {:?}", refused.text);
    }
}

#[tokio::test]
async fn a_refusal_of_the_broker_is_the_calls_and_names_the_message_where_there_are_several() {
    for (ids, index) in [(&["1", "2"][..], 1), (&["1"], 0)] {
        let proxy =
            fake::proxy(move |_| Some(Reply::Send(Err(SendError { index, why: SendRefusal::EmptyBody }))));
        let messages: Vec<v2::Message> = ids.iter().map(|id| message("t", id)).collect();
        let several = messages.len() > 1;
        let refused = send(&proxy, &fake::context(), SendMessageRequest { messages }).await.unwrap_err();
        assert_eq!(refused.code, Code::MessageBodyEmpty);
        assert_eq!(refused.text.contains(&format!("message {index}")), several, "{}", refused.text);
    }
}
