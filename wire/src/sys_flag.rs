//! The bits of a message's `sysFlag`. Peer: `MessageSysFlag` (RocketMQ 5.x).

/// The body is compressed. We store and hand on the body as it came.
pub const COMPRESSED: i32 = 0x001;
/// The message has several tags.
pub const MULTI_TAGS: i32 = 0x002;
/// The two bits that tell a message's part in a transaction.
pub const TRANSACTION_MASK: i32 = 0x00C;
/// No part in a transaction.
pub const TRANSACTION_NOT: i32 = 0x000;
/// A half message, not yet to be seen.
pub const TRANSACTION_PREPARED: i32 = 0x004;
/// A committed message.
pub const TRANSACTION_COMMIT: i32 = 0x008;
/// A message rolled back.
pub const TRANSACTION_ROLLBACK: i32 = 0x00C;
/// The producer's address has 16 bytes, not 4.
pub const BORN_HOST_V6: i32 = 0x010;
/// The server's address has 16 bytes, not 4.
pub const STORE_HOST_V6: i32 = 0x020;
/// The body is a list of messages that a consumer takes apart.
pub const NEED_UNWRAP: i32 = 0x040;
/// The body is a list of messages stored as one.
pub const INNER_BATCH: i32 = 0x080;
/// The three bits that tell how a compressed body is compressed; none set means ZLIB.
pub const COMPRESSION_MASK: i32 = 0x700;
/// LZ4, in its frame format.
pub const COMPRESSION_LZ4: i32 = 0x100;
/// ZSTD.
pub const COMPRESSION_ZSTD: i32 = 0x200;
/// ZLIB.
pub const COMPRESSION_ZLIB: i32 = 0x300;
