//! What a person types: the simple commands of a script, whatever stands around them.
//!
//! Not a shell: quotes, comments, pipes, redirections, heredocs, substitutions, functions and loops are seen through, so
//! that each command is looked at with the words that it gets. A loop over words gives its commands once for each.

use std::collections::BTreeMap;

use regex::{NoExpand, Regex};

use crate::walk::Block;

/// A command: its words, and its line in the script, from 0.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    pub line: usize,
    pub words: Vec<String>,
}

/// The commands of a script.
pub fn commands(script: &str) -> Vec<Command> {
    let mut reader = Reader::new(script);
    reader.read();
    let (mut commands, known) = simple(reader.tokens);
    for Command { line, words } in reader.inner {
        let all = variants(words, &known).into_iter();
        commands.extend(all.map(|words| Command { line, words }));
    }
    commands.sort_by_key(|command| command.line);
    commands
}

/// What is typed in a block of code: scripts, each with its line in the block. `starts` says of a word whether it begins a
/// command that is of interest: in a block without language and prompt, all other lines are taken for something else.
pub fn typed(block: &Block, starts: impl Fn(&str) -> bool) -> Vec<(usize, String)> {
    let lines: Vec<&str> = block.text.lines().collect();
    let prompts = lines.iter().any(|line| line.trim_start().starts_with("$ "));
    match block.language.as_str() {
        "sh" | "bash" | "shell" if !prompts => vec![(0, block.text.clone())],
        "" | "console" | "sh" | "bash" | "shell" => {
            let mut scripts = Vec::new();
            let mut numbered = lines.iter().enumerate();
            while let Some((number, line)) = numbered.next() {
                let line = line.trim_start();
                let script = match line.strip_prefix("$ ") {
                    Some(script) => script,
                    None if prompts || block.language == "console" => continue,
                    None if starts(line.split_whitespace().next().unwrap_or_default()) => line,
                    None => continue,
                };
                let mut script = script.to_owned();
                while script.ends_with('\\') {
                    let Some((_, more)) = numbered.next() else { break };
                    script.push('\n');
                    script.push_str(more);
                }
                scripts.push((number, script));
            }
            scripts
        }
        _ => Vec::new(),
    }
}

#[derive(Debug)]
enum Token {
    Word(String),
    /// Ends a command.
    End,
    /// The next word is a file.
    Redirection,
}

struct Reader {
    letters: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<(usize, Token)>,
    /// Commands of substitutions.
    inner: Vec<Command>,
    /// Words that end the heredocs whose text begins in the next line.
    heredocs: Vec<String>,
}

impl Reader {
    fn new(script: &str) -> Self {
        Self {
            letters: script.chars().collect(),
            at: 0,
            line: 0,
            tokens: Vec::new(),
            inner: Vec::new(),
            heredocs: Vec::new(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn bump(&mut self) -> Option<char> {
        let letter = self.peek(0)?;
        self.at += 1;
        if letter == '\n' {
            self.line += 1;
        }
        Some(letter)
    }

    fn push(&mut self, token: Token) {
        self.tokens.push((self.line, token));
    }

    fn read(&mut self) {
        while let Some(letter) = self.peek(0) {
            match letter {
                '\\' if self.peek(1) == Some('\n') => {
                    self.bump();
                    self.bump();
                }
                '\n' => {
                    self.push(Token::End);
                    self.bump();
                    for end in std::mem::take(&mut self.heredocs) {
                        self.skip_heredoc(&end);
                    }
                }
                letter if letter.is_whitespace() => {
                    self.bump();
                }
                '#' => {
                    while self.peek(0).is_some_and(|letter| letter != '\n') {
                        self.bump();
                    }
                }
                '<' if self.placeholder().is_some() => self.word(),
                '<' | '>' => self.redirection(),
                letter if letter.is_ascii_digit() && matches!(self.peek(1), Some('<' | '>')) => {
                    self.bump();
                    self.redirection();
                }
                '&' if self.peek(1) == Some('>') => {
                    self.bump();
                    self.redirection();
                }
                '|' | '&' | ';' | '(' | ')' => {
                    self.push(Token::End);
                    self.bump();
                }
                _ => self.word(),
            }
        }
        self.push(Token::End);
    }

    fn redirection(&mut self) {
        let first = self.bump();
        let second = self.peek(0);
        match (first, second) {
            (Some('<'), Some('<')) if self.peek(1) != Some('<') => {
                self.bump();
                if self.peek(0) == Some('-') {
                    self.bump();
                }
                while self.peek(0) == Some(' ') {
                    self.bump();
                }
                let mut end = String::new();
                while let Some(letter) = self.peek(0).filter(|letter| !letter.is_whitespace()) {
                    if !matches!(letter, '\'' | '"' | ';' | ')') {
                        end.push(letter);
                    }
                    self.bump();
                }
                self.heredocs.push(end);
            }
            _ => {
                while matches!(self.peek(0), Some('<' | '>' | '&' | '|')) {
                    self.bump();
                }
                self.push(Token::Redirection);
            }
        }
    }

    fn skip_heredoc(&mut self, end: &str) {
        while self.peek(0).is_some() {
            let mut line = String::new();
            while let Some(letter) = self.bump().filter(|letter| *letter != '\n') {
                line.push(letter);
            }
            if line.trim() == end {
                return;
            }
        }
    }

    /// The name in `<name>`, which people use where something has to be filled in.
    fn placeholder(&self) -> Option<String> {
        let rest = &self.letters[self.at + 1..];
        let length = rest.iter().position(|letter| *letter == '>')?;
        let name: String = rest[..length].iter().collect();
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
        is_name.then_some(name)
    }

    fn word(&mut self) {
        let line = self.line;
        let mut word = String::new();
        let mut is_word = false;
        while let Some(letter) = self.peek(0) {
            match letter {
                '<' => match self.placeholder() {
                    Some(name) => {
                        word.push_str(&name.to_uppercase());
                        self.at += name.chars().count() + 2;
                    }
                    None => break,
                },
                letter if letter.is_whitespace() => break,
                // The last but one: of a function.
                '>' | '|' | '&' | ';' | '(' | ')' => break,
                '\'' => {
                    is_word = true;
                    self.bump();
                    while let Some(letter) = self.bump().filter(|letter| *letter != '\'') {
                        word.push(letter);
                    }
                }
                '"' => {
                    is_word = true;
                    self.bump();
                    self.quoted(&mut word);
                }
                '\\' => {
                    self.bump();
                    word.extend(self.bump().filter(|letter| *letter != '\n'));
                }
                '$' if self.peek(1) == Some('(') => self.substitution(&mut word),
                // What may be left out.
                '[' | ']' => {
                    self.bump();
                }
                _ => word.extend(self.bump()),
            }
        }
        if is_word || !word.is_empty() {
            self.tokens.push((line, Token::Word(word)));
        }
    }

    /// The rest of what stands between double quotes.
    fn quoted(&mut self, word: &mut String) {
        while let Some(letter) = self.peek(0) {
            match letter {
                '"' => {
                    self.bump();
                    return;
                }
                '\\' => {
                    self.bump();
                    word.extend(self.bump());
                }
                '$' if self.peek(1) == Some('(') => self.substitution(word),
                _ => word.extend(self.bump()),
            }
        }
    }

    /// `$(…)`: its commands are commands, too; what they print is not known.
    fn substitution(&mut self, word: &mut String) {
        let line = self.line;
        self.at += 2;
        let (mut depth, mut quote, mut script) = (1, None, String::new());
        while let Some(letter) = self.bump() {
            match (quote, letter) {
                (None, '\'' | '"') => quote = Some(letter),
                (Some(open), _) if open == letter => quote = None,
                (None, '(') => depth += 1,
                (None, ')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            script.push(letter);
        }
        self.inner.extend(commands(&script).into_iter().map(|command| Command {
            line: line + command.line,
            ..command
        }));
        word.push('…');
    }
}

/// The values that variables have.
type Known = BTreeMap<String, Vec<String>>;

/// Commands from their tokens: without what the shell takes for itself; and what is known of variables at the end.
fn simple(tokens: Vec<(usize, Token)>) -> (Vec<Command>, Known) {
    let mut commands = Vec::new();
    let mut known = Known::new();
    let (mut words, mut begins, mut to_a_file) = (Vec::new(), 0, false);
    for (line, token) in tokens {
        match token {
            Token::Word(_) if to_a_file => to_a_file = false,
            Token::Word(word) => {
                if words.is_empty() {
                    begins = line;
                }
                words.push(word);
            }
            Token::Redirection => to_a_file = true,
            Token::End => {
                to_a_file = false;
                let words = own_words(std::mem::take(&mut words), &mut known);
                let all = variants(words, &known).into_iter().filter(|words| !words.is_empty());
                commands.extend(all.map(|words| Command { line: begins, words }));
            }
        }
    }
    (commands, known)
}

/// What is left of a command's words when those of the shell are off; what they say of variables is kept.
fn own_words(mut words: Vec<String>, known: &mut Known) -> Vec<String> {
    while let Some(first) = words.first() {
        match first.as_str() {
            "for" if words.len() > 3 && words[2] == "in" => {
                known.insert(words[1].clone(), words.split_off(3));
                return Vec::new();
            }
            "do" | "done" | "then" | "else" | "if" | "elif" | "fi" | "while" | "until" | "!" | "{" | "}" | "time"
            | "sudo" | "exec" | "command" | "env" => drop(words.remove(0)),
            assignment => {
                let Some((name, value)) = assignment.split_once('=').filter(|(name, _)| is_name(name)) else {
                    return words;
                };
                // What is only said once holds; a command's answer is not known.
                if !value.contains('…') {
                    known.insert(name.to_owned(), vec![value.to_owned()]);
                }
                words.remove(0);
            }
        }
    }
    words
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// The words with each value of the variables that are known.
fn variants(words: Vec<String>, known: &Known) -> Vec<Vec<String>> {
    let mut all = vec![words];
    for (name, values) in known {
        let spelling = Regex::new(&format!(r"\$(?:{name}\b|\{{{name}\}})")).unwrap();
        all = all
            .into_iter()
            .flat_map(|words| {
                if !words.iter().any(|word| spelling.is_match(word)) {
                    return vec![words];
                }
                let with = |value: &String| {
                    let put = |word: &String| spelling.replace_all(word, NoExpand(value)).into_owned();
                    words.iter().map(put).collect::<Vec<String>>()
                };
                values.iter().map(with).collect()
            })
            .collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(script: &str) -> Vec<String> {
        let shown = |command: Command| format!("{}: {}", command.line, command.words.join("|"));
        commands(script).into_iter().map(shown).collect()
    }

    #[test]
    fn words_are_those_that_a_shell_makes() {
        for (script, wanted) in [
            ("a 'b c' \"d 'e'\" f\\ g", "0: a|b c|d 'e'|f g"),
            ("a \\\n  --b c # d", "0: a|--b|c"),
            ("X=1 Y='2 3' a", "0: a"),
            ("a --b='$c' \"\"", "0: a|--b=$c|"),
            ("a > b 2>&1 < c --d", "0: a|--d"),
            ("a [-b C] [D/]E F…", "0: a|-b|C|D/E|F…"),
            ("a <name> --b=<other-name>", "0: a|NAME|--b=OTHER-NAME"),
            ("a '{.b[?(@.c==\"d\")]}'", "0: a|{.b[?(@.c==\"d\")]}"),
        ] {
            assert_eq!(lines(script), [wanted], "{script}");
        }
    }

    #[test]
    fn each_command_is_seen() {
        for (script, wanted) in [
            ("a b | c && d; e &", &["0: a|b", "0: c", "0: d", "0: e"][..]),
            ("for x in p q; do\n  a \"$x\" ${x}s\ndone", &["1: a|p|ps", "1: a|q|qs"]),
            ("for x in p q; do y=$(a $x); done", &["0: a|p", "0: a|q"]),
            ("R=r/s\na \"$R/t\" \"$U\"", &["1: a|r/s/t|$U"]),
            (
                "x=$(a 'b)' |\n c)\nd --e \"f$(g)\"",
                &["0: a|b)", "1: c", "2: d|--e|f…", "2: g"],
            ),
            ("a <<END | b\nc d\nEND\ne", &["0: a", "0: b", "3: e"]),
            ("f() { a b; }\nf c", &["0: f", "0: a|b", "1: f|c"]),
            ("if a; then b; fi", &["0: a", "0: b"]),
        ] {
            let mut lines = lines(script);
            let mut wanted = wanted.to_vec();
            lines.sort();
            wanted.sort_unstable();
            assert_eq!(lines, wanted, "{script}");
        }
    }

    #[test]
    fn what_is_typed_is_told_from_what_is_answered() {
        let scripts = |language: &str, text: &str| {
            let block = Block {
                language: language.to_owned(),
                text: text.to_owned(),
            };
            typed(&block, |word| word == "ours")
        };
        let at = |line, text: &str| (line, text.to_owned());
        assert_eq!(scripts("sh", "a\nb\n"), [at(0, "a\nb\n")]);
        assert_eq!(
            scripts("console", "$ a \\\n  b\nours c\n$ d\n"),
            [at(0, "a \\\n  b"), at(3, "d")]
        );
        assert_eq!(
            scripts("", "ours a\ntheirs b\n  ours c\n"),
            [at(0, "ours a"), at(2, "ours c")]
        );
        assert_eq!(scripts("", "$ a\nours b\n"), [at(0, "a")]);
        assert_eq!(scripts("yaml", "ours: a\n"), []);
    }
}
