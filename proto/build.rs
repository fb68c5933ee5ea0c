//! Turns the protocol's files into Rust, without `protoc`.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let service = root.join("apache/rocketmq/v2/service.proto");
    println!("cargo::rerun-if-changed={}", root.join("apache").display());
    let files = protox::compile([service], [root])?;
    tonic_prost_build::configure()
        // A body is passed on, never copied.
        .bytes(".apache.rocketmq.v2.Message.body")
        // An answer must not depend on the order of a hash map.
        .btree_map(".")
        // Connecting is the caller's: both ends also run over streams that are open already.
        .build_transport(false)
        .compile_fds(files)?;
    Ok(())
}
