use super::*;
use crate::cli::{Cli, Command, Topic};
use clap::Parser;

fn args(line: &[&str]) -> CreateTopic {
    let line = ["duemq", "topic", "create", "orders"].iter().chain(line);
    match Cli::try_parse_from(line).unwrap().command {
        Command::Topic(Topic::Create(args)) => args,
        other => panic!("{other:?} is another command"),
    }
}

fn delay_topic_of_16() -> TopicConfig {
    let attributes = [(KIND.to_owned(), "DELAY".to_owned())].into();
    TopicConfig { attributes, perm: 4, ..TopicConfig::default() }
}

fn outcome(line: &[&str], before: Option<&TopicConfig>) -> (Header, String) {
    let topic = TopicName::new("orders").unwrap();
    let header = wanted(&args(line), &topic, before);
    let told = told(&header, before);
    (header, told)
}

#[test]
fn a_new_topic_takes_all_kinds_in_eight_queues() {
    let (header, told) = outcome(&[], None);
    assert_eq!((header.read_queues, header.write_queues, header.permission), (8, 8, 6));
    assert_eq!(told, "made: MIXED messages, 8 queues");
    assert_eq!(hidden(&header, None), None);
}

#[test]
fn what_is_not_given_stays_as_it_is() {
    let before = delay_topic_of_16();
    let (header, told) = outcome(&["--queues", "20"], Some(&before));
    assert_eq!(header.attributes.as_deref(), Some("+message.type=DELAY"));
    assert_eq!((header.read_queues, header.permission), (20, 4));
    assert_eq!(told, "changed from DELAY messages, 16 queues to DELAY messages, 20 queues");
    let (header, told) = outcome(&["--type", "fifo"], Some(&before));
    assert_eq!((header.read_queues, header.write_queues), (16, 16));
    assert_eq!(told, "changed from DELAY messages, 16 queues to FIFO messages, 16 queues");
    assert_eq!(outcome(&[], Some(&before)).1, "unchanged: DELAY messages, 16 queues");
}

#[test]
fn queues_that_go_are_told_of() {
    let before = delay_topic_of_16();
    let (header, _) = outcome(&["--queues", "1"], Some(&before));
    let told = hidden(&header, Some(&before)).unwrap();
    assert!(told.contains("queues 1 to 15") && told.contains("16 queues again"), "{told}");
    assert_eq!(hidden(&outcome(&[], Some(&before)).0, Some(&before)), None);
}
