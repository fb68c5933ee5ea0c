use super::*;
use bytes::{Bytes, BytesMut};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::mpsc;
use wire::remoting::{Fields, frame};

/// The server's end of a connection.
struct Server {
    stream: DuplexStream,
    inbox: BytesMut,
}

impl Server {
    async fn request(&mut self) -> Command {
        loop {
            if let Some(command) = frame::decode(&mut self.inbox, frame::MAX_BYTES).unwrap() {
                return command;
            }
            assert_ne!(self.stream.read_buf(&mut self.inbox).await.unwrap(), 0, "the client closed");
        }
    }

    async fn send(&mut self, command: &Command) {
        let mut bytes = BytesMut::new();
        command.encode(&mut bytes);
        self.stream.write_all(&bytes).await.unwrap();
    }
}

fn connected(hear: impl FnMut(Command) + Send + 'static) -> (Client, Server) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    (Client::over(ours, hear), Server { stream: theirs, inbox: BytesMut::new() })
}

fn request(mark: i32) -> Command {
    Command::request(RequestCode::GetMaxOffset, Fields::from_iter([("mark", mark)]), Bytes::new())
}

#[tokio::test]
async fn answers_find_their_requests_in_any_order() {
    let (client, mut server) = connected(|_| {});
    let serve = async {
        let mut requests = Vec::new();
        for _ in 0..3 {
            requests.push(server.request().await);
        }
        for request in requests.iter().rev() {
            let mut answer = request.answer(ResponseCode::Success);
            answer.ext = request.ext.clone();
            server.send(&answer).await;
        }
    };
    let (a, b, c, ()) =
        tokio::join!(client.call(request(1)), client.call(request(2)), client.call(request(3)), serve);
    let marks = [a, b, c].map(|answer| answer.unwrap().ext.get("mark").unwrap().to_owned());
    assert_eq!(marks, ["1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_times_out_and_the_next_is_answered() {
    let (client, mut server) = connected(|_| {});
    let limit = Duration::from_secs(3);
    assert_eq!(client.call(request(1)).await, Err(CallError::TimedOut { code: 30, limit }));
    let serve = async {
        let late = server.request().await;
        let next = server.request().await;
        server.send(&late.answer(ResponseCode::SystemError)).await;
        server.send(&next.answer(ResponseCode::Success)).await;
    };
    let (answer, ()) = tokio::join!(client.call(request(2)), serve);
    assert_eq!(answer.unwrap().code, 0);
}

#[tokio::test]
async fn what_the_server_asks_is_heard_even_under_a_number_that_waits() {
    let (heard, mut hear) = mpsc::unbounded_channel();
    let (client, mut server) = connected(move |command| heard.send(command.code).unwrap());
    let serve = async {
        let asked = server.request().await;
        let mut notice = Command::request(RequestCode::NotifyConsumerIdsChanged, Fields::new(), Bytes::new());
        notice.opaque = asked.opaque;
        server.send(&notice.one_way()).await;
        server.send(&asked.answer(ResponseCode::Success)).await;
    };
    let (answer, ()) = tokio::join!(client.call(request(1)), serve);
    assert_eq!((answer.unwrap().code, hear.recv().await), (0, Some(40)));
}

#[tokio::test]
async fn whoever_waits_hears_that_the_connection_is_gone() {
    let (client, server) = connected(|_| {});
    let close = async {
        drop(server);
    };
    let (answer, ()) = tokio::join!(client.call(request(1)), close);
    assert_eq!(answer, Err(CallError::Closed));
    assert_eq!(client.call(request(2)).await, Err(CallError::Closed));
}

#[tokio::test]
async fn a_refusal_is_a_sentence_with_the_code_and_the_reason() {
    let (client, mut server) = connected(|_| {});
    let serve = async {
        let asked = server.request().await;
        let mut answer = asked.answer(ResponseCode::MessageIllegal);
        answer.remark = Some("the body is empty".into());
        server.send(&answer).await;
    };
    let properties = model::Properties::new();
    let (sent, ()) = tokio::join!(client.send("T", Bytes::new(), &properties), serve);
    let error = sent.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server answered MESSAGE_ILLEGAL (13) to SEND_MESSAGE_V2: the body is empty"
    );
    assert_eq!(error.code(), Some(ResponseCode::MessageIllegal));
}
