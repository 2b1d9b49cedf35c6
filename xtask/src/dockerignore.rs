//! `.dockerignore`: which files go to the builder of the images.

use anyhow::{Result, ensure};

/// The patterns of a file, of which the last that fits a path decides.
#[derive(Debug)]
pub struct DockerIgnore {
    patterns: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    segments: Vec<String>,
    /// It begins with `!`.
    lets_through: bool,
}

impl DockerIgnore {
    /// Reads the file. What this does not know of the format is an error: a wrong guess would hide what the builder lacks.
    pub fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let mut patterns = Vec::new();
        for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
            ensure!(
                !line.contains(['[', '\\']),
                ".dockerignore: no ranges and escapes, please: {line}"
            );
            let (pattern, lets_through) = line.strip_prefix('!').map_or((line, false), |rest| (rest.trim(), true));
            let segments = pattern.split('/').filter(|segment| !matches!(*segment, "" | "."));
            patterns.push(Pattern {
                segments: segments.map(str::to_owned).collect(),
                lets_through,
            });
        }
        Ok(Self { patterns })
    }

    /// Whether the file of this path, with `/` and from the root of the context, goes to the builder. A pattern that fits
    /// a folder fits all that is in it.
    pub fn lets_through(&self, path: &str) -> bool {
        let segments: Vec<&str> = path.split('/').collect();
        let fits = |pattern: &&Pattern| (1..=segments.len()).any(|end| fits(&pattern.segments, &segments[..end]));
        let decides = self.patterns.iter().rev().find(fits);
        decides.is_none_or(|pattern| pattern.lets_through)
    }
}

fn fits(pattern: &[String], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            fits(rest, path) || path.split_first().is_some_and(|(_, path)| fits(pattern, path))
        }
        (Some((first, rest)), Some((name, path))) => fits_name(first.as_bytes(), name.as_bytes()) && fits(rest, path),
        _ => false,
    }
}

fn fits_name(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            fits_name(rest, name) || name.split_first().is_some_and(|(_, name)| fits_name(pattern, name))
        }
        (Some((b'?', rest)), Some((_, name))) => fits_name(rest, name),
        (Some((wanted, rest)), Some((found, name))) => wanted == found && fits_name(rest, name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_lets_through(text: &str, through: &[&str], held: &[&str]) {
        let ignore = DockerIgnore::parse(text).unwrap();
        for path in through {
            assert!(ignore.lets_through(path), "{path} by {text:?}");
        }
        for path in held {
            assert!(!ignore.lets_through(path), "{path} by {text:?}");
        }
    }

    #[test]
    fn without_a_pattern_that_fits_all_goes() {
        assert_lets_through("# *\n\n", &["a", "a/b"], &[]);
    }

    #[test]
    fn the_last_that_fits_decides() {
        assert_lets_through(
            "*\n!a\n! b/c\na/x",
            &["a/b/c", "b/c", "b/c/d"],
            &["a/x", "a/x/y", "b/d", "c"],
        );
        assert_lets_through("!a\n*", &[], &["a"]);
    }

    #[test]
    fn a_folder_stands_for_all_that_is_in_it() {
        assert_lets_through("/a/b/", &["a", "a/bc", "b", "c/a/b"], &["a/b", "a/b/c/d"]);
    }

    #[test]
    fn a_star_stays_within_a_name_and_two_do_not() {
        assert_lets_through("a/*.rs", &["a/b", "b/c.rs", "a/b/c.rs"], &["a/b.rs", "a/.rs"]);
        assert_lets_through(
            "**/target",
            &["targets", "a/targets/b"],
            &["target", "target/x", "a/b/target/x"],
        );
        assert_lets_through("a/**/b?", &["a/b", "b1", "a/c"], &["a/b1", "a/c/d/b2"]);
    }

    #[test]
    fn what_is_not_known_is_no_guess() {
        for line in ["[ab]", "a\\*"] {
            let error = DockerIgnore::parse(line).unwrap_err().to_string();
            assert!(error.ends_with(line), "{error}");
        }
    }
}
