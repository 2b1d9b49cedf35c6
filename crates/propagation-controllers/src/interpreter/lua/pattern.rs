//! Lua's patterns. The machine's own functions for them cannot be stopped, and a hostile pattern takes them years; here
//! each step is taken from the script's budget.

use super::budget::{Budget, Exhausted};

const MAX_CAPTURES: usize = 32;
/// How deep one match may be inside another.
const MAX_DEPTH: usize = 200;

/// Why a pattern could not be matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The pattern is wrong.
    #[error("{0}")]
    Malformed(&'static str),
    /// The budget is spent.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

/// What one pair of parentheses has caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// Bytes from, to.
    Bytes(usize, usize),
    /// A place, counted from 0.
    Position(usize),
}

/// Where the pattern was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// First byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
    /// What the parentheses have caught.
    pub captures: Vec<Caught>,
}

#[derive(Clone, Copy)]
enum Extent {
    Open,
    Position,
    Length(usize),
}

#[derive(Clone, Copy)]
struct Capture {
    start: usize,
    extent: Extent,
}

type Outcome<T> = Result<T, PatternError>;

/// The first place from `from` on where `pattern` matches; a pattern with `^` matches there or nowhere.
pub fn search(text: &[u8], pattern: &[u8], from: usize, budget: &Budget) -> Outcome<Option<Found>> {
    let (pattern, anchored) = match pattern.split_first() {
        Some((b'^', rest)) => (rest, true),
        _ => (pattern, false),
    };
    let mut start = from;
    while start <= text.len() {
        if let Some(found) = match_at(text, pattern, start, budget)? {
            return Ok(Some(found));
        }
        if anchored {
            return Ok(None);
        }
        start += 1;
    }
    Ok(None)
}

/// Matches `pattern`, which is not anchored, at `start`.
pub fn match_at(text: &[u8], pattern: &[u8], start: usize, budget: &Budget) -> Outcome<Option<Found>> {
    let mut matcher = Matcher {
        text,
        pattern,
        captures: Vec::new(),
        depth: 0,
        budget,
    };
    let Some(end) = matcher.matches(start, 0)? else {
        return Ok(None);
    };
    let mut captures = Vec::with_capacity(matcher.captures.len());
    for capture in &matcher.captures {
        captures.push(match capture.extent {
            Extent::Open => return Err(PatternError::Malformed("unfinished capture")),
            Extent::Position => Caught::Position(capture.start),
            Extent::Length(length) => Caught::Bytes(capture.start, capture.start + length),
        });
    }
    Ok(Some(Found { start, end, captures }))
}

struct Matcher<'a> {
    text: &'a [u8],
    pattern: &'a [u8],
    captures: Vec<Capture>,
    depth: usize,
    budget: &'a Budget,
}

impl Matcher<'_> {
    fn matches(&mut self, at: usize, pattern: usize) -> Outcome<Option<usize>> {
        if self.depth >= MAX_DEPTH {
            return Err(PatternError::Malformed("pattern too complex"));
        }
        self.depth += 1;
        let end = self.matches_here(at, pattern);
        self.depth -= 1;
        end
    }

    fn matches_here(&mut self, mut at: usize, mut pattern: usize) -> Outcome<Option<usize>> {
        loop {
            self.budget.spend(1)?;
            let Some(item) = self.pattern.get(pattern) else {
                return Ok(Some(at));
            };
            match item {
                b'(' if self.pattern.get(pattern + 1) == Some(&b')') => {
                    return self.open(at, pattern + 2, Extent::Position);
                }
                b'(' => return self.open(at, pattern + 1, Extent::Open),
                b')' => return self.close(at, pattern + 1),
                b'$' if pattern + 1 == self.pattern.len() => return Ok((at == self.text.len()).then_some(at)),
                b'%' => {
                    let next = match self.pattern.get(pattern + 1) {
                        Some(b'b') => self.balanced(at, pattern + 2)?.map(|next| (next, pattern + 4)),
                        Some(b'f') => self.frontier(at, pattern + 2)?.map(|after| (at, after)),
                        Some(digit) if digit.is_ascii_digit() => {
                            self.same_again(at, *digit)?.map(|next| (next, pattern + 2))
                        }
                        _ => match self.item(&mut at, &mut pattern)? {
                            Step::Goes => continue,
                            Step::Ends(end) => return Ok(end),
                        },
                    };
                    match next {
                        Some((next_at, next_pattern)) => (at, pattern) = (next_at, next_pattern),
                        None => return Ok(None),
                    }
                }
                _ => match self.item(&mut at, &mut pattern)? {
                    Step::Goes => {}
                    Step::Ends(end) => return Ok(end),
                },
            }
        }
    }

    /// One character class with what follows it: `*`, `+`, `-`, `?` or nothing.
    fn item(&mut self, at: &mut usize, pattern: &mut usize) -> Outcome<Step> {
        let end = self.class_end(*pattern)?;
        let fits = self.fits(*at, *pattern, end)?;
        Ok(match self.pattern.get(end) {
            Some(b'?') => {
                if fits && let Some(found) = self.matches(*at + 1, end + 1)? {
                    return Ok(Step::Ends(Some(found)));
                }
                *pattern = end + 1;
                Step::Goes
            }
            Some(b'*') => Step::Ends(self.most(*at, *pattern, end)?),
            Some(b'+') if fits => Step::Ends(self.most(*at + 1, *pattern, end)?),
            Some(b'-') => Step::Ends(self.least(*at, *pattern, end)?),
            Some(b'+') => Step::Ends(None),
            _ if fits => {
                (*at, *pattern) = (*at + 1, end);
                Step::Goes
            }
            _ => Step::Ends(None),
        })
    }

    fn most(&mut self, at: usize, pattern: usize, end: usize) -> Outcome<Option<usize>> {
        let mut times = 0;
        while self.fits(at + times, pattern, end)? {
            times += 1;
        }
        loop {
            if let Some(found) = self.matches(at + times, end + 1)? {
                return Ok(Some(found));
            }
            if times == 0 {
                return Ok(None);
            }
            times -= 1;
        }
    }

    fn least(&mut self, mut at: usize, pattern: usize, end: usize) -> Outcome<Option<usize>> {
        loop {
            if let Some(found) = self.matches(at, end + 1)? {
                return Ok(Some(found));
            }
            if !self.fits(at, pattern, end)? {
                return Ok(None);
            }
            at += 1;
        }
    }

    fn open(&mut self, at: usize, pattern: usize, extent: Extent) -> Outcome<Option<usize>> {
        if self.captures.len() >= MAX_CAPTURES {
            return Err(PatternError::Malformed("too many captures"));
        }
        self.captures.push(Capture { start: at, extent });
        let found = self.matches(at, pattern)?;
        if found.is_none() {
            self.captures.pop();
        }
        Ok(found)
    }

    fn close(&mut self, at: usize, pattern: usize) -> Outcome<Option<usize>> {
        let open = self.captures.iter().rposition(|c| matches!(c.extent, Extent::Open));
        let open = open.ok_or(PatternError::Malformed("invalid pattern capture"))?;
        if let Some(capture) = self.captures.get_mut(open) {
            capture.extent = Extent::Length(at - capture.start);
        }
        let found = self.matches(at, pattern)?;
        if found.is_none()
            && let Some(capture) = self.captures.get_mut(open)
        {
            capture.extent = Extent::Open;
        }
        Ok(found)
    }

    /// `%bxy`: from an x to its y.
    fn balanced(&self, at: usize, pattern: usize) -> Outcome<Option<usize>> {
        let (Some(begin), Some(end)) = (self.pattern.get(pattern), self.pattern.get(pattern + 1)) else {
            return Err(PatternError::Malformed("unbalanced pattern"));
        };
        if self.text.get(at) != Some(begin) {
            return Ok(None);
        }
        let mut open = 1_u64;
        for (offset, byte) in self.text[at + 1..].iter().enumerate() {
            self.budget.spend(1)?;
            if byte == end {
                open -= 1;
                if open == 0 {
                    return Ok(Some(at + offset + 2));
                }
            } else if byte == begin {
                open += 1;
            }
        }
        Ok(None)
    }

    /// `%f[set]`: the place where the set begins. Gives where the pattern goes on.
    fn frontier(&self, at: usize, pattern: usize) -> Outcome<Option<usize>> {
        if self.pattern.get(pattern) != Some(&b'[') {
            return Err(PatternError::Malformed("missing '[' after '%f' in pattern"));
        }
        let end = self.class_end(pattern)?;
        let before = at.checked_sub(1).and_then(|before| self.text.get(before));
        let here = self.text.get(at);
        let inside = |byte: Option<&u8>| self.in_set(byte.copied().unwrap_or(0), pattern, end);
        Ok((!inside(before) && inside(here)).then_some(end))
    }

    /// `%1`: what the first parentheses have caught, once more.
    fn same_again(&self, at: usize, digit: u8) -> Outcome<Option<usize>> {
        let index = usize::from(digit).checked_sub(usize::from(b'1'));
        let capture = index.and_then(|index| self.captures.get(index));
        let Some(Capture {
            start,
            extent: Extent::Length(length),
        }) = capture
        else {
            return Err(PatternError::Malformed("invalid capture index"));
        };
        self.budget.spend(steps_of(*length))?;
        let caught = &self.text[*start..*start + *length];
        Ok(self.text[at..].starts_with(caught).then_some(at + length))
    }

    /// Behind the class that begins at `pattern`.
    fn class_end(&self, pattern: usize) -> Outcome<usize> {
        match self.pattern.get(pattern) {
            Some(b'%') if pattern + 1 >= self.pattern.len() => {
                Err(PatternError::Malformed("malformed pattern (ends with '%')"))
            }
            Some(b'%') => Ok(pattern + 2),
            Some(b'[') => {
                let mut next = pattern + 1;
                if self.pattern.get(next) == Some(&b'^') {
                    next += 1;
                }
                loop {
                    let missing = PatternError::Malformed("malformed pattern (missing ']')");
                    let Some(byte) = self.pattern.get(next) else {
                        self.budget.spend(steps_of(next - pattern))?;
                        return Err(missing);
                    };
                    next += 1;
                    if *byte == b'%' && next < self.pattern.len() {
                        next += 1;
                    }
                    if self.pattern.get(next) == Some(&b']') {
                        self.budget.spend(steps_of(next - pattern))?;
                        return Ok(next + 1);
                    }
                }
            }
            _ => Ok(pattern + 1),
        }
    }

    /// Whether the byte at `at` is of the class from `pattern` to `end`.
    fn fits(&self, at: usize, pattern: usize, end: usize) -> Outcome<bool> {
        self.budget.spend(1 + steps_of(end - pattern))?;
        let (Some(byte), Some(class)) = (self.text.get(at), self.pattern.get(pattern)) else {
            return Ok(false);
        };
        Ok(match class {
            b'.' => true,
            b'%' => self.pattern.get(pattern + 1).is_some_and(|class| is_of(*byte, *class)),
            b'[' => self.in_set(*byte, pattern, end),
            same => same == byte,
        })
    }

    /// `[...]` from `pattern` to `end`.
    fn in_set(&self, byte: u8, pattern: usize, end: usize) -> bool {
        let set = &self.pattern[pattern + 1..end - 1];
        let (set, wanted) = match set.split_first() {
            Some((b'^', rest)) => (rest, false),
            _ => (set, true),
        };
        let mut rest = set;
        while let Some((first, after)) = rest.split_first() {
            let (fits, next) = match (first, after) {
                (b'%', [class, next @ ..]) => (is_of(byte, *class), next),
                (from, [b'-', to, next @ ..]) => ((*from..=*to).contains(&byte), next),
                (same, next) => (*same == byte, next),
            };
            if fits {
                return wanted;
            }
            rest = next;
        }
        !wanted
    }
}

enum Step {
    /// The match goes on at the next item.
    Goes,
    /// The match has ended there, or has failed.
    Ends(Option<usize>),
}

/// What looking at that many bytes at once costs.
pub fn steps_of(bytes: usize) -> u64 {
    u64::try_from(bytes / 8).unwrap_or(u64::MAX)
}

fn is_of(byte: u8, class: u8) -> bool {
    let fits = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    fits != class.is_ascii_uppercase()
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
