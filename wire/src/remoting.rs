//! What travels between RocketMQ's clients and us: frames, request and response headers, JSON bodies.
