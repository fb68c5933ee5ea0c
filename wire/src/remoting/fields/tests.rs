use super::*;
use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;

/// Any value that a header field of this type can carry.
pub(crate) fn any_field<T: AnyField>() -> BoxedStrategy<T> {
    T::any()
}

pub(crate) trait AnyField: Sized {
    fn any() -> BoxedStrategy<Self>;
}

impl AnyField for String {
    fn any() -> BoxedStrategy<Self> {
        any::<String>().boxed()
    }
}

impl AnyField for Option<String> {
    fn any() -> BoxedStrategy<Self> {
        proptest::option::of(".+").boxed()
    }
}

macro_rules! plain {
    ($($type:ty),*) => {
        $(impl AnyField for $type {
            fn any() -> BoxedStrategy<Self> {
                any::<$type>().boxed()
            }
        })*
    };
}
plain!(bool, Option<bool>, i32, i64, Option<i32>, Option<i64>);

#[test]
fn a_field_set_again_keeps_its_place_and_takes_the_new_value() {
    let mut fields = Fields::new();
    fields.set("a", 1);
    fields.set("b", "two");
    fields.set("a", "three");
    assert_eq!(fields.iter().collect::<Vec<_>>(), [("a", "three"), ("b", "two")]);
    assert_eq!(fields, Fields::from_iter([("b", "two"), ("a", "three")]));
    assert_ne!(fields, Fields::from_iter([("b", "two"), ("c", "three")]));
}

#[test]
fn an_unreadable_number_is_told_with_its_field_and_value() {
    let fields = Fields::from_iter([("queueId", "four"), ("big", "9223372036854775808"), ("empty", "")]);
    let error = fields.number::<i32>("queueId").unwrap_err();
    assert_eq!(error.to_string(), "header field queueId is \"four\", not a whole number of 32 bits");
    assert!(matches!(fields.number::<i64>("big"), Err(FieldError::Unreadable { field: "big", .. })));
    assert_eq!(fields.number::<i64>("absent"), Err(FieldError::Missing { field: "absent" }));
    assert_eq!(fields.number::<i64>("empty"), Err(FieldError::Missing { field: "empty" }));
    assert_eq!(fields.number_if_any::<i32>("empty"), Ok(None));
}

#[test]
fn only_true_is_true() {
    let fields = Fields::from_iter([("a", "true"), ("b", "TRUE"), ("c", "1"), ("d", "")]);
    assert_eq!(["a", "b", "c", "d", "e"].map(|field| fields.flag(field)), [true, true, false, false, false]);
}
