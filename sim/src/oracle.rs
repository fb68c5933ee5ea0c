//! What clients were promised, and what they saw.

use crate::world::Downtime;
use broker::{Recalled, RecalledByKey, Rescheduled};
use bytes::Bytes;
use model::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use wire::recall_handle::RecallHandle;
use wire::stored::View;

/// A message as its producer knows it. Its name is its body.
#[derive(Clone, Debug)]
struct Sent {
    /// Not before then.
    due: Timestamp,
    /// And not to be waited for longer than until then.
    due_last: Timestamp,
    /// How often another moment was asked for.
    moves: u32,
    /// Whether such an answer is yet to come.
    moving: bool,
    /// Whether it had been called back when that was asked for.
    over: bool,
    delayed: bool,
    /// Its key against doubles.
    key: Option<String>,
    /// The words of its `KEYS`.
    words: Vec<String>,
    /// Those of the key that had been called back when it was sent.
    recalled_before: Vec<String>,
    /// Whether the answer to another one of the key promised that it is there.
    told: bool,
    /// Its place in the order of acceptance, once acknowledged.
    acknowledged: Option<u64>,
    /// Whether a power loss could have taken it all the same.
    unsafe_still: bool,
    recall: Recall,
    /// How many recalls were asked for.
    recalls: u32,
    /// The earliest the wall clock has shown since it was first due: from then on its age may count. `None` while
    /// it cannot have been delivered.
    aged_from: Option<Timestamp>,
}

/// What was said of a recall of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recall {
    /// None was asked for.
    None,
    /// One was asked for, and its answer has not come or never will.
    Asked,
    /// It is never delivered.
    Recalled,
}

/// What was known when somebody asked for what waits.
#[derive(Debug)]
pub struct Pending {
    known: u64,
    /// With how often another moment was asked for.
    waits: Vec<(String, u32)>,
}

/// A request for all messages with a word, that is not answered yet.
#[derive(Debug)]
struct ByWord {
    word: String,
    /// The new moment; `None` for a recall.
    to: Option<Timestamp>,
    /// Those that surely waited when it was asked.
    waits: BTreeSet<String>,
    /// Those that had been called back by then.
    over: BTreeSet<String>,
    /// Those that were there, and of which no recall had been asked for.
    untouched: BTreeSet<String>,
}

/// Knows what was promised, and watches.
pub struct Oracle {
    seed: u64,
    sent: BTreeMap<String, Sent>,
    /// What was read at a place of a queue since the last power loss.
    read: BTreeMap<(u32, i64), String>,
    acked: BTreeSet<String>,
    /// Messages on their way through the retry topic when the power was lost: some of it may happen twice.
    retried_perhaps: BTreeSet<String>,
    /// Popped since the start or the last power loss.
    popped: BTreeSet<String>,
    /// Acked since all was last known to be durable.
    acked_lately: BTreeSet<String>,
    /// Acked, perhaps: the answer or the power was lost on the way.
    acked_perhaps: BTreeSet<String>,
    /// What is known to wait no longer, and since when, by the number of things that were known then.
    left: BTreeMap<String, u64>,
    known: u64,
    moved: u64,
    refused: u64,
    doubles: u64,
    /// By their keys against doubles.
    keyed: BTreeMap<String, Vec<String>>,
    /// By the words of their `KEYS`.
    worded: BTreeMap<String, Vec<String>>,
    /// Words by which messages are being called back or moved: for each request, to when they are moved.
    by_word: BTreeMap<u64, ByWord>,
    /// How many such requests there were.
    by_words: u64,
    recalled_by_word: u64,
    moved_by_word: u64,
    delivered: u64,
    /// How long a message can be read at least, in ms.
    kept_ms: i64,
    /// How long a message keeps its key against doubles after its delivery, in ms.
    window_ms: i64,
    /// By when they are due: those that the clock has not reached yet.
    ahead: BTreeSet<(Timestamp, String)>,
    /// What the wall clock showed last.
    now: Timestamp,
    /// The latest it has ever shown.
    latest: Timestamp,
    /// The same, up to when the log was kept whole.
    aged_to: Option<Timestamp>,
}

impl Oracle {
    /// Knows nothing yet.
    pub fn new(seed: u64, kept_ms: i64, window_ms: i64) -> Self {
        Self {
            seed,
            sent: BTreeMap::new(),
            read: BTreeMap::new(),
            acked: BTreeSet::new(),
            retried_perhaps: BTreeSet::new(),
            popped: BTreeSet::new(),
            acked_lately: BTreeSet::new(),
            acked_perhaps: BTreeSet::new(),
            left: BTreeMap::new(),
            known: 0,
            moved: 0,
            refused: 0,
            doubles: 0,
            keyed: BTreeMap::new(),
            worded: BTreeMap::new(),
            by_word: BTreeMap::new(),
            by_words: 0,
            recalled_by_word: 0,
            moved_by_word: 0,
            delivered: 0,
            kept_ms,
            window_ms,
            ahead: BTreeSet::new(),
            now: Timestamp::default(),
            latest: Timestamp::default(),
            aged_to: None,
        }
    }

    /// The seed, for messages.
    pub fn seed(&self) -> String {
        format!("seed {}", self.seed)
    }

    /// A send begins: the message is due no earlier than `due`.
    pub fn sends(
        &mut self,
        body: &str,
        due: Timestamp,
        delayed: bool,
        key: Option<&str>,
        words: Vec<String>,
    ) {
        let same = key.map(|key| self.keyed.entry(key.to_owned()).or_default());
        let is_recalled =
            |body: &&String| self.sent.get(*body).is_some_and(|sent| sent.recall == Recall::Recalled);
        let recalled_before = same.iter().flat_map(|same| same.iter().filter(is_recalled).cloned()).collect();
        if let Some(same) = same {
            same.push(body.to_owned());
        }
        let sent = Sent {
            due,
            due_last: due,
            moves: 0,
            moving: false,
            over: false,
            delayed,
            key: key.map(str::to_owned),
            words: words.clone(),
            recalled_before,
            told: false,
            acknowledged: None,
            unsafe_still: false,
            recall: Recall::None,
            recalls: 0,
            aged_from: None,
        };
        self.ahead.insert((due, body.to_owned()));
        assert!(self.sent.insert(body.to_owned(), sent).is_none(), "bodies are names");
        // What is being looked for by a word may find it.
        let finds = |by: &&ByWord| words.contains(&by.word);
        let finds: Vec<Option<Timestamp>> = self.by_word.values().filter(finds).map(|by| by.to).collect();
        for to in finds {
            self.may_be_found(body, to);
        }
        for word in words {
            self.worded.entry(word).or_default().push(body.to_owned());
        }
    }

    /// A send was acknowledged, with its record at `log_offset`.
    pub fn acknowledge(&mut self, body: &str, log_offset: u64, durable: bool) {
        let sent = self.sent.get_mut(body).expect("it was sent");
        sent.acknowledged = Some(log_offset);
        sent.unsafe_still = !durable;
        let Some(key) = &self.sent[body].key else { return };
        for other in self.keyed[key].iter().filter(|other| *other != body) {
            let Some(sent) = self.sent.get(other) else { continue };
            let was_first = sent.acknowledged.is_some_and(|at| at < log_offset);
            let holds = was_first && self.holds_key(sent);
            assert!(!holds, "{}: {body} was stored, though {other} has its {key}; {sent:?}", self.seed());
        }
    }

    /// Whether a message surely has its key still, as it had all the time since it was acknowledged.
    fn holds_key(&self, sent: &Sent) -> bool {
        let stays = sent.acknowledged.is_some() && !sent.unsafe_still && sent.recall == Recall::None;
        let in_window = sent.aged_from.is_none_or(|from| self.latest.millis_since(from) < self.window_ms);
        stays && in_window && !self.may_be_gone(sent)
    }

    /// A send was answered with another message: it is never seen, and that one is there.
    pub fn is_double(&mut self, body: &str, answer: &broker::Sent, durable: bool) {
        let seed = self.seed();
        let double = self.remove(body);
        self.doubles += 1;
        let same = &self.keyed[double.key.as_ref().unwrap_or_else(|| panic!("{seed}: {body} has no key"))];
        let name = format!("{} ", answer.unique_key);
        let first = same.iter().find(|other| other.starts_with(&name) && self.sent.contains_key(*other));
        let first = first.unwrap_or_else(|| panic!("{seed}: {body} is no double of {name}")).clone();
        assert!(!double.recalled_before.contains(&first), "{seed}: {first} was called back, and has its key");
        let latest = self.latest;
        let sent = self.sent.get_mut(&first).expect("just found");
        let due = answer.recall_handle.as_ref().map(|handle| RecallHandle::decode(handle).expect("a handle"));
        let last = if sent.due == sent.due_last { sent.due } else { sent.due_last.max(latest) };
        let fits = match due {
            Some(handle) => sent.delayed && (sent.due..=last).contains(&handle.deliver_at),
            None => !sent.delayed,
        };
        assert!(fits, "{seed}: {body} is told another moment than that of {first}: {answer:?}; {sent:?}");
        if sent.acknowledged.is_none() && !sent.told {
            sent.unsafe_still = !durable;
            sent.told = true;
        }
    }

    /// Sends answered with another message.
    pub fn doubles(&self) -> u64 {
        self.doubles
    }

    /// A send was answered, and its message is never seen anywhere.
    pub fn is_not_stored(&mut self, body: &str) {
        self.remove(body);
        self.refused += 1;
    }

    fn remove(&mut self, body: &str) -> Sent {
        let sent = self.sent.remove(body).expect("it was sent");
        for word in &sent.words {
            self.worded.get_mut(word).expect("it has the word").retain(|other| other != body);
        }
        self.ahead.remove(&(sent.due, body.to_owned()));
        sent
    }

    /// The wall clock shows this.
    pub fn at(&mut self, now: Timestamp) {
        self.latest = self.latest.max(now);
        if now < self.now {
            for aged_from in self.sent.values_mut().filter_map(|sent| sent.aged_from.as_mut()) {
                *aged_from = now.min(*aged_from);
            }
        }
        self.now = now;
        while self.ahead.first().is_some_and(|(due, _)| *due <= now) {
            let (_, body) = self.ahead.pop_first().expect("there is one");
            // One that was moved by a word may have turned out not to be stored.
            let Some(sent) = self.sent.get_mut(&body) else { continue };
            if sent.due <= now {
                sent.aged_from.get_or_insert(now);
            }
        }
    }

    /// From now on nothing of the log goes.
    pub fn all_is_kept(&mut self) {
        self.aged_to = Some(self.latest);
    }

    /// Whether a message may have been delivered so long ago that it is gone. One that is pending is not.
    fn may_be_gone(&self, sent: &Sent) -> bool {
        let aged_to = self.aged_to.unwrap_or(self.latest);
        sent.aged_from.is_some_and(|from| aged_to.millis_since(from) >= self.kept_ms)
    }

    /// Whether nobody was promised that a message is there at the end.
    fn may_lack(&self, sent: &Sent) -> bool {
        let promised = sent.acknowledged.is_some() || sent.told;
        !promised || sent.recall != Recall::None || self.may_be_gone(sent)
    }

    /// When the last of all messages is due.
    pub fn last_due(&self) -> Timestamp {
        self.sent.values().map(|sent| sent.due_last).max().unwrap_or_default()
    }

    /// Whether another moment may be asked for: one answer at a time is waited for.
    pub fn may_move(&self, body: &str) -> bool {
        !self.sent[body].moving
    }

    /// Another moment is asked for.
    pub fn asks_move(&mut self, body: &str, due: Timestamp) {
        let sent = self.sent.get_mut(body).expect("it was sent");
        (sent.moves, sent.moving) = (sent.moves + 1, true);
        sent.over = sent.recall == Recall::Recalled;
        (sent.due, sent.due_last) = (sent.due.min(due), sent.due_last.max(due));
        self.ahead.insert((sent.due, body.to_owned()));
    }

    /// It was answered, or refused and then `None`.
    pub fn answers_move(&mut self, body: &str, answer: Option<&Rescheduled>, durable: bool) {
        let seed = self.seed();
        let sent = self.sent.get_mut(body).expect("it was sent");
        sent.moving = false;
        let known = sent.acknowledged.is_some() && !sent.unsafe_still && sent.recalls == 0;
        let waits = known && sent.due > self.latest;
        match answer {
            Some(&Rescheduled { deliver_at, ref moved, .. }) if !moved.is_empty() => {
                assert_eq!(moved.len(), 1, "{seed}: {body} was moved more than once by one request");
                assert!(!sent.over, "{seed}: {body} was called back, and then moved");
                self.moved += 1;
                // The move is answered once it is known what could not be moved: a recall may have come in between.
                if sent.recall == Recall::Recalled {
                    return;
                }
                if durable {
                    (sent.due, sent.due_last) = (deliver_at, deliver_at);
                    if deliver_at > self.latest {
                        sent.aged_from = None;
                    }
                } else {
                    sent.due_last = sent.due_last.max(deliver_at);
                }
                self.ahead.insert((sent.due, body.to_owned()));
            }
            Some(answer) => assert!(!waits, "{seed}: {body} waits, and is not moved, but {answer:?}"),
            None => {}
        }
    }

    /// Messages that were given another moment.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// Sends that were answered and stored nothing.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// A recall is asked for; tells whether the message has been called back by then.
    pub fn asks_recall(&mut self, body: &str) -> bool {
        let sent = self.sent.get_mut(body).expect("it was sent");
        sent.recalls += 1;
        if sent.recall == Recall::None {
            sent.recall = Recall::Asked;
        }
        sent.recall == Recall::Recalled
    }

    /// A recall was answered.
    pub fn answers_recall(&mut self, body: &str, outcome: Recalled, durable: bool) {
        let seed = self.seed();
        let sent = self.sent.get_mut(body).expect("it was sent");
        let called_back = sent.recall == Recall::Recalled;
        match outcome {
            Recalled::Recalled if durable => {
                sent.recall = Recall::Recalled;
                self.has_left(body);
                return;
            }
            Recalled::Recalled => {}
            // What was called back is remembered until its moment, also where the clock is set back after it.
            Recalled::TooLate | Recalled::Unknown if called_back && sent.due <= self.latest => return,
            Recalled::TooLate | Recalled::Unknown => {
                assert!(!called_back, "{seed}: {body} was called back, and then it was {outcome:?}");
            }
        }
        // Once its moment was there, an earlier recall of it may be forgotten.
        let known = sent.acknowledged.is_some() && !sent.unsafe_still && sent.due > self.latest;
        assert!(
            !known || outcome != Recalled::Unknown,
            "{seed}: {body} waits, and a recall knows nothing of it"
        );
    }

    /// A recall by the id of one message was answered; `over` tells whether that had been called back before. Another
    /// recall may have come between what this one did and its answer, and have been told the same.
    pub fn answers_recall_by_key(&mut self, body: &str, over: bool, answer: &RecalledByKey, durable: bool) {
        let seed = self.seed();
        let sent = &self.sent[body];
        match answer.recalled.len() {
            0 => {
                // Unless another recall was the first.
                let known = sent.acknowledged.is_some() && !sent.unsafe_still && sent.recalls == 1;
                let waits = known && sent.due > self.latest;
                assert!(!waits, "{seed}: {body} waits, and a recall by its id finds nothing");
            }
            1 => {
                assert!(!over, "{seed}: {body} was called back twice");
                self.answers_recall(body, Recalled::Recalled, durable);
            }
            many => panic!("{seed}: {body} was called back {many} times over"),
        }
    }

    /// All messages with a word are called back, or moved to another moment. Gives the request a number, or `None` where
    /// one of them is being moved: one answer at a time is waited for.
    pub fn asks_by_word(&mut self, word: &str, to: Option<Timestamp>) -> Option<u64> {
        let bodies = self.worded.get(word).cloned().unwrap_or_default();
        if to.is_some() && bodies.iter().any(|body| self.sent[body].moving) {
            return None;
        }
        let surely = |body: &&String| self.surely_waits(&self.sent[*body]);
        let waits = bodies.iter().filter(surely).cloned().collect();
        let over = |body: &&String| self.sent[*body].recall == Recall::Recalled;
        let over = bodies.iter().filter(over).cloned().collect();
        let untouched = |body: &&String| {
            let sent = &self.sent[*body];
            sent.acknowledged.is_some() && sent.recalls == 0
        };
        let untouched = bodies.iter().filter(untouched).cloned().collect();
        for body in &bodies {
            self.may_be_found(body, to);
        }
        self.by_words += 1;
        self.by_word.insert(self.by_words, ByWord { word: word.to_owned(), to, waits, over, untouched });
        Some(self.by_words)
    }

    fn may_be_found(&mut self, body: &str, to: Option<Timestamp>) {
        match to {
            Some(to) => self.asks_move(body, to),
            None => drop(self.asks_recall(body)),
        }
    }

    /// A recall by a word was answered: with the ids of what was called back, and whether more may wait; or refused.
    pub fn answers_recall_by_word(&mut self, number: u64, answer: Option<&RecalledByKey>, durable: bool) {
        let seed = self.seed();
        let by = self.by_word.remove(&number).expect("asked once");
        let Some(answer) = answer else { return };
        let recalled = self.of_ids(&by.word, answer.recalled.iter().map(String::as_str));
        for body in &recalled {
            assert!(!by.over.contains(body), "{seed}: {body} was called back twice");
            self.recalled_by_word += 1;
            self.answers_recall(body, Recalled::Recalled, durable);
        }
        for body in by.waits.iter().filter(|body| !answer.more && !recalled.contains(*body)) {
            let sent = &self.sent[body];
            // Unless another recall was the first.
            let waits = sent.recalls == 1 && !sent.unsafe_still && sent.due > self.latest;
            assert!(!waits, "{seed}: {body} waits, and a recall by its key {} does not find it", by.word);
        }
        // What it did not call back is promised as before.
        for body in by.untouched.iter().filter(|body| !recalled.contains(*body)) {
            let sent = self.sent.get_mut(body).expect("it was sent");
            if sent.recalls == 1 {
                (sent.recall, sent.recalls) = (Recall::None, 0);
            }
        }
    }

    /// Another moment for all with a word was answered, or refused and then `None`.
    pub fn answers_move_by_word(&mut self, number: u64, answer: Option<&Rescheduled>, durable: bool) {
        let by = self.by_word.remove(&number).expect("asked once");
        let ids = answer.iter().flat_map(|answer| &answer.moved).map(|moved| moved.unique_key.as_str());
        let moved = self.of_ids(&by.word, ids);
        self.moved_by_word += moved.len() as u64;
        for body in self.worded.get(&by.word).cloned().unwrap_or_default() {
            let of_one = answer.map(|answer| {
                let mut of_one = answer.clone();
                of_one.moved.retain(|moved| body.starts_with(&format!("{} ", moved.unique_key)));
                of_one
            });
            // More may wait, and what came later need not have been found.
            let is_promised = by.waits.contains(&body) && answer.is_some_and(|answer| answer.older.is_none());
            let told = of_one.as_ref().filter(|_| is_promised || moved.contains(&body));
            self.answers_move(&body, told, durable);
        }
    }

    /// The messages of these ids, all of which have the word, each once.
    fn of_ids<'a>(&self, word: &str, ids: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
        let seed = self.seed();
        let mut found = BTreeSet::new();
        for id in ids {
            let name = format!("{id} ");
            let mut same = self.worded.get(word).into_iter().flatten();
            let body = same.find(|body| body.starts_with(&name));
            let body =
                body.unwrap_or_else(|| panic!("{seed}: {id} is found by {word}, which it does not have"));
            assert!(found.insert(body.clone()), "{seed}: {id} is told twice");
        }
        found
    }

    /// Messages called back, and moved, by a key that they share.
    pub fn by_word(&self) -> (u64, u64) {
        (self.recalled_by_word, self.moved_by_word)
    }

    /// What is known now of the messages with a word, as [`Self::asks_pending`].
    pub fn asks_pending_of(&self, word: &str) -> Pending {
        let mut asked = self.asks_pending();
        asked.waits.retain(|(body, _)| self.has_word(body, word));
        asked
    }

    /// Whether a message has a word.
    pub fn has_word(&self, body: &str, word: &str) -> bool {
        self.sent[body].words.iter().any(|has| has == word)
    }

    /// A message was read from a queue.
    pub fn reads(&mut self, queue: u32, bytes: &Bytes) {
        let view =
            View::parse(bytes).unwrap_or_else(|e| panic!("{}: a message does not parse: {e}", self.seed()));
        let body = name(&view);
        self.not_early(&view);
        assert_eq!(view.queue_id().0, queue, "{}: {body} lies in another queue", self.seed());
        let place = (queue, view.queue_offset().0);
        let recall = self.sent[&body].recall;
        assert_ne!(recall, Recall::Recalled, "seed {}: {body} was called back and is there", self.seed);
        self.has_left(&body);
        let was = self.read.entry(place).or_insert_with(|| body.clone());
        assert_eq!(*was, body, "seed {}: another message at {place:?}", self.seed);
    }

    /// A message was popped.
    pub fn pops(&mut self, bytes: &Bytes) -> String {
        let view =
            View::parse(bytes).unwrap_or_else(|e| panic!("{}: a message does not parse: {e}", self.seed()));
        let body = name(&view);
        self.not_early(&view);
        let perhaps = self.retried_perhaps.contains(&body);
        assert!(perhaps || !self.acked.contains(&body), "{}: {body} was acked and comes again", self.seed());
        self.popped.insert(body.clone());
        self.has_left(&body);
        body
    }

    fn has_left(&mut self, body: &str) {
        self.known += 1;
        let known = self.known;
        self.left.entry(body.to_owned()).or_insert(known);
    }

    /// What is known now, for [`Self::sees_pending`] and [`Self::counts_pending`] when it is answered.
    pub fn asks_pending(&self) -> Pending {
        let waits = self.sent.iter().filter(|(_, sent)| self.surely_waits(sent));
        Pending { known: self.known, waits: waits.map(|(body, sent)| (body.clone(), sent.moves)).collect() }
    }

    fn surely_waits(&self, sent: &Sent) -> bool {
        let stays = sent.acknowledged.is_some() && !sent.unsafe_still && sent.recall == Recall::None;
        stays && !sent.moving && sent.due > self.latest
    }

    /// A message was told to wait, by an answer to what was asked then.
    pub fn sees_pending(&self, asked: &Pending, at: Timestamp, bytes: &Bytes) -> String {
        let view =
            View::parse(bytes).unwrap_or_else(|e| panic!("{}: a message does not parse: {e}", self.seed()));
        let body = name(&view);
        let sent = self.sent.get(&body).unwrap_or_else(|| panic!("{}: {body} was never sent", self.seed()));
        let last = if sent.due == sent.due_last { sent.due } else { sent.due_last.max(self.latest) };
        let fits = (sent.due..=last).contains(&at);
        assert!(fits, "{}: {body} is told to be due at {at}, another time; {sent:?}", self.seed());
        let left = self.left.get(&body).is_some_and(|known| *known <= asked.known);
        assert!(!left, "{}: {body} has left, and is told to wait", self.seed());
        body
    }

    /// All pages of what waits were read, the first of them asked for then.
    pub fn saw_pending(&self, asked: &Pending, seen: &BTreeSet<String>) {
        for (body, _) in asked.waits.iter().filter(|waits| self.still_waits(waits)) {
            assert!(seen.contains(body), "{}: {body} waits, and is not told", self.seed());
        }
    }

    /// Whether what surely waited then surely does, and at the same moment.
    fn still_waits(&self, (body, moves): &(String, u32)) -> bool {
        let sent = &self.sent[body];
        sent.moves == *moves && self.surely_waits(sent)
    }

    /// So many were told to wait, by an answer to what was asked then.
    pub fn counts_pending(&self, asked: &Pending, count: u64) {
        let least = asked.waits.iter().filter(|waits| self.still_waits(waits)).count() as u64;
        let left = self.left.values().filter(|known| **known <= asked.known).count();
        let most = (self.sent.len() - left) as u64;
        let fits = (least..=most).contains(&count);
        assert!(fits, "{}: {count} are told to wait, it must be {least} to {most}", self.seed());
    }

    fn not_early(&self, view: &View<'_>) {
        let body = name(view);
        let sent = self.sent.get(&body).unwrap_or_else(|| panic!("{}: {body} was never sent", self.seed()));
        let retried = view.reconsume_times() > 0;
        // What is wanted at once is stored when its key was looked for, and the clock may have been set back since it came.
        let at_once = !sent.delayed && sent.key.is_some();
        let is_due = view.stored_at() >= sent.due || at_once;
        assert!(is_due || retried, "{}: {body} was delivered early", self.seed());
    }

    /// An ack was answered.
    pub fn acks(&mut self, body: &str) {
        self.acked.insert(body.to_owned());
        self.acked_lately.insert(body.to_owned());
    }

    /// An ack was asked for, and its answer never came.
    pub fn may_have_acked(&mut self, bodies: Vec<String>) {
        self.acked_perhaps.extend(bodies);
    }

    /// All that was written is durable now.
    pub fn all_durable(&mut self) {
        self.acked_lately.clear();
        self.sent.values_mut().for_each(|sent| sent.unsafe_still = false);
    }

    /// The process or the power ended.
    pub fn crashed(&mut self, how: Downtime) {
        self.sent.values_mut().for_each(|sent| sent.moving = false);
        self.by_word.clear();
        if how == Downtime::PowerLoss {
            // Deliveries and acks of the last moment may be repeated, at other places.
            self.read.clear();
            self.left.clear();
            self.retried_perhaps.append(&mut self.popped);
            for body in std::mem::take(&mut self.acked_lately) {
                self.acked.remove(&body);
                self.acked_perhaps.insert(body);
            }
            // What was only written may be gone: nobody was promised more.
            for sent in self.sent.values_mut().filter(|sent| sent.unsafe_still) {
                (sent.acknowledged, sent.told) = (None, false);
            }
        }
    }

    /// All queues were read from their beginning to their end, after everything was due.
    pub fn finally(&mut self, queues: &BTreeMap<u32, Vec<Bytes>>) {
        let mut times: BTreeMap<String, u32> = BTreeMap::new();
        for messages in queues.values() {
            let mut last: BTreeMap<Option<Timestamp>, u64> = BTreeMap::new();
            for bytes in messages {
                let view = View::parse(bytes).expect("it was read before");
                let body = name(&view);
                *times.entry(body.clone()).or_default() += 1;
                self.in_order(&body, &mut last);
                self.delivered += 1;
            }
        }
        for (body, sent) in &self.sent {
            let times = times.get(body).copied().unwrap_or(0);
            assert!(times <= 1, "{}: {body} lies in its queue {times} times", self.seed());
            let may_lack = self.may_lack(sent);
            assert!(may_lack || times == 1, "{}: {body} is lost; {sent:?}", self.seed());
            let called_back = sent.recall == Recall::Recalled;
            assert!(!called_back || times == 0, "{}: {body} was called back and delivered", self.seed());
        }
    }

    /// Messages due at one moment, and those wanted at once, keep their order of acceptance.
    fn in_order(&self, body: &str, last: &mut BTreeMap<Option<Timestamp>, u64>) {
        let sent = &self.sent[body];
        let Some(accepted) = sent.acknowledged.filter(|_| sent.moves == 0) else { return };
        let before = last.insert(sent.delayed.then_some(sent.due), accepted);
        assert!(before.is_none_or(|before| before < accepted), "{}: {body} is out of order", self.seed());
    }

    /// The poppers have had all there was: what they did not ack lies among the dead letters.
    pub fn all_reached(&self, dead: &[Bytes]) {
        let dead: BTreeSet<String> =
            dead.iter().filter_map(|bytes| View::parse(bytes).ok().map(|view| name(&view))).collect();
        for (body, sent) in &self.sent {
            let reached = [&self.acked, &self.acked_perhaps, &dead].iter().any(|all| all.contains(body));
            let may_lack = self.may_lack(sent);
            assert!(may_lack || reached, "{}: {body} never came to a popper", self.seed());
        }
    }

    /// Messages called back in time.
    pub fn recalled(&self) -> u64 {
        self.sent.values().filter(|sent| sent.recall == Recall::Recalled).count() as u64
    }

    /// Sends acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.sent.values().filter(|sent| sent.acknowledged.is_some()).count() as u64
    }

    /// Messages in the queues at the end.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Messages acked.
    pub fn acked(&self) -> u64 {
        self.acked.len() as u64
    }
}

fn name(view: &View<'_>) -> String {
    String::from_utf8_lossy(view.body()).into_owned()
}
