use super::*;

fn renewal_of(client: &str, offset: i64) -> Renewal {
    let handle = format!("0 1700000000000 60000 0 0 broker 0 {offset} 100");
    Renewal {
        client: ClientId(client.into()),
        group: GroupName::new("g").unwrap(),
        topic: TopicName::new("t").unwrap(),
        handle: handle.parse().unwrap(),
        invisible: Duration::from_mins(1),
    }
}

fn renewal(offset: i64) -> Renewal {
    renewal_of("c", offset)
}

fn end(renewals: &mut Renewals, renewal: &Renewal) {
    renewals.end(&renewal.group, &renewal.topic, &renewal.handle);
}

/// Seconds from the beginning to each renewal, with how long it is for, while the client is alive for `alive`; and
/// the seconds to when it was given back, where it was.
fn run(alive: u64, until: u64) -> (Vec<(u64, u64)>, Option<u64>) {
    let (start, mut renewals) = (Instant::now(), Renewals::default());
    let (mut renewed, mut given_back) = (Vec::new(), None);
    renewals.begin(renewal(1), start);
    for second in 0..until {
        let due = renewals.take_due(start + Duration::from_secs(second), |_| second < alive);
        renewed.extend(due.renew.into_iter().map(|renewal| (second, renewal.invisible.as_secs())));
        if !due.give_back.is_empty() {
            assert_eq!((due.give_back.len(), given_back), (1, None), "it is given back once");
            given_back = Some(second);
        }
    }
    assert_eq!(renewals.len(), usize::from(given_back.is_none()));
    (renewed, given_back)
}

#[test]
fn a_lease_is_renewed_before_its_end_for_longer_each_time_and_at_last_given_back() {
    let renewed = [
        (50, 60),
        (100, 180),
        (270, 300),
        (560, 600),
        (1150, 1800),
        (2940, 3600),
        (6530, 3600),
        (10_120, 3600),
    ];
    assert_eq!(run(u64::MAX, 20_000), (renewed.to_vec(), Some(10_800)));
}

#[test]
fn what_a_client_held_that_is_gone_is_given_back_at_once_however_long_its_lease_lasts() {
    // Its last renewal was for ten minutes.
    assert_eq!(run(700, 2000), (vec![(50, 60), (100, 180), (270, 300), (560, 600)], Some(700)));
    // A client whose settings have not come yet counts as there for a moment.
    assert_eq!(run(0, 600), (vec![], Some(25)));
}

#[test]
fn a_client_that_leaves_takes_only_its_own_leases_along() {
    let (start, mut renewals) = (Instant::now(), Renewals::default());
    for (client, offset) in [("a", 1), ("b", 2), ("a", 3)] {
        renewals.begin(renewal_of(client, offset), start);
    }
    let left = renewals.take_all_of(&ClientId("a".into()));
    assert_eq!(left, [renewal_of("a", 1), renewal_of("a", 3)]);
    assert!(renewals.take_all_of(&ClientId("a".into())).is_empty());
    let due = renewals.take_due(start + Duration::from_secs(50), |_| true);
    assert_eq!(due.renew, [renewal_of("b", 2)]);
    assert_eq!(renewals.len(), 1);
}

#[test]
fn what_is_acked_is_renewed_no_more_whatever_else_its_handle_says() {
    let (start, mut renewals) = (Instant::now(), Renewals::default());
    renewals.begin(renewal(1), start);
    renewals.begin(renewal(2), start);
    let mut other = renewal(1);
    (other.handle.start_offset, other.handle.invisible_ms, other.handle.log_offset) = (7, 8, None);
    end(&mut renewals, &other);
    for unknown in [renewal(9), Renewal { topic: TopicName::new("u").unwrap(), ..renewal(2) }] {
        end(&mut renewals, &unknown);
    }
    other = renewal(2);
    other.handle.pop_time += 1;
    end(&mut renewals, &other);
    let due = renewals.take_due(start + Duration::from_secs(50), |_| true);
    assert_eq!(due.renew, [renewal(2)]);
    assert_eq!(renewals.len(), 1);
}

#[test]
fn what_could_not_be_asked_for_is_tried_again_soon() {
    let (start, mut renewals) = (Instant::now(), Renewals::default());
    renewals.begin(renewal(1), start);
    let at = |seconds| start + Duration::from_secs(seconds);
    assert_eq!(renewals.take_due(at(50), |_| true).renew.len(), 1);
    renewals.again(&renewal(1), at(50));
    let due = renewals.take_due(at(51), |_| true);
    assert_eq!(due.renew[0].invisible, Duration::from_mins(1), "for as long as the first time");
    assert_eq!(renewals.len(), 1);
}

/// What a lease held for so long, with so much left of it, becomes after a restart.
fn renewed(held: Duration, left: Duration) -> Renewed {
    let Renewal { client, group, topic, handle, .. } = renewal(1);
    Renewed { client, group, topic, handle, held, left }
}

#[test]
fn after_a_restart_a_lease_is_renewed_on_while_its_client_is_on_its_way_back() {
    let at = |start: Instant, seconds| start + Duration::from_secs(seconds);
    let seconds = Duration::from_secs;
    let (start, mut renewals) = (Instant::now(), Renewals::default());
    renewals.resume(renewed(seconds(90), seconds(30)), start);
    assert_eq!(renewals.take_due(at(start, 19), |_| false), Due::default());
    let due = renewals.take_due(at(start, 20), |_| false);
    assert_eq!((due.renew.len(), due.give_back.len()), (1, 0), "its client has yet to come back");
    assert_eq!(renewals.take_due(at(start, 39), |_| false), Due::default());
    // It beats, although it has not said anew what it is: the Go client does not for minutes.
    renewals.hear(&ClientId("c".into()), at(start, 39));
    assert_eq!(renewals.take_due(at(start, 63), |_| false), Due::default());
    let due = renewals.take_due(at(start, 64), |_| false);
    assert_eq!((due.renew.len(), due.give_back.len()), (0, 1), "it was not heard of again");
}

#[test]
fn a_restart_does_not_lengthen_how_long_a_lease_is_renewed() {
    let (start, mut renewals) = (Instant::now(), Renewals::default());
    renewals.resume(renewed(LONGEST.saturating_sub(Duration::from_secs(5)), Duration::from_mins(30)), start);
    assert_eq!(renewals.take_due(start + Duration::from_secs(4), |_| true), Due::default());
    let due = renewals.take_due(start + Duration::from_secs(5), |_| true);
    assert_eq!((due.renew.len(), due.give_back.len()), (0, 1));
    renewals.resume(renewed(LONGEST * 2, Duration::from_mins(30)), start);
    assert_eq!(renewals.take_due(start, |_| true).give_back.len(), 1);
    assert_eq!(renewals.len(), 0);
}
