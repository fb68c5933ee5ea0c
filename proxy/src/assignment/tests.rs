use super::*;
use model::Permission as Allowed;
use nameserver::Queues;

#[test]
fn any_queue_stands_for_all_but_in_an_ordered_group() {
    let data = |permission| QueueData {
        broker: "b".to_owned(),
        local: true,
        queues: Queues { read: 3, write: 5, permission: Allowed(permission), sys_flag: 0 },
    };
    let ids = |permission, ordered| ids(&data(permission), ordered).collect::<Vec<_>>();
    assert_eq!(ids(6, false), [-1]);
    assert_eq!(ids(6, true), [0, 1, 2]);
    assert_eq!(ids(2, false), [0; 0], "nobody may read");
}
