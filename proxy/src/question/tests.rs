use super::*;
use broker::{Consumer, Subscription};
use model::{
    ClientId, ConnectionId, ConsumeFrom, GroupName, LogOffset, Message, MessageModel, QueueId, QueueOffset,
    Timestamp, TopicName,
};
use proto::v2::{ThreadStackTrace, VerifyMessageResult};
use wire::remoting::Fields;
use wire::stored::Placed;

fn known() -> Register {
    let subscription = Subscription {
        topic: TopicName::new("t").unwrap(),
        filter: Filter::tags("A").unwrap(),
        expression: "A".to_owned(),
        version: 7,
    };
    Register {
        connection: ConnectionId(1),
        client: ClientId("c".into()),
        language: "GO".to_owned(),
        version: 0,
        address: "127.0.0.1:1".parse().unwrap(),
        producers: Vec::new(),
        consumers: vec![Consumer {
            group: GroupName::new("g").unwrap(),
            kind: ConsumeKind::Push,
            model: MessageModel::Clustering,
            from: ConsumeFrom::Last,
            subscriptions: vec![subscription],
        }],
    }
}

fn call(code: RequestCode, ext: &[(&str, &str)], body: Bytes) -> (Call, oneshot::Receiver<Words>) {
    let mut fields = Fields::new();
    for (name, value) in ext {
        fields.set(name, *value);
    }
    let (answer, answered) = oneshot::channel();
    (Call { question: Box::new(Command::request(code, fields, body)), answer }, answered)
}

fn running(stack: bool) -> (Call, oneshot::Receiver<Words>) {
    let stack = if stack { "true" } else { "false" };
    let ext = [("consumerGroup", "g"), ("clientId", "c"), ("jstackEnable", stack)];
    call(RequestCode::GetConsumerRunningInfo, &ext, Bytes::new())
}

fn verify() -> (Call, oneshot::Receiver<Words>) {
    let message = Message {
        flag: 0,
        sys_flag: 0,
        born_at: Timestamp::from_millis(1),
        born_host: "127.0.0.1:1".parse().unwrap(),
        reconsume_times: 2,
        prepared_transaction_offset: 0,
        properties: [("UNIQ_KEY", "ID")].into_iter().collect(),
        body: Bytes::from_static(b"body"),
    };
    let placed = Placed {
        topic: "t",
        queue_id: QueueId(0),
        queue_offset: QueueOffset(0),
        log_offset: LogOffset(0),
        stored_at: Timestamp::from_millis(2),
        store_host: "127.0.0.1:10911".parse().unwrap(),
    };
    let mut bytes = Vec::new();
    wire::stored::encode(&message, &placed, &mut bytes);
    call(RequestCode::ConsumeMessageDirectly, &[("consumerGroup", "g"), ("clientId", "c")], bytes.into())
}

fn answer(mut answered: oneshot::Receiver<Words>) -> Option<Command> {
    answered.try_recv().ok().map(|words| *words.downcast::<Command>().unwrap())
}

fn said(code: Code, frame: Frame) -> TelemetryCommand {
    let status = v2::Status { code: code.into(), message: "so".to_owned() };
    TelemetryCommand { status: Some(status), command: Some(frame) }
}

fn stack_of(nonce: &str, text: &str) -> Frame {
    let thread_stack_trace = Some(text.to_owned());
    Frame::ThreadStackTrace(ThreadStackTrace { nonce: nonce.to_owned(), thread_stack_trace })
}

fn result_of(nonce: &str) -> Frame {
    Frame::VerifyMessageResult(VerifyMessageResult { nonce: nonce.to_owned() })
}

#[test]
fn what_is_known_of_a_consumer_is_told_without_asking_it() {
    let (call, answered) = running(false);
    assert_eq!(Questions::default().ask(call, Some(&known()), 5), None);
    let info: ConsumerRunningInfo = json::read(&answer(answered).unwrap().body).unwrap();
    assert_eq!(info.jstack, None);
    assert_eq!(info.properties["PROP_CONSUME_TYPE"], "CONSUME_PASSIVELY");
    assert_eq!(info.properties["PROP_CONSUMER_START_TIMESTAMP"], "5");
    let [wanted] = info.subscription_set.as_slice() else { panic!("{info:?}") };
    assert_eq!((wanted.topic.as_str(), wanted.sub_string.as_str(), wanted.sub_version), ("t", "A", 7));
}

#[test]
fn a_consumer_says_what_its_threads_are_at() {
    let mut questions = Questions::default();
    let (first, to_first) = running(true);
    let (second, to_second) = running(true);
    let asked = [first, second].map(|call| questions.ask(call, Some(&known()), 5).unwrap());
    let nonces = asked.map(|frame| match frame.command {
        Some(Frame::PrintThreadStackTraceCommand(command)) => command.nonce,
        other => panic!("{other:?}"),
    });
    assert_ne!(nonces[0], nonces[1]);
    assert!(questions.answered(&said(Code::Ok, stack_of(&nonces[1], "at work"))));
    assert!(!questions.answered(&said(Code::Ok, stack_of(&nonces[1], "again"))), "it was answered");
    assert!(!questions.answered(&said(Code::Ok, stack_of("x", "to nothing"))));
    let told = answer(to_second).unwrap();
    let info: ConsumerRunningInfo = json::read(&told.body).unwrap();
    assert_eq!((info.jstack.as_deref(), info.subscription_set.len()), (Some("at work"), 1));
    assert!(questions.answered(&said(Code::Unsupported, stack_of(&nonces[0], ""))));
    let told = answer(to_first).unwrap();
    assert_eq!(told.code, ResponseCode::SystemError.number());
    assert_eq!(told.remark.as_deref(), Some("the client answered UNSUPPORTED: so"));
}

#[test]
fn a_consumer_is_given_a_message_and_says_how_it_went() {
    for (code, expected) in [
        (Code::Ok, Ok("CR_SUCCESS")),
        (Code::FailedToConsumeMessage, Ok("CR_LATER")),
        (Code::MessageCorrupted, Ok("CR_RETURN_NULL")),
        (Code::VerifyFifoMessageUnsupported, Err(ResponseCode::NoPermission)),
        (Code::NotImplemented, Err(ResponseCode::SystemError)),
    ] {
        let mut questions = Questions::default();
        let (call, answered) = verify();
        let asked = questions.ask(call, Some(&known()), 5).unwrap();
        let Some(Frame::VerifyMessageCommand(command)) = asked.command else { panic!("{asked:?}") };
        let message = command.message.unwrap();
        let system = message.system_properties.unwrap();
        assert_eq!((&*message.body, message.topic.unwrap().name.as_str()), (&b"body"[..], "t"));
        assert_eq!((system.message_id.as_str(), system.delivery_attempt()), ("ID", 1));
        assert!(questions.answered(&said(code, result_of(&command.nonce))));
        let told = answer(answered).unwrap();
        match expected {
            Ok(result) => {
                let consumed: ConsumedDirectly = json::read(&told.body).unwrap();
                assert_eq!((told.code, consumed.consume_result.as_str()), (0, result));
            }
            Err(refused) => assert_eq!(told.code, refused.number()),
        }
    }
}

#[test]
fn what_nobody_waits_for_is_forgotten_and_what_no_client_answers_is_dropped() {
    let mut questions = Questions::default();
    let (call_, answered) = running(true);
    questions.ask(call_, None, 5).unwrap();
    drop(answered);
    let (other, answered) = call(RequestCode::GetConsumerStatusFromClient, &[], Bytes::new());
    assert_eq!(questions.ask(other, None, 5), None);
    assert!(questions.open.is_empty());
    assert!(answer(answered).is_none());
    let (nothing, answered) =
        call(RequestCode::ConsumeMessageDirectly, &[("consumerGroup", "g")], Bytes::from_static(b"none"));
    assert_eq!(questions.ask(nothing, None, 5), None);
    assert!(answer(answered).is_none());
}
