use super::*;
use model::TopicName;

fn status(code: Code) -> v2::Status {
    Refused::new(code, "x").into()
}

#[test]
fn entries_that_ended_alike_give_their_code_and_others_point_to_the_entries() {
    let (ok, bad) = (status(Code::Ok), status(Code::InvalidReceiptHandle));
    let of = |entries: &[&v2::Status]| of_entries(entries.iter().map(|status| Some(*status))).code();
    assert_eq!(of(&[]), Code::Ok);
    assert_eq!(of(&[&ok, &ok]), Code::Ok);
    assert_eq!(of(&[&bad, &bad]), Code::InvalidReceiptHandle);
    assert_eq!(of(&[&ok, &bad]), Code::MultipleResults);
}

#[test]
fn a_delay_past_the_limit_is_an_illegal_delivery_time_that_names_value_and_limit() {
    let why = SendRefusal::TooFar {
        property: "TIMER_DELIVER_MS",
        value: "1700000000000".to_owned(),
        ahead_ms: 99,
        limit_ms: 10,
    };
    let refused = Refused::from(why);
    assert_eq!(refused.code, Code::IllegalDeliveryTime);
    for word in ["TIMER_DELIVER_MS", "1700000000000", "99", "10"] {
        assert!(refused.text.contains(word), "{word} is missing in {:?}", refused.text);
    }
}

#[test]
fn refusals_of_the_broker_have_the_codes_that_clients_act_on() {
    let topic = TopicName::new("t").unwrap();
    let send = |why| Refused::from(why).code;
    assert_eq!(send(SendRefusal::TopicUnknown { topic: topic.clone() }), Code::TopicNotFound);
    assert_eq!(send(SendRefusal::Busy { what: "x" }), Code::TooManyRequests);
    assert_eq!(send(SendRefusal::TimerDisabled), Code::InternalServerError);
    assert_eq!(send(SendRefusal::TooManyPending { pending: 5, limit: 5 }), Code::TooManyRequests);
    let second = model::Timestamp::from_millis(0);
    assert_eq!(
        send(SendRefusal::TooManyPendingInSecond { second, pending: 5, limit: 5 }),
        Code::TooManyRequests
    );
    assert_eq!(
        Refused::from(PopError::from(broker::ParkedFull { unit: "requests", parked: 1, limit: 1 })).code,
        Code::TooManyRequests
    );
    assert_eq!(Refused::from(AckError::LeaseOver).code, Code::InvalidReceiptHandle);
    assert_eq!(Refused::from(AckError::TopicUnknown { topic }).code, Code::TopicNotFound);
    assert_eq!(Refused::from(Unavailable::Busy).code, Code::TooManyRequests);
}

#[test]
fn a_stream_ends_with_the_callers_fault_only_for_codes_of_the_callers() {
    let of = |code| tonic::Status::from(Refused::new(code, "x")).code();
    assert_eq!(of(Code::IllegalTopic), tonic::Code::InvalidArgument);
    assert_eq!(of(Code::TooManyRequests), tonic::Code::ResourceExhausted);
    assert_eq!(of(Code::InternalServerError), tonic::Code::Internal);
}
