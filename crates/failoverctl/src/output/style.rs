//! Colour, only where a person looks.

/// Whether colour is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The reader is a terminal.
    On,
    /// The reader is a file, a pipe, or does not want it (`NO_COLOR`).
    Off,
}

/// What a text says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// All is well.
    Good,
    /// Worth a look.
    Notice,
    /// Wrong.
    Bad,
    /// A heading.
    Heading,
}

impl Tone {
    /// `text` in this tone.
    #[must_use]
    pub fn paint(self, text: &str, colour: Colour) -> String {
        let code = match (self, colour) {
            (_, Colour::Off) | (Self::Plain, _) => return text.to_owned(),
            (Self::Good, Colour::On) => "32",
            (Self::Notice, Colour::On) => "33",
            (Self::Bad, Colour::On) => "31",
            (Self::Heading, Colour::On) => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
