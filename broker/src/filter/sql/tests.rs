//! What expressions say, written as a letter: `T` holds, `F` does not, `?` unknown, `!` fails.

use super::eval::Unfit;
use super::*;
use proptest::prelude::*;

/// The message of most tests; `no` is absent.
const MESSAGE: [(&str, &str); 8] = [
    ("a", "5"),
    ("b", "text"),
    ("c", "3.5"),
    ("t", "True"),
    ("e", ""),
    ("long", "3000000000"),
    ("quote", "it's"),
    ("TAGS", "A"),
];

fn says(text: &str) -> char {
    let sql = Sql::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let lookup = |name: &str| MESSAGE.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let values: Vec<_> = sql.properties.iter().map(|name| lookup(name)).collect();
    let said = match sql.condition.holds(&values) {
        Ok(Some(true)) => 'T',
        Ok(Some(false)) => 'F',
        Ok(None) => '?',
        Err(Unfit) => '!',
    };
    assert_eq!(sql.matches(lookup), said == 'T', "{text}: only what holds matches");
    said
}

#[track_caller]
fn check(said: char, texts: &[&str]) {
    for text in texts {
        assert_eq!(says(text), said, "{text}");
    }
}

#[track_caller]
fn refused(text: &str, why: &str) {
    match Sql::parse(text) {
        Ok(sql) => panic!("{sql:?} was read"),
        Err(error) => assert_eq!(error.to_string(), why, "{text}"),
    }
}

#[test]
fn equality_compares_texts_by_letter_and_numbers_by_value() {
    check(
        'T',
        &["a = 5", "a = '5'", "5 = a", "'5' = a", "a = 5.0", "a = 5L", "a = 05.0", "a = +5", "a = 5e0"],
    );
    check('T', &["a = 50E-1", "a = .5e+1", "a = 5.", "a = 0.5e1"]);
    check(
        'T',
        &["b = 'text'", "quote = 'it''s'", "e = ''", "c = 3.5", "a <> 6", "b <> 'Text'", "a <> '5.0'"],
    );
    check('F', &["a = 6", "a <> 5", "b = 'Text'", "a = '5.0'", "a = b", "5 = 6", "'x' = 'y'", "c = '3.50'"]);
    check('T', &["a = a", "5 = 5.0", "5 = 5", "'x' = 'x'", "3000000000 = 3e9", "long = 3000000000"]);
}

#[test]
fn a_text_that_is_no_number_of_the_kind_beside_it_fails() {
    check(
        '!',
        &["b = 5", "b <> 5", "5 = b", "b > 5", "b = 5.0", "e = 0", "b BETWEEN 1 AND 2", "b > a", "a < b"],
    );
    // Whole numbers beside a number of 32 bits, or of 64, and no others.
    check('!', &["c > 3", "c = 3", "3 < c", "long > 5", "c < 3000000000"]);
    check('T', &["c > 3.0", "long > 5.0", "long > 2999999999", "c > a OR c < a"]);
}

#[test]
fn order_is_of_numbers_and_of_properties_that_are_numbers() {
    check(
        'T',
        &["a > 4", "a >= 5", "a < 6", "a <= 5", "4 < a", "c < a", "a > c", "a > -6", "a > - -4", "-6 < a"],
    );
    check('F', &["a > 5", "a >= 6", "a < 5", "a <= 4", "c >= a", "5 > 5.0"]);
    check('?', &["no > 4", "4 > no", "no > no", "a > no", "a > -b", "-a < 4", "no <= b"]);
    check('T', &["1.7e308 > a", "a > 0.0"]);
    check('F', &["3000000000 < 5", "a > 3000000000", "0.0 > a"]);
}

#[test]
fn between_has_both_its_ends_in_it() {
    check('T', &["a BETWEEN 5 AND 6", "a BETWEEN 4 AND 5", "a between 5 and 5", "a NOT BETWEEN 6 AND 7"]);
    check('T', &["a BETWEEN c AND 5", "a BETWEEN -1 AND +9", "a NOT BETWEEN 7 AND 6", "6 BETWEEN a AND 9"]);
    check('F', &["a BETWEEN 6 AND 7", "a NOT BETWEEN 5 AND 6", "a BETWEEN 5 AND -5"]);
    check(
        '?',
        &["no BETWEEN 1 AND 2", "no NOT BETWEEN 1 AND 2", "a BETWEEN no AND 9", "a NOT BETWEEN no AND 9"],
    );
    // One end decides; what the other is does not matter then.
    check('F', &["a BETWEEN 6 AND no", "a BETWEEN no AND 4", "a BETWEEN 6 AND b"]);
    check('T', &["a NOT BETWEEN 6 AND no", "a NOT BETWEEN no AND 4", "a NOT BETWEEN 6 AND b"]);
    check('!', &["a BETWEEN 5 AND b", "a BETWEEN b AND 4"]);
}

#[test]
fn in_compares_texts() {
    check(
        'T',
        &["b IN ('x', 'text')", "a in ('5')", "b NOT IN ('x')", "quote IN ('it''s')", "(b) IN ('text')"],
    );
    check(
        'T',
        &["+b IN ('text')", "e IN ('b', '', 'a')", "TAGS IN ('A', 'B')", "b IN ('text', 'a', 'c', 'b', 'd')"],
    );
    check('F', &["b IN ('x', 'Text')", "b NOT IN ('text', 'x')", "a IN ('5.0')"]);
    check('?', &["no IN ('x')", "no NOT IN ('x')"]);
}

#[test]
fn tests_of_a_part_are_false_where_there_is_no_text_and_no_part() {
    check(
        'T',
        &["b CONTAINS 'ex'", "b STARTSWITH 'te'", "b ENDSWITH 'xt'", "'axb' contains 'x'", "a CONTAINS '5'"],
    );
    check('T', &["b NOT CONTAINS 'x t'", "b NOT STARTSWITH 'ex'", "b NOT ENDSWITH 'ex'", "' ' CONTAINS ' '"]);
    check('F', &["b CONTAINS 'EX'", "b STARTSWITH 'ex'", "b ENDSWITH 'ex'", "b NOT CONTAINS 'text'"]);
    check('F', &["b NOT STARTSWITH 'te'", "b NOT ENDSWITH 'xt'"]);
    for test in ["CONTAINS", "STARTSWITH", "ENDSWITH"] {
        for not in ["", "NOT "] {
            for (of, part) in
                [("b", ""), ("no", "x"), ("5", "5"), ("TRUE", "T"), ("-a", "5"), ("(a = 5)", "x")]
            {
                check('F', &[&format!("{of} {not}{test} '{part}'")]);
            }
        }
        check('T', &[&format!("NOT (no {test} 'x')")]);
    }
}

#[test]
fn is_null_is_never_unknown() {
    check('T', &["no IS NULL", "a IS NOT NULL", "e is not null", "NULL IS NULL", "(no = 5) IS NULL"]);
    check('T', &["-b IS NULL", "-a IS NULL", "5 IS NOT NULL", "(a = 5) IS NOT NULL", "NOT no IS NULL"]);
    check('F', &["a IS NULL", "no IS NOT NULL", "e IS NULL", "NOT a IS NULL"]);
}

#[test]
fn equality_with_what_is_absent_depends_on_the_side() {
    check('?', &["no = 5", "no <> 5", "no = 'x'", "no <> 'x'", "no = a", "no <> a", "no = TRUE"]);
    check('F', &["5 = no", "'x' = no", "a = no", "no <> nor", "TRUE = no", "a = -b"]);
    check('T', &["5 <> no", "'x' <> no", "a <> no", "no = nor"]);
}

#[test]
fn truths_are_compared_with_truths_and_with_texts_on_their_left() {
    check('T', &["t = TRUE", "t <> false", "b = FALSE", "TRUE = TRUE", "TRUE <> FALSE", "'tRuE' = TRUE"]);
    check('T', &["(a = 5) = TRUE", "(a = 6) = (a = 7)", "t = (a = 5)", "5 <> TRUE", "(a = 5) <> 1"]);
    check('F', &["t = FALSE", "b = TRUE", "5 = TRUE", "TRUE = (a = 6)", "-1 = FALSE", "(a = 5) = 1"]);
    check('!', &["TRUE = t", "(a = 5) = t", "(a = 5) = 'true'", "TRUE <> t"]);
}

#[test]
fn and_or_and_not_know_three_values() {
    let values = [("TRUE", 'T'), ("FALSE", 'F'), ("NULL", '?')];
    for (left, l) in values {
        let not = match l {
            'T' => 'F',
            'F' => 'T',
            _ => '?',
        };
        check(not, &[&format!("NOT {left}")]);
        for (right, r) in values {
            let both = match (l, r) {
                ('F', _) | (_, 'F') => 'F',
                ('T', 'T') => 'T',
                _ => '?',
            };
            let either = match (l, r) {
                ('T', _) | (_, 'T') => 'T',
                ('F', 'F') => 'F',
                _ => '?',
            };
            check(both, &[&format!("{left} AND {right}"), &format!("{left} and ({right})")]);
            check(either, &[&format!("{left} OR {right}"), &format!("{left} or ({right})")]);
        }
    }
}

#[test]
fn what_fails_is_not_reached_behind_what_decides() {
    check('T', &["a = 5 OR b > 1", "NOT (a = 6 AND b > 1)"]);
    check('F', &["a = 6 AND b > 1", "NOT (a = 5 OR b > 1)"]);
    check('!', &["b > 1 OR a = 5", "b > 1 AND a = 6", "a = 5 AND b > 1", "NOT (b > 1)", "no = 1 OR b > 1"]);
    check('F', &["(b > 1) CONTAINS ''", "(b > 1) NOT ENDSWITH ''"]);
    check('!', &["(b > 1) IS NULL", "-(b > 1) IS NULL", "(b > 1) CONTAINS 'x'"]);
}

#[test]
fn a_property_alone_never_holds() {
    check('F', &["a", "t", "(e)", "a OR b", "a AND t"]);
    check('T', &["NOT t", "NOT a AND NOT b", "a OR TRUE"]);
    check('?', &["no", "NOT no", "no OR a", "no AND TRUE"]);
}

#[test]
fn operators_bind_by_their_level_and_to_the_left() {
    check('T', &["TRUE OR TRUE AND FALSE", "FALSE AND FALSE OR TRUE", "a = 5 AND b = 'text' OR FALSE"]);
    check('F', &["(TRUE OR TRUE) AND FALSE", "FALSE AND (FALSE OR TRUE)"]);
    check('T', &["t = a > 4", "t = a > 4 AND c < 4.0", "a = 6 = FALSE", "a = 5 <> FALSE"]);
    check(
        'T',
        &["a BETWEEN 4 AND 6 AND b = 'text'", "NOT TRUE OR TRUE", "NOT NOT TRUE", "a = 6 IS NOT NULL"],
    );
    // NOT binds before any operator: a truth is not 6, and not more than it.
    check('F', &["NOT a = 6", "NOT (a = 5)", "NOT TRUE AND FALSE"]);
    refused(
        "NOT a > 6",
        "at character 1: expected a number or a property (NOT binds first: write NOT (…)), found NOT a",
    );
}

#[test]
fn blanks_and_comments_stand_between_words_and_case_does_not_matter() {
    check(
        'T',
        &[" a=5\tand\nb='text'\r\n", "a/* five */=/***/5-- it is\nAnD b = 'text' -- to the end", "a=5--"],
    );
    check('T', &["a\u{c}= 5", "b = 'text' oR noT fAlse", "a iS nOt nUll", "a = 5/**/"]);
    check('?', &["A = 5", "NO = 5"]);
    check('T', &["'--' = '--' AND '/*' <> '*/'"]);
    check('F', &["a = 5 -- five\rAND FALSE", "a = 5 -- five\nAND FALSE"]);
}

#[test]
fn names_are_words_of_letters_digits_and_two_signs() {
    let sql = Sql::parse("_a1 = '1' AND $b = '2' AND C_$9 = '3' AND _a1 <> 'x' AND nowhere IS NULL").unwrap();
    assert_eq!(
        sql.properties.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
        ["_a1", "$b", "C_$9", "nowhere"]
    );
    let properties = [("_a1", "1"), ("$b", "2"), ("C_$9", "3")];
    assert!(sql.matches(|name| properties.iter().find(|(n, _)| *n == name).map(|(_, value)| *value)));
    assert!(Sql::parse("日 = '1'").is_err());
    check('F', &["b = '日本'"]);
}

#[test]
fn numbers_are_read_as_the_peer_reads_them() {
    let holds = |text: &str, value: &'static str| Sql::parse(text).unwrap().matches(|_| Some(value));
    for value in ["5", "+5", "005"] {
        assert!(holds("p = 5", value) && holds("p = 5.0", value), "{value}");
    }
    for value in ["5.", " 5 ", "5.0", "5e0", "50E-1", "5f", "5.0d", "5D", "+5.F", ".5e1"] {
        assert!(holds("p = 5.0", value), "{value}");
        assert!(!holds("p = 5", value) && !holds("p <> 5", value), "{value}");
    }
    for value in
        ["", " ", "-", "+", ".", "e5", "5e", "1_000", "inf", "nan", "infinity", "+-5", "5 5", "0x5", "5l"]
    {
        assert!(!holds("p < 9.0 OR p >= 9.0", value), "{value}");
    }
    assert!(holds("p > 1.7e308", "Infinity") && holds("p < -1.7e308", "-Infinity"));
    assert!(holds("p > 1.7e308", "NaN") && holds("p >= 5.0", "-NaN") && holds("p >= q", "NaN"));
    assert!(holds("p < 0.0", "-0") && !holds("p = 0.0", "-0") && holds("p = 0", "-0"));
    assert!(holds("p = 2147483647", "2147483647") && !holds("p < 2147483647", "-2147483649"));
    assert!(holds("p = -2147483648", "-2147483648") && holds("p < 2147483648", "-2147483649"));
    assert!(holds("p = 9223372036854775807", "9223372036854775807"));
    assert!(holds("p > 9007199254740992", "9007199254740993"), "64 bits are compared whole");
    assert!(!holds("p < 9223372036854775807", "9223372036854775808"));
}

#[test]
fn an_error_says_what_was_found_where_and_what_belongs_there() {
    let operand = "a property, a value, NOT or (";
    for (text, why) in [
        ("a >", format!("at character 4: expected {operand}, found the end")),
        ("a = = 5", format!("at character 5: expected {operand}, found =")),
        ("a = AND b", format!("at character 5: expected {operand}, found AND")),
        ("()", format!("at character 2: expected {operand}, found )")),
    ] {
        refused(text, &why);
    }
    for (text, why) in [
        ("(a = 5", "at character 7: expected an operator or ), found the end"),
        ("a = 5)", "at character 6: expected AND, OR or the end, found )"),
        ("a = 5 b = 6", "at character 7: expected AND, OR or the end, found b"),
        ("a = 5x", "at character 6: expected AND, OR or the end, found x"),
        ("a != 5", "at character 3: expected a word, a number or an operator, found != 5"),
        ("a = \"x\"", "at character 5: expected a word, a number or an operator, found \"x\""),
        ("a = 5;", "at character 6: expected a word, a number or an operator, found ;"),
        ("a = 5 * 2", "at character 7: expected a word, a number or an operator, found * 2"),
        ("a = 5 + 2", "at character 7: expected AND, OR or the end, found +"),
        ("日 = 5", "at character 1: expected a word, a number or an operator, found 日 = 5"),
        ("a = '日' b", "at character 9: expected AND, OR or the end, found b"),
        ("a = 'x", "at character 5: the text has no end"),
        ("a = 'x''", "at character 5: the text has no end"),
        ("a = 5 /* x", "at character 7: the comment has no end"),
        ("a = 5 /*/", "at character 7: the comment has no end"),
        ("a = 007", "at character 5: expected a number that does not begin with 0, found 007"),
        ("a > 9223372036854775808", "at character 5: the number 9223372036854775808 is too large"),
        ("a > 1e309", "at character 5: the number 1e309 is too large"),
        ("a NOT 5", "at character 7: expected BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH, found 5"),
        ("a IS 5", "at character 6: expected NULL or NOT NULL, found 5"),
        ("a IS NOT 5", "at character 10: expected NULL, found 5"),
        ("a IN 'x'", "at character 6: expected (, found 'x'"),
        ("a IN ()", "at character 7: expected a 'text', found )"),
        ("a IN (5)", "at character 7: expected a 'text', found 5"),
        ("a IN ('x'", "at character 10: expected a comma or ), found the end"),
        ("a IN ('x',)", "at character 11: expected a 'text', found )"),
        ("'x' IN ('x')", "at character 1: expected a property before IN, found 'x'"),
        ("NOT a IN ('x')", "at character 1: expected a property before IN, found NOT a"),
        ("a CONTAINS x", "at character 12: expected a 'text', found x"),
        ("a NOT CONTAINS 5", "at character 16: expected a 'text', found 5"),
        ("a BETWEEN 10 AND 0", "at character 18: expected at least 10, found 0"),
        ("a BETWEEN 1.5 AND 1", "at character 19: expected at least 1.5, found 1"),
        ("a BETWEEN 1 OR 2", "at character 13: expected AND, found OR"),
        ("a and between 2 and 10", "at character 7: expected a property, a value, NOT or (, found between"),
        (
            "a BETWEEN 'x' AND 'y'",
            "at character 11: expected a number or a property, texts have no order, found 'x'",
        ),
        ("a > 'x'", "at character 5: expected a number or a property, texts have no order, found 'x'"),
        ("'x' < a", "at character 1: expected a number or a property, texts have no order, found 'x'"),
        ("a > TRUE", "at character 5: expected a number or a property, found TRUE"),
        ("a >= NULL", "at character 6: expected a number or a property, found NULL"),
        ("(a = 5) > 1", "at character 1: expected a number or a property, found (a = 5)"),
        ("a IS NULL CONTAINS 'x'", "at character 11: expected AND, OR or the end, found CONTAINS"),
        ("b OR a IS NOT NULL > 1", "at character 20: expected AND, OR or the end, found >"),
        ("(a IS NULL NOT IN ('x'))", "at character 12: expected an operator or ), found NOT"),
        ("a > 1 > 2", "at character 1: expected a number or a property, found a > 1"),
        ("a = NULL", "at character 5: expected a value (IS NULL asks for what is absent), found NULL"),
        ("NULL <> a", "at character 1: expected a value (IS NULL asks for what is absent), found NULL"),
        ("TRUE = 5", "at character 8: expected TRUE or FALSE, found 5"),
        ("FALSE <> 'x'", "at character 10: expected TRUE or FALSE, found 'x'"),
        ("5", "at character 1: expected a condition, found 5"),
        ("a = 5 AND 'x'", "at character 11: expected a condition, found 'x'"),
        ("NOT 5", "at character 5: expected a condition, found 5"),
        ("-a", "at character 1: expected a condition, found -a"),
        ("", "the expression is empty"),
        (" \n", "the expression is empty"),
    ] {
        refused(text, why);
    }
    refused("-- a", &format!("at character 5: expected {operand}, found the end"));
}

#[test]
fn an_error_shows_little_of_what_it_found_and_that_on_one_line() {
    let long = format!("a = 5 ;\n{}", "x".repeat(99));
    let shown = format!("; {}…", "x".repeat(38));
    refused(&long, &format!("at character 7: expected a word, a number or an operator, found {shown}"));
}

#[test]
fn length_depth_and_properties_have_limits() {
    let longest = format!("a = '{}'", "x".repeat(LENGTH_MAX - 6));
    check('F', &[&longest]);
    refused(&format!("{longest} "), "the expression has 16385 bytes, the limit is 16384");

    let parentheses = |n| format!("{}a = 5{}", "(".repeat(n), ")".repeat(n));
    check('T', &[&parentheses(64)]);
    refused(&parentheses(65), "at character 65: the expression is nested deeper than 64");
    assert!(Sql::parse(&parentheses(8000)).is_err());
    check('T', &[&vec![parentheses(60); 99].join(" AND ")]);
    for opening in ["(", "NOT ", "- ", "+", "NOT(", "-("] {
        let error = Sql::parse(&opening.repeat(2000)).unwrap_err();
        assert!(matches!(error, SqlError::TooDeep { .. }), "{opening}: {error}");
    }
    // A chain is not deep, but each of these stands within the next.
    let chain = |n| format!("a = 5{}", " = TRUE".repeat(n));
    check('T', &[&chain(63)]);
    refused(&chain(64), "at character 1: the expression is nested deeper than 64");
    check('T', &[&vec!["a = 5"; 1600].join(" AND ")]);
    check('F', &[&vec!["a = 6"; 1600].join(" OR "), &vec!["a"; 2000].join(" AND ")]);

    let names = |n| (0..n).map(|i| format!("p{i} = a")).collect::<Vec<_>>().join(" OR ");
    check('?', &[&names(63)]);
    refused(&names(64), "at character 684: the expression names more than 64 properties");
}

#[test]
fn the_same_text_is_the_same_filter() {
    let sql = |text| Sql::parse(text).unwrap();
    assert_eq!(sql("a = 5"), sql("a = 5"));
    assert_ne!(sql("a = 5"), sql("a  = 5"));
    assert_eq!(sql("a = 5").text(), "a = 5");
    assert_eq!(format!("{:?}", sql("a = 5")), "Sql(\"a = 5\")");
}

/// A condition as a test sees it.
#[derive(Clone, Debug)]
enum Model {
    Leaf(&'static str, Option<bool>),
    Not(Box<Model>),
    And(Box<Model>, Box<Model>),
    Or(Box<Model>, Box<Model>),
}

impl Model {
    fn value(&self) -> Option<bool> {
        match self {
            Self::Leaf(_, value) => *value,
            Self::Not(of) => of.value().map(|value| !value),
            Self::And(left, right) => match (left.value(), right.value()) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Or(left, right) => match (left.value(), right.value()) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }

    /// Its text, with parentheses where the `level` that it stands on needs them: 1 OR, 2 AND, 3 NOT.
    fn text(&self, level: u8) -> String {
        let (binds, text) = match self {
            Self::Leaf(text, _) => (if level == 3 && text.contains(' ') { 0 } else { 9 }, (*text).to_owned()),
            Self::Not(of) => (9, format!("NOT {}", of.text(3))),
            Self::And(left, right) => (2, format!("{} AND {}", left.text(2), right.text(3))),
            Self::Or(left, right) => (1, format!("{} OR {}", left.text(1), right.text(2))),
        };
        if binds < level { format!("({text})") } else { text }
    }
}

fn model() -> impl Strategy<Value = Model> {
    let leaves = [
        ("TRUE", Some(true)),
        ("NULL", None),
        ("a = 5", Some(true)),
        ("a IN ('6')", Some(false)),
        ("a BETWEEN 5 AND 6", Some(true)),
        ("no <> 'x'", None),
        ("a > 5", Some(false)),
        ("no IS NULL", Some(true)),
        ("no", None),
        ("b", Some(false)),
    ];
    let leaf = prop::sample::select(leaves.to_vec()).prop_map(|(text, value)| Model::Leaf(text, value));
    leaf.boxed().prop_recursive(6, 64, 2, |inner| {
        let pair = (inner.clone(), inner.clone()).prop_map(|(left, right)| (Box::new(left), Box::new(right)));
        prop_oneof![
            inner.prop_map(|of| Model::Not(Box::new(of))),
            pair.clone().prop_map(|(left, right)| Model::And(left, right)),
            pair.prop_map(|(left, right)| Model::Or(left, right)),
        ]
    })
}

/// Words in any order: most are no expression, some are.
fn words() -> impl Strategy<Value = String> {
    let words = [
        "a",
        "b",
        "no",
        "5",
        "2.5",
        ".5e1",
        "'x'",
        "''",
        "TRUE",
        "NULL",
        "AND",
        "OR",
        "NOT",
        "=",
        "<>",
        ">",
        "<=",
        "(",
        ")",
        "(",
        ")",
        "-",
        "+",
        "IS",
        "IN",
        "IN ('5','x')",
        "BETWEEN",
        "BETWEEN 1 AND 9",
        "CONTAINS 'x'",
        "IS NOT NULL",
        "= 5",
        ",",
        "/* */",
        "--\n",
        "日",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..24).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn conditions_joined_in_any_way_say_what_their_parts_say(model in model()) {
        let said = match model.value() {
            Some(true) => 'T',
            Some(false) => 'F',
            None => '?',
        };
        prop_assert_eq!(says(&model.text(0)), said, "{}", model.text(0));
    }

    #[test]
    fn no_text_is_too_strange(text in "\\PC{0,60}", words in words(), value in prop::option::of("\\PC{0,12}")) {
        for text in [text, words] {
            match Sql::parse(&text) {
                Ok(sql) => {
                    sql.matches(|_| value.as_deref());
                }
                Err(error) => {
                    let error = error.to_string();
                    prop_assert!(error.len() < 400 && !error.contains(char::is_control), "{error}");
                }
            }
        }
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "a text beside a double is read as one")]
    fn a_number_is_compared_by_its_value(left: i32, right: i64, third in -1e9_f64..1e9) {
        let holds = |text: String, value: &str| Sql::parse(&text).unwrap().matches(|_| Some(value));
        let text = right.to_string();
        prop_assert_eq!(holds(format!("p > {left}.0"), &text), right as f64 > f64::from(left));
        let long = right.unsigned_abs().max(1 << 31);
        if let Ok(long) = i64::try_from(long) {
            prop_assert_eq!(holds(format!("p > -{long}"), &text), right > -long);
        }
        prop_assert_eq!(holds(format!("{third:?} <= p"), &left.to_string()), third <= f64::from(left));
        prop_assert_eq!(holds(format!("p = {}", left.unsigned_abs()), &left.to_string()), left >= 0);
    }
}
