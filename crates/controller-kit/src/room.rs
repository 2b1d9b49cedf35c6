//! Room that a burst took is given back when the burst is over.

use std::collections::VecDeque;

/// For so many items room is kept, although there may be none.
pub(crate) const ROOM_KEPT: usize = 1_024;

/// How much room to keep for so many items, when it is much less than there is: half, each time.
pub(crate) fn smaller_room(items: usize, room: usize) -> Option<usize> {
    (room > ROOM_KEPT && items < room / 4).then_some(room / 2)
}

/// Takes the first item of a line that gives back room.
pub(crate) fn pop_front<T>(line: &mut VecDeque<T>) -> Option<T> {
    let first = line.pop_front()?;
    if let Some(room) = smaller_room(line.len(), line.capacity()) {
        line.shrink_to(room);
    }
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_back_the_room_of_a_burst_and_keeps_its_order() {
        let mut line: VecDeque<u32> = (0..100_000).collect();
        for expected in 0..100_000 {
            assert_eq!(pop_front(&mut line), Some(expected));
        }
        assert_eq!(pop_front(&mut line), None);
        assert!(line.capacity() <= 2 * ROOM_KEPT, "{}", line.capacity());
    }
}
