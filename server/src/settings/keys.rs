//! The table of all settings, and of the names RocketMQ has for them.

use std::fmt::Write;

/// One setting, as a person meets it.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name in the file; `DUEMQ_` and this in capitals is its name in the environment.
    pub name: &'static str,
    /// What holds where nobody says anything, as it would be written.
    pub default: &'static str,
    /// What may be written: the second half of «… must be …».
    pub wanted: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// Every setting there is, in the order a person would ask for them.
pub const KEYS: &[Key] = &[
    Key {
        name: "data",
        default: "duemq-data",
        wanted: "the path of a folder",
        meaning: "where everything is kept; made where it is missing",
    },
    Key {
        name: "listen",
        default: "127.0.0.1",
        wanted: "an IP address of this machine or a name of it; 0.0.0.0 is all of them",
        meaning: "the address the ports are opened on",
    },
    Key {
        name: "advertise",
        default: "",
        wanted: "an IP address or a name that clients reach, not 0.0.0.0; empty for what follows from listen",
        meaning: "the address that clients are told to come to",
    },
    Key {
        name: "namesrv_port",
        default: "9876",
        wanted: "a port, 0 to 65535; 0 takes any free one",
        meaning: "the name server: the one address a remoting client is given",
    },
    Key {
        name: "broker_port",
        default: "10911",
        wanted: "a port, 0 or 3 to 65535; 0 takes any free one",
        meaning: "the broker; the port two below it is opened as well, where some clients look for it",
    },
    Key {
        name: "proxy_port",
        default: "8080",
        wanted: "a port, 0 to 65535; 0 takes any free one",
        meaning: "the proxy: remoting clients that are given this address come to no other port; gRPC as well",
    },
    Key {
        name: "grpc_port",
        default: "8081",
        wanted: "a port, 0 to 65535; 0 takes any free one",
        meaning: "gRPC clients, plaintext and TLS on the same port",
    },
    Key {
        name: "cluster",
        default: "DefaultCluster",
        wanted: "1 to 127 letters, digits, _ or -",
        meaning: "the cluster's name, as tools show it",
    },
    Key {
        name: "broker_name",
        default: "",
        wanted: "1 to 127 letters, digits, _ or -; empty for the name saved at the first start, duemq-<host>",
        meaning: "the broker's name; recall and receipt handles carry it, so it stays for the life of the data",
    },
    Key {
        name: "name_servers",
        default: "",
        wanted: "addresses such as 10.0.0.9:9876 separated by blanks, or a list of them; empty for none",
        meaning: "name servers of other processes, where this broker registers besides its own",
    },
    Key {
        name: "flush",
        default: "sync",
        wanted: "sync (acknowledged means on disk) or async (acknowledged means written, on disk soon after)",
        meaning: "when a send is acknowledged",
    },
    Key {
        name: "realtime",
        default: "off",
        wanted: "auto (where the system permits it), on (or the server does not start) or off",
        meaning: "whether the engine's thread is in the system's real-time class, so that other programs do not make \
         messages late; while it uses most of a processor it is in the usual class",
    },
    Key {
        name: "max_delay",
        default: "3653d",
        wanted: "a duration from 1s to 36500d, such as 30s, 15m, 2h or 90d",
        meaning: "the longest delay that is taken, the same on every protocol",
    },
    Key {
        name: "delay_levels",
        default: "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
        wanted: "durations with s, m, h or d, separated by blanks, none longer than max_delay",
        meaning: "what delay level 1, 2, 3 … means; a change moves nothing that is pending",
    },
    Key {
        name: "use_delay_level",
        default: "false",
        wanted: "true or false",
        meaning: "whether a gRPC message's delivery time becomes the delay level that is just longer, or the longest",
    },
    Key {
        name: "timer",
        default: "true",
        wanted: "true or false",
        meaning: "whether messages with a due time of their own are taken; levels always are",
    },
    Key {
        name: "pending_max",
        default: "0",
        wanted: "a number from 1 on, or 0 for no limit",
        meaning: "how many messages may wait for their moment; beyond it a delayed message is refused, but no retry and \
         no commit of a transaction",
    },
    Key {
        name: "pending_per_topic_max",
        default: "0",
        wanted: "a number from 1 on, or 0 for no limit",
        meaning: "the same, of one topic",
    },
    Key {
        name: "pending_per_second_max",
        default: "0",
        wanted: "a number from 1 on, or 0 for no limit",
        meaning: "the same, of those that are due within one second of the clock",
    },
    Key {
        name: "dedup_window",
        default: "10m",
        wanted: "a duration from 1s to 7d, such as 10m",
        meaning: "how long after its delivery a message keeps its DUEMQ_DEDUP_KEY, with which no second one is stored",
    },
    Key {
        name: "check_message_types",
        default: "true",
        wanted: "true or false",
        meaning: "whether a message by gRPC or by the proxy's port must be of the type its topic was made for",
    },
    Key {
        name: "max_body_bytes",
        default: "4MiB",
        wanted: "bytes from 1KiB to 64MiB, such as 4194304 or 4MiB",
        meaning: "the longest body that is taken",
    },
    Key {
        name: "auto_create_topics",
        default: "true",
        wanted: "true or false",
        meaning: "whether a remoting client's send makes the topic it names",
    },
    Key {
        name: "auto_create_groups",
        default: "true",
        wanted: "true or false",
        meaning: "whether a consumer's first request makes its group",
    },
    Key {
        name: "default_queues",
        default: "8",
        wanted: "a number from 1 to 1024",
        meaning: "the most queues a topic gets that a send makes",
    },
    Key {
        name: "retention",
        default: "72h",
        wanted: "a duration from 1m to 36500d, such as 72h or 7d",
        meaning: "how long a message can be read at least after it was delivered or sent; one that waits is kept",
    },
    Key {
        name: "retention_bytes",
        default: "0",
        wanted: "bytes from 64MiB on, such as 100GiB, or 0 for no such limit",
        meaning: "the length of the log beyond which messages go before their time; looked at with each checkpoint, \
         so it may be longer by 256MiB",
    },
    Key {
        name: "log_segment_bytes",
        default: "256MiB",
        wanted: "bytes from 1MiB to 1GiB and a multiple of 8, such as 256MiB",
        meaning: "the size of one file of the log; the largest record must fit",
    },
    Key {
        name: "log_step_bytes",
        default: "4MiB",
        wanted: "bytes from 64KiB to 64MiB and a multiple of 8, such as 4MiB",
        meaning: "how much of the log's file is zero-filled ahead at a time",
    },
    Key {
        name: "log_tail_bytes",
        default: "64MiB",
        wanted: "bytes from 1MiB to 4GiB, such as 64MiB",
        meaning: "how much of the newest log is kept in memory; it fills as messages come",
    },
    Key {
        name: "max_connections",
        default: "10000",
        wanted: "a number from 1 to 1000000",
        meaning: "how many clients may be connected at once; more wait until one leaves",
    },
    Key {
        name: "admin_networks",
        default: "",
        wanted: "networks separated by blanks, such as 10.1.0.0/16 or fd00::/8",
        meaning: "who may administer (make topics and groups, see and call back what waits, register brokers, all that mqadmin \
         does but send and receive), besides this machine itself",
    },
    Key {
        name: "tls_cert",
        default: "",
        wanted: "the path of a PEM file, set together with tls_key; empty for a certificate made at the first start",
        meaning: "the certificate shown to clients that come with TLS; read again when the file is replaced",
    },
    Key {
        name: "tls_key",
        default: "",
        wanted: "the path of a PEM file, set together with tls_cert",
        meaning: "that certificate's private key",
    },
    Key {
        name: "log",
        default: "text",
        wanted: "text or json",
        meaning: "how the server's own log is written to standard error; RUST_LOG says how much of it",
    },
];

/// A name of RocketMQ's for a setting of ours, and how its value is written here.
pub struct Alias {
    /// RocketMQ's name.
    pub name: &'static str,
    /// Ours.
    pub key: &'static str,
    /// Its value in our words; what it does not know it leaves as it is, for the check to refuse.
    pub translate: fn(&str) -> String,
    /// Our value in its words.
    pub show: fn(&str) -> String,
}

fn same(value: &str) -> String {
    value.to_owned()
}

fn hours(value: &str) -> String {
    format!("{value}h")
}

fn show_hours(value: &str) -> String {
    super::value::duration_ms(value).map_or_else(|| value.to_owned(), |ms| (ms / 3_600_000).to_string())
}

fn seconds(value: &str) -> String {
    format!("{value}s")
}

fn blanks(value: &str) -> String {
    value.replace(';', " ")
}

fn semicolons(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(";")
}

fn flush_type(value: &str) -> String {
    match value {
        "SYNC_FLUSH" => "sync".to_owned(),
        "ASYNC_FLUSH" => "async".to_owned(),
        other => other.to_owned(),
    }
}

fn show_flush(value: &str) -> String {
    match value {
        "sync" => "SYNC_FLUSH".to_owned(),
        "async" => "ASYNC_FLUSH".to_owned(),
        other => other.to_owned(),
    }
}

fn show_seconds(value: &str) -> String {
    super::value::duration_ms(value).map_or_else(|| value.to_owned(), |ms| (ms / 1000).to_string())
}

/// RocketMQ's word for no limit is the largest number.
fn no_limit(value: &str) -> String {
    if value == "2147483647" { "0".to_owned() } else { value.to_owned() }
}

fn show_no_limit(value: &str) -> String {
    if value == "0" { "2147483647".to_owned() } else { value.to_owned() }
}

fn show_bytes(value: &str) -> String {
    super::value::bytes(value, 0, u64::MAX).map_or_else(|| value.to_owned(), |bytes| bytes.to_string())
}

/// Every name of RocketMQ's that is understood.
pub const ALIASES: &[Alias] = &[
    Alias { name: "storePathRootDir", key: "data", translate: same, show: same },
    Alias { name: "brokerIP1", key: "advertise", translate: same, show: same },
    Alias { name: "listenPort", key: "broker_port", translate: same, show: same },
    Alias { name: "remotingListenPort", key: "proxy_port", translate: same, show: same },
    Alias { name: "grpcServerPort", key: "grpc_port", translate: same, show: same },
    Alias { name: "brokerClusterName", key: "cluster", translate: same, show: same },
    Alias { name: "brokerName", key: "broker_name", translate: same, show: same },
    Alias { name: "namesrvAddr", key: "name_servers", translate: blanks, show: semicolons },
    Alias { name: "flushDiskType", key: "flush", translate: flush_type, show: show_flush },
    Alias { name: "timerMaxDelaySec", key: "max_delay", translate: seconds, show: show_seconds },
    Alias { name: "messageDelayLevel", key: "delay_levels", translate: same, show: same },
    Alias { name: "useDelayLevel", key: "use_delay_level", translate: same, show: same },
    Alias { name: "enableTopicMessageTypeCheck", key: "check_message_types", translate: same, show: same },
    Alias {
        name: "timerCongestNumEachSlot",
        key: "pending_per_second_max",
        translate: no_limit,
        show: show_no_limit,
    },
    Alias { name: "timerWheelEnable", key: "timer", translate: same, show: same },
    Alias { name: "maxMessageSize", key: "max_body_bytes", translate: same, show: show_bytes },
    Alias { name: "autoCreateTopicEnable", key: "auto_create_topics", translate: same, show: same },
    Alias { name: "autoCreateSubscriptionGroup", key: "auto_create_groups", translate: same, show: same },
    Alias { name: "defaultTopicQueueNums", key: "default_queues", translate: same, show: same },
    Alias { name: "fileReservedTime", key: "retention", translate: hours, show: show_hours },
    Alias { name: "mappedFileSizeCommitLog", key: "log_segment_bytes", translate: same, show: show_bytes },
];

/// Settings that may be written as a list of texts, which is the same as the texts with blanks between.
pub const LISTS: &[&str] = &["name_servers", "admin_networks", "delay_levels"];

/// The setting of that name; panics where there is none, since names are only written in this crate.
pub fn key(name: &str) -> &'static Key {
    KEYS.iter().find(|key| key.name == name).expect("a setting is named as the table has it")
}

/// The whole table as a settings file a person can edit: every line is true as it stands.
pub fn as_file() -> String {
    let mut text = String::from(
        "# Every setting of `duemq serve`, with its default. A flag wins over the environment, the environment over\n\
         # this file. In the environment a setting is DUEMQ_ and its name in capitals: DUEMQ_MAX_DELAY=30d.\n",
    );
    let mut line = |words: std::fmt::Arguments<'_>| writeln!(text, "{words}").expect("a string takes all");
    for key in KEYS {
        line(format_args!("\n# {}.\n# Must be {}.", key.meaning, key.wanted));
        let aliases: Vec<&str> =
            ALIASES.iter().filter(|alias| alias.key == key.name).map(|alias| alias.name).collect();
        if !aliases.is_empty() {
            line(format_args!("# RocketMQ's name: {}.", aliases.join(", ")));
        }
        line(format_args!("{} = {:?}", key.name, key.default));
    }
    text
}
