//! What waits is listed, counted and called back.

use super::*;
use wire::remoting::json;
use wire::remoting::pending::{Counts, Recalled};

fn bodies(answer: &Command) -> Vec<String> {
    messages(answer).iter().map(|(message, _)| String::from_utf8_lossy(&message.body).into_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_listed_page_by_page_counted_and_called_back_by_its_key() {
    let mut client = Server::start().connect();
    for (body, seconds, key) in
        [(&b"third"[..], "30", "order"), (b"first", "10", "order"), (b"second", "20", "other")]
    {
        let properties = [("TIMER_DELAY_SEC", seconds), ("KEYS", key)];
        client.ask_for(ResponseCode::Success, send("T", body, &properties)).await;
    }
    client.ask_for(ResponseCode::Success, send("T", b"visible", &[("KEYS", "order")])).await;

    let page =
        client.ask_for(ResponseCode::Success, request(RequestCode::ListPending, &[("maxNum", "2")])).await;
    assert_eq!(bodies(&page), ["first", "second"]);
    let next = ["nextDeliverAt", "nextLogOffset"].map(|name| page.ext.get(name).unwrap().to_owned());
    let after = [("topic", "T"), ("afterDeliverAt", next[0].as_str()), ("afterLogOffset", next[1].as_str())];
    let page = client.ask_for(ResponseCode::Success, request(RequestCode::ListPending, &after)).await;
    assert_eq!((bodies(&page), page.ext.get("nextDeliverAt")), (vec!["third".to_owned()], None));
    let of_key = [("topic", "T"), ("key", "order")];
    let page = client.ask_for(ResponseCode::Success, request(RequestCode::ListPending, &of_key)).await;
    assert_eq!(bodies(&page), ["first", "third"]);

    let count = async |client: &mut Client| {
        let answer = client.ask_for(ResponseCode::Success, request(RequestCode::CountPending, &[])).await;
        json::read::<Counts>(&answer.body).unwrap().pending.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(count(&mut client).await, [("T".to_owned(), 3)]);

    let of_key = [("topic", "T"), ("key", "order"), ("uniqueKey", "false")];
    let answer = client.ask_for(ResponseCode::Success, request(RequestCode::RecallByKey, &of_key)).await;
    let done: Recalled = json::read(&answer.body).unwrap();
    assert_eq!((done.recalled.len(), done.visible, done.more), (2, 1, false));
    assert_eq!(count(&mut client).await, [("T".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_question_for_what_waits_is_refused_with_the_reason() {
    let mut client = Server::start().connect();
    for (code, fields, why) in [
        (ResponseCode::InvalidParameter, &[("key", "order")][..], "a key needs a topic"),
        (ResponseCode::InvalidParameter, &[("topic", "T"), ("key", "")], "the key is empty"),
        (ResponseCode::InvalidParameter, &[("topic", "a b")], "topic"),
        (ResponseCode::TopicNotExist, &[("topic", "nowhere")], "nowhere"),
        (ResponseCode::InvalidParameter, &[("afterDeliverAt", "7")], "afterLogOffset"),
        (ResponseCode::InvalidParameter, &[("afterDeliverAt", "7"), ("afterLogOffset", "-1")], "0 or more"),
    ] {
        let answer = client.ask_for(code, request(RequestCode::ListPending, fields)).await;
        assert!(remark(&answer).contains(why), "{fields:?}: {}", remark(&answer));
    }
    let nowhere = [("topic", "nowhere"), ("key", "order"), ("uniqueKey", "true")];
    client.ask_for(ResponseCode::TopicNotExist, request(RequestCode::RecallByKey, &nowhere)).await;
}
