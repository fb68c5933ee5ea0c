use super::*;

#[test]
fn tags_are_parted_and_blank_or_a_star_is_all() {
    let names = |expression: &str| match Filter::tags(expression).unwrap() {
        Filter::Tags(tags) => tags.names().map(str::to_owned).collect::<Vec<_>>(),
        other => panic!("{expression:?} is {other:?}"),
    };
    for all in ["", " * ", "||", " || "] {
        assert_eq!(Filter::tags(all), Ok(Filter::All), "{all:?}");
    }
    assert_eq!(names("b || a||c "), ["b", "a", "c"]);
}

#[test]
fn a_tag_is_found_by_its_code_whatever_the_order() {
    let filter = Filter::tags("b || a || c").unwrap();
    for (tag, wanted) in [("a", true), ("b", true), ("c", true), ("d", false)] {
        assert_eq!(filter.may_match(tag::code(tag)), wanted, "{tag}");
    }
}

#[test]
fn tags_have_limits() {
    let tags = |count: usize| vec!["t"; count].join("||");
    assert!(Filter::tags(&tags(TAGS_MAX)).is_ok());
    let error = Filter::tags(&tags(TAGS_MAX + 1)).unwrap_err();
    assert_eq!(error.to_string(), "the expression has 1025 tags, the limit is 1024");
    assert!(Filter::tags(&"x".repeat(TAGS_BYTES_MAX)).is_ok());
    let error = Filter::tags(&"x".repeat(TAGS_BYTES_MAX + 1)).unwrap_err();
    assert_eq!(error.to_string(), "the expression of tags has 65537 bytes, the limit is 65536");
}
