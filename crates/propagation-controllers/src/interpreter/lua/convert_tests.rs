#![allow(clippy::needless_pass_by_value, reason = "literals are given by value")]

use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;

fn there_and_back(value: &Value, references: &References) -> Value {
    let lua = Lua::new();
    let value = to_lua(&lua, value).unwrap();
    json(read(&value, &Budget::new()).unwrap(), references).unwrap()
}

fn of_script(script: &str) -> Result<Tree, String> {
    read(&Lua::new().load(script).eval().unwrap(), &Budget::new())
}

#[rstest]
#[case::whole(json!({"n": 3, "zero": 0, "less": -7}))]
#[case::float(json!({"n": 1.5}))]
#[case::text_and_truth(json!({"t": "ü", "yes": true, "no": false}))]
#[case::lists(json!({"l": [1, "a", [2, 3], {"b": 1}]}))]
#[case::empty(json!({"spec": {"list": [], "object": {}, "deep": {"list": [], "items": [{"o": {}}, {"l": []}]}}}))]
#[case::large(json!({"id": 9_007_199_254_740_993_i64, "largest": u64::MAX, "least": i64::MIN}))]
#[case::list_of_empty(json!({"ingress": [{}]}))]
fn what_went_in_comes_out(#[case] value: Value) {
    assert_eq!(there_and_back(&value, &References::of([&value])), value);
}

#[test]
fn a_null_is_an_absent_field() {
    let value = json!({"creationTimestamp": null, "list": [null, 1]});
    assert_eq!(there_and_back(&value, &References::of([&value])), json!({"list": [1]}));
}

#[test]
fn an_empty_table_that_no_object_knows_is_left_out() {
    let tree = of_script("return {spec = {a = {}, b = 1}, list = {{}}}").unwrap();
    assert_eq!(
        json(tree, &References::default()).unwrap(),
        json!({"spec": {"b": 1}, "list": [{}]})
    );
    assert_eq!(json(Tree::Empty, &References::default()).unwrap(), json!({}));
}

#[test]
fn references_do_not_count_places_in_lists() {
    let known = json!({"rules": [{"a": 1}, {"names": [], "labels": {}}]});
    let tree = of_script("return {rules = {{names = {}, labels = {}}}}").unwrap();
    let wanted = json!({"rules": [{"names": [], "labels": {}}]});
    assert_eq!(json(tree, &References::of([&known])).unwrap(), wanted);
}

#[rstest]
#[case::whole_of_a_quotient("return 6 / 2", json!(3))]
#[case::fraction("return 1 / 4", json!(0.25))]
#[case::huge("return 1e300", json!(1e300))]
fn numbers(#[case] script: &str, #[case] wanted: Value) {
    let tree = of_script(script).unwrap();
    assert_eq!(json(tree, &References::default()).unwrap(), wanted);
}

#[rstest]
#[case::function("return {a = print}", "the result contains a function")]
#[case::holes("return {1, nil, 3}", "a list in the result has holes")]
#[case::mixed("return {1, a = 2}", "a table in the result has both numbers and names as keys")]
#[case::itself(
    "local t = {} t.t = t return t",
    "the result is deeper than 100; does a table contain itself?"
)]
#[case::much("return string.rep('a', 3000000)", "the result is larger than 2 MiB")]
#[case::much_by_sharing(
    "local t = {string.rep('a', 4096)} for i = 1, 60 do t = {t, t} end return t",
    "the result is larger than 2 MiB"
)]
fn what_is_no_json(#[case] script: &str, #[case] wanted: &str) {
    assert_eq!(of_script(script).unwrap_err(), wanted);
}

#[rstest]
#[case("return {[0] = 1}")]
#[case("return {[1.5] = 1}")]
#[case("return {[true] = 1}")]
fn keys_that_are_no_keys(#[case] script: &str) {
    let error = of_script(script).unwrap_err();
    assert!(error.contains("neither a name nor a place in a list"), "{error}");
}

#[test]
fn a_number_that_json_has_not_is_an_error() {
    for script in ["return 0/0", "return 1/0"] {
        let error = json(of_script(script).unwrap(), &References::default()).unwrap_err();
        assert!(error.contains("JSON has no word for"), "{error}");
    }
}

// With a path for each place this copies a hundred gigabytes.
#[test]
fn long_names_over_many_fields_are_read_at_once() {
    let script = "local o = {} for i = 1, 1e5 do o[string.format('%x', i)] = 1 end return {[string.rep('a', 1e6)] = o}";
    let value = json(of_script(script).unwrap(), &References::default()).unwrap();
    let references = References::of([&value]);
    assert_eq!(there_and_back(&value, &references), value);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}", inner, 1..4).prop_map(|map| json!(map)),
        ]
    })
}

/// The same with every number as the float that it becomes.
fn as_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(as_floats).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), as_floats(field)))
            .collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_object_comes_back_as_it_was(value in any_json()) {
        let value = json!({"v": value});
        let back = there_and_back(&value, &References::of([&value]));
        prop_assert_eq!(as_floats(&back), as_floats(&value));
    }
}
