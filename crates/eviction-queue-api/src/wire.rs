//! Messages as bytes, for whoever keeps what the queue said.

use prost::Message;

/// Bytes that are no such message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no message of the eviction queue: {0}")]
pub struct NoMessage(String);

/// A message as it goes over the wire.
#[must_use]
pub fn encode<M: Message>(message: &M) -> Vec<u8> {
    message.encode_to_vec()
}

/// The message.
///
/// # Errors
/// The bytes are none.
pub fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, NoMessage> {
    M::decode(bytes).map_err(|error| NoMessage(error.to_string()))
}
