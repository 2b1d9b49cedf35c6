#![allow(clippy::needless_pass_by_value, reason = "literals are given by value")]

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn now() -> Timestamp {
    "2026-02-03T04:05:06Z".parse().unwrap()
}

/// Calls `F(object)` of the script.
fn call(script: &str, object: Value) -> Result<Value, ScriptError> {
    let script = Script::new(script, "F");
    let tree = script.call("shop/a", &[Argument::Json(&object)], 1, now())?.remove(0);
    json(tree, &References::of([&object])).map_err(ScriptError::plain)
}

/// What `return <expression>` gives.
fn value(expression: &str) -> Result<Value, ScriptError> {
    call(&format!("function F(o)\n  return {expression}\nend"), json!({}))
}

#[test]
fn a_script_reads_and_changes_the_object() {
    let script = "function F(o) o.spec.replicas = o.spec.replicas + 1 return o end";
    let object = json!({"spec": {"replicas": 2, "list": [], "selector": {}}});
    assert_eq!(
        call(script, object).unwrap(),
        json!({"spec": {"replicas": 3, "list": [], "selector": {}}})
    );
}

/// Nothing in stock's own scripts needs it, but its machine has it, and scripts skip items so.
#[test]
fn the_rest_of_a_loops_body_is_skipped() {
    let script = r"
        function F(o)
          local sum, seen = 0, {}
          for i, item in ipairs(o.items) do
            if item.skip then goto continue end
            if item.last then break end
            for _, part in ipairs(item.parts) do
              if part < 0 then goto next_part end
              sum = sum + part
              if part > 9 then break end
              ::next_part::
            end
            seen[#seen + 1] = i
            ::continue::
          end
          return {sum = sum, seen = seen}
        end";
    let items = json!([
        {"skip": true, "parts": [100]}, {"parts": [1, -5, 2]}, {"parts": [10, 1000]}, {"skip": true}, {"parts": [3]},
        {"last": true}, {"parts": [7]},
    ]);
    assert_eq!(
        call(script, json!({"items": items})).unwrap(),
        json!({"sum": 16, "seen": [2, 3, 5]})
    );
    let wrong = "function F(o)\n  for i = 1, 2 do\n    if o then goto c end\n    ::c::\n  end\n  return o.a.b\nend";
    let error = call(wrong, json!({})).unwrap_err();
    assert_eq!(
        (error.line, error.problem.as_str()),
        (Some(6), "attempt to index field 'a' (a nil value)")
    );
}

#[rstest]
#[case::integers_stay_integers("6 / 2", json!(3))]
#[case::methods_of_texts("('a,b'):find(',')", json!(2))]
#[case::plain_search("string.find('a.b', '.', 1, true)", json!(2))]
#[case::from_the_end("string.find('abcabc', 'b', -3)", json!(5))]
#[case::behind_the_end("string.find('abc', 'b', 10)", json!(null))]
#[case::catches("({string.match('cpu=5', '(%w+)=(%d+)')})[2]", json!("5"))]
#[case::whole_match("string.match('v1.2', '%d')", json!("1"))]
#[case::replaces("(string.gsub('hello world', 'o', '0'))", json!("hell0 w0rld"))]
#[case::replaces_twice_at_most("(string.gsub('ooo', 'o', '0', 2))", json!("00o"))]
#[case::counts_replaced("select(2, string.gsub('ooo', 'o', '0'))", json!(3))]
#[case::replaces_by_what_was_caught("(string.gsub('a=1', '(%w)=(%w)', '%2=%1 %0 %%'))", json!("1=a a=1 %"))]
#[case::replaces_by_table("(string.gsub('$a $b', '%$(%w)', {a = 'x'}))", json!("x $b"))]
#[case::replaces_by_function("(string.gsub('abc', '%w', function(c) return c .. c end))", json!("aabbcc"))]
#[case::replaces_nothing_between("(string.gsub('abc', '', '-'))", json!("-a-b-c-"))]
#[case::replaces_at_the_begin("(string.gsub('aaa', '^a', 'b'))", json!("baa"))]
#[case::iterates("(function() local t = {} for k, v in string.gmatch('a=1, b=2', '(%w+)=(%w+)') do t[#t + 1] = k .. v end return table.concat(t, ';') end)()", json!("a1;b2"))]
#[case::iterates_over_nothing("(function() local n = 0 for _ in string.gmatch('abc', '') do n = n + 1 end return n end)()", json!(4))]
#[case::splits("(function() local t = {} for part in ('a/b/c'):gmatch('[^/]+') do table.insert(t, part) end return t end)()", json!(["a", "b", "c"]))]
#[case::upper("string.upper('abc') .. ('D'):lower()", json!("ABCd"))]
#[case::repeats("('ab'):rep(3) .. string.rep('', 1e9)", json!("ababab"))]
#[case::formats("string.format('%s-%d-%.2f', 'a', 3, 1.5)", json!("a-3-1.50"))]
#[case::formats_what_is_no_text("('%s %s %%s %5s|%s'):format(nil, true, 'a', 1e15)", json!("nil true %s     a|1000000000000000"))]
#[case::whole_numbers_in_full("tostring(1e15) .. tostring(-1e14) .. tostring(5) .. tostring(0.5)", json!("1000000000000000-10000000000000050.5"))]
// The messages of stock's scripts (Flux, Kyverno, Kubeflow) are joined from names and numbers.
#[case::numbers_in_full_where_they_are_joined("table.concat({1, 1e15, 'a', 0.1 + 0.2}, ',')", json!("1,1000000000000000,a,0.30000000000000004"))]
#[case::fractions_with_all_digits("tostring(1 / 3) .. ' ' .. ('%s'):format(1e-7) .. ' ' .. tostring(1e100)", json!("0.3333333333333333 1e-07 1e+100"))]
#[case::numbers_that_are_none("tostring(0 / 0) .. tostring(1 / 0) .. tostring(-1 / 0)", json!("NaN+Inf-Inf"))]
#[case::replaces_by_places("(string.gsub('abc', '()b', '%1%%%1%x'))", json!("a2%2xc"))]
#[case::sorts("(function() local t = {3, 1, 2} table.sort(t) return t end)()", json!([1, 2, 3]))]
#[case::sorts_by("(function() local t = {'b', 'a', 'c'} table.sort(t, function(x, y) return x > y end) return t end)()", json!(["c", "b", "a"]))]
#[case::inserts("(function() local t = {'a', 'c'} table.insert(t, 2, 'b') table.insert(t, 'd') return table.concat(t) end)()", json!("abcd"))]
#[case::removes("(function() local t = {'a', 'b', 'c'} local x = table.remove(t, 1) return x .. table.remove(t) .. #t end)()", json!("ac1"))]
#[case::joins("table.concat({1, 2, 3}, '-', 2, 3)", json!("2-3"))]
#[case::numbers("tonumber('0x10') + tonumber('11', 2) + tonumber('1.5')", json!(20.5))]
#[case::no_number("tonumber('x') == nil", json!(true))]
#[case::floors("math.floor(2.7) + math.max(1, 5) + math.huge * 0", json!(null))]
#[case::time("os.time()", json!(1_770_091_506))]
#[case::time_of_fields("os.time({year = 2026, month = 2, day = 3, hour = 4, min = 5, sec = 6})", json!(1_770_091_506))]
#[case::months_run_over("os.date('!%Y-%m-%d', os.time({year = 2026, month = 14, day = 1}))", json!("2027-02-01"))]
#[case::date("os.date('!%Y-%m-%dT%H:%M:%SZ')", json!("2026-02-03T04:05:06Z"))]
#[case::date_as_fields("os.date('*t').yday", json!(34))]
#[case::difference("os.difftime(5, 3)", json!(2))]
#[case::an_error_caught("select(2, pcall(error, 'x'))", json!("x"))]
#[case::an_error_with_its_line("select(2, pcall(function() error('x') end))", json!("script:2: x"))]
#[case::an_error_handled("select(2, xpcall(function() error('x', 0) end, function(e) return e .. '!' end))", json!("x!"))]
#[case::an_error_of_ours_is_a_text("type(select(2, pcall(string.find, 'a', '[')))", json!("string"))]
#[case::quantities("require('kube').resourceAdd('500m', '1', nil)", json!("1500m"))]
// Custom kinds keep amounts as they were written: the API server makes texts only of those of its own kinds.
#[case::amounts_that_are_numbers(
    "require('kube').accuratePodRequirements({spec = {containers = {{name = 'c', resources = {requests = {cpu = 1.5, memory = '1Gi', gpu = 2}}}}}}).resourceRequest",
    json!({"cpu": "1500m", "memory": "1Gi", "gpu": "2"})
)]
#[case::a_volume_with_a_size_that_is_a_number(
    "#require('kube').getPodDependencies({spec = {containers = {}, volumes = {{name = 'v', emptyDir = {sizeLimit = 1024}}}}}, 'shop')",
    json!(0)
)]
#[case::quantity("require('kube').getResourceQuantity('250m')", json!(0.25))]
#[case::same_random_numbers("math.random(100)", json!(1))]
#[case::output_goes_nowhere("print('x')", json!(null))]
fn what_scripts_have(#[case] expression: &str, #[case] wanted: Value) {
    if expression.contains("math.huge") {
        return assert!(
            value(expression)
                .unwrap_err()
                .to_string()
                .contains("JSON has no word for")
        );
    }
    let got = value(&format!("{{v = {expression}}}"));
    let wanted = if wanted.is_null() {
        json!({})
    } else {
        json!({"v": wanted})
    };
    assert_eq!(got.unwrap(), wanted, "{expression}");
}

#[rstest]
#[case("io")]
#[case("debug")]
#[case("coroutine")]
#[case("package")]
#[case("os.execute")]
#[case("os.getenv")]
#[case("os.exit")]
#[case("os.remove")]
#[case("string.dump")]
#[case("(''):rep(0).dump")]
fn what_scripts_do_not_have(#[case] name: &str) {
    assert_eq!(
        value(&format!("{{there = {name} ~= nil}}")).unwrap(),
        json!({"there": false}),
        "{name}"
    );
}

#[rstest]
#[case("setmetatable({}, {})")]
#[case("getmetatable('')")]
#[case("load('x')")]
#[case("loadstring('x')")]
#[case("dofile('/etc/passwd')")]
#[case("rawset({}, 1, 1)")]
#[case("setfenv(1, {})")]
#[case("newproxy(true)")]
#[case("collectgarbage()")]
fn what_would_leave_the_sandbox_is_refused(#[case] expression: &str) {
    let error = value(expression).unwrap_err();
    let name = expression.split('(').next().unwrap();
    let wanted = format!("line 2: {name} is not there for scripts of customizations");
    assert_eq!(error.to_string(), wanted);
}

#[rstest]
#[case::syntax("function F(o)\n  return o..\nend", 3, "unexpected symbol near 'end'")]
#[case::index(
    "function F(o)\n\n  return o.status.phase\nend",
    3,
    "attempt to index field 'status' (a nil value)"
)]
#[case::said("function F(o)\n  error('no such phase')\nend", 2, "no such phase")]
#[case::call(
    "function F(o)\n  return nothing()\nend",
    2,
    "attempt to call global 'nothing' (a nil value)"
)]
#[case::pattern("function F(o)\n  return ('a'):find('[')\nend", 2, "malformed pattern (missing ']')")]
#[case::argument(
    "function F(o)\n  table.insert(nil, 1)\nend",
    2,
    "bad argument #1 to 'insert' (table expected, got nil)"
)]
#[case::format(
    "function F(o)\n  local s = string.format('%d', nil)\nend",
    2,
    "bad argument #2 to 'format' (number expected, got nil)"
)]
#[case::width(
    "function F(o)\n  local s = string.format('%999999999s', 'a')\nend",
    2,
    "invalid format (width or precision too long)"
)]
#[case::goto_(
    "function F(o)\n  for _, v in ipairs(o) do\n    if v then goto done end\n  end\n  ::done::\nend",
    3,
    "'=' expected near 'done'; of goto there is only that to a label at the end of the loop's body"
)]
#[case::label(
    "function F(o)\n  ::again::\nend",
    2,
    "unexpected symbol near ':'; of goto there is only that to a label at the end of the loop's body"
)]
#[case::module(
    "function F(o)\n  return require('http')\nend",
    2,
    "module 'http' is not there: only kube is"
)]
#[case::quantity(
    "local kube = require('kube')\nfunction F(o)\n  return kube.resourceAdd('much')\nend",
    3,
    "\"much\" is no quantity"
)]
fn errors_name_the_line(#[case] script: &str, #[case] line: u32, #[case] problem: &str) {
    let error = call(script, json!({})).unwrap_err();
    assert_eq!(
        (error.line, error.problem.as_str(), error.exhausted),
        (Some(line), problem, false)
    );
}

#[rstest]
#[case("", "the script has no function F")]
#[case("F = 3", "F is no function but a number")]
fn a_script_without_its_function(#[case] source: &str, #[case] problem: &str) {
    assert_eq!(call(source, json!({})).unwrap_err().to_string(), problem);
    assert_eq!(Script::new(source, "F").check(now()).unwrap_err().to_string(), problem);
}

// Each of these would keep a thread for ever, or take all memory.
#[rstest]
#[case::loop_("function F(o) while true do end end")]
#[case::at_the_top("while true do end function F(o) end")]
#[case::caught("function F(o) while true do pcall(function() while true do end end) end end")]
#[case::handled("function F(o) xpcall(function() while true do end end, function() while true do end end) end")]
#[case::handler_again(
    "function F(o) while true do xpcall(function() error('x') end, function() while true do end end) end end"
)]
#[case::sorting(
    "function F(o) local t = {} for i = 1, 1000 do t[i] = i end while true do table.sort(t, function(a, b) return a > b end) end end"
)]
#[case::pattern("function F(o) return string.find(string.rep('a', 200), string.rep('a*', 40) .. 'b') end")]
#[case::gsub("function F(o) return string.gsub(string.rep('a', 5000), string.rep('a-', 30) .. 'b', '') end")]
#[case::callback("function F(o) return string.gsub('a', 'a', function() while true do end end) end")]
#[case::iterator("function F(o) for _ in string.gmatch(string.rep('a', 5000), string.rep('.-', 8) .. 'b') do end end")]
#[case::insertion_at_the_front("function F(o) local t = {} while true do table.insert(t, 1, 1) end end")]
#[case::texts_of_no_length("function F(o) while true do string.rep('', 1e9) end end")]
#[case::long_texts("function F(o) local s = string.rep('a', 4e6) while true do local t = s .. 'b' end end")]
#[case::long_comparisons(
    "function F(o) local s = string.rep('a', 4e6) local t = s .. 'b' local x while true do x = s < t end end"
)]
#[case::searching_long_texts("function F(o) local s = string.rep('a', 1e6) while true do s:find('b', 1, true) end end")]
#[case::memory("function F(o) local t = {} while true do t[#t + 1] = {1, 2, 3} end end")]
#[case::memory_at_once("function F(o) return string.rep('a', 1e9) end")]
#[case::memory_by_doubling("function F(o) local s = 'a' while true do s = s .. s end end")]
#[case::memory_caught("function F(o) while true do pcall(string.rep, 'a', 1e9) end end")]
#[case::memory_in_gsub("function F(o) local s = string.rep('a', 1e6) return string.gsub(s, 'a', s) end")]
// Half a terabyte, and as many steps without a byte.
#[case::memory_in_a_replacement(
    "function F(o) return string.gsub(string.rep('a', 1e6), '.+', string.rep('%0', 5e5)) end"
)]
#[case::replacements_by_nothing(
    "function F(o) return string.gsub(string.rep('a', 1e6), '', string.rep('%0', 4e6)) end"
)]
#[case::replacements_in_each_other(
    "function F(o) local s = string.rep('b', 4e6) local function f() return (string.gsub('ab', '.', function(c) if c == 'a' then return s end return f() end)) end return f() end"
)]
#[case::a_table_with_room_for_many_in_many_places(
    "function F(o) local t, r = {}, {} for i = 1, 3e5 do t[i] = true end for i = 1, 3e5 do t[i] = nil end for i = 1, 3e5 do r[i] = t end return r end"
)]
#[case::recursion_caught("function F(o) local function f() return 1 + f() end while true do pcall(f) end end")]
#[case::tail_calls("function F(o) local function f() return f() end return f() end")]
fn what_never_ends_is_ended(#[case] source: &str) {
    let began = Instant::now();
    let error = call(source, json!({})).unwrap_err();
    assert!(error.exhausted, "{error}");
    // Far above the bound: this only tells that something ended it.
    assert!(
        began.elapsed() < std::time::Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
}

#[rstest]
#[case::recursion(
    "function F(o) local function f() return 1 + f() end return f() end",
    "stack overflow"
)]
#[case::nested_calls_through_c("function F(o) local function f() return pcall(f) end return {f()} end", "")]
#[case::many_arguments(
    "function F(o) local t = {} for i = 1, 1e5 do t[i] = i end return unpack(t) end",
    "too many results to unpack"
)]
#[case::bytes(
    "function F(o) return string.byte(string.rep('a', 1e6), 1, -1) end",
    "string slice too long"
)]
#[case::one_long_text_many_times(
    "function F(o) local s, t = string.rep('1', 4e6), {} for i = 1, 5000 do t[i] = s end return require('kube').resourceAdd(unpack(t)) end",
    "a quantity has at most 64 bytes, not 4000000"
)]
#[case::a_long_namespace_for_many_references(
    "function F(o) local p = {spec = {containers = {}, volumes = {}}} for i = 1, 3000 do p.spec.volumes[i] = {name = 'v', secret = {secretName = 's' .. i}} end return require('kube').getPodDependencies(p, string.rep('n', 4e6)) end",
    "a namespace has at most 253 bytes, not 4000000"
)]
#[case::a_large_pod_template(
    "function F(o) local p = {spec = {containers = {}}} for i = 1, 5e4 do p.spec.containers[i] = {name = 'c'} end return require('kube').accuratePodRequirements(p) end",
    "a pod template is larger than 256 KiB"
)]
#[case::a_long_format_of_a_date(
    "function F(o) return os.date(string.rep('%255Y', 1e6)) end",
    "a format of a date has at most 256 bytes, not 5000000"
)]
#[case::joining_a_huge_range("function F(o) return table.concat({}, '', 1, 1e15) end", "instructions")]
#[case::characters(
    "function F(o) local t = {} for i = 1, 1e5 do t[i] = 65 end return string.char(unpack(t)) end",
    "too many results to unpack"
)]
#[case::concat_of_tables(
    "function F(o) return table.concat({{}}) end",
    "invalid value (table) at index 1 in table for 'concat'"
)]
fn what_goes_too_far_is_an_error(#[case] source: &str, #[case] problem: &str) {
    match call(source, json!({})) {
        Err(error) => assert!(error.problem.contains(problem), "{error}"),
        Ok(_) => assert_eq!(problem, ""),
    }
}

#[test]
fn one_object_leaves_nothing_for_the_next() {
    let script = Script::new(
        "count = (count or 0) + 1 string.upper = nil table.mine = 1 function F(o) count = count + 1 return count end",
        "F",
    );
    for _ in 0..3 {
        let object = json!({});
        assert_eq!(
            script.call("shop/a", &[Argument::Json(&object)], 1, now()).unwrap(),
            [Tree::Number(2.0)]
        );
    }
    assert_eq!(script.idle.lock().len(), 1, "the machine is used again");
}

#[test]
fn after_a_failure_the_next_object_is_read_as_ever() {
    let script = Script::new("function F(o) if o.bad then while true do end end return 1 end", "F");
    let (bad, good) = (json!({"bad": true}), json!({}));
    assert!(script.call("shop/a", &[Argument::Json(&bad)], 1, now()).is_err());
    assert_eq!(
        script.call("shop/b", &[Argument::Json(&good)], 1, now()).unwrap(),
        [Tree::Number(1.0)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_script_that_always_spends_its_budget_rests() {
    let script = Script::new("function F(o) while true do end end", "F");
    let object = json!({});
    let again = || {
        script
            .call("shop/a", &[Argument::Json(&object)], 1, now())
            .unwrap_err()
            .to_string()
    };
    let words = "line 1: takes more than 10000000 instructions: it may never end";
    let rests = || script.overruns.lock().rests("shop/a", Instant::now()).is_some();
    for _ in 0..3 {
        assert!(!rests());
        assert_eq!(again(), words);
    }
    assert!(rests());
    assert_eq!(again(), words, "what is said of it stays the same");
    tokio::time::advance(overruns::REST).await;
    assert!(!rests(), "after its rest it is tried again");
    assert_eq!(again(), words);
    assert!(rests());
}

// One object that is too much for a script made its whole kind Unknown.
#[test]
fn one_object_that_is_too_much_does_not_keep_the_script_from_others() {
    let script = Script::new("function F(o) if o.bad then while true do end end return 1 end", "F");
    let (bad, good) = (json!({"bad": true}), json!({}));
    for _ in 0..5 {
        assert!(
            script
                .call("large", &[Argument::Json(&bad)], 1, now())
                .unwrap_err()
                .exhausted
        );
    }
    assert_eq!(
        script.call("small", &[Argument::Json(&good)], 1, now()).unwrap(),
        [Tree::Number(1.0)]
    );
}

#[test]
fn long_words_of_an_error_are_cut() {
    let error = call("function F(o) error(string.rep('ü', 1e6), 0) end", json!({})).unwrap_err();
    assert!(error.problem.len() < 1100, "{}", error.problem.len());
    assert!(error.problem.ends_with("ü…"));
}

#[expect(
    clippy::disallowed_methods,
    reason = "the workers of the runtime itself are what is tested"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_heavy_script_does_not_keep_the_workers_from_others() {
    let source = "function F(o) for i = 1, 1e6 do end return 1 end";
    let script = std::sync::Arc::new(Script::new(source, "F"));
    script.heavy.store(true, Ordering::Relaxed);
    let (has_begun, begun) = tokio::sync::oneshot::channel::<()>();
    let is_seen = std::sync::Arc::new(AtomicBool::new(false));
    let seen = is_seen.clone();
    let heavy = tokio::spawn(async move {
        let _ = has_begun.send(());
        let object = json!({});
        let mut calls = 0;
        while calls < 200 && !seen.load(Ordering::Relaxed) {
            script.call("shop/a", &[Argument::Json(&object)], 1, now()).unwrap();
            calls += 1;
        }
        calls
    });
    // The one worker is free for this while the script runs on: otherwise all of the calls come first.
    let other = tokio::spawn(async move {
        begun.await.unwrap();
        is_seen.store(true, Ordering::Relaxed);
    });
    other.await.unwrap();
    assert!(heavy.await.unwrap() < 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_is_a_script_or_an_error(source in ".{0,60}") {
        let _ = call(&source, json!({}));
    }

    #[test]
    fn any_words_of_lua_are_a_script_or_an_error(words in prop::collection::vec(prop::sample::select(vec![
        "function", "F", "(", ")", "end", "if", "then", "while", "true", "do", "o", ".", "spec", "=", "1", "return", "{", "}",
        "pcall", "string.rep", "'a'", "..", "error", "nil", "local", "for", "in", "pairs", ",", "[", "]", "#", "or", "\n",
    ]), 0..30)) {
        let _ = call(&words.join(" "), json!({"spec": {}}));
    }
}
