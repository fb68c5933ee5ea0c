use super::*;
use clap::CommandFactory;

fn parsed(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split_whitespace())
}

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

#[test]
fn a_message_is_due_in_one_way_only() {
    assert!(parsed("duemq send orders hello --delay 10s").is_ok());
    assert!(parsed("duemq send orders hello --at 2026-12-25T00:00:00+08:00").is_ok());
    assert!(parsed("duemq send orders hello --level 3").is_ok());
    assert!(parsed("duemq send orders hello --delay 10s --level 3").is_err());
    let said = parsed("duemq send orders hello --delay 10").unwrap_err().to_string();
    assert!(said.contains("10s"), "{said}");
    assert!(parsed("duemq send orders hello --delay -5s").unwrap_err().to_string().contains("negative"));
}

#[test]
fn flags_of_serve_are_settings() {
    let Ok(Cli { command: Command::Serve(serve) }) =
        parsed("duemq serve --data d --grpc-port 1 --set max_delay=30d --set flushDiskType=ASYNC_FLUSH")
    else {
        panic!("these flags must be understood")
    };
    let settings = crate::settings::Settings::check(&serve.raw(std::iter::empty()).unwrap()).unwrap();
    assert_eq!((settings.data, settings.ports.grpc), (PathBuf::from("d"), 1));
    assert_eq!((settings.max_delay_ms, settings.flush), (30 * 86_400_000, broker::Flush::Async));
}

#[test]
fn a_setting_without_a_value_is_refused_with_an_example() {
    assert!(parsed("duemq serve --set max_delay").unwrap_err().to_string().contains("max_delay=30d"));
}
