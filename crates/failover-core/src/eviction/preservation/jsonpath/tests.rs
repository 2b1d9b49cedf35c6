use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn status() -> Value {
    json!({
        "replicas": 2, "health": true, "checkpoint": 9_007_199_254_740_993_i64, "progress": 1.25, "tiny": 1e-7,
        "phase": "Running", "empty": "", "nothing": null, "offset": 1_000_000, "a.b": "dotted",
        "conditions": [
            {"type": "Ready", "status": "True", "step": 1},
            {"type": "Done", "status": "False", "step": 2, "note": "x"},
            {"type": "Old", "status": "True", "step": 3},
        ],
        "jobs": {"j1": {"id": "J1"}, "j2": {"id": "J2"}},
    })
}

fn text(path: &str) -> Result<String, String> {
    let template = Template::parse(path).map_err(|bad| format!("bad: {bad}"))?;
    template.text(&status()).map_err(|none| none.to_string())
}

// What stock's own table has, and each feature that kubectl documents.
#[rstest]
#[case("{.replicas}", "2")]
#[case("{ .replicas }", "2")]
#[case("{$.replicas}", "2")]
#[case("{@.replicas}", "2")]
#[case("{.health}", "true")]
#[case("{.checkpoint}", "9007199254740993")]
#[case("{.offset}", "1000000")]
#[case("{.progress}", "1.25")]
#[case("{.tiny}", "1e-07")]
#[case("{.empty}", "")]
#[case("{['phase']}", "Running")]
#[case(r"{.a\.b}", "dotted")]
#[case(r"{['a\.b']}", "dotted")]
#[case("rev-{.replicas}", "rev-2")]
#[case("{.phase}-{.replicas}", "Running-2")]
#[case("fixed", "fixed")]
#[case(r#"{"quoted"}"#, "quoted")]
#[case("{.conditions[0].type}", "Ready")]
#[case("{.conditions[-1].type}", "Old")]
#[case("{.conditions[*].type}", "Ready Done Old")]
#[case("{.conditions[0:2].type}", "Ready Done")]
#[case("{.conditions[::2].type}", "Ready Old")]
#[case("{.conditions[0,2].type}", "Ready Old")]
#[case("{['phase','replicas']}", "Running 2")]
#[case(r#"{.conditions[?(@.type=="Done")].status}"#, "False")]
#[case("{.conditions[?(@.type=='Done')].status}", "False")]
#[case("{.conditions[?(@.step>1)].type}", "Done Old")]
#[case("{.conditions[?(@.step<=1.5)].type}", "Ready")]
#[case("{.conditions[?(@.note)].type}", "Done")]
#[case("{..id}", "J1 J2")]
#[case("{.jobs.*.id}", "J1 J2")]
#[case("{.jobs.j1}", r#"{"id":"J1"}"#)]
#[case("{range .conditions[*]}[{.type}, {.step}] {end}", "[Ready, 1] [Done, 2] [Old, 3] ")]
#[case("{range .conditions[*]}{.type};", "Ready;Done;Old;")]
#[case("{range .conditions[*]}x{end}", "xxx")]
fn values(#[case] path: &str, #[case] expected: &str) {
    assert_eq!(text(path), Ok(expected.to_owned()), "{path}");
}

#[rstest]
#[case("{.missing}", "missing is not found")]
#[case("{.replicas.more}", "more is not found")]
#[case("{.nothing}", "the value is null")]
#[case("{.conditions[3].type}", "there is no item 3 among 3")]
#[case("{.conditions[-4].type}", "there is no item -4 among 3")]
#[case("{.conditions[2:9].type}", "there is no item 9 among 3")]
#[case("{.conditions[::0].type}", "the step of a slice must be above 0")]
#[case("{.replicas[0]}", "it is no list")]
#[case("{.replicas[?(@.x)]}", "it is no list")]
#[case(r#"{.conditions[?(@.type=="None")].status}"#, "nothing is found")]
#[case(
    "{.conditions[?(@.type==1)].status}",
    "it compares values of different kinds, or several"
)]
#[case("{range .conditions[?(@.step>9)]}x{end}", "nothing is found")]
#[case(r#"{.replicas}{.conditions[?(@.type=="None")].status}"#, "nothing is found")]
fn a_status_that_has_it_not(#[case] path: &str, #[case] expected: &str) {
    assert_eq!(text(path), Err(expected.to_owned()), "{path}");
}

#[rstest]
#[case(".replicas", "bad: an expression stands in braces, such as {.replicas}")]
#[case("{.replicas", "bad: the brace is not closed")]
#[case("{ %replicas }", "bad: \"%\" means nothing here")]
#[case("{.}", "bad: \".\" means nothing here")]
#[case("{.a[0}", "bad: the bracket is not closed")]
#[case("{.a[x]}", "bad: \"x\" means nothing here")]
#[case("{.a[1:2:3:4]}", "bad: \"1:2:3:4\" means nothing here")]
#[case("{.a[?(@.b]}", "bad: the filter is not closed")]
#[case("{.a[?(@.b=~\"x\")]}", "bad: \"=~\" means nothing here")]
#[case("{\"x}", "bad: the quotation is not closed")]
#[case("{end}", "bad: {end} without {range}")]
#[case("{loop .a}", "bad: \"loop\" means nothing here")]
#[case("{....a}", "bad: \"....\" means nothing here")]
fn what_is_no_path(#[case] path: &str, #[case] expected: &str) {
    assert_eq!(text(path), Err(expected.to_owned()), "{path}");
}

#[test]
fn work_is_bounded() {
    assert_eq!(Template::parse(&"{range .a}".repeat(17)), Err(BadPath::TooLarge));
    assert_eq!(Template::parse(&"x".repeat(5000)), Err(BadPath::TooLarge));
    let wide = json!({"list": (0..60_000).map(|n| json!({"n": n})).collect::<Vec<_>>()});
    let each = Template::parse("{..n}").unwrap();
    assert_eq!(each.text(&wide), Err(NoValue::TooMuch));
    let long = json!({"a": "x".repeat(1 << 20)});
    assert_eq!(Template::parse("{.a}").unwrap().text(&long), Err(NoValue::TooMuch));
}

/// Any JSON, a few levels deep.
fn any_status() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Texts that come near to being paths.
fn near_paths() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "{", "}", ".", "..", "[", "]", "[?(", ")]", "@", "$", "*", "'", "\"", "\\", ",", ":", "==", "<", "!=", "-",
        "1", "0", "a", "b", "range ", "end", " ", "true", "ä", "\n",
    ]);
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_path_over_any_status_is_answered(path in prop_oneof![".{0,40}", near_paths()], status in any_status()) {
        if let Ok(template) = Template::parse(&path) {
            let first = template.text(&status);
            prop_assert_eq!(first, template.text(&status));
        }
    }

    #[test]
    fn a_whole_number_is_never_rounded(number in any::<i64>()) {
        let template = Template::parse("{.n}").unwrap();
        prop_assert_eq!(template.text(&json!({"n": number})), Ok(number.to_string()));
    }
}
