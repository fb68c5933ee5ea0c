use super::*;

#[test]
fn numbers_are_those_of_java() {
    for (tag, expected) in [
        ("", 0),
        ("A", 65),
        ("TagA", 2_598_919),
        ("hello", 99_162_322),
        ("polygenelubricants", -2_147_483_648),
        ("é", 233),
        ("😀", 1_772_899),
    ] {
        assert_eq!(code(tag), expected, "{tag}");
    }
}
