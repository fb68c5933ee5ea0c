use super::*;
use crate::cli::{Cli, Command};
use clap::Parser;

fn args(line: &[&str]) -> Send {
    let line = ["duemq", "send", "orders", "hello"].iter().chain(line);
    match Cli::try_parse_from(line).unwrap().command {
        Command::Send(args) => args,
        other => panic!("{other:?} is another command"),
    }
}

fn noon() -> ZonedDateTime {
    "2026-12-24T12:00:00+00:00[UTC]".parse().unwrap()
}

fn told(line: &[&str]) -> Vec<(String, String)> {
    let args = args(line);
    let properties = properties(&args, &Due::of(&args, &noon()).unwrap());
    properties.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn each_way_to_be_due_is_one_property() {
    assert_eq!(told(&[]), []);
    assert_eq!(told(&["--delay", "15m"]), [("TIMER_DELAY_MS".into(), "900000".into())]);
    assert_eq!(told(&["--level", "3"]), [("DELAY".into(), "3".into())]);
    let at = [("TIMER_DELIVER_MS".into(), "1798128000000".into())];
    assert_eq!(told(&["--at", "2026-12-25T00:00:00+08:00"]), at);
}

#[test]
fn tag_and_keys_travel_as_rocketmq_names_them() {
    let told = told(&["--tag", "T", "--key", "a", "--key", "b"]);
    assert_eq!(told, [("TAGS".into(), "T".into()), ("KEYS".into(), "a b".into())]);
}

#[test]
fn a_moment_that_hangs_on_the_server_is_said_to_be_about() {
    assert!(Due::Level(3).said(&noon()).starts_with("due about 2026-12-24"));
    assert_eq!(Due::Level(19).said(&noon()), "due after the duration of delay level 19");
}

#[test]
fn a_moment_that_is_past_is_said_to_be() {
    assert!(Due::At(0).said(&noon()).contains("at once"));
    assert!(
        Due::After(900_000).said(&noon()).starts_with("due about 2026-12-24")
            || cfg!(not(target_os = "linux"))
    );
}
