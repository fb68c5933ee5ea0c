use super::Seed;

#[test]
fn draws_the_published_numbers_of_splitmix64() {
    let mut seed = Seed::new(1_234_567);
    let drawn = [seed.next_u64(), seed.next_u64(), seed.next_u64()];
    assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
}

#[test]
fn below_reaches_every_number_and_no_other() {
    let mut seed = Seed::new(7);
    let mut seen = [false; 5];
    for _ in 0..200 {
        seen[seed.below(5) as usize] = true;
    }
    assert_eq!(seen, [true; 5]);
}

#[test]
fn chance_is_never_at_zero_and_always_at_one() {
    let mut seed = Seed::new(1);
    assert!((0..1000).all(|_| !seed.chance(0.0) && seed.chance(1.0)));
    let hits = (0..10_000).filter(|_| seed.chance(0.25)).count();
    assert!((2_300..2_700).contains(&hits), "{hits}");
}

#[test]
fn a_forked_generator_does_not_disturb_its_parent() {
    let (mut one, mut two) = (Seed::new(9), Seed::new(9));
    let mut child = one.fork();
    let _ = two.fork();
    child.next_u64();
    assert_eq!(one.next_u64(), two.next_u64());
    assert_ne!(Seed::new(9).fork().next_u64(), Seed::new(9).next_u64());
}
