use super::*;
use wire::remoting::route::QueueData;

fn route(queues: u32, perm: u32) -> TopicRouteData {
    let data = QueueData { broker_name: "b".into(), perm, read_queue_nums: queues, ..QueueData::default() };
    TopicRouteData { queue_datas: vec![data], ..TopicRouteData::default() }
}

fn shares(queues: u32, members: &[&str]) -> Vec<Vec<i32>> {
    let all = super::queues(&route(queues, 6));
    let members: Vec<String> = members.iter().map(|&member| member.to_owned()).collect();
    let share = |we: &String| ours(&all, members.clone(), we).iter().map(|queue| queue.id).collect();
    members.iter().map(share).collect()
}

#[test]
fn members_share_the_queues_in_runs() {
    assert_eq!(shares(8, &["a"]), [[0, 1, 2, 3, 4, 5, 6, 7]]);
    assert_eq!(shares(5, &["b", "a"]), [vec![3, 4], vec![0, 1, 2]]);
    assert_eq!(shares(4, &["a", "b", "c"]), [vec![0, 1], vec![2], vec![3]]);
    assert_eq!(shares(1, &["a", "b"]), [vec![0], vec![]]);
}

#[test]
fn who_is_not_in_the_group_has_no_share() {
    assert!(ours(&queues(&route(4, 6)), vec!["a".to_owned()], "b").is_empty());
    assert!(ours(&queues(&route(4, 6)), Vec::new(), "b").is_empty());
}

#[test]
fn queues_that_may_not_be_read_are_nobodys() {
    assert!(queues(&route(4, 2)).is_empty());
}
