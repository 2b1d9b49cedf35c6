//! Compiles the proto files without protoc, and keeps their descriptors for gRPC reflection.

use std::error::Error;
use std::path::PathBuf;

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    const ROOT: &str = "../../proto";
    const FILE: &str = "failover/evictionqueue/v1/eviction_queue.proto";
    println!("cargo::rerun-if-changed={ROOT}");
    let descriptors = protox::compile([FILE], [ROOT])?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    std::fs::write(out.join("eviction_queue_descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
