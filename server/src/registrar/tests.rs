use super::*;
use broker::{Reply, Request};
use bytes::BytesMut;
use model::{Permission, TopicId, TopicKind};
use service::{Input, Local, NodeReply, NodeRequest};
use std::sync::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use wire::remoting::{Command, RequestCode, ResponseCode, frame};

/// Longer than any of it takes, and less than the period after which all is told anyway.
const LIMIT: Duration = Duration::from_secs(20);

fn topic(name: &str, queues: u32) -> Topic {
    Topic {
        name: TopicName::new(name).unwrap(),
        id: TopicId(1),
        read_queues: queues,
        write_queues: queues,
        permission: Permission::READ_WRITE,
        kind: TopicKind::Delay,
        order: false,
        sys_flag: 0,
    }
}

/// A broker that serves what the list holds.
fn broker(topics: &Arc<Mutex<Vec<Topic>>>) -> Arc<dyn Service> {
    let (local, inputs) = Local::new(16);
    let topics = Arc::clone(topics);
    std::thread::spawn(move || {
        for input in inputs {
            let Input::Ask(_, NodeRequest::Broker(Request::GetTopics(_)), Some(answer)) = input else {
                return;
            };
            let _ = answer.send(NodeReply::Broker(Reply::GetTopics(topics.lock().unwrap().clone())));
        }
    });
    Arc::new(local)
}

/// A name server's end of a connection.
struct Names {
    stream: TcpStream,
    inbox: BytesMut,
}

impl Names {
    async fn accept(listener: &TcpListener) -> Self {
        let (stream, _) = timeout(LIMIT, listener.accept()).await.unwrap().unwrap();
        Self { stream, inbox: BytesMut::new() }
    }

    /// The next request, which is answered well.
    async fn hear(&mut self, code: RequestCode) -> Command {
        let request = loop {
            if let Some(request) = frame::decode(&mut self.inbox, frame::MAX_BYTES).unwrap() {
                break request;
            }
            let read = timeout(LIMIT, self.stream.read_buf(&mut self.inbox)).await.unwrap().unwrap();
            assert_ne!(read, 0, "the broker closed");
        };
        assert_eq!(request.code, code.number());
        let mut bytes = BytesMut::new();
        request.answer(ResponseCode::Success).encode(&mut bytes);
        self.stream.write_all(&bytes).await.unwrap();
        request
    }

    /// The topics of the next registration: name, queues and permission.
    async fn registered(&mut self) -> Vec<(String, u32, u32)> {
        let request = self.hear(RequestCode::RegisterBroker).await;
        let header = Header::read(&request.ext).unwrap();
        assert_eq!((header.name.as_str(), header.address.as_str(), header.id), ("b", "127.0.0.1:10911", 0));
        assert_eq!(header.body_crc32, Some(wire::remoting::register::checksum(&request.body)));
        let body = Body::read(&request.body, header.compressed).unwrap().topic_config_serialize_wrapper;
        let shown = |topic: TopicConfig| (topic.topic_name, topic.write_queue_nums, topic.perm);
        body.topic_config_table.into_values().map(shown).collect()
    }
}

#[tokio::test]
async fn all_topics_are_told_then_what_changes_and_all_again_over_a_new_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let topics = Arc::new(Mutex::new(vec![topic("one", 4), topic("two", 1)]));
    let (changed, changes) = watch::channel(1);
    let ours = Ours {
        cluster: "c".into(),
        name: "b".into(),
        address: "127.0.0.1:10911".parse().unwrap(),
        began_ms: 1_700_000_000_000,
    };
    let address = listener.local_addr().unwrap().to_string();
    let registrar = Registrar::start(&[address], &ours, &broker(&topics), &changes);
    let all = [("one".to_owned(), 4, 6), ("two".to_owned(), 1, 6)];

    let mut names = Names::accept(&listener).await;
    assert_eq!(names.registered().await, all);
    topics.lock().unwrap().push(topic("three", 3));
    changed.send_replace(2);
    assert_eq!(names.registered().await, [("three".to_owned(), 3, 6)]);
    topics.lock().unwrap().pop();
    changed.send_replace(3);
    assert_eq!(names.registered().await, [("three".to_owned(), 0, 0)], "it is no longer served");

    drop(names);
    let mut names = Names::accept(&listener).await;
    assert_eq!(names.registered().await, all, "the name server forgot, and need not be told what is gone");

    let (goes, ()) = tokio::join!(names.hear(RequestCode::UnregisterBroker), registrar.stop());
    assert_eq!(goes.ext.get("brokerName"), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn a_name_server_that_is_not_there_does_not_hold_up_a_stop() {
    let (_changed, changes) = watch::channel(1);
    let ours = Ours {
        cluster: "c".into(),
        name: "b".into(),
        address: "127.0.0.1:10911".parse().unwrap(),
        began_ms: 0,
    };
    let registrar = Registrar::start(&["127.0.0.1:1".into()], &ours, &broker(&Arc::default()), &changes);
    sleep(PERIOD).await;
    let began = Instant::now();
    registrar.stop().await;
    assert!(began.elapsed() < STOP_MAX);
}

#[test]
fn an_address_of_this_machine_is_known_by_its_words() {
    for (address, expected) in [
        ("127.0.0.1:9876", true),
        ("localhost:9876", true),
        ("[::1]:9876", true),
        ("10.0.0.1:9876", false),
        ("names.example:9876", false),
    ] {
        assert_eq!(is_loopback(address), expected, "{address}");
    }
}
