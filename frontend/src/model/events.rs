//! A parser for server-sent events.

/// The bytes of an incomplete event.
#[derive(Debug, Default)]
pub struct Events {
    rest: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub data: String,
}

impl Events {
    /// Adds a chunk and returns the events that it completes.
    pub fn push(&mut self, piece: &[u8]) -> Vec<Event> {
        self.rest.extend_from_slice(piece);
        let mut events = Vec::new();
        while let Some(end) = self.rest.windows(2).position(|two| two == b"\n\n") {
            let block: Vec<u8> = self.rest.drain(..end + 2).collect();
            events.extend(event(&String::from_utf8_lossy(&block)));
        }
        events
    }
}

/// Parses the lines of an event; `None` for a heartbeat.
fn event(block: &str) -> Option<Event> {
    let values = |field: &str| {
        let of_field = |line: &str| {
            let value = line.strip_prefix(field)?.strip_prefix(':')?;
            Some(value.strip_prefix(' ').unwrap_or(value).to_owned())
        };
        block.lines().filter_map(of_field).collect::<Vec<_>>()
    };
    let data = values("data").join("\n");
    let name = values("event").pop().unwrap_or_else(|| "message".to_owned());
    (!data.is_empty()).then_some(Event { name, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_parsed_from_chunks_of_any_length() {
        let stream =
            "event: tick\ndata: {\"note\":\"ü\"}\n\n: still here\n\ndata:one\ndata: two\n\n";
        let expected = [("tick", "{\"note\":\"ü\"}"), ("message", "one\ntwo")]
            .map(|(name, data)| Event { name: name.to_owned(), data: data.to_owned() });
        for length in 1..=stream.len() {
            let mut events = Events::default();
            let read: Vec<_> =
                stream.as_bytes().chunks(length).flat_map(|piece| events.push(piece)).collect();
            assert_eq!(read, expected, "in pieces of {length}");
        }
    }

    #[test]
    fn incomplete_events_are_buffered() {
        let mut events = Events::default();
        assert_eq!(events.push(b"event: tick\ndata: {}\n"), []);
        assert_eq!(events.push(b"\n").len(), 1);
    }
}
