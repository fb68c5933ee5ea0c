//! The clients: producers, a group that pulls, a group that pops and does not always ack.

use crate::oracle::{Oracle, Pending};
use crate::world::World;
use broker::{
    Ack, AutoCreate, ChangeInvisible, CommitOffset, CountPending, Filter, GetHistogram, ListPending,
    NewMoment, PendingPage, PendingPlace, Pop, PoppedMessage, Pull, Recall, RecallByKey, Renew, Reply,
    RequestId, Reschedule, Send, SendRefusal, Which,
};
use bytes::Bytes;
use env::Seed;
use model::{ClientId, GroupName, Message, QueueId, QueueOffset, Timestamp, TopicName};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::time::Duration;
use wire::recall_handle::RecallHandle;

const QUEUES: u32 = 2;
/// Stands for the poppers' dead letters among the queues.
const DEAD: u32 = 1000;

/// What a client waits for.
#[derive(Debug)]
enum Asked {
    Send(String),
    Pull(u32),
    Pop,
    Ack(Vec<String>),
    Recall(String),
    /// And whether it had been called back by then.
    RecallByKey(String, bool),
    Reschedule(String),
    /// By a word, of which the oracle knows by this number.
    RecallByWord(u64),
    RescheduleByWord(u64),
    Page,
    Count(Pending),
    /// The same by a histogram, while nothing comes.
    Exact,
    Other,
}

/// Pages of what waits, read one after the other.
#[derive(Debug)]
struct Pages {
    asked: Pending,
    seen: BTreeSet<String>,
    last: Option<PendingPlace>,
    ask: ListPending,
}

/// All clients.
pub struct Workload {
    topic: TopicName,
    pullers: GroupName,
    poppers: GroupName,
    asked: BTreeMap<RequestId, Asked>,
    next_body: u64,
    /// Where the pullers go on, by queue.
    offsets: BTreeMap<u32, i64>,
    held: Vec<(PoppedMessage, String)>,
    /// Of delayed messages.
    handles: Vec<(String, String)>,
    /// How many keys against doubles there are.
    keys: u64,
    /// How many words there are that messages share.
    words: u64,
    /// All of the queues, while they are read from the beginning to the end.
    whole: Option<BTreeMap<u32, Vec<Bytes>>>,
    delay_max_ms: u64,
    /// The operator looks through what waits.
    pages: Option<Pages>,
    /// Messages told to wait, ever.
    listed: u64,
    /// Of these by a word.
    listed_of_word: u64,
    /// Messages that the last histogram told of.
    counted: u64,
}

impl Workload {
    /// Clients that have done nothing yet.
    pub fn new(dice: &mut Seed) -> Self {
        Self {
            topic: TopicName::new("t").expect("a name"),
            pullers: GroupName::new("pullers").expect("a name"),
            poppers: GroupName::new("poppers").expect("a name"),
            asked: BTreeMap::new(),
            next_body: 0,
            offsets: BTreeMap::new(),
            held: Vec::new(),
            handles: Vec::new(),
            whole: None,
            pages: None,
            listed: 0,
            listed_of_word: 0,
            counted: 0,
            delay_max_ms: 10_u64.pow(1 + dice.below(9) as u32),
            keys: 1 + dice.below(30),
            words: 1 + dice.below(40),
        }
    }

    /// One client does something.
    pub fn step(&mut self, world: &mut World, dice: &mut Seed, oracle: &mut Oracle) {
        match dice.below(10) {
            0..=3 => self.send(world, dice, oracle),
            4..=5 => self.pull(world, dice),
            6 => self.pop(world, dice),
            7 if dice.chance(0.3) => self.look(world, dice, oracle),
            7 if dice.chance(0.3) => self.reschedule(world, dice, oracle),
            7 if dice.chance(0.15) => self.by_word(world, dice, oracle),
            7 => self.recall(world, dice, oracle),
            _ => self.ack(world, dice),
        }
    }

    fn send(&mut self, world: &mut World, dice: &mut Seed, oracle: &mut Oracle) {
        self.next_body += 1;
        let body = format!("{} {}", self.next_body, "x".repeat(dice.below(300) as usize));
        let now = world.now().wall.as_millis();
        let delay = dice.below(self.delay_max_ms) as i64;
        let level = 1 + dice.below(4);
        let (property, due) = match dice.below(6) {
            0 | 1 => (None, now),
            2 => (Some(("DELAY", level.to_string())), now + [1000, 5000, 10_000, 30_000][level as usize - 1]),
            3 => (Some(("TIMER_DELAY_MS", delay.to_string())), now + delay),
            4 => (Some(("TIMER_DELIVER_MS", (now + delay).to_string())), now + delay),
            // Many for one moment, a second or so ahead.
            _ => {
                let due = (now / 2000 + 1) * 2000;
                (Some(("TIMER_DELIVER_MS", due.to_string())), due)
            }
        };
        let key = dice.chance(0.2).then(|| format!("key {}", dice.below(self.keys)));
        let words: BTreeSet<String> = (0..dice.below(3)).map(|_| self.word(dice)).collect();
        let words: Vec<String> = words.into_iter().collect();
        // The first of a key is told by its id, and so is what is found by a word.
        let id = (key.is_some() || !words.is_empty()).then(|| ("UNIQ_KEY", self.next_body.to_string()));
        let keys = (!words.is_empty()).then(|| ("KEYS", words.join(" ")));
        oracle.sends(&body, Timestamp::from_millis(due), due > now, key.as_deref(), words);
        let key = key.map(|key| ("DUEMQ_DEDUP_KEY", key));
        let message = Message {
            flag: 0,
            sys_flag: 0,
            born_at: world.now().wall,
            born_host: "127.0.0.1:1".parse().expect("an address"),
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            properties: property.into_iter().chain(key).chain(id).chain(keys).collect(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        };
        let ask = Send {
            topic: self.topic.clone(),
            queue_id: Some(QueueId(dice.below(u64::from(QUEUES)) as u32)),
            messages: vec![message],
            auto_create: Some(AutoCreate { queues: QUEUES }),
            check_kind: false,
            as_level: false,
            batch: false,
            max_reconsume_times: None,
        };
        let id = world.ask(ask);
        self.asked.insert(id, Asked::Send(body));
    }

    fn pull(&mut self, world: &mut World, dice: &mut Seed) {
        let queue = dice.below(u64::from(QUEUES)) as u32;
        let offset = self.offsets.get(&queue).copied().unwrap_or(0);
        let wait = dice.chance(0.5).then(|| Duration::from_millis(dice.below(5000)));
        let id = world.ask(self.pull_of(queue, offset, wait));
        self.asked.insert(id, Asked::Pull(queue));
        if dice.chance(0.2) {
            let commit = CommitOffset {
                group: self.pullers.clone(),
                topic: self.topic.clone(),
                queue_id: QueueId(queue),
                queue_offset: QueueOffset(offset),
            };
            let id = world.ask(commit);
            self.asked.insert(id, Asked::Other);
        }
    }

    fn pull_of(&self, queue: u32, offset: i64, wait: Option<Duration>) -> Pull {
        let (topic, queue_id) = match queue {
            DEAD => (TopicName::dead_letter(&self.poppers), QueueId(0)),
            _ => (self.topic.clone(), QueueId(queue)),
        };
        Pull {
            group: self.pullers.clone(),
            topic,
            queue_id,
            queue_offset: QueueOffset(offset),
            max_messages: 32,
            max_bytes: None,
            filter: Some(Filter::All),
            sub_version: 0,
            rechecks: true,
            commit_offset: None,
            wait,
            member: None,
        }
    }

    fn pop(&mut self, world: &mut World, dice: &mut Seed) {
        let id = world.ask(Pop {
            group: self.poppers.clone(),
            topic: self.topic.clone(),
            queue_id: None,
            max_messages: 1 + dice.below(32) as u32,
            invisible: Duration::from_millis(1 + dice.below(20_000)),
            wait: Duration::from_millis(dice.below(3000)),
            from_end: false,
            filter: Filter::All,
            ordered: false,
            attempt_id: None,
            renewed_for: dice.chance(0.3).then(|| ClientId("popper".into())),
        });
        self.asked.insert(id, Asked::Pop);
    }

    /// Messages told to wait.
    pub fn listed(&self) -> u64 {
        self.listed
    }

    /// Of these by a key that they share.
    pub fn listed_of_word(&self) -> u64 {
        self.listed_of_word
    }

    fn word(&self, dice: &mut Seed) -> String {
        format!("word-{}", dice.below(self.words))
    }

    /// Calls all messages of a key back that they share, or gives them another moment.
    fn by_word(&mut self, world: &mut World, dice: &mut Seed, oracle: &mut Oracle) {
        let (topic, key) = (self.topic.clone(), self.word(dice));
        if dice.chance(0.3) {
            let number = oracle.asks_by_word(&key, None).expect("a recall may always be asked for");
            let id = world.ask(RecallByKey { topic, key, unique: false });
            self.asked.insert(id, Asked::RecallByWord(number));
            return;
        }
        let ahead = dice.below(self.delay_max_ms) as i64 - if dice.chance(0.2) { 5000 } else { 0 };
        let deliver_at = Timestamp::from_millis(world.now().wall.as_millis() + ahead);
        if let Some(number) = oracle.asks_by_word(&key, Some(deliver_at)) {
            let to = NewMoment::At(deliver_at);
            let id = world.ask(Reschedule { topic, key, unique: false, to, before: None });
            self.asked.insert(id, Asked::RescheduleByWord(number));
        }
    }

    /// The operator counts what waits, or begins to look through it.
    fn look(&mut self, world: &mut World, dice: &mut Seed, oracle: &Oracle) {
        match dice.below(5) {
            0 => {
                let id = world.ask(CountPending);
                self.asked.insert(id, Asked::Count(oracle.asks_pending()));
            }
            1 => {
                let id = world.ask(histogram(1 + dice.below(1_000_000)));
                self.asked.insert(id, Asked::Count(oracle.asks_pending()));
            }
            _ if self.pages.is_none() => {
                let which = match dice.below(3) {
                    0 => Which::All,
                    1 => Which::Topic(self.topic.clone()),
                    _ => Which::Key { topic: self.topic.clone(), key: self.word(dice) },
                };
                let max = 1 + dice.below(40) as u32;
                self.begin_pages(which, max, world, oracle);
            }
            _ => {}
        }
    }

    fn begin_pages(&mut self, which: Which, max: u32, world: &mut World, oracle: &Oracle) {
        let (from, until) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
        let asked = match &which {
            Which::Key { key, .. } => oracle.asks_pending_of(key),
            Which::All | Which::Topic(_) => oracle.asks_pending(),
        };
        let ask = ListPending { which, from, until, after: None, max };
        let id = world.ask(ask.clone());
        self.asked.insert(id, Asked::Page);
        self.pages = Some(Pages { asked, seen: BTreeSet::new(), last: None, ask });
    }

    /// A page has come: what it tells is true, and the next one is wanted.
    fn page(&mut self, page: PendingPage, oracle: &Oracle) -> Option<ListPending> {
        let pages = self.pages.as_mut().expect("pages are asked for one after the other");
        for message in page.messages {
            let body = oracle.sees_pending(&pages.asked, message.place.deliver_at, &message.bytes);
            let in_order = pages.last.replace(message.place).is_none_or(|last| last < message.place);
            assert!(in_order, "{}: {body} is told out of order", oracle.seed());
            if let Which::Key { key, .. } = &pages.ask.which {
                assert!(oracle.has_word(&body, key), "{}: {body} is told to have {key}", oracle.seed());
                self.listed_of_word += 1;
            }
            pages.seen.insert(body);
            self.listed += 1;
        }
        assert!(!page.is_cut, "{}: few enough are told all", oracle.seed());
        if page.next.is_some() {
            pages.ask.after = page.next;
            return Some(pages.ask.clone());
        }
        oracle.saw_pending(&pages.asked, &pages.seen);
        self.pages = None;
        None
    }

    /// Calls a message back, perhaps one that was delivered or called back before.
    fn recall(&mut self, world: &mut World, dice: &mut Seed, oracle: &mut Oracle) {
        if self.handles.is_empty() || dice.chance(0.5) {
            return self.pop(world, dice);
        }
        let (handle, body) = dice.pick(&self.handles).clone();
        let over = oracle.asks_recall(&body);
        let handle = RecallHandle::decode(&handle).expect("the server's own handle");
        if dice.chance(0.3) {
            let (topic, key) = (self.topic.clone(), handle.unique_key);
            let id = world.ask(RecallByKey { topic, key, unique: true });
            self.asked.insert(id, Asked::RecallByKey(body, over));
            return;
        }
        let id = world.ask(Recall { topic: self.topic.clone(), handle });
        self.asked.insert(id, Asked::Recall(body));
    }

    /// Gives a message another moment, perhaps one that was delivered or called back before.
    fn reschedule(&mut self, world: &mut World, dice: &mut Seed, oracle: &mut Oracle) {
        if self.handles.is_empty() {
            return;
        }
        let (handle, body) = dice.pick(&self.handles).clone();
        let ahead = dice.below(self.delay_max_ms) as i64 - if dice.chance(0.2) { 5000 } else { 0 };
        if !oracle.may_move(&body) {
            return;
        }
        let deliver_at = Timestamp::from_millis(world.now().wall.as_millis() + ahead);
        oracle.asks_move(&body, deliver_at);
        let key = RecallHandle::decode(&handle).expect("the server's own handle").unique_key;
        let (topic, unique) = (self.topic.clone(), dice.chance(0.5));
        let id = world.ask(Reschedule { topic, key, unique, to: NewMoment::At(deliver_at), before: None });
        self.asked.insert(id, Asked::Reschedule(body));
    }

    /// Acks some of what is held, or renews it, or changes when it comes again, or forgets it.
    fn ack(&mut self, world: &mut World, dice: &mut Seed) {
        let count = dice.below(1 + self.held.len() as u64) as usize;
        let some: Vec<_> = self.held.drain(..count).collect();
        let topic = || self.topic.clone();
        match dice.below(10) {
            0 => {}
            1 => {
                for (message, _) in some {
                    let invisible = Duration::from_millis(dice.below(5000));
                    let (group, handle) = (self.poppers.clone(), message.handle);
                    let id = world.ask(ChangeInvisible { group, topic: topic(), handle, invisible });
                    self.asked.insert(id, Asked::Other);
                }
            }
            2 => {
                for (message, _) in &some {
                    let invisible = Duration::from_millis(dice.below(20_000));
                    let (group, handle) = (self.poppers.clone(), message.handle.clone());
                    let id = world.ask(Renew { group, topic: topic(), handle, invisible });
                    self.asked.insert(id, Asked::Other);
                }
                self.held.extend(some);
            }
            _ => {
                let (handles, bodies) =
                    some.into_iter().map(|(message, body)| (message.handle, body)).unzip();
                let id = world.ask(Ack { group: self.poppers.clone(), topic: topic(), handles });
                self.asked.insert(id, Asked::Ack(bodies));
            }
        }
    }

    /// An answer has come.
    ///
    /// Gives what is asked next, where the client goes on at once.
    pub fn answered(
        &mut self,
        id: RequestId,
        reply: Reply,
        oracle: &mut Oracle,
        durable: bool,
    ) -> Option<ListPending> {
        match (self.asked.remove(&id).expect("asked once, answered once"), reply) {
            (Asked::Send(body), Reply::Send(Ok(sent))) if sent[0].duplicate => {
                oracle.is_double(&body, &sent[0], durable);
            }
            (Asked::Send(body), Reply::Send(Ok(sent))) => {
                oracle.acknowledge(&body, sent[0].log_offset.0, durable);
                if let Some(handle) = &sent[0].recall_handle {
                    self.handles.push((handle.clone(), body));
                }
            }
            (Asked::Send(body), Reply::Send(Err(error))) if is_over_limit(&error.why) => {
                oracle.is_not_stored(&body);
            }
            (Asked::Pull(queue), Reply::Pull(Ok(pulled))) => {
                for bytes in pulled.messages.iter().filter(|_| queue != DEAD) {
                    oracle.reads(queue, bytes);
                }
                if let Some(whole) = &mut self.whole {
                    whole.entry(queue).or_default().extend(pulled.messages);
                }
                self.offsets.insert(queue, pulled.next_offset.0);
            }
            (Asked::Pop, Reply::Pop(Ok(popped))) => {
                for message in popped.messages {
                    let body = oracle.pops(&message.bytes);
                    self.held.push((message, body));
                }
            }
            (Asked::Recall(body), Reply::Recall(Ok(outcome))) => {
                oracle.answers_recall(&body, outcome, durable);
            }
            (Asked::Page, Reply::ListPending(Ok(page))) => return self.page(page, oracle),
            (Asked::Page, _) => self.pages = None,
            (Asked::Exact, Reply::GetHistogram(Ok(histogram))) => {
                self.counted = histogram.counts.values().sum();
            }
            (Asked::Count(asked), Reply::CountPending(counts)) => {
                oracle.counts_pending(&asked, counts.values().sum());
            }
            (Asked::Count(asked), Reply::GetHistogram(Ok(histogram))) => {
                assert_eq!(histogram.next, None, "{}: few enough are counted at once", oracle.seed());
                oracle.counts_pending(&asked, histogram.counts.values().sum());
            }
            (Asked::Reschedule(body), Reply::Reschedule(answer)) => {
                oracle.answers_move(&body, answer.as_ref().ok(), durable);
            }
            (Asked::RecallByWord(number), Reply::RecallByKey(answer)) => {
                oracle.answers_recall_by_word(number, answer.as_ref().ok(), durable);
            }
            (Asked::RescheduleByWord(number), Reply::Reschedule(answer)) => {
                oracle.answers_move_by_word(number, answer.as_ref().ok(), durable);
            }
            (Asked::RecallByKey(body, over), Reply::RecallByKey(Ok(answer))) => {
                oracle.answers_recall_by_key(&body, over, &answer, durable);
            }
            (Asked::Ack(bodies), Reply::Ack(answers)) => {
                let done = bodies.iter().zip(&answers).filter(|(_, answer)| answer.is_ok());
                done.for_each(|(body, _)| oracle.acks(body));
            }
            // Refused, since the disk refuses: nothing was promised.
            (_, _) => {}
        }
        None
    }

    /// The next page is asked for.
    pub fn asks_page(&mut self, id: RequestId) {
        self.asked.insert(id, Asked::Page);
    }

    /// The server is another one: what was asked is never answered.
    pub fn crashed(&mut self, oracle: &mut Oracle) {
        for asked in std::mem::take(&mut self.asked).into_values() {
            if let Asked::Ack(bodies) = asked {
                oracle.may_have_acked(bodies);
            }
        }
        self.offsets.clear();
        self.pages = None;
    }

    /// All faults have stopped: everything becomes due, is read whole, and is popped until nothing is left.
    pub fn finish(&mut self, world: &mut World, dice: &mut Seed, oracle: &mut Oracle) {
        self.settle(world, dice, oracle);
        // What waits to the last must come, so nothing of it may be gone before it is read.
        world.keep_all(dice, oracle, self);
        self.settle(world, dice, oracle);
        self.looks_at_rest(world, dice, oracle);
        let ahead = oracle.last_due().millis_since(world.now().wall).max(0);
        world.advance(ahead as u64);
        self.settle(world, dice, oracle);
        assert_eq!(world.pending(), 0, "{}: all is due, and some is pending", oracle.seed());
        let queues = self.read_whole(0..QUEUES, world, dice, oracle);
        oracle.finally(&queues);
        // The poppers get and ack all that is left; attempts may have run out on the way.
        for _ in 0..400 {
            world.advance(30_000);
            self.pop(world, dice);
            self.settle(world, dice, oracle);
            let (handles, bodies) = self
                .held
                .drain(..)
                .map(|(message, body)| (message.handle, body))
                .unzip::<_, _, Vec<_>, Vec<_>>();
            let id = world.ask(Ack { group: self.poppers.clone(), topic: self.topic.clone(), handles });
            self.asked.insert(id, Asked::Ack(bodies));
            self.settle(world, dice, oracle);
        }
        let dead = self.read_whole(DEAD..=DEAD, world, dice, oracle);
        oracle.all_reached(&dead.into_values().flatten().collect::<Vec<_>>());
    }

    /// Whoever counts what waits comes to one number.
    fn looks_at_rest(&mut self, world: &mut World, dice: &mut Seed, oracle: &mut Oracle) {
        let (before, waited) = (self.listed, world.pending());
        self.begin_pages(Which::All, 256, world, oracle);
        self.settle(world, dice, oracle);
        assert!(self.pages.is_none(), "{}: nothing hinders the pages", oracle.seed());
        // Some may have left on the way.
        let told = self.listed - before;
        let fits = (world.pending()..=waited).contains(&told);
        assert!(fits, "{}: {told} are told to wait, not {waited}", oracle.seed());
        let (waited, id) = (world.pending(), world.ask(histogram(3_600_000)));
        self.asked.insert(id, Asked::Exact);
        self.settle(world, dice, oracle);
        let fits = (world.pending()..=waited).contains(&self.counted);
        assert!(fits, "{}: {} are counted, not {waited}", oracle.seed(), self.counted);
    }

    /// Reads queues from their beginning to their end.
    fn read_whole(
        &mut self,
        queues: impl IntoIterator<Item = u32>,
        world: &mut World,
        dice: &mut Seed,
        oracle: &mut Oracle,
    ) -> BTreeMap<u32, Vec<Bytes>> {
        self.whole = Some(BTreeMap::new());
        for queue in queues {
            self.offsets.insert(queue, 0);
            let mut before = -1;
            while self.offsets[&queue] != before {
                before = self.offsets[&queue];
                let id = world.ask(self.pull_of(queue, before, None));
                self.asked.insert(id, Asked::Pull(queue));
                self.settle(world, dice, oracle);
            }
        }
        self.whole.take().expect("set above")
    }

    /// Turns until nothing moves any more.
    fn settle(&mut self, world: &mut World, dice: &mut Seed, oracle: &mut Oracle) {
        for _ in 0..10_000 {
            world.turn(dice, oracle, self);
            if world.is_settled() {
                return;
            }
            world.advance(10);
        }
        panic!("{}: faults have stopped, and it does not come to rest", oracle.seed());
    }
}

fn is_over_limit(why: &SendRefusal) -> bool {
    matches!(
        why,
        SendRefusal::TooManyPending { .. }
            | SendRefusal::TooManyPendingOfTopic { .. }
            | SendRefusal::TooManyPendingInSecond { .. }
    )
}

fn histogram(width_ms: u64) -> GetHistogram {
    let (from, until) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
    let width_ms = NonZeroU64::new(width_ms).expect("it is one at least");
    GetHistogram { topic: None, from, until, width_ms, after: None }
}
