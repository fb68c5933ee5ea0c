//! A connection's bounds and its end.

use super::*;
use bytes::BufMut as _;

/// Whether the server closes a connection on which `bytes` arrive.
async fn closes(server: &Server, bytes: &[u8]) -> bool {
    let mut client = server.connect();
    client.ask_for(ResponseCode::Success, send("T", b"body", &[])).await;
    client.send_bytes(bytes).await;
    client.hear().await.is_none()
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_frame_close_their_connection_and_no_other() {
    let server = Server::start();
    let mut other = server.connect();
    let frame = |header: &[u8], dialect: u8| {
        let mut bytes = BytesMut::new();
        bytes.put_u32(4 + header.len() as u32);
        bytes.put_u32(u32::from(dialect) << 24 | header.len() as u32);
        bytes.put_slice(header);
        bytes
    };
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xFF; 16],
        &(16_u32 << 20).to_be_bytes()[..],
        &[0, 0, 0, 0],
        &frame(br#"{"code":310,"opaque":1"#, 0),
        &frame(b"{}", 0),
        &frame(b"{}", 7),
        &frame(&[0; 12], 1),
    ] {
        assert!(closes(&server, bytes).await, "{bytes:?}");
    }
    other.ask_for(ResponseCode::Success, send("T", b"body", &[])).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_wants_no_answer_gets_none_not_even_an_error() {
    let mut client = Server::start().connect();
    let mut unknown = request(RequestCode::SendMessage, &[]);
    unknown.code = 9999;
    client.tell(unknown.one_way()).await;
    client.tell(request(RequestCode::GetMaxOffset, &[]).one_way()).await;
    client.tell(send("T", b"stored", &[]).one_way()).await;
    let pulled = client.ask_for(ResponseCode::Success, pull("T", 0, 1000)).await;
    assert_eq!(messages(&pulled)[0].0.body, "stored");
}

#[tokio::test(start_paused = true)]
async fn what_a_client_says_just_before_it_closes_is_done() {
    let server = Server::start();
    for _ in 0..20 {
        let mut client = server.connect();
        client.tell(send("T", b"last words", &[]).one_way()).await;
    }
    sleep(Duration::from_millis(10)).await;
    let queue = request(RequestCode::GetMaxOffset, &[("topic", "T"), ("queueId", "0")]);
    assert_eq!(field(&server.connect().ask(queue).await, "offset"), 20);
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_nothing_asked_is_passed_over() {
    let mut client = Server::start().connect();
    client.tell(request(RequestCode::SendMessage, &[]).answer(ResponseCode::Success)).await;
    client.ask_for(ResponseCode::Success, send("T", b"body", &[])).await;
}

#[tokio::test(start_paused = true)]
async fn requests_that_wait_do_not_hold_up_the_others() {
    let mut client = Server::start().connect();
    client.ask_for(ResponseCode::Success, send("T", b"one", &[])).await;
    let waiting = client.tell(pull("T", 1, 15_000)).await;
    client.ask_for(ResponseCode::Success, send("U", b"other", &[])).await;
    let sent = client.tell(send("T", b"two", &[])).await;
    let (first, second) = (client.hear().await.unwrap(), client.hear().await.unwrap());
    let mut opaques = [first.opaque, second.opaque];
    opaques.sort_unstable();
    assert_eq!(opaques, [waiting, sent]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_enough_to_answer_is_not_read_from() {
    let mut settings = Settings::new(store_host());
    settings.in_flight_max = 2;
    let mut client = Server::start_with(settings, |_| {}).connect();
    client.ask_for(ResponseCode::Success, send("T", b"one", &[])).await;
    let began = Instant::now();
    let first = client.tell(pull("T", 1, 5000)).await;
    let second = client.tell(pull("T", 1, 9000)).await;
    let third = client.tell(request(RequestCode::GetMaxOffset, &[("topic", "T"), ("queueId", "0")])).await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push((client.hear().await.unwrap().opaque, began.elapsed().as_secs()));
    }
    assert_eq!(heard, [(first, 5), (third, 5), (second, 9)]);
}

/// Asks `bursts` times 100 questions, a second apart, and reads no answer until the server reads no more; then all.
async fn ask_without_reading(settings: Settings, bursts: i32) {
    let server = Server::start_with(settings, |_| {});
    let (ours, theirs) = tokio::io::duplex(100);
    let service = Arc::new(server.service.clone());
    let peer = "127.0.0.1:4000".parse().unwrap();
    tokio::spawn(serve_connection(
        theirs,
        peer,
        service,
        Arc::clone(&server.settings),
        server.shutdown.clone(),
    ));
    let (mut reader, mut writer) = tokio::io::split(ours);
    let ask = tokio::spawn(async move {
        for burst in 0..bursts {
            let mut bytes = BytesMut::new();
            for n in 0..100 {
                let mut command = request(RequestCode::GetMaxOffset, &[("topic", "T"), ("queueId", "0")]);
                command.opaque = burst * 100 + n;
                command.encode(&mut bytes);
            }
            writer.write_all(&bytes).await.unwrap();
            sleep(Duration::from_secs(1)).await;
        }
        writer
    });
    sleep(Duration::from_secs(10)).await;
    assert!(!ask.is_finished(), "the requests fit nowhere while no answer is read");
    let (mut inbox, mut heard) = (BytesMut::new(), Vec::new());
    while heard.len() < bursts as usize * 100 {
        reader.read_buf(&mut inbox).await.unwrap();
        while let Some(answer) = frame::decode(&mut inbox, frame::MAX_BYTES).unwrap() {
            heard.push(answer.opaque);
        }
    }
    heard.sort_unstable();
    assert_eq!(heard, (0..bursts * 100).collect::<Vec<_>>(), "nothing is lost");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_read_from_beyond_its_requests_in_flight() {
    let mut settings = Settings::new(store_host());
    settings.outbox_bytes_max = 1000;
    settings.in_flight_max = 8;
    ask_without_reading(settings, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_read_from_beyond_the_bytes_it_has_to_read() {
    let mut settings = Settings::new(store_host());
    settings.outbox_bytes_max = 1000;
    ask_without_reading(settings, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_given_more_than_its_bytes_of_answers() {
    let mut settings = Settings::new(store_host());
    settings.answer_bytes_max = 4 << 20;
    let mut client = Server::start_with(settings, |_| {}).connect();
    let mut large = send("T", b"", &[("KEYS", "key")]);
    large.body = vec![7; 1 << 20].into();
    client.ask_for(ResponseCode::Success, large).await;

    let query = [("topic", "T"), ("key", "key"), ("maxNum", "1"), ("beginTimestamp", "0")];
    let mut query = request(RequestCode::QueryMessage, &query);
    query.ext.set("endTimestamp", i64::MAX);
    let (mut pulls, mut queries) = (0, 0);
    for _ in 0..20 {
        client.tell(pull("T", 0, 0)).await;
        client.tell(query.clone()).await;
    }
    sleep(Duration::from_secs(1)).await;
    let (mut found, mut refused) = (0, Vec::new());
    for _ in 0..40 {
        let answer = client.hear().await.unwrap();
        match answer.code {
            0 => found += 1,
            20 => {
                pulls += 1;
                assert_eq!(field(&answer, "nextBeginOffset"), 0, "the same again");
                refused.push(answer);
            }
            _ => {
                queries += 1;
                assert_eq!(answer.code, 2, "{answer:?}");
                refused.push(answer);
            }
        }
    }
    // Beside what waits in the outbox, some may have left it already, and lie in the stream.
    assert!((3..8).contains(&found), "{found} of a bit more than a megabyte");
    assert!(pulls > 10 && queries > 10, "{pulls} pulls, {queries} queries");
    for answer in refused {
        assert!(remark(&answer).contains("bytes of answers wait to be read") && answer.body.is_empty());
        assert!(remark(&answer).ends_with("the limit is 4194304"), "{}", remark(&answer));
    }
    client.ask_for(ResponseCode::Success, pull("T", 0, 0)).await;
}

#[tokio::test(start_paused = true)]
async fn one_answer_always_fits() {
    let mut settings = Settings::new(store_host());
    settings.answer_bytes_max = 1000;
    let mut client = Server::start_with(settings, |_| {}).connect();
    let mut large = send("T", b"", &[]);
    large.body = vec![7; 100_000].into();
    client.ask_for(ResponseCode::Success, large).await;
    client.ask_for(ResponseCode::Success, pull("T", 0, 0)).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_closed_once_both_sides_are_silent_for_too_long() {
    let mut settings = Settings::new(store_host());
    assert_eq!(settings.idle_max, Duration::from_mins(2));
    settings.idle_max = Duration::from_secs(3);
    let server = Server::start_with(settings, |_| {});
    let mut client = server.connect();
    let began = Instant::now();
    sleep(Duration::from_secs(2)).await;
    client.ask_for(ResponseCode::Success, send("T", b"body", &[])).await;
    client.ask_for(ResponseCode::PullNotFound, pull("T", 1, 2000)).await;
    assert!(client.hear().await.is_none());
    assert_eq!(began.elapsed().as_secs(), 7, "3 s after the answer was written");
}

#[tokio::test(start_paused = true)]
async fn what_a_client_waited_for_is_taken_back_when_it_is_gone() {
    let server = Server::start();
    let mut client = server.connect();
    client.ask_for(ResponseCode::Success, send("T", b"one", &[])).await;
    client.tell(pull("T", 1, 60_000)).await;
    sleep(Duration::from_millis(10)).await;
    assert_eq!(server.stats().parked, 1);
    drop(client);
    sleep(Duration::from_millis(10)).await;
    assert_eq!(server.stats().parked, 0);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_answers_what_came_before_and_lets_go_of_what_waits() {
    let server = Server::start();
    let mut client = server.connect();
    client.ask_for(ResponseCode::Success, send("T", b"one", &[])).await;
    let began = Instant::now();
    client.tell(pull("T", 1, 60_000)).await;
    let sent = client.tell(send("U", b"last", &[])).await;
    // The requests are taken before the connection hears of the shutdown.
    tokio::task::yield_now().await;
    server.shutdown.cancel();
    assert_eq!(client.hear().await.unwrap().opaque, sent);
    assert!(client.hear().await.is_none());
    assert_eq!(began.elapsed().as_secs(), 1);

    let mut idle = server.connect();
    assert!(idle.hear().await.is_none(), "who asks for nothing is let go at once");
}
