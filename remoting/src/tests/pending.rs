//! What waits is listed, counted, moved and called back.

use super::*;
use wire::remoting::json;
use wire::remoting::pending::{Counts, Recalled, Rescheduled, Stretches};

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
    assert_eq!((bodies(&page), page.ext.get("levels")), (vec!["first".into(), "second".into()], Some("0,0")));
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
async fn what_waits_is_given_another_moment_and_counted_by_when_it_is_due() {
    let mut client = Server::start().connect();
    for (body, delay, value) in [(&b"first"[..], "TIMER_DELAY_SEC", "10"), (b"second", "DELAY", "18")] {
        let properties = [(delay, value), ("KEYS", "order"), ("UNIQ_KEY", "id")];
        client.ask_for(ResponseCode::Success, send("T", body, &properties)).await;
    }
    let hours = async |client: &mut Client| {
        let hour = request(RequestCode::PendingHistogram, &[("topic", "T"), ("widthMs", "3600000")]);
        let answer = client.ask_for(ResponseCode::Success, hour).await;
        assert_eq!(answer.ext.get("nextDeliverAt"), None);
        let counts: Stretches = json::read(&answer.body).unwrap();
        counts.counts
    };
    let before = hours(&mut client).await;
    assert_eq!(before.values().collect::<Vec<_>>(), [&1, &1]);
    let move_it = async |client: &mut Client, key: &str, more: &[(&str, &str)]| {
        let fields = [&[("topic", "T"), ("key", key)], more].concat();
        let answer = client.ask_for(ResponseCode::Success, request(RequestCode::Reschedule, &fields)).await;
        json::read::<Rescheduled>(&answer.body).unwrap()
    };
    let day = [("delayMs", "86400000")];
    let none = move_it(&mut client, "order", &[day[0], ("uniqueKey", "TRUE")]).await;
    assert_eq!((none.moved.len(), none.recalled, none.visible), (0, false, 0));
    let done = move_it(&mut client, "order", &day).await;
    assert_eq!((done.moved.len(), done.moved[0].id.as_str(), done.before_log_offset), (2, "id", None));
    assert!(done.moved.iter().all(|moved| moved.from + 79_000_000 < done.deliver_at));
    let after = hours(&mut client).await;
    assert_eq!(after.into_iter().collect::<Vec<_>>(), [(done.deliver_at / 3_600_000 * 3_600_000, 2)]);
    let page =
        client.ask_for(ResponseCode::Success, request(RequestCode::ListPending, &[("topic", "T")])).await;
    assert_eq!(
        (bodies(&page), page.ext.get("levels")),
        (vec!["first".into(), "second".into()], Some("0,18"))
    );
    let at = [("uniqueKey", "true"), ("deliverAt", "0")];
    let now = move_it(&mut client, "id", &at).await;
    assert_eq!((now.moved.len(), now.moved[0].from), (2, done.deliver_at));
    assert!(now.deliver_at > 0, "a moment that has passed is now");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_wish_for_another_moment_is_refused_with_the_reason() {
    let mut client = Server::start().connect();
    client.ask_for(ResponseCode::Success, send("T", b"stays", &[("TIMER_DELAY_SEC", "10")])).await;
    let of_key = [("topic", "T"), ("key", "order")];
    for (code, more, why) in [
        (ResponseCode::InvalidParameter, &[][..], "deliverAt or delayMs"),
        (ResponseCode::InvalidParameter, &[("deliverAt", "7"), ("delayMs", "7")], "not both"),
        (ResponseCode::InvalidParameter, &[("delayMs", "7"), ("key", "")], "the key is empty"),
        (ResponseCode::InvalidParameter, &[("delayMs", "7"), ("beforeLogOffset", "-1")], "-1"),
        (ResponseCode::MessageIllegal, &[("delayMs", "9223372036854775807")], "9223372036854775807 ms ahead"),
        (ResponseCode::TopicNotExist, &[("delayMs", "7"), ("topic", "nowhere")], "nowhere"),
    ] {
        let answer = client.ask_for(code, request(RequestCode::Reschedule, &[&of_key, more].concat())).await;
        assert!(remark(&answer).contains(why), "{more:?}: {}", remark(&answer));
    }
    for code in [RequestCode::RecallByKey, RequestCode::Reschedule] {
        let maybe = [&of_key[..], &[("uniqueKey", "maybe"), ("delayMs", "7")]].concat();
        let answer = client.ask(request(code, &maybe)).await;
        assert!(remark(&answer).contains("uniqueKey is \"maybe\", not true or false"), "{}", remark(&answer));
        assert_ne!(answer.code, 0, "{code:?}");
    }
    for width in ["0", "-1"] {
        let ask = request(RequestCode::PendingHistogram, &[("widthMs", width)]);
        let answer = client.ask_for(ResponseCode::InvalidParameter, ask).await;
        assert!(remark(&answer).contains("widthMs"), "{}", remark(&answer));
    }
    let nowhere = request(RequestCode::PendingHistogram, &[("widthMs", "1"), ("topic", "nowhere")]);
    client.ask_for(ResponseCode::TopicNotExist, nowhere).await;
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
