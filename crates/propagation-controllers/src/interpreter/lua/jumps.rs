//! `goto continue`: the jump to the end of a loop's body, which stock's machine knows and Lua 5.1 does not.
//!
//! The body becomes a loop of one turn, and the jump leaves that; a `break` of the loop itself leaves both. Everything
//! stays on its line. Other jumps (out of a loop in the body, backwards, out of a `repeat`) stay as they are, and do not load.

/// Blocks in each other, as many as Lua itself reads.
const MAX_DEPTH: usize = 200;
/// Underscores in a row in a script that jumps: the name that is made for it has one more.
const MAX_UNDERSCORES: usize = 32;

/// The script without jumps, in Lua 5.1; nothing where it has none, or one that is no such jump.
pub fn without_jumps(script: &str) -> Option<String> {
    let tokens = tokens(script);
    let in_a_row = script.split(|letter| letter != '_').map(str::len).max().unwrap_or(0);
    if in_a_row > MAX_UNDERSCORES {
        return None;
    }
    // No name of the script.
    let leaves = format!("leaves{}", "_".repeat(in_a_row + 1));
    let mut blocks: Vec<Block> = Vec::new();
    let mut edits: Vec<Edit> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let word = token.of(script);
        match word {
            "function" => blocks.push(Block::of(Kind::Function, token)),
            "if" => blocks.push(Block::of(Kind::Other, token)),
            "for" | "while" => blocks.push(Block::of(Kind::Head, token)),
            "repeat" => blocks.push(Block::of(Kind::Repeat, token)),
            "do" => match blocks.last_mut() {
                Some(head) if head.kind == Kind::Head => *head = Block::of(Kind::Loop, token),
                _ => blocks.push(Block::of(Kind::Other, token)),
            },
            "end" | "until" => edits.extend(blocks.pop()?.edits(&leaves)?),
            "break" => innermost_loop(&mut blocks)?.breaks.push(*token),
            "goto" => {
                let name = tokens.get(at + 1)?;
                innermost_loop(&mut blocks)?
                    .jumps
                    .push((token.to(name), name.of(script).to_owned()));
                at += 1;
            }
            "::" => {
                let (name, close) = (tokens.get(at + 1)?, tokens.get(at + 2)?);
                let mut behind = tokens[at + 3..].iter().map(|token| token.of(script));
                let is_last = behind.find(|word| *word != ";") == Some("end");
                let body = blocks.last_mut().filter(|block| block.kind == Kind::Loop)?;
                if !is_last || close.of(script) != "::" || body.label.is_some() {
                    return None;
                }
                body.label = Some((token.to(close), name.of(script).to_owned()));
                at += 2;
            }
            _ => {}
        }
        if blocks.len() > MAX_DEPTH {
            return None;
        }
        at += 1;
    }
    edits.sort_by_key(|edit| edit.0.from);
    (!edits.is_empty() && blocks.is_empty()).then(|| edited(script, &edits))
}

/// Some bytes of the script.
#[derive(Clone, Copy)]
struct Span {
    from: usize,
    to: usize,
}

impl Span {
    fn of(self, script: &str) -> &str {
        &script[self.from..self.to]
    }

    fn to(self, last: &Self) -> Self {
        Self {
            from: self.from,
            to: last.to,
        }
    }
}

/// What stands there instead.
struct Edit(Span, String);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Between `for` or `while` and its `do`.
    Head,
    /// The body of such a loop.
    Loop,
    Repeat,
    /// Which no jump and no `break` leaves.
    Function,
    Other,
}

struct Block {
    kind: Kind,
    open: Span,
    /// `goto` and its name, by the innermost loop that they stand in.
    jumps: Vec<(Span, String)>,
    breaks: Vec<Span>,
    label: Option<(Span, String)>,
}

impl Block {
    fn of(kind: Kind, open: &Span) -> Self {
        Self {
            kind,
            open: *open,
            jumps: Vec::new(),
            breaks: Vec::new(),
            label: None,
        }
    }

    /// What has to be changed in the block; nothing where it has a jump that goes elsewhere.
    fn edits(self, leaves: &str) -> Option<Vec<Edit>> {
        let Some((label, name)) = self.label else {
            return self.jumps.is_empty().then(Vec::new);
        };
        if self.jumps.iter().any(|(_, other)| *other != name) {
            return None;
        }
        let (mut begin, mut end) = ("do repeat".to_owned(), "until true".to_owned());
        if !self.breaks.is_empty() {
            begin = format!("do local {leaves} repeat");
            end = format!("until true if {leaves} then break end");
        }
        let jumps = self
            .jumps
            .into_iter()
            .map(|(span, _)| Edit(span, "do break end".to_owned()));
        let breaks = self.breaks.into_iter();
        let breaks = breaks.map(|span| Edit(span, format!("do {leaves} = true break end")));
        Some(
            jumps
                .chain(breaks)
                .chain([Edit(self.open, begin), Edit(label, end)])
                .collect(),
        )
    }
}

/// The loop that a `break` leaves; nothing outside of any.
fn innermost_loop(blocks: &mut [Block]) -> Option<&mut Block> {
    let mut inside = blocks.iter_mut().rev().take_while(|block| block.kind != Kind::Function);
    inside.find(|block| matches!(block.kind, Kind::Loop | Kind::Repeat))
}

fn edited(script: &str, edits: &[Edit]) -> String {
    let (mut text, mut at) = (String::with_capacity(script.len() + 64 * edits.len()), 0);
    for Edit(span, new) in edits {
        text.push_str(&script[at..span.from]);
        keep_apart(&mut text, new);
        text.push_str(new);
        // What stood on lines of its own still does.
        text.extend(span.of(script).matches('\n'));
        at = span.to;
        keep_apart(&mut text, &script[at..]);
    }
    text.push_str(&script[at..]);
    text
}

/// A space, where the end of `text` and what comes would be one word: no `::` stands between them any more.
fn keep_apart(text: &mut String, coming: &str) {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| is_of_word(*byte));
    if is_word(text.as_bytes().last()) && is_word(coming.as_bytes().first()) {
        text.push(' ');
    }
}

/// Words, `::` and single characters; no comments, no texts.
fn tokens(script: &str) -> Vec<Span> {
    let bytes = script.as_bytes();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = match rest {
            [b'-', b'-', ..] => {
                let long = long_text(&rest[2..]).map(|length| length + 2);
                at += long.unwrap_or_else(|| rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()));
                continue;
            }
            [b'[', ..] if long_text(rest).is_some() => {
                at += long_text(rest).unwrap_or(1);
                continue;
            }
            [quote @ (b'"' | b'\''), ..] => {
                at += quoted(rest, *quote);
                continue;
            }
            [byte, ..] if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            [b':', b':', ..] => 2,
            [byte, ..] if is_of_word(*byte) => rest.iter().take_while(|byte| is_of_word(**byte)).count(),
            _ => 1,
        };
        tokens.push(Span {
            from: at,
            to: at + length,
        });
        at += length;
    }
    tokens
}

/// Letters of other alphabets, too: they stand in no name, but must not be cut.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The length of `[[…]]`, `[=[…]=]` and so on, where one begins.
fn long_text(rest: &[u8]) -> Option<usize> {
    let level = rest.get(1..)?.iter().take_while(|byte| **byte == b'=').count();
    if rest[0] != b'[' || rest.get(1 + level) != Some(&b'[') {
        return None;
    }
    let close: Vec<u8> = [b"]".as_slice(), &vec![b'='; level], b"]"].concat();
    let inside = &rest[2 + level..];
    let end = inside.windows(close.len()).position(|window| window == close);
    Some(end.map_or(rest.len(), |end| 2 + level + end + close.len()))
}

/// The length of a text between quotes.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

#[cfg(test)]
#[path = "jumps_tests.rs"]
mod tests;
