//! The broker: runtime information (28), counts (315), settings (25, 26), its timer's state (45, 60, 61), its
//! replicas (907), halves that it put aside (323).

use super::version;
use crate::answer::{Answer, Answered, Refused};
use crate::caller::Caller;
use broker::{Count, Counted, GetRuntime, GetTraffic, Rates, ResumeHalf, ResumeHalfError, Runtime, Windows};
use bytes::Bytes;
use model::{GroupName, QueueOffset, TopicName};
use service::{ChangeError, Process};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::message_id;
use wire::remoting::admin::{
    Half, Replicas, Stats, StatsData, StatsItem, Table, read_properties, write_properties,
};
use wire::remoting::{Command, ResponseCode, VERSION, json};

pub(crate) async fn runtime(caller: &Caller) -> Answered {
    let runtime = caller.ask(GetRuntime).await?;
    let used = caller.service.process().and_then(|process| process.disk_used());
    Ok(Answer::with_body(json::write(&Table { table: table(&runtime, used) })))
}

/// Peer: `AdminBrokerProcessor#prepareRuntimeInfo`, `StoreStatsService#getRuntimeInfo`. What has no meaning here
/// is left out where tools can do without it, and is 0 where they read a number.
fn table(runtime: &Runtime, disk_used: Option<f64>) -> BTreeMap<String, String> {
    let Runtime { stats, traffic, .. } = runtime;
    let mut table = BTreeMap::new();
    let mut set = |name: &str, value: &dyn ToString| {
        table.insert(name.to_owned(), value.to_string());
    };
    set("brokerVersion", &VERSION);
    set("brokerVersionDesc", &"V5_3_3");
    set("brokerActive", &true);
    set("bootTimestamp", &runtime.opened_at);
    set("startAcceptSendRequestTimeStamp", &runtime.opened_at);
    set("runtime", &age(runtime.now.millis_since(runtime.opened_at)));
    for (name, rates) in [
        ("putTps", traffic.put),
        ("getTotalTps", traffic.got),
        ("getFoundTps", traffic.got),
        ("getTransferredTps", traffic.got),
        ("getTransferedTps", traffic.got),
        ("getMissTps", traffic.missed),
    ] {
        set(name, &three(rates));
    }
    for (name, total) in [("msgPutTotal", traffic.put_total), ("msgGetTotal", traffic.got_total)] {
        set(&format!("{name}YesterdayMorning"), &total.yesterday_morning);
        set(&format!("{name}TodayMorning"), &total.today_morning);
        set(&format!("{name}TodayNow"), &total.now);
    }
    set("putMessageTimesTotal", &traffic.put_total.now);
    set("putMessageFailedTimes", &stats.write_errors);
    set("putMessageSizeTotal", &traffic.put_day.bytes);
    set("putMessageAverageSize", &ratio(traffic.put_day.bytes, traffic.put_day.messages));
    for name in ["send", "pull", "query", "litePull", "ack", "endTransaction", "clientManager", "adminBroker"]
    {
        set(&format!("{name}ThreadPoolQueueSize"), &0);
        set(&format!("{name}ThreadPoolQueueHeadWaitTimeMills"), &0);
        set(&format!("{name}ThreadPoolQueueCapacity"), &0);
    }
    set("EndTransactionQueueSize", &0);
    set("EndTransactionThreadPoolQueueCapacity", &0);
    set("pageCacheLockTimeMills", &0);
    set("commitLogMinOffset", &runtime.log_first);
    set("commitLogMaxOffset", &runtime.log_end);
    set("remainHowManyDataToCommit", &(runtime.log_end.0 - runtime.log_written.0));
    set("remainHowManyDataToFlush", &(runtime.log_end.0 - runtime.log_durable.0));
    set("dispatchBehindBytes", &0);
    set("dispatchMaxBuffer", &0);
    set("earliestMessageTimeStamp", &runtime.earliest_stored_at);
    let used = disk_used.unwrap_or(0.0);
    set("commitLogDiskRatio", &format!("{used:.4}"));
    set("consumeQueueDiskRatio", &format!("{used:.4}"));
    set("timerReadBehind", &0);
    let late = runtime.next_due.map_or(0, |due| runtime.now.millis_since(due).max(0) / 1000);
    set("timerDequeueBehind", &late);
    set("timerOffsetBehind", &0);
    set("timerCongestNum", &stats.pending);
    set("timerEnqueueTps", &traffic.scheduled[1]);
    set("timerDequeueTps", &traffic.delivered[1]);
    set("timerPending", &stats.pending);
    set("timerDelivered", &stats.delivered);
    set("timerRecalled", &stats.recalled);
    set("timerLatenessMaxMs", &stats.lateness_max_ms);
    for (level, (left, accepted)) in (1..).zip(&runtime.levels) {
        set(&format!("scheduleMessageOffset_{level}"), &format!("{left},{accepted}"));
    }
    table
}

/// Peer: three numbers, of 10 s, a minute and 10 minutes; tools take the first.
fn three(rates: Rates) -> String {
    rates.map(|rate| format!("{rate:.2}")).join(" ")
}

fn age(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    format!("[ {days} days, {hours} hours, {minutes} minutes, {} seconds ]", seconds % 60)
}

#[expect(clippy::cast_precision_loss, reason = "an average is read by people")]
fn ratio(all: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { all as f64 / of as f64 }
}

/// Peer: `BrokerStatsManager`.
pub(crate) async fn stats(caller: &Caller, request: &Command) -> Answered {
    let header = Stats::read(&request.ext)?;
    let windows = match counted(&header) {
        Some(of) => caller.ask(GetTraffic { of }).await?,
        None => None,
    };
    let Some(Windows { minute, hour, day }) = windows else {
        let why = format!("The stats <{}> <{}> not exist", header.name, header.key);
        return Err(Refused::new(ResponseCode::SystemError, &why));
    };
    let of = |count: Count| if header.name.ends_with("_SIZE") { count.bytes } else { count.messages };
    let item = |count: Count, seconds: u64| StatsItem {
        avgpt: ratio(of(count), count.times),
        sum: of(count),
        tps: ratio(of(count), seconds),
    };
    let body = StatsData {
        stats_day: item(day, 86_400),
        stats_hour: item(hour, 3600),
        stats_minute: item(minute, 60),
    };
    Ok(Answer::with_body(json::write(&body)))
}

fn counted(header: &Stats) -> Option<Counted> {
    let pair = || {
        let (topic, group) = header.key.split_once('@')?;
        Some((TopicName::new(topic).ok()?, GroupName::new(group).ok()?))
    };
    Some(match header.name.as_str() {
        "TOPIC_PUT_NUMS" | "TOPIC_PUT_SIZE" => Counted::Put(TopicName::new(&header.key).ok()?),
        "GROUP_GET_NUMS" | "GROUP_GET_SIZE" => pair().map(|(topic, group)| Counted::Got(topic, group))?,
        "SNDBCK_PUT_NUMS" => pair().map(|(topic, group)| Counted::SentBack(topic, group))?,
        "BROKER_PUT_NUMS" => Counted::AllPut,
        "BROKER_GET_NUMS" => Counted::AllGot,
        _ => return None,
    })
}

/// What the process tells of itself.
pub(super) fn process(caller: &Caller) -> Result<Arc<dyn Process>, Refused> {
    caller.service.process().ok_or_else(|| {
        Refused::new(
            ResponseCode::RequestCodeNotSupported,
            &"this server's settings cannot be seen from here",
        )
    })
}

/// Settings as a file of Java's.
pub(super) fn properties(settings: &[(String, String)]) -> Bytes {
    write_properties(settings.iter().map(|(name, value)| (name.as_str(), value.as_str()))).into()
}

pub(crate) fn config(caller: &Caller) -> Answered {
    let body = properties(&process(caller)?.broker_settings());
    let version = String::from_utf8_lossy(&json::write(&version())).into_owned();
    let mut answer = Answer::with_body(body);
    answer.ext.set("version", version);
    Ok(answer)
}

/// All that is asked is changed, or nothing.
pub(crate) async fn configure(caller: &Caller, request: &Command) -> Answered {
    let process = process(caller)?;
    let changes = read_properties(&String::from_utf8_lossy(&request.body));
    let names: Vec<String> = changes.iter().map(|(name, _)| name.clone()).collect();
    // It is saved to disk, which takes its time.
    let changed = tokio::task::spawn_blocking(move || process.change(&changes)).await;
    let changed = changed.map_err(|error| Refused::new(ResponseCode::SystemError, &error))?;
    let configure = changed.map_err(|error| {
        let code = match error {
            ChangeError::Fixed { .. } => ResponseCode::NoPermission,
            ChangeError::Unknown { .. } | ChangeError::Bad { .. } => ResponseCode::InvalidParameter,
            ChangeError::Unsaved { .. } => ResponseCode::SystemError,
        };
        Refused::new(code, &error)
    })?;
    caller.ask(configure).await?;
    tracing::info!(?names, "settings changed");
    Ok(Answer::success())
}

pub(crate) async fn delay_offsets(caller: &Caller) -> Answered {
    let runtime = caller.ask(GetRuntime).await?;
    let offsets = (1..).zip(&runtime.levels).map(|(level, (QueueOffset(left), _))| (level, *left));
    let body = BTreeMap::from([("offsetTable", offsets.collect::<BTreeMap<i32, i64>>())]);
    Ok(Answer::with_body(json::write(&body)))
}

pub(crate) async fn timer_metrics(caller: &Caller) -> Answered {
    let runtime = caller.ask(GetRuntime).await?;
    let now = runtime.now.as_millis();
    let counts = runtime.pending_by_topic.iter().map(|(topic, count)| {
        (
            topic.to_string(),
            BTreeMap::from([("count", i64::try_from(*count).unwrap_or(i64::MAX)), ("timeStamp", now)]),
        )
    });
    let counts: BTreeMap<String, BTreeMap<&str, i64>> = counts.collect();
    let text = |body: Bytes| String::from_utf8_lossy(&body).into_owned();
    let (version, counts) = (text(json::write(&version())), text(json::write(&counts)));
    Ok(Answer::with_body(format!("{{\"dataVersion\":{version},\"timingCount\":{counts}}}").into()))
}

/// Seven numbers of 64 bits. Peer: `TimerCheckpoint#encode`: time read, place in the timer's log, two places in
/// its queue, and the state of its counts.
pub(crate) async fn timer_checkpoint(caller: &Caller) -> Answered {
    let runtime = caller.ask(GetRuntime).await?;
    let (now, QueueOffset(accepted)) = (runtime.now.as_millis(), runtime.timed.1);
    let numbers: [i64; 7] = [now, 0, accepted, accepted, 0, now, 1];
    Ok(Answer::with_body(numbers.into_iter().flat_map(i64::to_be_bytes).collect::<Vec<u8>>().into()))
}

/// There are none: what is written is nowhere but here.
pub(crate) async fn replicas(caller: &Caller) -> Answered {
    let runtime = caller.ask(GetRuntime).await?;
    let body =
        Replicas { master: true, master_commit_log_max_offset: runtime.log_end.0, ..Replicas::default() };
    Ok(Answer::with_body(json::write(&body)))
}

pub(crate) async fn resume_half(caller: &Caller, request: &Command) -> Answered {
    let header = Half::read(&request.ext)?;
    let (_, log_offset) = message_id::decode(&header.message_id)
        .map_err(|error| Refused::new(ResponseCode::SystemError, &error))?;
    match caller.ask(ResumeHalf { log_offset }).await? {
        Ok(()) => Ok(Answer::success()),
        Err(error) => {
            let code = match error {
                ResumeHalfError::NotAside { .. }
                | ResumeHalfError::Waits
                | ResumeHalfError::TopicUnknown { .. }
                | ResumeHalfError::Unreadable { .. } => ResponseCode::SystemError,
                ResumeHalfError::Unavailable { .. } => ResponseCode::ServiceNotAvailable,
            };
            Err(Refused::new(code, &error))
        }
    }
}
