use super::*;

#[test]
fn the_mask_of_ignored_signals_tells_of_hang_ups() {
    assert!(ignores_hang_ups("Name:\tduemq\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\n"));
    assert!(ignores_hang_ups("SigIgn:\t0000000000001001\n"));
    assert!(!ignores_hang_ups("SigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n"));
    assert!(!ignores_hang_ups(""));
}
