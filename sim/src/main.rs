//! `sim SEED [STEPS]`: one seed. `sim --for SECONDS [FIRST_SEED]`: fresh seeds for that long.

use std::time::{Duration, Instant};

const STEPS: u64 = 5000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    match (words.first().map(String::as_str), number(0)) {
        (Some("--for"), _) => sweep(number(1).unwrap_or(60), number(2)),
        (_, Some(seed)) => println!("seed {seed}: {:?}", sim::run(seed, number(1).unwrap_or(STEPS))),
        _ => {
            eprintln!("usage: sim SEED [STEPS] | sim --for SECONDS [FIRST_SEED]");
            std::process::exit(2);
        }
    }
}

/// Runs one seed after another. A broken promise ends the program with its seed.
fn sweep(seconds: u64, first: Option<u64>) {
    let begin = Instant::now();
    let first = first.unwrap_or_else(|| u64::from(std::process::id()) << 20);
    let (mut count, mut sum) = (0, sim::Outcome::default());
    while begin.elapsed() < Duration::from_secs(seconds) {
        let seed = first + count;
        println!("seed {seed}");
        sum.add(&sim::run(seed, STEPS));
        count += 1;
    }
    let a_minute = u128::from(count) * 60_000 / begin.elapsed().as_millis().max(1);
    println!("{sum:?}");
    println!("{count} seeds from {first} on kept every promise, {a_minute} a minute");
}
