use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case::to_the_end(
    "for _, v in ipairs(o) do\n  if v then goto continue end\n  f(v)\n  ::continue::\nend",
    "for _, v in ipairs(o) do repeat\n  if v then do break end end\n  f(v)\n  until true\nend"
)]
#[case::beside_a_break(
    "while x do if y then break end if z then goto next end f() ::next:: end",
    "while x do local leaves_ repeat if y then do leaves_ = true break end end if z then do break end end f() until true if leaves_ then break end end"
)]
#[case::over_lines(
    "for i = 1, 2 do goto\n\nc f() ::\nc\n:: ; end",
    "for i = 1, 2 do repeat do break end\n\n f() until true\n\n ; end"
)]
#[case::a_loop_in_the_condition(
    "while (function() for i = 1, 2 do break end return x end)() do goto c ::c:: end",
    "while (function() for i = 1, 2 do break end return x end)() do repeat do break end until true end"
)]
#[case::without_spaces(
    "for i = 1, 2 do goto c::c::end",
    "for i = 1, 2 do repeat do break end until true end"
)]
#[case::without_spaces_beside_a_break(
    "while x do if y then break end goto c::c::end",
    "while x do local leaves_ repeat if y then do leaves_ = true break end end do break end until true if leaves_ then break end end"
)]
fn a_jump_to_the_end_of_the_body(#[case] script: &str, #[case] wanted: &str) {
    assert_eq!(without_jumps(script).as_deref(), Some(wanted));
}

#[rstest]
#[case::none("for i = 1, 2 do break end")]
#[case::out_of_two_loops("for i = 1, 2 do for j = 1, 2 do goto continue end ::continue:: end")]
#[case::backwards("for i = 1, 2 do ::again:: f() goto again end")]
#[case::out_of_a_loop("for i = 1, 2 do goto out end ::out::")]
#[case::not_in_a_loop("do goto out ::out:: end")]
#[case::of_a_repeat("repeat goto c ::c:: until true")]
#[case::to_another_name("for i = 1, 2 do goto a ::b:: end")]
#[case::out_of_a_function("for i = 1, 2 do f(function() goto c end) ::c:: end")]
#[case::two_labels("for i = 1, 2 do goto a ::a:: ::b:: end")]
#[case::in_a_comment("-- goto continue ::continue::\nf()")]
#[case::in_a_long_comment("--[==[ for i = 1, 2 do goto c ::c:: end ]] ]==] f()")]
#[case::in_a_text("f('for i = 1, 2 do goto c ::c:: end', \"\\\"goto c\", [[goto c]])")]
#[case::cut_off("for i = 1, 2 do goto c ::c::")]
fn other_scripts_stay(#[case] script: &str) {
    assert_eq!(without_jumps(script), None);
}

#[test]
fn a_name_of_the_script_is_not_taken() {
    let script = "leaves_, leaves__ = 1, 2 for i = 1, 2 do if x then goto c end break ::c:: end";
    assert!(without_jumps(script).unwrap().contains("local leaves___ repeat"));
}

// What is made of a script must not be many times its size, and must be made in one go.
#[test]
fn what_would_grow_or_take_long_is_left() {
    let jumps = "for i = 1, 2 do break ::c:: end ".repeat(20_000);
    assert_eq!(without_jumps(&format!("{} {jumps}", "_".repeat(100_000))), None);
    let (opened, left) = ("if x then ".repeat(100_000), "break ".repeat(100_000));
    assert_eq!(without_jumps(&format!("while x do {opened}{left}")), None);
}

proptest! {
    #[test]
    fn any_text_is_taken_apart(script in ".{0,80}") {
        let _ = without_jumps(&script);
    }

    #[test]
    fn any_words_are_taken_apart_and_keep_their_lines(words in prop::collection::vec(prop::sample::select(vec![
        "for", "while", "do", "end", "repeat", "until", "if", "then", "function", "goto", "c", "::", "break", ";", "[[", "]]",
        "--", "'", "\\", "x", "\n", "ü",
    ]), 0..40)) {
        let script = words.join(" ");
        if let Some(without) = without_jumps(&script) {
            prop_assert_eq!(without.matches('\n').count(), script.matches('\n').count());
        }
    }
}
