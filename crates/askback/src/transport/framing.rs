//! Framing: one message a line (2026-07-28, basic/transports/stdio).

use std::{mem, ops::Range};

use memchr::{memchr, memchr2, memrchr};

/// How much is read at once, in bytes, unless a message is longer.
const READ_AT_ONCE: usize = 16 << 10;

/// How much is written at once, in bytes, unless one message is longer. A write of this length
/// cannot be split by other writers to the same pipe (POSIX, `PIPE_BUF`, on most systems).
pub(super) const WRITTEN_AT_ONCE: usize = 4096;

/// The read buffer of a stream, which splits it into lines.
///
/// A line longer than the limit loses its middle: its beginning and its end are returned, together
/// one byte more than the limit.
#[derive(Debug)]
pub(super) struct LineBuffer {
    /// The length limit of a line, in bytes.
    kept: usize,
    end: usize,
    memory: Vec<u8>,
    read: Range<usize>,
    /// How much of the unread part contains no newline.
    searched: usize,
    /// The current line is too long: only its beginning and its latest end are buffered.
    is_cut: bool,
}

#[derive(Debug, Default)]
pub(super) struct LineQueue {
    lines: Vec<u8>,
    written: usize,
    /// The end of the piece being written, so that a long message is searched once.
    piece_end: usize,
}

impl LineBuffer {
    /// Limits a line to `most` bytes, of which `end` bytes are the end of a longer line. No memory
    /// is allocated before the first read.
    pub(super) fn new(most: usize, end: usize) -> Self {
        let kept = most.saturating_add(1);
        Self {
            kept,
            end: end.min(kept / 2),
            memory: Vec::new(),
            read: 0..0,
            searched: 0,
            is_cut: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Range<usize>> {
        let unsearched = self.read.start + self.searched;
        match memchr(b'\n', &self.memory[unsearched..self.read.end]) {
            Some(found) => Some(self.give(unsearched + found, 1)),
            None => {
                self.searched = self.read.len();
                if self.read.len() > self.kept {
                    self.is_cut = true;
                    self.searched = self.kept;
                    self.read.end = self.cut(self.read.start, self.read.end);
                }
                None
            }
        }
    }

    /// Returns the last line, which has no newline, when the stream has ended.
    pub(super) fn last(&mut self) -> Option<Range<usize>> {
        (!self.read.is_empty()).then(|| self.give(self.read.end, 0))
    }

    /// Removes the excess from a line, before its end. Returns the new end.
    fn cut(&mut self, start: usize, end: usize) -> usize {
        let kept = start.saturating_add(self.kept);
        if end <= kept {
            return end;
        }
        self.memory
            .copy_within(end - self.end..end, kept - self.end);
        kept
    }

    fn give(&mut self, end: usize, newline: usize) -> Range<usize> {
        let start = mem::replace(&mut self.read.start, end + newline);
        self.searched = 0;
        let is_cut = mem::take(&mut self.is_cut);
        let mut line = start..self.cut(start, end);
        if newline > 0 && !is_cut && line.end == end && self.memory[line.clone()].ends_with(b"\r") {
            line.end -= 1;
        }
        line
    }

    pub(super) fn get(&self, line: Range<usize>) -> &[u8] {
        &self.memory[line]
    }

    /// Returns space to read into, once no complete line is left. Never empty.
    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.read.start > 0 {
            self.memory.copy_within(self.read.clone(), 0);
            self.read = 0..self.read.len();
        }
        if self.read.is_empty() && self.memory.len() > READ_AT_ONCE {
            self.memory = Vec::new();
        }
        if self.read.end == self.memory.len() {
            let longest = self.kept.saturating_add(READ_AT_ONCE);
            let more = (2 * self.memory.len()).clamp(READ_AT_ONCE, longest);
            self.memory.resize(more, 0);
        }
        &mut self.memory[self.read.end..]
    }

    pub(super) fn add(&mut self, bytes: usize) {
        self.read.end += bytes;
    }
}

impl LineQueue {
    /// Adds a message: JSON, without a newline at its end.
    ///
    /// The added newline is the only one in the message. A line break inside JSON, which text from
    /// a peer or an author may have, is only whitespace between tokens, and becomes a space.
    pub(super) fn add(&mut self, message: Vec<u8>) {
        let mut searched = self.lines.len();
        if self.lines.is_empty() && message.len() >= WRITTEN_AT_ONCE {
            self.lines = message;
        } else {
            self.lines.extend_from_slice(&message);
        }
        while let Some(found) = memchr2(b'\n', b'\r', &self.lines[searched..]) {
            self.lines[searched + found] = b' ';
            searched += found + 1;
        }
        self.lines.push(b'\n');
    }

    #[cfg(any(feature = "client", feature = "server", feature = "stdio"))]
    pub(super) fn len(&self) -> usize {
        self.lines.len() - self.written
    }

    /// The next bytes to write: as many whole lines as fit, or one longer line.
    pub(super) fn piece(&mut self) -> Option<&[u8]> {
        let rest = &self.lines[self.written..];
        if self.piece_end <= self.written {
            let at_once = &rest[..rest.len().min(WRITTEN_AT_ONCE)];
            let last = memrchr(b'\n', at_once).or_else(|| memchr(b'\n', rest));
            self.piece_end = self.written + last? + 1;
        }
        Some(&self.lines[self.written..self.piece_end])
    }

    pub(super) fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written == self.lines.len() {
            self.clear();
        } else if self.written > self.lines.len() / 2 {
            self.lines.drain(..self.written);
            self.piece_end -= self.written;
            self.written = 0;
        }
    }

    /// Drops all messages, and keeps enough memory for one write.
    pub(super) fn clear(&mut self) {
        let mut lines = mem::take(&mut self.lines);
        lines.clear();
        lines.shrink_to(WRITTEN_AT_ONCE);
        *self = Self {
            lines,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::{LineBuffer, LineQueue, WRITTEN_AT_ONCE};

    /// The lines of a stream that is read in pieces of these lengths.
    fn lines(bytes: &[u8], pieces: &[usize], most: usize, end: usize) -> Vec<Vec<u8>> {
        let (mut lines, mut given) = (LineBuffer::new(most, end), Vec::new());
        let (mut left, mut pieces) = (bytes, pieces.iter().cycle());
        loop {
            while let Some(line) = lines.next() {
                given.push(lines.get(line).to_vec());
            }
            if left.is_empty() {
                break;
            }
            let space = lines.space();
            let piece = pieces.next().map_or(1, |piece| *piece);
            let read = piece.min(space.len()).min(left.len());
            space[..read].copy_from_slice(&left[..read]);
            lines.add(read);
            left = &left[read..];
        }
        let last = lines.last();
        given.extend(last.map(|line| lines.get(line).to_vec()));
        given
    }

    /// The simple definition: the whole stream is split at each newline.
    fn oracle(bytes: &[u8], most: usize, end: usize) -> Vec<Vec<u8>> {
        let kept = most + 1;
        let end = end.min(kept / 2);
        let mut all: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let last = all.pop().filter(|last| !last.is_empty());
        let cut = |line: &[u8]| [&line[..kept - end], &line[line.len() - end..]].concat();
        let ended = all.into_iter().map(|line| match line.len() > kept {
            true => cut(line),
            false => line.strip_suffix(b"\r").unwrap_or(line).to_vec(),
        });
        let last = last.map(|line| match line.len() > kept {
            true => cut(line),
            false => line.to_vec(),
        });
        ended.chain(last).collect()
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            Just(b"\n".to_vec()),
            Just(b"\r".to_vec()),
            vec(b'a'..=b'z', 0..12),
            (1_usize..40_000).prop_map(|length| vec![b'x'; length]),
        ];
        vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn lines_are_the_same_in_whatever_pieces_they_come(
            bytes in text(),
            pieces in vec(1_usize..20_000, 1..8),
            most in prop_oneof![0_usize..10, 10_000_usize..50_000],
            end in 0_usize..10,
        ) {
            let given = lines(&bytes, &pieces, most, end);
            prop_assert_eq!(given, oracle(&bytes, most, end));
        }

        #[test]
        fn what_is_written_in_pieces_is_what_was_added(
            messages in vec(prop_oneof![0_usize..300, 3000_usize..10_000], 0..20),
            takes in vec(1_usize..6000, 1..8),
        ) {
            let (mut lines, mut whole, mut written) = (LineQueue::default(), Vec::new(), Vec::new());
            let mut takes = takes.iter().cycle();
            for length in messages {
                lines.add(vec![b'x'; length]);
                whole.extend(std::iter::repeat_n(b'x', length));
                whole.push(b'\n');
                prop_assert_eq!(lines.len(), whole.len() - written.len());
                if let Some(piece) = lines.piece() {
                    let is_short = piece.len() <= WRITTEN_AT_ONCE;
                    let is_one = !piece[..piece.len() - 1].contains(&b'\n');
                    prop_assert!(is_short || is_one);
                    prop_assert!(piece.ends_with(b"\n"));
                    let taken = takes.next().map_or(1, |taken| *taken).min(piece.len());
                    written.extend_from_slice(&piece[..taken]);
                    lines.wrote(taken);
                }
            }
            while let Some(piece) = lines.piece() {
                let taken = piece.len();
                written.extend_from_slice(piece);
                lines.wrote(taken);
            }
            prop_assert_eq!(written, whole);
        }
    }
}
