use super::*;

fn queues(count: u32) -> Vec<QueueId> {
    (0..count).map(QueueId).collect()
}

fn ids(queues: &[QueueId]) -> Vec<u32> {
    queues.iter().map(|queue| queue.0).collect()
}

#[test]
fn runs_and_turns_give_every_queue_to_one_member() {
    let of = |strategy, me| ids(&share(strategy, &queues(8), me, 3));
    assert_eq!([0, 1, 2].map(|me| of(Strategy::Runs, me)), [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7]]);
    assert_eq!([0, 1, 2].map(|me| of(Strategy::Turns, me)), [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5]]);
    let few = |me| ids(&share(Strategy::Runs, &queues(2), me, 3));
    assert_eq!([0, 1, 2].map(few), [vec![0], vec![1], vec![]], "more members than queues");
}

#[test]
fn who_pops_shares_the_queues_of_the_members_behind_or_all() {
    let mode = |share| ConsumeMode { pop: true, share };
    assert!(pops_all(mode(-1), 9) && pops_all(mode(0), 9) && pops_all(mode(8), 9));
    assert!(!pops_all(mode(7), 9));
    assert_eq!(ids(&popped(Strategy::Runs, &queues(8), 3, 4, 1)), [6, 7, 0, 1]);
    assert_eq!(ids(&popped(Strategy::Runs, &queues(2), 2, 9, 1)), [0], "more members than queues");
}
