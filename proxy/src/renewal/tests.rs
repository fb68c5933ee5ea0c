use super::*;

fn renewal(offset: i64) -> Renewal {
    let handle = format!("0 1700000000000 60000 0 0 broker 0 {offset} 100");
    Renewal {
        client: ClientId("c".into()),
        group: GroupName::new("g").unwrap(),
        topic: TopicName::new("t").unwrap(),
        handle: handle.parse().unwrap(),
        invisible: Duration::from_mins(1),
    }
}

/// Seconds from the beginning to each renewal, with how long it is for, while the client is alive for `alive`.
fn run(alive: u64, until: u64) -> Vec<(u64, u64)> {
    let (start, mut renewals, mut all) = (Instant::now(), Renewals::default(), Vec::new());
    renewals.begin(renewal(1), start);
    for second in 0..until {
        let due = renewals.take_due(start + Duration::from_secs(second), |_| second < alive);
        all.extend(due.into_iter().map(|renewal| (second, renewal.invisible.as_secs())));
    }
    assert_eq!(renewals.len(), usize::from(until < 10_800 && alive >= until));
    all
}

#[test]
fn a_lease_is_renewed_before_its_end_for_longer_each_time_and_at_last_no_more() {
    let all = run(u64::MAX, 20_000);
    let steps = [
        (50, 60),
        (100, 180),
        (270, 300),
        (560, 600),
        (1150, 1800),
        (2940, 3600),
        (6530, 3600),
        (10_120, 3600),
    ];
    assert_eq!(all, steps);
}

#[test]
fn whose_client_is_gone_is_not_renewed_again() {
    assert_eq!(run(99, 600), [(50, 60)]);
}

#[test]
fn what_is_acked_is_renewed_no_more() {
    let (start, mut renewals) = (Instant::now(), Renewals::default());
    renewals.begin(renewal(1), start);
    renewals.begin(renewal(2), start);
    renewals.end(&renewal(1).handle.to_string());
    renewals.end("no handle");
    let due = renewals.take_due(start + Duration::from_secs(50), |_| true);
    assert_eq!(due, [renewal(2)]);
    assert_eq!(renewals.len(), 1);
}

#[test]
fn what_could_not_be_asked_for_is_tried_again_soon() {
    let (start, mut renewals) = (Instant::now(), Renewals::default());
    renewals.begin(renewal(1), start);
    let at = |seconds| start + Duration::from_secs(seconds);
    assert_eq!(renewals.take_due(at(50), |_| true).len(), 1);
    renewals.again(&renewal(1).handle.to_string(), at(50));
    let due = renewals.take_due(at(51), |_| true);
    assert_eq!(due[0].invisible, Duration::from_mins(1), "for as long as the first time");
    assert_eq!(renewals.len(), 1);
}
