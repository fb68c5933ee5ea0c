//! Which queues are ours: the same rule as RocketMQ's clients have, so that members of all kinds agree.

use wire::remoting::route::TopicRouteData;

/// A queue of the topic. Ordered as RocketMQ's clients order them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Queue {
    /// The broker it lies on.
    pub broker: String,
    /// Its number there.
    pub id: i32,
}

/// All queues that may be read.
pub fn queues(route: &TopicRouteData) -> Vec<Queue> {
    let readable = route.queue_datas.iter().filter(|data| data.perm & 4 != 0);
    let mut queues: Vec<Queue> = readable
        .flat_map(|data| {
            (0..data.read_queue_nums as i32).map(|id| Queue { broker: data.broker_name.clone(), id })
        })
        .collect();
    queues.sort();
    queues
}

/// Our share: members in order each take a run of queues, the first ones one more where they do not divide.
///
/// Peer: `AllocateMessageQueueAveragely` (RocketMQ).
pub fn ours(queues: &[Queue], mut members: Vec<String>, we: &str) -> Vec<Queue> {
    members.sort();
    let Some(place) = members.iter().position(|member| member == we) else { return Vec::new() };
    let (each, more) = (queues.len() / members.len(), queues.len() % members.len());
    let begin = place * each + place.min(more);
    queues[begin..begin + each + usize::from(place < more)].to_vec()
}

#[cfg(test)]
mod tests;
